"""Free disk space: below a mark, new work is refused, and a reserved file can be deleted on a full disk.

The disk is scripted; the reserved file is real.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from arvis.domain.errors import DiskLow
from arvis.process.disk import LOOK_SECONDS, DiskSpace, DiskWatch, ReservedSpace, disk_space
from arvis.testing.clock import SteppedClock, StoppedClock

MEGABYTE = 1_000_000


@dataclass
class Disk:
    """A scripted disk. `rest` is the free space without a reserved file."""

    folder: Path
    rest: int
    total: int = 1000 * MEGABYTE

    @property
    def file(self) -> Path:
        return self.folder / "ballast"

    def space(self) -> DiskSpace:
        held = self.file.stat().st_size if self.file.exists() else 0
        return DiskSpace(free=self.rest - held, total=self.total)

    def watch(self) -> DiskWatch:
        return DiskWatch(space=self.space, ballast=ReservedSpace(self.file), clock=StoppedClock())


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path, rest=500 * MEGABYTE)


def test_the_low_water_mark_is_the_smaller_of_200_mb_and_2_percent() -> None:
    assert DiskSpace(free=0, total=1_000_000_000_000).low_water == 200_000_000
    assert DiskSpace(free=0, total=1_000_000).low_water == 20_000
    assert DiskSpace(free=19_999, total=1_000_000).is_low
    assert not DiskSpace(free=20_000, total=1_000_000).is_low


def test_the_space_of_a_real_folder_is_read(tmp_path: Path) -> None:
    space = disk_space(tmp_path)

    assert 0 <= space.free <= space.total
    assert space.total > 0


async def test_the_ballast_is_taken_at_the_start_and_its_blocks_are_real(disk: Disk) -> None:
    async with disk.watch().watching():
        held = disk.file.stat()

    assert held.st_size == 16 * MEGABYTE
    assert held.st_blocks * 512 >= held.st_size
    assert held.st_mode & 0o777 == 0o600


@pytest.mark.parametrize(("free", "held"), [(40, 10), (500, 16)])
def test_on_a_small_disk_it_is_a_quarter_of_what_is_free(disk: Disk, free: int, held: int) -> None:
    disk.rest = free * MEGABYTE

    disk.watch().look()

    assert disk.file.stat().st_size == held * MEGABYTE


def test_below_the_mark_new_work_is_refused_and_above_it_taken(disk: Disk) -> None:
    """The mark of this disk is 20 MB; the 16 MB of the reserved file do not count as free."""
    watch = disk.watch()
    watch.look()
    watch.admit()

    disk.rest = 35 * MEGABYTE
    watch.look()
    with pytest.raises(DiskLow) as refusal:
        watch.admit()
    disk.rest = 37 * MEGABYTE
    watch.look()

    watch.admit()
    assert refusal.value.why
    assert refusal.value.fix


def test_a_full_disk_gives_up_the_ballast_and_refuses_until_it_is_back(disk: Disk) -> None:
    """The reserved file must be restored in full; otherwise it would shrink with every full disk."""
    watch = disk.watch()
    watch.look()
    disk.rest = 16 * MEGABYTE

    watch.make_room()
    given_up = (watch.low, disk.file.exists())
    disk.rest = 35 * MEGABYTE
    watch.look()
    too_little = (watch.low, disk.file.exists())
    disk.rest = 37 * MEGABYTE
    watch.look()

    assert given_up == (True, False)
    assert too_little == (True, False)
    assert (watch.low, disk.file.stat().st_size) == (False, 16 * MEGABYTE)


def test_a_ballast_that_was_taken_in_need_grows_with_the_room(disk: Disk) -> None:
    disk.rest = 30 * MEGABYTE
    disk.watch().look()
    small = disk.file.stat().st_size
    watch = disk.watch()
    disk.rest = 500 * MEGABYTE
    watch.look()

    assert small < 8 * MEGABYTE
    assert disk.file.stat().st_size == 16 * MEGABYTE


def test_the_log_tells_each_change_once(disk: Disk) -> None:
    watch = disk.watch()
    with capture_logs() as lines:
        for rest in (500, 10, 9, 500, 500):
            disk.rest = rest * MEGABYTE + 16 * MEGABYTE
            watch.look()
            watch.look()
        disk.rest = 16 * MEGABYTE
        watch.make_room()
        watch.make_room()

    assert [line["event"] for line in lines] == ["disk_low", "disk_has_room", "ballast_given_up", "disk_low"]
    assert lines[0]["fix"]


async def test_a_start_on_a_full_disk_takes_the_room_of_the_ballast(disk: Disk) -> None:
    disk.watch().look()
    disk.rest = 16 * MEGABYTE + 500_000

    watch = disk.watch()
    async with watch.watching():
        assert watch.low
        assert not disk.file.exists()


async def test_a_start_on_a_full_disk_without_a_ballast_only_says_so(disk: Disk) -> None:
    disk.rest = 0
    watch = disk.watch()
    async with watch.watching():
        assert watch.low


def test_a_disk_that_fills_at_that_very_moment_holds_no_half_ballast(disk: Disk, tmp_path: Path) -> None:
    """A missing folder makes the write fail, as a full disk would."""
    disk.folder = tmp_path / "gone"
    watch = disk.watch()

    watch.look()

    assert watch.low


class CountingClock(StoppedClock):
    """A clock that lets two sleeps pass and stops at the third."""

    async def sleep(self, seconds: float) -> None:
        if len(self.slept) < 2:
            await SteppedClock.sleep(self, seconds)
        else:
            await super().sleep(seconds)


async def test_it_looks_again_every_few_seconds(disk: Disk) -> None:
    clock = CountingClock()
    watch = DiskWatch(space=disk.space, ballast=ReservedSpace(disk.file), clock=clock)
    async with watch.watching():
        disk.rest = 0
        await clock.asleep.wait()

        assert watch.low
        assert clock.slept == [LOOK_SECONDS] * 3
