"""Writes and reads the file of an export: a zip archive with `manifest.json`, one file of JSON lines for each kind of
record, and the bytes of files.

`read_archive` checks the whole archive before it returns, so that no part of a damaged file is imported.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import IO, TypeVar

from pydantic import ValidationError

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Unprocessable
from arvis.interchange.format import KINDS, Conversation, Manifest, Record

R = TypeVar("R", bound=Record)

#: The maximum size of an archive, and of its content without compression (bytes).
MOST_BYTES = 64_000_000
_MOST_CONTENT = 512_000_000
_MOST_ENTRIES = 100_000
_MANIFEST = "manifest.json"
_FILES = "files/"


@dataclass(frozen=True, slots=True)
class Contents:
    """A checked archive. `files` contains the bytes of each file by their SHA-256."""

    manifest: Manifest
    records: Mapping[str, list[Record]]
    files: Mapping[str, bytes]


class Writer:
    """Writes an archive. Call `add` for all records of one kind before the records of the next kind, then `add_file`
    for each file, and finally `close`."""

    def __init__(self, target: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED)
        self.counts: dict[str, int] = {}
        self._kind = ""
        self._entry: IO[bytes] | None = None
        self._files: set[str] = set()

    def add(self, kind: str, record: Record) -> None:
        if kind != self._kind or self._entry is None:
            self._end_kind()
            self._kind, self._entry = kind, self._zip.open(f"{kind}.jsonl", "w")
        self._entry.write(record.model_dump_json(by_alias=True, exclude_defaults=True).encode() + b"\n")
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def add_file(self, sha256: str, data: bytes) -> None:
        """Add the bytes of a file, unless they were added before. Call this only after all records of the current
        kind."""
        self._end_kind()
        if sha256 not in self._files:
            self._files.add(sha256)
            self._zip.writestr(_FILES + sha256, data)

    def close(self, manifest: Manifest) -> None:
        self._end_kind()
        whole = manifest.model_copy(update={"counts": self.counts})
        self._zip.writestr(_MANIFEST, whole.model_dump_json(by_alias=True, indent=2))
        self._zip.close()

    def _end_kind(self) -> None:
        if self._entry is not None:
            self._entry.close()
            self._entry = None


def read_archive(data: bytes) -> Contents:
    """Return the content of an archive. Raise `Unprocessable`, which names the first problem, if the archive cannot be
    imported."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            _check_size(archive)
            manifest = _manifest(archive)
            records = {kind: list(_records(archive, kind)) for kind in KINDS}
            files = dict(_files(archive))
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise _unusable(f"it is not a readable zip archive ({error})") from None
    except RecursionError:
        raise _unusable("a record is nested too deeply") from None
    return Contents(manifest, records, files)


def _check_size(archive: zipfile.ZipFile) -> None:
    entries = archive.infolist()
    if len(entries) > _MOST_ENTRIES or sum(entry.file_size for entry in entries) > _MOST_CONTENT:
        raise _unusable(f"it has more than {_MOST_ENTRIES} entries or {_MOST_CONTENT // 1_000_000} MB")
    known = {_MANIFEST, *(f"{kind}.jsonl" for kind in KINDS)}
    for entry in entries:
        if entry.filename not in known and not entry.filename.startswith(_FILES):
            raise _unusable(f"it contains the unknown entry {entry.filename[:100]!r}")


def _manifest(archive: zipfile.ZipFile) -> Manifest:
    if _MANIFEST not in archive.namelist():
        raise _unusable(f"it contains no {_MANIFEST}")
    text = archive.read(_MANIFEST)
    try:
        version = json.loads(text).get("version")
    except (ValueError, AttributeError):
        raise _unusable(f"{_MANIFEST} is not a JSON object") from None
    if isinstance(version, int) and version > Manifest.model_fields["version"].default:
        why = f"its format has version {version}, which only a newer version of Arvis can read"
        raise _unusable(why, fix="Update Arvis, then import the file again.")
    return _read(Manifest, text, _MANIFEST)


def _records(archive: zipfile.ZipFile, kind: str) -> Iterator[Record]:
    name = f"{kind}.jsonl"
    if name not in archive.namelist():
        return
    seen: set[str] = set()
    with archive.open(name) as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                record = _read(KINDS[kind], line, f"{name}, line {number}")
                if isinstance(record, Conversation):
                    _check_conversation(record, seen, f"{name}, line {number}")
                yield record


def _check_conversation(record: Conversation, seen: set[str], place: str) -> None:
    ids = [message.id for message in record.messages]
    if record.id in seen or len(set(ids)) != len(ids):
        raise _unusable(f"{place}: two conversations or two messages have the same id")
    seen.add(record.id)
    if any(summary.first_turn > summary.last_turn for summary in record.summaries):
        raise _unusable(f"{place}: the last turn of a summary is before its first turn")


def _read(kind: type[R], text: bytes, place: str) -> R:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _unusable(f"{place}: {where or 'the record'}: {first['msg']}") from None


def _files(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    for entry in archive.infolist():
        if entry.filename.startswith(_FILES):
            data = archive.read(entry)
            name = entry.filename.removeprefix(_FILES)
            if hashlib.sha256(data).hexdigest() != name:
                raise _unusable(f"the bytes of {entry.filename[:100]} do not match its name")
            yield name, data


def _unusable(why: str, fix: str = "Use a file that `arvis export` wrote, unchanged.") -> Unprocessable:
    return Unprocessable("This file cannot be imported.", why=why, fix=fix, code="bad_export")
