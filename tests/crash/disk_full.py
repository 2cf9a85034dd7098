"""Fill the daemon's disk under load and free it again.

Each run has its own small disk, which another program fills completely, twice. Meanwhile the daemon runs on, or is
stopped or killed and started again. Users and rules are those of the chats. In addition, refusals must name the reason
and the fix, no traceback is logged, and the daemon must accept new work within 10 seconds after the disk has room
again. The campaign needs a mount namespace.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from tests.crash import chat_episode
from tests.crash.builds import copied
from tests.crash.campaign import play_all, seeds_of
from tests.crash.chat_episode import ChatPlan
from tests.crash.cluster import Cluster
from tests.crash.daemon import Daemon, DaemonFailed
from tests.crash.injection import FIX, tracebacks
from tests.crash.namespace import enter, run
from tests.crash.report import Report, report_of, totals
from tests.crash.rows import offending

#: Smallest and largest size of the disk (MB).
SIZES = (24, 64)
#: Seconds from ready or from the last flood to the next one, and the length of a flood.
BETWEEN = (0.2, 2.5)
LASTS = (0.5, 6.0)
#: The daemon accepts new work within this time after the disk has room again (seconds).
RESUMES_WITHIN = 10.0
#: Interval at which the other program fills space that has become free (seconds).
_REFILL = 0.02
_PIECE = bytes(1 << 16)


class Meanwhile(StrEnum):
    """The treatment of the daemon while its disk is full."""

    NOTHING = "nothing"
    STOP = "stop"
    KILL = "kill"


@dataclass
class Gauge:
    """The figures of a campaign's floods."""

    floods: int = 0
    #: Starts at which the daemon reported that it could not open its database.
    refused_starts: int = 0
    #: Seconds from each end of a flood until the daemon accepted new work.
    resumed: list[float] = field(default_factory=list)


