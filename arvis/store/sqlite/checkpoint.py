"""Checkpoints, which write the write-ahead log into the database file, and the checksums of the file's pages. The
checksums are in a separate file. They are needed because SQLite does not detect a flipped byte in a value.

In WAL mode only checkpoints write the database file, and pages that changed since the last complete checkpoint are in
the log. So the checksums of the last complete checkpoint, together with the log, cover every page at every moment. New
checksums are on disk before any other write, because that write could restart the log from its beginning. All code that
opens the database for writing must close it through this module. Unreadable checksums count as missing.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import sys
import zlib
from array import array
from collections.abc import Collection, Iterator
from itertools import repeat
from pathlib import Path
from typing import BinaryIO

import structlog

from arvis.store.blobs import sync_folder, write_whole
from arvis.store.sqlite.errors import is_fatal
from arvis.store.sqlite.session import connect
from arvis.store.sqlite.wal import NOWHERE, Log, Mark, open_log, place_of, with_suffix

#: The header of the checksum file: magic bytes, page size, number of pages, the position in the log (salts and number
#: of frames), and a checksum of all other bytes of this file.
_HEADER = struct.Struct("<16s2I8s2I")
_MAGIC = b"arvis page sums1"
_PAGES_AT_ONCE = 256
_LOCKS_AT = 1 << 30


class SumsDamaged(Exception):
    """The error for a checksum file that is incomplete or invalid."""


def sums_file(database: Path) -> Path:
    return with_suffix(database, "-sums")


class PageSums:
    """The checksums (CRC-32) of the pages of the database file. A page has `page_size` bytes. `folded` is a position in
    the log: all frames up to it were written into the file."""

    def __init__(self, *, page_size: int, sums: array[int], folded: Mark) -> None:
        self.page_size = page_size
        self.folded = folded
        self._sums = sums

    @property
    def pages(self) -> int:
        return len(self._sums)

    @property
    def _lock_page(self) -> int:
        """The page on which SQLite places its locks. SQLite never stores data in it."""
        return _LOCKS_AT // self.page_size + 1

    @classmethod
    def of_file(cls, file: Path, page_size: int) -> PageSums:
        """Compute the checksums of a database file whose log is empty. This process must not have the database open."""
        with file.open("rb") as pages:
            sums = array("I", map(zlib.crc32, _pages(pages, page_size)))
        return cls(page_size=page_size, sums=sums, folded=NOWHERE)

    @classmethod
    def load(cls, path: Path) -> PageSums:
        """Read the checksums from a file. Raise `FileNotFoundError` or `SumsDamaged` if this is impossible."""
        data = path.read_bytes()
        try:
            magic, page_size, pages, salts, frames, total = _HEADER.unpack_from(data)
        except struct.error as error:
            raise SumsDamaged from error
        head, body = data[: _HEADER.size - 4], data[_HEADER.size :]
        if magic != _MAGIC or len(body) != 4 * pages or zlib.crc32(body, zlib.crc32(head)) != total:
            raise SumsDamaged
        return cls(page_size=page_size, sums=_in_little_endian(array("I", body)), folded=Mark(salts, frames))

    def save(self, path: Path) -> None:
        """Write the checksums to a file. The file is on disk when this function returns."""
        body = _in_little_endian(array("I", self._sums)).tobytes()
        head = _HEADER.pack(_MAGIC, self.page_size, self.pages, self.folded.salts, self.folded.frames, 0)[:-4]
        write_whole(path, head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body)

    def fold(self, log: Log, upto: Mark) -> None:
        """Update the checksums after a checkpoint. `upto` is the position of the last frame that was written into the
        database file; this frame must end a transaction. Raise `SumsDamaged` if the log lacks frames, or if its frames
        lack a page by which the file grew.

        This function does not read the database file, because closing the file would release the locks that SQLite
        holds on it for the whole process.
        """
        after = self.folded.frames if self.folded.salts == upto.salts else 0
        if log.bytes < place_of(self.page_size, upto.frames):
            raise SumsDamaged
        newest = log.sums(self.page_size, after, upto.frames)
        size = log.size(self.page_size, upto.frames)
        if any(page not in newest and page != self._lock_page for page in range(self.pages + 1, size + 1)):
            raise SumsDamaged
        del self._sums[size:]
        self._sums.extend(repeat(0, size - self.pages))
        for page, newer in newest.items():
            if page <= size:
                self._sums[page - 1] = newer
        self.folded = upto

    def differing(self, file: Path, *, size: int, beside: Collection[int]) -> list[int]:
        """Return the numbers of damaged pages. Among the first `size` pages, these are the pages that do not match
        their checksum or are missing. Pages in `beside` are skipped, because their valid content is in the log. If
        `beside` is empty, pages after the first `size` count as damaged, too."""
        with file.open("rb") as pages:
            found = array("I", map(zlib.crc32, _pages(pages, self.page_size)))
        passed = {*beside, self._lock_page}
        both = min(size, len(found), self.pages)
        changed = [
            page for page in range(1, both + 1) if found[page - 1] != self._sums[page - 1] and page not in passed
        ]
        missing = [page for page in range(both + 1, size + 1) if page not in passed]
        surplus = [] if beside else range(size + 1, len(found) + 1)
        return [*changed, *missing, *surplus]


def _pages(file: BinaryIO, page_size: int) -> Iterator[memoryview]:
    while piece := memoryview(file.read(_PAGES_AT_ONCE * page_size)):
        for start in range(0, len(piece), page_size):
            yield piece[start : start + page_size]


def _in_little_endian(sums: array[int]) -> array[int]:
    if sys.byteorder == "big":
        sums.byteswap()
    return sums


log = structlog.get_logger(__name__)


@contextlib.contextmanager
def sealed(file: Path) -> Iterator[sqlite3.Connection]:
    """Yield a writing connection to a database that no other process has open. After the block, the checksums match the
    database file."""
    with contextlib.closing(connect(file, writing=True)) as connection:
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        sealing = Sealing(connection=connection, file=file)
        sealing.fold("FULL")
        try:
            yield connection
        finally:
            sealing.close()
    left = log_file(file)
    if not sealing.is_sealed and (not left.exists() or not left.stat().st_size):
        _save(PageSums.of_file(file, page_size), file)


def log_file(database: Path) -> Path:
    return with_suffix(database, "-wal")


def kept_log(database: Path) -> Path:
    """Return the path of the log's second name, a hard link. If another program opens and closes the database after a
    crash, even only to read it, that program deletes the log under its first name. This link keeps the content."""
    return with_suffix(database, "-kept")


class Sealing:
    """Runs the checkpoints of one connection in WAL mode and updates the checksums. No other connection may write at
    the same time."""

    def __init__(self, *, connection: sqlite3.Connection, file: Path) -> None:
        self._connection = connection
        self._file = file
        self._opened = _identity(file)
        self._sums: PageSums | None = None
        with contextlib.suppress(FileNotFoundError, SumsDamaged):
            self._sums = PageSums.load(sums_file(file))
        _keep(log_file(file), kept_log(file))

    @property
    def is_sealed(self) -> bool:
        """True if there are checksums, which each checkpoint updates."""
        return self._sums is not None

    def fold(self, mode: str = "PASSIVE") -> bool:
        """Write the log into the database file. Return True if all frames were written. Frames that were not written
        stay in the log."""
        if _identity(self._file) != self._opened:
            # The folder was moved, so the checksums could not be saved next to the database. Without a checkpoint
            # nothing is lost, because the log keeps its content.
            return False
        frames = self._checkpoint(mode)
        if frames and self._sums is not None:
            self._seal(self._sums, frames)
        return frames is not None

    def empty_log(self) -> bool:
        """Write the log into the database file, and truncate the log, so that it contains no deleted texts. Return
        False if another reader still needs the log."""
        if not self.fold("FULL"):
            return False
        return self._checkpoint("TRUNCATE") is not None

    def close(self) -> None:
        """Write the remaining log into the database file, and close the connection. If the write fails, SQLite tries
        again when it closes the connection, but does not report the result. In this case the next start checks the log
        under its second name."""
        if self.fold("FULL"):
            self._checkpoint("TRUNCATE")
            self._connection.close()
            if not log_file(self._file).exists():
                kept_log(self._file).unlink(missing_ok=True)
            return
        if not kept_log(self._file).exists():
            _forget(self._file, "the last checkpoint could not be made")
        self._connection.close()

    def _checkpoint(self, mode: str) -> int | None:
        """Run a checkpoint. Return the number of frames in the log if all of them were written into the file, else
        None."""
        try:
            [(busy, frames, folded)] = self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        except sqlite3.Error as error:
            if is_fatal(error):
                raise
            return None
        return None if busy or frames != folded else int(frames)

    def _seal(self, sums: PageSums, frames: int) -> None:
        """Update and save the checksums after the first `frames` frames of the log were written into the file."""
        try:
            is_news = self._take(sums, frames)
        except SumsDamaged:
            self._sums = None
            _forget(self._file, "the log cannot be read")
        else:
            if is_news:
                _save(sums, self._file)

    def _take(self, sums: PageSums, frames: int) -> bool:
        """Update the checksums with the log's first `frames` frames. Return False if the checksums already include
        these frames. Raise `SumsDamaged` if the log lacks one of them."""
        with open_log(log_file(self._file)) as found:
            if found is None or found.header is None:
                raise SumsDamaged
            upto = Mark(found.header.salts, frames)
            if upto == sums.folded:
                return False
            sums.fold(found, upto)
            return True


def _save(sums: PageSums, file: Path) -> None:
    """Save the checksums. If they cannot be saved, delete the file with the old checksums. The new checksums stay in
    memory, and the next checkpoint tries to save them again."""
    try:
        sums.save(sums_file(file))
    except OSError as error:
        _forget(file, str(error))


def _forget(file: Path, why: str) -> None:
    """Delete the checksum file, because outdated checksums would report undamaged pages as damaged. The next start
    computes new checksums."""
    log.warning(
        "page_sums_lost",
        why=why,
        fix="you need not do anything: the next start checks the database and computes new checksums",
    )
    sums_file(file).unlink(missing_ok=True)
    sync_folder(file.parent)


def _identity(file: Path) -> tuple[int, int] | None:
    """Return the device and inode of the file at this path, or None if they cannot be read."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _keep(log: Path, kept: Path) -> None:
    with contextlib.suppress(OSError):  # not every file system supports hard links
        if kept.exists() and log.samefile(kept):
            return
        kept.unlink(missing_ok=True)
        os.link(log, kept)
