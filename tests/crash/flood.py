"""A small disk that fills up and is freed again, and a daemon that lives on it (reliability.md M4, R11)."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from tests.crash.cluster import Cluster
from tests.crash.daemon import Daemon, DaemonFailed
from tests.crash.injection_judge import FIX
from tests.crash.namespace import run

#: Between the smallest and the largest disk, in MB.
SIZES = (24, 64)
#: Seconds from ready, or from the last flood, to the next; and how long it lasts.
CALM = (0.2, 2.5)
LASTS = (0.5, 6.0)
#: New work is taken again so soon after there is room, in seconds.
RESUMES_WITHIN = 10.0
#: The other program goes on to take what is freed, this often (seconds).
_GREED = 0.02
_PIECE = bytes(1 << 16)


class Meanwhile(StrEnum):
    """What happens to the daemon while its disk is full."""

    NOTHING = "nothing"
    STOP = "stop"
    KILL = "kill"


@dataclass
class Gauge:
    """What the floods of a campaign were like; `resumed` in seconds, `refused_starts` of a daemon that could not open
    its database and said so."""

    floods: int = 0
    refusals: int = 0
    refused_starts: int = 0
    resumed: list[float] = field(default_factory=list)


class SmallDisk:
    """A tmpfs at `place`."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._filler = place / "filler"

    def mount(self, megabytes: int) -> None:
        """Raises `Refused`."""
        self._place.mkdir(parents=True, exist_ok=True)
        run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "arvis", str(self._place)])

    def unmount(self) -> None:
        run(["umount", str(self._place)])

    def fill(self) -> None:
        """To the last byte."""
        with self._filler.open("ab", buffering=0) as filler:
            for piece in (_PIECE, _PIECE[:4096], _PIECE[:1]):
                with suppress(OSError):
                    while filler.write(piece) == len(piece):
                        pass

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)


class SmallDiskDaemon(Daemon):
    """Its data folder lies on a tmpfs, which is copied to `kept` at the end."""

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


class Flood:
    """The ordeal: so many times the disk is full for a while, and `meanwhile` (None: anything) happens to the daemon.
    `stopped` is set when it was stopped then: what could not be written cannot be handed back either."""

    def __init__(self, *, floods: int, meanwhile: Meanwhile | None, gauge: Gauge) -> None:
        self._floods = floods
        self._meanwhile = meanwhile
        self._gauge = gauge
        self.stopped = False

    async def __call__(self, cluster: Cluster, rng: Random) -> None:
        (daemon,) = cluster.daemons
        assert isinstance(daemon, SmallDiskDaemon)
        await cluster.start()
        await cluster.ready()
        for _ in range(self._floods):
            await asyncio.sleep(rng.uniform(*CALM))
            with self._filled(daemon.disk, greedy=rng.random() < 0.5):
                await asyncio.sleep(rng.uniform(*LASTS))
                await self._suffer(daemon, self._meanwhile or rng.choice([Meanwhile.NOTHING, *Meanwhile]))
            freed = time.monotonic()
            if not daemon.alive:
                await daemon.start()
                await daemon.ready()
            await self._until_taken(cluster.addresses[daemon.name])
            self._gauge.resumed.append(time.monotonic() - freed)

    @contextmanager
    def _filled(self, disk: SmallDisk, *, greedy: bool) -> Iterator[None]:
        self._gauge.floods += 1
        disk.fill()
        greed = asyncio.create_task(_go_on_filling(disk)) if greedy else None
        try:
            yield
        finally:
            if greed is not None:
                greed.cancel()
            disk.free()

    async def _suffer(self, daemon: Daemon, meanwhile: Meanwhile) -> None:
        match meanwhile:
            case Meanwhile.NOTHING:
                return
            case Meanwhile.STOP:
                self.stopped = True
                await daemon.stop()
            case Meanwhile.KILL:
                daemon.kill()
                await daemon.dead()
        await daemon.start()
        try:
            await daemon.ready()
        except DaemonFailed as failed:
            # Where nothing at all can be written it may leave, but not without a word.
            if daemon.alive or not any(word in str(failed) for word in FIX):
                raise
            self._gauge.refused_starts += 1

    async def _until_taken(self, url: str) -> None:
        """Until the daemon says that it takes new work; `DaemonFailed` when it is too late."""
        end = time.monotonic() + RESUMES_WITHIN
        async with aiohttp.ClientSession() as session:
            while time.monotonic() < end:
                async with session.get(f"{url}/ready") as answer:
                    if answer.status == 200:
                        return
                await asyncio.sleep(0.05)
        raise DaemonFailed(f"Not ready {RESUMES_WITHIN:.0f} s after there was room again")


async def _go_on_filling(disk: SmallDisk) -> None:
    while True:
        await asyncio.sleep(_GREED)
        disk.fill()