class SmallDisk:
    """A tmpfs mounted at `place`."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._filler = place / "filler"

    def mount(self, megabytes: int) -> None:
        """Mount the disk. Raise `Refused` if the machine does not allow it."""
        self._place.mkdir(parents=True, exist_ok=True)
        run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "arvis", str(self._place)])

    def unmount(self) -> None:
        run(["umount", str(self._place)])

    def fill(self) -> None:
        """Fill the disk to the last byte."""
        with self._filler.open("ab", buffering=0) as filler:
            for piece in (_PIECE, _PIECE[:4096], _PIECE[:1]):
                with suppress(OSError):
                    while filler.write(piece) == len(piece):
                        pass

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)


class SmallDiskDaemon(Daemon):
    """A daemon whose data folder is on a tmpfs, which is copied to `kept` at the end."""

    def __init__(self, *, folder: Path, megabytes: int, **others: Any) -> None:
        super().__init__(folder=folder, **others)
        self._data = folder / "data"
        self._kept = folder / "kept"
        self.disk = SmallDisk(self._data)
        self.disk.mount(megabytes)

    async def close(self) -> None:
        await super().close()
        self.disk.free()
        shutil.copytree(self._data, self._kept)
        self.disk.unmount()


class FillDisk:
    """The scenario of an episode with a disk that fills up `floods` times.

    While the disk is full, `meanwhile` (None: a random event) happens to the daemon. A daemon that is stopped then
    cannot write, so it cannot hand its jobs back.
    """

    def __init__(self, *, floods: int, meanwhile: Meanwhile | None, gauge: Gauge) -> None:
        self._floods = floods
        self._meanwhile = meanwhile
        self._gauge = gauge
        self._stopped = False

    async def __call__(self, cluster: Cluster, rng: Random) -> bool:
        """Play all floods. Return whether the daemon was stopped during one."""
        (daemon,) = cluster.daemons
        assert isinstance(daemon, SmallDiskDaemon)
        await cluster.start()
        await cluster.ready()
        for _ in range(self._floods):
            await asyncio.sleep(rng.uniform(*BETWEEN))
            with self._filled(daemon.disk, refill=rng.random() < 0.5):
                await asyncio.sleep(rng.uniform(*LASTS))
                await self._disturb(daemon, self._meanwhile or rng.choice([Meanwhile.NOTHING, *Meanwhile]))
            freed = time.monotonic()
            if not daemon.alive:
                await daemon.start()
                await daemon.ready()
            await self._until_taken(cluster.addresses[daemon.name])
            self._gauge.resumed.append(time.monotonic() - freed)
        return self._stopped

    @contextmanager
    def _filled(self, disk: SmallDisk, *, refill: bool) -> Iterator[None]:
        self._gauge.floods += 1
        disk.fill()
        refilling = asyncio.create_task(_refill(disk)) if refill else None
        try:
            yield
        finally:
            if refilling is not None:
                refilling.cancel()
            disk.free()

    async def _disturb(self, daemon: Daemon, meanwhile: Meanwhile) -> None:
        match meanwhile:
            case Meanwhile.NOTHING:
                return
            case Meanwhile.STOP:
                self._stopped = True
                await daemon.stop()
            case Meanwhile.KILL:
                daemon.kill()
                await daemon.killed()
        await daemon.start()
        try:
            await daemon.ready()
        except DaemonFailed as failed:
            # If it cannot write anything, the daemon may exit, but it must log the reason.
            if daemon.alive or not any(word in str(failed) for word in FIX):
                raise
            self._gauge.refused_starts += 1

    async def _until_taken(self, url: str) -> None:
        """Wait until the daemon accepts new work. Raise `DaemonFailed` if this takes longer than `RESUMES_WITHIN`."""
        end = time.monotonic() + RESUMES_WITHIN
        async with aiohttp.ClientSession() as session:
            while time.monotonic() < end:
                async with session.get(f"{url}/ready") as answer:
                    if answer.status == 200:
                        return
                await asyncio.sleep(0.05)
        raise DaemonFailed(f"Not ready {RESUMES_WITHIN:.0f} s after there was room again")


async def _refill(disk: SmallDisk) -> None:
    while True:
        await asyncio.sleep(_REFILL)
        disk.fill()


#: The expected refusals over HTTP and over a socket while the disk is full: they have a code and a fix.
_EXPECTED = re.compile(
    r"""answered 503: .*"(disk_low|disk_full)".*"fix"|received an error: .*'(disk_low|disk_full)'.*'fix'"""
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--floods", type=int, default=2, help="times that the disk fills up in each run (default 2)")
    parser.add_argument(
        "--meanwhile",
        type=Meanwhile,
        choices=list(Meanwhile),
        help="event while the disk is full (default: a random one)",
    )


def play(options: argparse.Namespace) -> Report:
    enter(options.seed)
    try_a_disk()
    gauge = Gauge()
    with copied() as code:
        plans = [
            ChatPlan(
                seed=seed,
                code=code,
                daemon=partial(SmallDiskDaemon, megabytes=Random(seed).randint(*SIZES)),
                scenario=FillDisk(floods=options.floods, meanwhile=options.meanwhile, gauge=gauge),
                inspect=inspected,
                allowed=is_expected,
            )
            for seed in seeds_of(options.seed, options.runs)
        ]
        results = asyncio.run(play_all(map(chat_episode.play, plans)))
    figures = {
        "runs": len(results),
        "floods": gauge.floods,
        "refusedStarts": gauge.refused_starts,
        "worstResumptionSeconds": round(max(gauge.resumed, default=0.0), 2),
        **totals(results),
    }
    return report_of(figures, results)


def inspected(data: Path, database: str | None, *, undisturbed: bool) -> dict[str, list[str]]:
    """Return the rows that break a rule, and the tracebacks in the daemon's log."""
    found, logged = offending(data, database, undisturbed=undisturbed), tracebacks(data.with_name("daemon.log"))
    return found | ({"no traceback is logged": logged} if logged else {})


def is_expected(problem: str) -> bool:
    return _EXPECTED.search(problem) is not None


def try_a_disk() -> None:
    """Mount a disk and unmount it. Raise `Refused` if the machine does not allow it."""
    with tempfile.TemporaryDirectory(prefix="arvis-full-") as name:
        disk = SmallDisk(Path(name) / "data")
        disk.mount(1)
        disk.unmount()
