"""Any archive is either a valid backup to the last byte, or is refused without any change."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from arvis.domain.errors import BackupDamaged, NotFound
from arvis.store.backups.archive import verify_archive
from arvis.store.backups.making import make_backup
from arvis.store.backups.restore import restore
from arvis.store.open import Database
from tests.files.backup_kit import FILES, HASHES, NOW, copied, everything, filled, members, rebuilt

Parts = dict[str, bytes | tarfile.TarInfo]

BLOB = f"blobs/{HASHES[0][:2]}/{HASHES[0][2:]}"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return filled(tmp_path_factory.mktemp("archive") / "data")


@pytest.fixture(scope="module")
def good(template: Database) -> Path:
    return make_backup(template, NOW).path


@pytest.fixture
def database(template: Database, good: Path, tmp_path: Path) -> Database:
    """Copy the database without the files of its messages, which a restore would bring back."""
    database = copied(template, tmp_path / "data")
    shutil.rmtree(database.folder / "blobs")
    return database


def verify(path: Path) -> Any:
    return verify_archive(path, threading.Event())


def refused(database: Database, archive: Path) -> BackupDamaged:
    """Restore the archive, which must be refused without any change in or next to the data folder, and return the
    error."""
    before, around = everything(database.folder), sorted(database.folder.parent.iterdir())
    with pytest.raises(BackupDamaged) as raised:
        restore(database, archive, NOW)
    assert everything(database.folder) == before
    assert sorted(database.folder.parent.iterdir()) == around
    assert not database.aside.exists()
    assert str(archive) in raised.value.what
    return raised.value


# -- members ------------------------------------------------------------------------------------------------


def with_manifest(parts: Parts, **changes: Any) -> Parts:
    """Change the manifest. `files` changes single entries; None removes an entry."""
    manifest = parts["manifest.json"]
    assert isinstance(manifest, bytes)
    data = json.loads(manifest)
    for name, entry in changes.pop("files", {}).items():
        data["files"][name] = entry
    data["files"] = {name: entry for name, entry in data["files"].items() if entry is not None}
    return {**parts, "manifest.json": json.dumps({**data, **changes}).encode()}


def named(parts: Parts, name: str, data: bytes = b"evil") -> Parts:
    """Add another member, which the manifest lists."""
    entry = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    return {**with_manifest(parts, files={name: entry}), name: data}


def link(name: str, kind: bytes, target: str = "/etc/passwd") -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.type, header.linkname = kind, target
    return header


def without(parts: Parts, name: str) -> Parts:
    return {kept: part for kept, part in parts.items() if kept != name}


OUTSIDE = [
    "../evil",
    "/tmp/evil",
    "blobs/../../evil",
    "blobs/ab/../../../evil",
    "./arvis.db",
    "arvis.db/",
    "blobs/AB/" + "a" * 62,
    "blobs/ab/" + "a" * 61,
    "blobs/ab/" + "a" * 62,
    "api-key",
    "logs/arvis.log",
    "",
    "blobs/ab/" + "a" * 62 + "\n",
    "arvis.db\0",
]

CHANGES: dict[str, Callable[[Parts], Parts]] = {
    "no manifest": lambda parts: without(parts, "manifest.json"),
    "no database": lambda parts: without(parts, "arvis.db"),
    "no database, and its manifest knows": lambda parts: without(
        with_manifest(parts, files={"arvis.db": None}), "arvis.db"
    ),
    "a blob less": lambda parts: without(parts, BLOB),
    "a blob more": lambda parts: {**parts, "blobs/00/" + "0" * 62: b""},
    "something behind it": lambda parts: {**parts, "more": b"more"},
    "another order": lambda parts: {"manifest.json": parts["manifest.json"], BLOB: parts[BLOB], **parts},
    "another blob": lambda parts: {**parts, BLOB: b"b" + FILES[0][1:]},
    "a longer blob": lambda parts: {**parts, BLOB: FILES[0] + b"!"},
    "another name for a blob": lambda parts: with_manifest(parts, files={BLOB: {"sha256": HASHES[1], "bytes": 5}}),
    "a link for a blob": lambda parts: {**parts, BLOB: link(BLOB, tarfile.SYMTYPE)},
    "a hard link for a blob": lambda parts: {**parts, BLOB: link(BLOB, tarfile.LNKTYPE, "arvis.db")},
    "a link for the database": lambda parts: {**parts, "arvis.db": link("arvis.db", tarfile.SYMTYPE)},
    "a device": lambda parts: {**parts, BLOB: link(BLOB, tarfile.CHRTYPE)},
    "a folder": lambda parts: {**parts, BLOB: link(BLOB, tarfile.DIRTYPE)},
    "a pipe": lambda parts: {**parts, BLOB: link(BLOB, tarfile.FIFOTYPE)},
    "a link for the manifest": lambda parts: {**parts, "manifest.json": link("manifest.json", tarfile.SYMTYPE)},
    "a newer format": lambda parts: with_manifest(parts, format=2),
    "no format": lambda parts: with_manifest(parts, format=None),
    "a time in words": lambda parts: with_manifest(parts, createdAt="now"),
    "a size in words": lambda parts: with_manifest(parts, files={BLOB: {"sha256": HASHES[0], "bytes": "5"}}),
    "a negative size": lambda parts: with_manifest(parts, files={BLOB: {"sha256": HASHES[0], "bytes": -5}}),
    "no size": lambda parts: with_manifest(parts, files={BLOB: {"sha256": HASHES[0]}}),
    "a manifest that is no object": lambda parts: {**parts, "manifest.json": b"[]"},
    "a manifest that is no JSON": lambda parts: {**parts, "manifest.json": b"{"},
    "a manifest that is no text": lambda parts: {**parts, "manifest.json": b"\xff\xfe\xff"},
    "a deep manifest": lambda parts: {**parts, "manifest.json": b"[" * 100_000},
    "nothing at all": lambda _: {},
    **{f"a member {name!r}": lambda parts, name=name: named(parts, name) for name in OUTSIDE},  # type: ignore[misc]
}


def test_an_archive_that_was_taken_apart_and_put_together_again_is_good(good: Path, tmp_path: Path) -> None:
    assert verify(rebuilt(tmp_path / "again.tar.gz", members(good))) == verify(good)


@pytest.mark.parametrize("change", CHANGES)
def test_an_archive_with_other_members_is_refused(database: Database, good: Path, tmp_path: Path, change: str) -> None:
    refused(database, rebuilt(tmp_path / "evil.tar.gz", CHANGES[change](dict(members(good)))))


def test_the_reason_is_told(database: Database, good: Path, tmp_path: Path) -> None:
    parts = {**members(good), BLOB: b"b" + FILES[0][1:]}
    error = refused(database, rebuilt(tmp_path / "evil.tar.gz", parts))
    assert error.why == f"the content of {BLOB} does not match the manifest"
    newer = refused(database, rebuilt(tmp_path / "newer.tar.gz", with_manifest(dict(members(good)), format=2)))
    assert newer.why == "a newer version of Arvis made it"


# -- bytes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", b"no archive", b"\x1f\x8b\x08" + bytes(100), bytes(10_000)])
def test_what_is_no_archive_is_refused(database: Database, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.tar.gz"
    file.write_bytes(content)
    refused(database, file)


def test_a_folder_and_a_name_without_a_file_are_refused(database: Database, tmp_path: Path) -> None:
    refused(database, tmp_path)
    with pytest.raises(NotFound):
        restore(database, tmp_path / "nothing", NOW)


def test_an_archive_that_was_cut_anywhere_is_refused(good: Path, tmp_path: Path) -> None:
    data, file = good.read_bytes(), tmp_path / "cut.tar.gz"
    random = Random(1)
    for length in {*range(30), *(random.randrange(len(data)) for _ in range(100)), *range(len(data) - 9, len(data))}:
        file.write_bytes(data[:length])
        with pytest.raises(BackupDamaged):
            verify(file)


def test_an_archive_with_flipped_bits_is_refused_or_says_the_same(good: Path, tmp_path: Path) -> None:
    """Some bits of the compressed data do not change the contents."""
    data, file, manifest = good.read_bytes(), tmp_path / "flipped.tar.gz", verify(good)
    random = Random(2)
    for place in {*range(40), *(random.randrange(len(data)) for _ in range(300)), *range(len(data) - 20, len(data))}:
        flipped = bytearray(data)
        flipped[place] ^= 1 << random.randrange(8)
        file.write_bytes(flipped)
        try:
            assert verify(file) == manifest
            assert gzip.decompress(flipped) == gzip.decompress(data)
        except BackupDamaged:
            continue


def test_an_unpacked_archive_with_flipped_bits_is_refused_or_says_the_same(good: Path, tmp_path: Path) -> None:
    """Compressed data has its own checksum. Without compression, the flipped bits reach the headers of the members."""
    data, file, manifest = gzip.decompress(good.read_bytes()), tmp_path / "flipped.tar.gz", verify(good)
    random = Random(3)
    for place in {*range(0, 600, 3), *(random.randrange(len(data)) for _ in range(100))}:
        flipped = bytearray(data)
        flipped[place] = random.randrange(256)
        file.write_bytes(gzip.compress(flipped, 0))
        try:
            assert verify(file).files == manifest.files
        except BackupDamaged:
            continue
