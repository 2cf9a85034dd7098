"""Reads SQLite's write-ahead log as a file: its frames, and the number of its valid frames.

SQLite does not report a damaged frame: it uses the earlier frames and ignores the damaged frame and all later ones. So
this module reads the log itself, in the format of sqlite.org/walformat.html. It never writes to the log or to its
index.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import sqlite3
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from arvis.domain.dataclass import dataclass

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24

_HEADER = struct.Struct(">4I8s2I")
#: The fields of the first header of the log's index: flags, page size, number of frames, number of pages, a checksum of
#: frames, salts, and a checksum of the header.
_INDEX = struct.Struct("=12x2BH2I8x8s2I")
_INDEX_HEADER_BYTES = 48
_LITTLE, _BIG = 0x377F0682, 0x377F0683
_WORD = 0xFFFFFFFF

_FRAMES_AT_ONCE = 64
#: The flags for mapping the log into memory. Where the system supports it, `MAP_POPULATE` maps all pages in one call.
#: Otherwise each page would cause a page fault, and these would take longer than computing the checksums.
_MAP = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)

ByteOrder = Literal["little", "big"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in the log."""

    #: Values in the header of the log. They change whenever the log restarts from its beginning.
    salts: bytes
    #: The number of frames before the position.
    frames: int


#: The position that is used if a database has no log.
NOWHERE = Mark(bytes(8), 0)


class Frame(NamedTuple):
    """The header of one frame of the log. A frame contains a new version of a page."""

    page: int
    #: If the frame ends a transaction: the size of the database after it, in pages. Otherwise 0.
    size: int
    salts: bytes


@dataclass(frozen=True, slots=True)
class LogHeader:
    """The header of the log."""

    page_size: int
    #: The number of times that the log has restarted from its beginning since the file was created.
    restarts: int
    salts: bytes

    def is_leftover(self, frame: Frame) -> bool:
        """Return True if the frame was written before the last restart of the log. SQLite ignores such frames."""
        age = (int.from_bytes(self.salts[:4], "big") - int.from_bytes(frame.salts[:4], "big")) & _WORD
        return 1 <= age <= self.restarts and frame.salts[4:] != self.salts[4:]


class Log:
    """An open log. `header` is None if the header is damaged or incomplete. Frames are numbered from 1."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.bytes = os.fstat(descriptor).st_size
        self.header = _header_in(os.pread(descriptor, HEADER_BYTES, 0))

    def frames(self, page_size: int) -> Iterator[Frame]:
        """Yield the headers of all frames in the file, valid or not."""
        frame = struct.Struct(f">2I8s8x{page_size}x")
        last = (self.bytes - HEADER_BYTES) // frame.size
        for number in range(0, last, _FRAMES_AT_ONCE):
            length = min(_FRAMES_AT_ONCE, last - number) * frame.size
            yield from map(
                Frame._make, frame.iter_unpack(os.pread(self._descriptor, length, place_of(page_size, number)))
            )

    def size(self, page_size: int, number: int) -> int:
        """Return the size of the database in pages after frame `number`, or 0 if this frame does not end a
        transaction."""
        place = place_of(page_size, number - 1) + 4
        return int.from_bytes(os.pread(self._descriptor, 4, place), "big")

    def sums(self, page_size: int, after: int, upto: int) -> dict[int, int]:
        """Return the CRC-32 of the newest content of each page in the frames after frame `after`, up to and including
        frame `upto`. Use this only for frames that were written recently. They are mapped into memory for speed, and a
        disk error while reading mapped memory would end the process."""
        start, end = place_of(page_size, after), place_of(page_size, upto)
        stride = FRAME_HEADER_BYTES + page_size
        with (
            mmap.mmap(self._descriptor, end, flags=_MAP, prot=mmap.PROT_READ) as content,
            memoryview(content) as whole,
            whole[start:end] as frames,
        ):
            newest = {page: at for at, (page,) in enumerate(struct.iter_unpack(f">I{stride - 4}x", frames), start=1)}
            return {page: zlib.crc32(frames[at * stride - page_size : at * stride]) for page, at in newest.items()}


@contextlib.contextmanager
def open_log(path: Path) -> Iterator[Log | None]:
    """Yield the log, or None if it does not exist or is empty. Close the log after the block."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield None
        return
    try:
        log = Log(descriptor)
        yield log if log.bytes else None
    finally:
        os.close(descriptor)


