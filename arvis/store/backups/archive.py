"""The file format of a backup: a gzipped tar of `manifest.json`, `arvis.db`, `secrets.key` and `blobs/ab/cdef…`, in
this order. Only an encrypted backup contains `secrets.key` (see `encryption`).

While this module reads a file, it compares the content with the manifest. It returns only the bytes of the files and
never uses a path from the archive. The archive contains no write-ahead log.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import tarfile
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import arvis
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import BackupDamaged, NotFound
from arvis.domain.regex import regex
from arvis.store.backups.encryption import Summary, decrypting, encrypting, read_header
from arvis.store.blobs import PIECE, create_private, go_on, sync_file

FORMAT = 1
MANIFEST, DATABASE, SECRETS = "manifest.json", "arvis.db", "secrets.key"

#: A low compression level, because speed matters more than size. The default level would take more than twice as long,
#: and the archive would be only a fifth smaller.
_LEVEL = 1
_LARGEST_MANIFEST = 64 << 20
_BLOB = regex(r"blobs/([0-9a-f]{2})/([0-9a-f]{62})")
#: The errors that the standard library raises if a file is not a valid archive.
_UNREADABLE = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, RecursionError)


@dataclass(frozen=True, slots=True)
class Entry:
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of a backup: its list of contents. `created_at` is in ms."""

    created_at: int
    #: The migration before which the backup was made, or None.
    before: str | None
    #: The names of the migrations that ran on the database.
    migrations: Sequence[str]
    #: The number of messages.
    messages: int
    #: The hashes of attachments whose bytes were lost before the backup.
    missing: Sequence[str]
    #: The size and hash of each file by its name, in the order of the archive.
    files: Mapping[str, Entry]

    @property
    def summary(self) -> Summary:
        return Summary(self.created_at, self.before, self.messages, len(self.missing))


def blob_name(sha256: str) -> str:
    return f"blobs/{sha256[:2]}/{sha256[2:]}"


# -- writing -----------------------------------------------------------------------------------------------


def write_archive(
    path: Path, manifest: Manifest, sources: Mapping[str, Path], stop: threading.Event, passphrase: str | None
) -> None:
    """Write an archive and sync it to disk. `sources` contains the path of each file by its name in the manifest. If
    there is a passphrase, encrypt the archive."""
    text = json.dumps(_to_json(manifest), separators=(",", ":")).encode()
    with (
        create_private(path) as out,
        contextlib.nullcontext(out) if passphrase is None else encrypting(out, manifest.summary, passphrase) as sink,
        gzip.GzipFile("", "wb", _LEVEL, sink, mtime=manifest.created_at // 1000) as packed,
        tarfile.TarFile(fileobj=packed, mode="w", copybufsize=PIECE) as tar,
    ):
        tar.addfile(_member(MANIFEST, len(text), manifest), io.BytesIO(text))
        for name, entry in manifest.files.items():
            with sources[name].open("rb") as source:
                tar.addfile(_member(name, entry.bytes, manifest), _Stoppable(source, stop))
    sync_file(path)


class _Stoppable(io.RawIOBase):
    """A file whose `read` raises `Stopped` once `stop` is set, which aborts the writing of the archive."""

    def __init__(self, file: BinaryIO, stop: threading.Event) -> None:
        self._file = file
        self._stop = stop

    def read(self, size: int = -1, /) -> bytes:
        go_on(self._stop)
        return self._file.read(size)


def _member(name: str, size: int, manifest: Manifest) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = size, 0o600, manifest.created_at // 1000
    return member


def _to_json(manifest: Manifest) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "arvis": arvis.__version__,
        "createdAt": manifest.created_at,
        "before": manifest.before,
        "migrations": list(manifest.migrations),
        "messages": manifest.messages,
        "missing": list(manifest.missing),
        "files": {name: asdict(entry) for name, entry in manifest.files.items()},
    }


# -- reading -----------------------------------------------------------------------------------------------


