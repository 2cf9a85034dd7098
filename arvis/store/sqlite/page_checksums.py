"""A checksum for every page of the database file, stored beside it, because SQLite does not detect a flipped byte in
a value.

In WAL mode only checkpoints write the file, and between two complete checkpoints every changed page is still in the
log. So the checksums of the last complete checkpoint and the log together cover every page at every moment. This
module must never guess: unreadable checksums count as absent.
"""

from __future__ import annotations

import struct
import sys
import zlib
from array import array
from collections.abc import Collection, Iterator
from itertools import repeat
from pathlib import Path
from typing import BinaryIO

from arvis.store.blobs import write_whole
from arvis.store.sqlite.wal import NOWHERE, Log, Mark, place_of, with_suffix

#: Page size, number of pages, salts and frames of the log up to which they are included, checksum of everything else.
_HEADER = struct.Struct("<16s2I8s2I")
_MAGIC = b"arvis page sums1"
_PAGES_AT_ONCE = 256
_LOCKS_AT = 1 << 30


class SumsDamaged(Exception):
    """The checksum file exists, but is incomplete or invalid."""


def sums_file(database: Path) -> Path:
    return with_suffix(database, "-sums")


class PageSums:
    """The checksums (CRC-32) of the pages of a file of `page_size` bytes each, when the file contained everything up
    to `folded`."""

    def __init__(self, *, page_size: int, sums: array[int], folded: Mark) -> None:
        self.page_size = page_size
        self.folded = folded
        self._sums = sums

    @property
    def pages(self) -> int:
        return len(self._sums)

    @property
    def _lock_page(self) -> int:
        """SQLite places its locks on this page, and never stores data in it."""
        return _LOCKS_AT // self.page_size + 1

    @classmethod
    def of_file(cls, file: Path, page_size: int) -> PageSums:
        """Compute the checksums of a file into which the whole log was written, and which this process does not have
        open."""
        with file.open("rb") as pages:
            sums = array("I", map(zlib.crc32, _pages(pages, page_size)))
        return cls(page_size=page_size, sums=sums, folded=NOWHERE)

    @classmethod
    def load(cls, path: Path) -> PageSums:
        """Read checksums. Raises `FileNotFoundError` or `SumsDamaged`."""
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
        """Write the checksums; the whole file is on disk when this returns."""
        body = _in_little_endian(array("I", self._sums)).tobytes()
        head = _HEADER.pack(_MAGIC, self.page_size, self.pages, self.folded.salts, self.folded.frames, 0)[:-4]
        write_whole(path, head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body)

    def fold(self, log: Log, upto: Mark) -> None:
        """Update the checksums after the log's frames up to this mark, the last one the end of a transaction, were
        written into the file. Raises `SumsDamaged` if frames are missing, or if a new page is not among them.

        The file itself is not read: closing it would release SQLite's locks on it for this whole process.
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
        """Return the pages among the first `size` that do not match. Pages in `beside` are skipped: their valid
        content is in the log; if there are any, the file may also be longer."""
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
