"""Watches the free space of the data folder. Below a limit, the low-water mark, the daemon refuses new work, because on
a full disk not even a deletion can be stored."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import DiskLow
from arvis.ports.clock import Clock

# A file that reserves space for the case of a full disk. If the disk is full, the file is removed, so that running work
# can be finished.


_BYTES = 16_000_000
#: On a small disk, the file takes at most the free space divided by this number.
_DIVISOR = 4


class ReservedSpace:
    """The file `DATA/ballast`. Its blocks are allocated, so that removing it frees real space."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._given_up = 0

    @property
    def held(self) -> int:
        """The size of the file in bytes; 0 if it does not exist."""
        try:
            return self._file.stat().st_size
        except OSError:
            return 0

    def missing(self, free: int) -> int:
        """Return the number of bytes by which the file should grow if the disk has `free` free bytes. A file that was
        removed is created again with its former size. A file that is small, because it was created while little space
        was free, grows when more space is free."""
        held = self.held
        wanted = self._given_up or min(_BYTES, (free + held) // _DIVISOR)
        return wanted - held if held < wanted // 2 else 0

    def take(self, size: int) -> None:
        """Add this number of bytes to the file. If the disk is full, restore the old size and raise `OSError`."""
        held = self.held
        descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, held + size)
        except OSError:
            os.ftruncate(descriptor, held)
            raise
        finally:
            os.close(descriptor)
        self._given_up = 0

    def give_up(self) -> int:
        """Remove the file, and return the number of bytes that this frees."""
        freed = self.held
        if freed:
            self._given_up = freed
            with contextlib.suppress(OSError):  # if not even a removal is possible, no space can be freed
                self._file.unlink()
        return freed


log = structlog.get_logger(__name__)

LOOK_SECONDS = 3.0

_MARK_BYTES = 200_000_000
_MARK_DIVISOR = 50
#: The bytes that the daemon writes at its start before it checks the disk. If fewer bytes are free, the reserved file
#: is removed first.
_START_BYTES = 1_000_000
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """The space of a disk in bytes; `free` is the space that this user can use."""

    free: int
    total: int

    @property
    def low_water(self) -> int:
        """The free space below which new work is refused: 200 MB or 2 % of the file system, whichever is smaller."""
        return min(_MARK_BYTES, self.total // _MARK_DIVISOR)

    @property
    def is_low(self) -> bool:
        return self.free < self.low_water


def disk_space(folder: Path) -> DiskSpace:
    usage = shutil.disk_usage(folder)
    return DiskSpace(free=usage.free, total=usage.total)


class DiskWatch:
    """A watch of the disk, which decides whether new work is accepted. The watch checks the disk every few seconds, and
    the store notifies the watch of a full disk. So `low` and `admit` do not check the disk. The start and the end of
    refusals are logged. `space` measures the disk that contains the reserved file."""

    def __init__(self, *, space: Callable[[], DiskSpace], ballast: ReservedSpace, clock: Clock) -> None:
        self._space = space
        self._ballast = ballast
        self._clock = clock
        self._lock = threading.Lock()
        self._low = False

    @property
    def low(self) -> bool:
        return self._low

    def admit(self) -> None:
        """Raise `DiskLow` if no new work is accepted."""
        if self._low:
            raise DiskLow(
                "The disk is almost full, so Arvis accepts no new messages.",
                why="Arvis still answers the messages that it has already accepted.",
                fix=(
                    "Free some space on the disk of the data folder. Arvis then resumes automatically. Send the "
                    "message again."
                ),
            )

    def make_room(self) -> None:
        """Remove the reserved file, because the disk is full. Any thread may call this method."""
        with self._lock:
            freed = self._ballast.give_up()
            if freed:
                log.warning("ballast_given_up", megabytes=_megabytes(freed), why="the disk is full")
            self._note(low=True, free=0)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Check the disk now, and every few seconds until the end of the block. If the disk is already full, remove the
        reserved file at once, so that the daemon can start and report it."""
        await asyncio.to_thread(self._first_look)
        looking = asyncio.create_task(self._look_again_and_again())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    def look(self) -> None:
        """Check the disk once. If there is enough space for new work and for the reserved file, restore the reserved
        file."""
        with self._lock:
            space = self._space()
            missing = self._ballast.missing(space.free)
            low = space.free - missing < space.low_water
            if missing and not low:
                low = not self._took_ballast(missing)
            self._note(low=low, free=space.free)

    def _first_look(self) -> None:
        if self._space().free < _START_BYTES:
            self.make_room()
        self.look()

    async def _look_again_and_again(self) -> None:
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            with contextlib.suppress(OSError):  # if the disk cannot be checked, the last result stays valid
                await asyncio.to_thread(self.look)

    def _took_ballast(self, size: int) -> bool:
        try:
            self._ballast.take(size)
        except OSError:
            return False
        return True

    def _note(self, *, low: bool, free: int) -> None:
        if low == self._low:
            return
        self._low = low
        if low:
            log.warning(
                "disk_low",
                free_megabytes=_megabytes(free),
                why="Arvis refuses new messages and continues running work.",
                fix="free some space on the disk of the data folder; Arvis then accepts messages again",
            )
        else:
            log.info("disk_has_room", free_megabytes=_megabytes(free))


def _megabytes(size: int) -> float:
    return round(size / _MEGABYTE, 1)