class Archive:
    """A backup that is open for reading."""

    def __init__(self, path: Path, tar: tarfile.TarFile, stop: threading.Event) -> None:
        self._path = path
        self._tar = tar
        self._stop = stop
        self.manifest = self._read_manifest()

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name of each file and an iterator over its bytes. Compare every byte with the manifest, including
        the bytes that the caller does not read. Raise `BackupDamaged` at the first difference."""
        for name, entry in self.manifest.files.items():
            member = self._next()
            if member is None or (member.name, member.size) != (name, entry.bytes):
                raise damaged(self._path, f"{name} is not at the position that the manifest lists")
            pieces = self._pieces(member, entry.sha256)
            yield name, pieces
            for _ in pieces:
                pass
        if self._next() is not None:
            raise damaged(self._path, "it contains data that its manifest does not list")
        self._read_to_its_end()

    def _pieces(self, member: tarfile.TarInfo, sha256: str) -> Iterator[bytes]:
        digest = hashlib.sha256()
        with reading(self._path):
            source = self._tar.extractfile(member)
        while source is not None:
            go_on(self._stop)
            with reading(self._path):
                piece = source.read(PIECE)
            if not piece:
                break
            digest.update(piece)
            yield piece
        if digest.hexdigest() != sha256:
            raise damaged(self._path, f"the content of {member.name} does not match the manifest")

    def _read_to_its_end(self) -> None:
        """Read the archive to its end, because gzip checks the checksum of the whole archive only there."""
        with reading(self._path):
            while self._tar.fileobj.read(PIECE):
                go_on(self._stop)

    def _next(self) -> tarfile.TarInfo | None:
        """Return the next member, or None at the end of the archive. Raise `BackupDamaged` if the member is not a
        regular file but, for example, a link."""
        with reading(self._path):
            member = self._tar.next()
        if member is not None and member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE}:
            raise damaged(self._path, f"{member.name!r} is not a regular file")
        return member

    def _read_manifest(self) -> Manifest:
        first = self._next()
        if first is None or first.name != MANIFEST or first.size > _LARGEST_MANIFEST:
            raise damaged(self._path, "it does not begin with a manifest")
        with reading(self._path):
            source = self._tar.extractfile(first)
            return _manifest_of(json.loads(source.read() if source is not None else b""))


@contextlib.contextmanager
def open_archive(path: Path, stop: threading.Event, passphrase: str | None) -> Iterator[Archive]:
    """Open an archive. Raise `NotFound` if the file does not exist, `BackupDamaged` if the archive is unreadable, and
    `BackupLocked` if it is encrypted and the passphrase is missing or wrong."""
    with contextlib.ExitStack() as opened:
        with reading(path):
            packed = opened.enter_context(decrypting(path, opened.enter_context(path.open("rb")), passphrase))
            tar = opened.enter_context(tarfile.open(fileobj=packed, mode="r:gz"))
        yield Archive(path, tar, stop)


def read_summary(path: Path) -> tuple[Summary, bool]:
    """Return the data of a backup that can be read without its passphrase, and True if the backup is encrypted."""
    with reading(path), path.open("rb") as file:
        found = read_header(file)
    if found is not None:
        return found, True
    with open_archive(path, threading.Event(), None) as archive:
        return archive.manifest.summary, False


def verify_archive(path: Path, stop: threading.Event, passphrase: str | None = None) -> Manifest:
    """Read an archive to its end and compare every byte with the manifest. Raise `BackupDamaged` if a byte differs, and
    `BackupLocked` if the passphrase is missing or wrong."""
    with open_archive(path, stop, passphrase) as archive:
        for _ in archive.files():
            pass
        return archive.manifest


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert errors in the block: raise `NotFound` for a missing file, and `BackupDamaged` for an unreadable
    archive."""
    try:
        yield
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {path}", fix="`arvis restore` lists the backups") from error
    except _UNREADABLE as error:
        raise damaged(path, str(error) or "the file is incomplete") from error


def damaged(path: Path, why: str) -> BackupDamaged:
    return BackupDamaged(f"{path} cannot be restored", why=why, fix="Use another backup. `arvis restore` lists them.")


def _manifest_of(data: Any) -> Manifest:
    """Parse a manifest. Raise `ValueError` if it is invalid."""
    match data:
        case {"format": int(number)} if number > FORMAT:
            raise ValueError("a newer version of Arvis made it")
        case {
            "format": 1,
            "createdAt": int(created_at),
            "before": None | str() as before,
            "migrations": list(migrations),
            "messages": int(messages),
            "missing": list(missing),
            "files": {"arvis.db": _, **_blobs} as files,
        }:
            entries = {name: _entry_of(name, entry) for name, entry in files.items()}
            return Manifest(created_at, before, migrations, messages, missing, entries)
        case _:
            raise ValueError("its manifest has an unknown format")


def _entry_of(name: str, data: Any) -> Entry:
    match data:
        case {"sha256": str(sha256), "bytes": int(size)}:
            blob = _BLOB.fullmatch(name)
            if name in {DATABASE, SECRETS} or (blob is not None and blob[1] + blob[2] == sha256):
                return Entry(sha256, size)
    raise ValueError(f"its manifest has an invalid entry for {name!r}")
