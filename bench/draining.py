"""Rows about working off: the speed, what a large queue or a long history costs, and the order inside lanes."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import defaultdict
from contextlib import AsyncExitStack, closing
from pathlib import Path

from arvis.domain.jobs import Job
from bench.bed import WORKERS, Bed, add_in_lanes, open_bed
from bench.controls import raw_commits
from bench.report import Figure, Target
from bench.rounds import Paired, Setting, in_turn

LANES, EACH = 200, 10
PRODUCERS = 4
MANY_WORKERS = 32
#: Jobs that wait in the control of the rows about depth.
SHALLOW = 1_000


async def drain(setting: Setting) -> list[Figure]:
    """No-op jobs a second, claimed and settled one by one: what the queue can do, so by more workers than a model
    would be asked by at once."""
    work = setting.scale.work
    with raw_commits(setting.folder) as raw:
        async with open_bed(setting.folder / "drain") as bed:

            async def control() -> float:
                return raw.rate(work)

            async def measure() -> float:
                return await _drain_all(bed, work, workers=MANY_WORKERS)

            paired = await in_turn(setting.scale.rounds, control, measure)
    return [
        Figure(
            f"drain of no-op jobs, {MANY_WORKERS} workers",
            paired.value,
            "/s",
            paired.control,
            "one insert a FULL commit in a plain loop",
            paired.ratio,
            Target(gate=2, goal=5, of_ratio=True),
        )
    ]


async def depth(setting: Setting) -> list[Figure]:
    """What a million waiting jobs, or a million finished ones, cost the drain: ÷ a small queue beside it."""
    jobs = setting.scale.depth
    async with AsyncExitStack() as stack:
        small = await stack.enter_async_context(open_bed(setting.folder / "small"))
        large = await stack.enter_async_context(open_bed(setting.folder / "large"))
        await large.add(jobs)
        waiting = await _compare(setting, small, large)
    finished = setting.folder / "finished"
    async with open_bed(finished) as kept:
        await kept.add(jobs)
    _finish_all(finished)
    async with AsyncExitStack() as stack:
        small = await stack.enter_async_context(open_bed(setting.folder / "without"))
        kept = await stack.enter_async_context(open_bed(finished))
        history = await _compare(setting, small, kept)
    return [
        Figure(name, paired.value, "/s", paired.control, against, paired.ratio, Target(0.7, 0.95, of_ratio=True))
        for name, against, paired in (
            (f"drain at {jobs:,} pending", f"drain at {SHALLOW:,} pending", waiting),
            (f"drain with {jobs:,} finished kept", "drain without", history),
        )
    ]


async def _compare(setting: Setting, small: Bed, large: Bed) -> Paired:
    async def control() -> float:
        return await _drain_all(small, SHALLOW)

    async def measure() -> float:
        return await _drain_all(large, SHALLOW)

    return await in_turn(setting.scale.rounds, control, measure)


async def _drain_all(bed: Bed, count: int, *, workers: int = WORKERS) -> float:
    """Put in as many as are taken out, so that each round finds the same depth."""
    await bed.add(count)
    return await bed.drain(count - 10, workers=workers)


def _finish_all(folder: Path) -> None:
    """End every job as the last statement of its settlement would; one by one it would take an hour."""
    with closing(sqlite3.connect(folder / "arvis.db")) as connection:
        connection.execute("UPDATE jobs SET status = 'done', ready = 0, finished_at = run_at")
        connection.execute("DELETE FROM lanes")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


async def lanes(setting: Setting) -> list[Figure]:
    """200 lanes × 10 jobs from four producers: how often two jobs of a lane ran at once, or a later one first."""
    watch = _Watch(expected=LANES * EACH)
    async with open_bed(setting.folder / "lanes") as bed, bed.queue(watch.see):
        names = [f"lane-{number}" for number in range(LANES)]
        await asyncio.gather(*(_produce(bed, names[start::PRODUCERS]) for start in range(PRODUCERS)))
        await watch.complete.wait()
    nothing = Target(gate=0, goal=0, lower=True)
    return [
        Figure(f"overlaps in {LANES} lanes × {EACH}", watch.overlaps, "", target=nothing),
        Figure(f"inversions in {LANES} lanes × {EACH}", watch.inversions, "", target=nothing),
    ]


async def _produce(bed: Bed, names: list[str]) -> None:
    for number in range(EACH):
        await bed.store.write(add_in_lanes, names, number, bed.clock.now())


class _Watch:
    """Runs jobs of varying length and notes what must never happen."""

    def __init__(self, *, expected: int) -> None:
        self._expected = expected
        self._running: set[str] = set()
        self._newest: dict[str, int] = defaultdict(lambda: -1)
        self._seen = 0
        self._random = random.Random(1)
        self.overlaps = 0
        self.inversions = 0
        self.complete = asyncio.Event()

    async def see(self, job: Job) -> None:
        self.overlaps += job.lane in self._running
        self.inversions += job.payload["number"] <= self._newest[job.lane]
        self._running.add(job.lane)
        self._newest[job.lane] = job.payload["number"]
        await asyncio.sleep(self._random.choice((0, 0, 0.001)))
        self._running.discard(job.lane)
        self._seen += 1
        if self._seen == self._expected:
            self.complete.set()
