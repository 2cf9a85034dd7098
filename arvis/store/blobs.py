"""Files of messages and documents. Each file is stored under the SHA-256 of its content, so the same content is stored
only once."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import io
import os
import secrets
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from arvis.domain.errors import DiskFull, StoreError
from arvis.domain.regex import regex

#: The number of bytes that are read, hashed, or written and synced in one step.
PIECE = 1 << 20

_NAME = regex(r"[0-9a-f]{64}")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_MEGABYTE = 1_000_000


class Stopped(Exception):
    """The error that ends work after the caller has set `stop`."""


def go_on(stop: threading.Event) -> None:
    """Raise `Stopped` if `stop` is set. Long work calls this function between two pieces."""
    if stop.is_set():
        raise Stopped


def private_folder(folder: Path) -> Path:
    """Create a folder that only this user can access, if it does not exist."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


class _SyncedInPieces(io.FileIO):
    """A file that is synced after each `PIECE` bytes. A sync of the database waits for the data that other files have
    written but not synced, so a large file that is synced only at its end delays the answers to all people."""

    _unsynced = 0

    def write(self, data: Any, /) -> int:
        """Write at most the bytes that are missing to a whole piece, and return their number."""
        written = super().write(memoryview(data)[: PIECE - self._unsynced])
        self._unsynced += written
        if self._unsynced >= PIECE:
            os.fsync(self.fileno())
            self._unsynced = 0
        return written


def create_private(path: Path) -> BinaryIO:
    """Create an empty file that only this user can read. Replace an existing file at this path. Do not follow links. Large
    contents are synced in pieces."""
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    return io.BufferedWriter(_SyncedInPieces(os.open(path, flags, 0o600), "wb"))


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that only this user can read, and replace an existing file at this path. The new content is on disk
    when this function returns. After a crash the file has either its old or its new content."""
    fresh = path.with_name(f"{path.name}.new")
    with create_private(fresh) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    _sync(path)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that renames inside it are on disk when this function returns."""
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path, stop: threading.Event) -> str | None:
    """Return the SHA-256 of a file, or None if the file does not exist. Raise `Stopped` if `stop` is set during the
    work."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                go_on(stop)
                digest.update(piece)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def check_room(folder: Path, needed: int, what: str) -> None:
    """Raise `DiskFull` if the disk of `folder` has less than `needed` free bytes."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        why = f"it may take {_megabytes(needed)} MB, and {folder} has {_megabytes(free)} MB left"
        raise DiskFull(f"There is not enough disk space for {what}", why=why, fix="free some space, then try again")


@contextlib.contextmanager
def disk_trouble(what: str) -> Iterator[None]:
    """Convert errors of the file system in the block to `StoreError` or `DiskFull`. `what` is the first sentence of the
    error for people, such as "The backup cannot be made"."""
    try:
        yield
    except OSError as error:
        why = f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
        if error.errno in _NO_ROOM:
            raise DiskFull(what, why=why, fix="free some space, then try again") from error
        raise StoreError(what, why=why, fix="check the permissions of this file and its folder") from error


def _megabytes(number: int) -> int:
    return -(-number // _MEGABYTE)


class Blobs:
    """A folder with files `ab/cdef…`, named by the SHA-256 of their content. A new file is on disk when `put`
    returns."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, data: bytes) -> str:
        return await asyncio.to_thread(self.keep, data)

    async def get(self, sha256: str) -> bytes | None:
        """Return the content, or None if the file does not exist."""
        return await asyncio.to_thread(self._read, sha256)

    def path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256[2:]

    def names(self) -> list[str]:
        """Return the names of all stored files, in order. Ignore other files in the folder."""
        found = (path.parent.name + path.name for path in self._folder.glob("??/*"))
        return sorted(name for name in found if _NAME.fullmatch(name))

    def replace(self, data: bytes) -> None:
        """Store the content. Replace an existing file, because its content may have changed."""
        self.path(hashlib.sha256(data).hexdigest()).unlink(missing_ok=True)
        self.keep(data)

    def delete(self, sha256: str) -> None:
        """Delete a file, if it exists, and its folder if it is empty. Unlike `put`, this method runs on the caller's
        thread."""
        path = self.path(sha256)
        with disk_trouble("A stored file cannot be deleted"):
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # the folder contains other files
                path.parent.rmdir()

    def keep(self, data: bytes) -> str:
        """Store the content and return its SHA-256. Unlike `put`, this method runs on the caller's thread."""
        name = hashlib.sha256(data).hexdigest()
        path = self.path(name)
        if path.exists():
            return name
        with disk_trouble("A file cannot be stored"):
            self._write(path, data)
        return name

    def _read(self, sha256: str) -> bytes | None:
        with disk_trouble("A stored file cannot be read"):
            try:
                return self.path(sha256).read_bytes()
            except FileNotFoundError:
                return None

    def _write(self, path: Path, data: bytes) -> None:
        private_folder(path.parent)
        part = path.with_name(f"{secrets.token_hex(8)}.part")
        try:
            with create_private(part) as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            part.unlink(missing_ok=True)  # an unfinished file would only take up space
            raise
        part.replace(path)
        sync_folder(path.parent)
        sync_folder(self._folder)