def committed(index: Path) -> Mark | None:
    """Return the position of the last committed frame, which the last process stored in the log's index. Return None if
    the index is missing or invalid."""
    with contextlib.suppress(FileNotFoundError), index.open("rb") as file:
        copies = [file.read(_INDEX_HEADER_BYTES) for _ in range(2)]
        # The index has two copies of its header. If a process died while it wrote one copy, the other copy is valid.
        return next((mark for mark in map(_mark_in, copies) if mark is not None), None)
    return None


def sound_frames(log: Path, page_size: int, workshop: Path) -> int:
    """Return the number of frames of this log that SQLite would use: the valid frames from the start of the log up to
    the last frame that ends a transaction.

    To find the number, link the log to a substitute database of one page, and let SQLite recover this database as after
    a crash. `workshop` is the path of a temporary folder on the same disk; this function creates and removes it.
    """
    shutil.rmtree(workshop, ignore_errors=True)
    workshop.mkdir(mode=0o700)
    try:
        stand_in = workshop / "stand-in.db"
        with contextlib.closing(sqlite3.connect(stand_in)) as connection:
            connection.execute(f"PRAGMA page_size = {page_size}")
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
        link_or_copy(log, with_suffix(stand_in, "-wal"))
        with contextlib.closing(sqlite3.connect(f"{stand_in.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            _take_log(connection)
            found = committed(with_suffix(stand_in, "-shm"))
        return found.frames if found is not None else 0
    finally:
        shutil.rmtree(workshop)


def _take_log(connection: sqlite3.Connection) -> None:
    try:
        connection.execute("PRAGMA schema_version").fetchall()
    except sqlite3.DatabaseError as error:
        # These errors are expected, because the pages in the log do not fit the substitute database. Any other error,
        # such as a read error, is raised.
        if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise


def place_of(page_size: int, number: int) -> int:
    """Return the offset in the log at which its first `number` frames end."""
    return HEADER_BYTES + number * (FRAME_HEADER_BYTES + page_size)


def with_suffix(file: Path, suffix: str) -> Path:
    """Return the path of a file next to the database file: the name of the database file with a suffix such as
    `-wal`."""
    return file.with_name(f"{file.name}{suffix}")


def link_or_copy(source: Path, target: Path) -> None:
    """Create a hard link, or a copy if the file system does not support hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _header_in(data: bytes) -> LogHeader | None:
    if len(data) < HEADER_BYTES:
        return None
    magic, _, page_size, restarts, salts, *checksum = _HEADER.unpack(data)
    order: ByteOrder = "big" if magic == _BIG else "little"
    if magic not in {_LITTLE, _BIG} or _checksum(data[:24], order) != tuple(checksum):
        return None
    return LogHeader(page_size, restarts, salts)


def _mark_in(data: bytes) -> Mark | None:
    if len(data) < _INDEX_HEADER_BYTES:
        return None
    is_there, _, _, frames, _, salts, *checksum = _INDEX.unpack(data)
    return Mark(salts, frames) if is_there and _checksum(data[:40], sys.byteorder) == tuple(checksum) else None


def _checksum(data: bytes, order: ByteOrder) -> tuple[int, int]:
    """Compute the checksum that the format of the log defines. It is computed over pairs of 32-bit words."""
    first = second = 0
    for left, right in struct.iter_unpack("<2I" if order == "little" else ">2I", data):
        first = (first + left + second) & _WORD
        second = (second + right + first) & _WORD
    return first, second
