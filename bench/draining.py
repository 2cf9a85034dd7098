"""Benchmark rows about processing jobs: the speed, the cost of a large queue or a long history, and the order inside
lanes."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from arvis.domain.jobs import Job
from bench.bed import WORKERS, Bed, add_in_lanes, open_bed
from bench.filling import fill
from bench.order import Stay, disorder
from bench.report import Figure, Target
from bench.rounds import Paired, Setting, in_turn

#: The number of jobs in each lane, in the rows about order.
EACH = 10
PRODUCERS = 4
MANY_WORKERS = 32
#: The number of waiting jobs in the control of the rows about depth.
SHALLOW = 1_000
#: The possible durations of a job in the rows about order, in seconds.
LENGTHS = (0, 0, 0.001)

NOTHING = Target(gate=0, goal=0, lower=True)


async def drain(setting: Setting) -> list[Figure]:
    """Measure no-op jobs per second, each claimed and settled separately. To reach the maximum of the queue, there are
    more workers than a daemon uses for model calls. The processor time shows the cost that would remain on a disk
    without delay."""
    work = setting.scale.work
    used = _Used(work)
    with setting.place.commits() as commits:
        async with open_bed(setting.place.fresh("drain")) as bed:

            async def control() -> float:
                with used.by(used.controls):
                    return commits.rate(work)

            async def measure() -> float:
                await bed.add(work)
                with used.by(used.values):
                    return await bed.drain(work - 10, workers=MANY_WORKERS)

            paired = await in_turn(setting.scale.rounds, control, measure)
    against = "one insert a durable commit in a plain loop"
    name, target = f"drain of no-op jobs, {MANY_WORKERS} workers", Target(gate=2, goal=5, of_ratio=True)
    value, control_value = median(used.values[1:]), median(used.controls[1:])
    return [
        Figure(name, paired.value, "/s", paired.control, against, paired.ratio, target),
        Figure(f"{name}, CPU", value, "µs/job", control_value, against, value / control_value),
    ]


class _Used:
    """The processor time of this process, in microseconds for each of `work` operations, by round."""

    def __init__(self, work: int) -> None:
        self._work = work
        self.values: list[float] = []
        self.controls: list[float] = []

    @contextmanager
    def by(self, rounds: list[float]) -> Iterator[None]:
        before = time.process_time()
        yield
        rounds.append((time.process_time() - before) / self._work * 1e6)


async def depth(setting: Setting) -> list[Figure]:
    """Measure how a million waiting jobs, or a million finished ones, slow down the queue; the control is a small
    queue."""
    jobs = setting.scale.depth
    waiting = await _beside_small(setting, "pending", finished=False)
    history = await _beside_small(setting, "finished", finished=True)
    return [
        Figure(name, paired.value, "/s", paired.control, against, paired.ratio, Target(0.7, 0.95, of_ratio=True))
        for name, against, paired in (
            (f"drain at {jobs:,} pending", f"drain at {SHALLOW:,} pending", waiting),
            (f"drain with {jobs:,} finished kept", "drain without", history),
        )
    ]


async def _beside_small(setting: Setting, name: str, *, finished: bool) -> Paired:
    large = setting.place.fresh(name)
    fill(large, setting.scale.depth, finished=finished)
    async with open_bed(setting.place.fresh(f"without-{name}")) as small_bed, open_bed(large) as large_bed:

        async def control() -> float:
            return await _drain_all(small_bed, SHALLOW)

        async def measure() -> float:
            return await _drain_all(large_bed, SHALLOW)

        return await in_turn(setting.scale.rounds, control, measure)


async def _drain_all(bed: Bed, count: int, *, workers: int = WORKERS) -> float:
    """Add `count` jobs, then run almost as many, and return jobs per second. Thus the queue has about the same depth in
    each round."""
    await bed.add(count)
    return await bed.drain(count - 10, workers=workers)


async def lanes(setting: Setting) -> list[Figure]:
    """Run 200 lanes × 10 jobs from four producers. Count how often two jobs of a lane ran at the same time, and how
    often a later job began first."""
    watch = _Watch(expected=setting.scale.lanes * EACH)
    async with open_bed(setting.place.fresh("lanes")) as bed, bed.queue(watch.see):
        await produce(bed, setting.scale.lanes)
        await watch.complete.wait()
    return order_figures(disorder(watch.stays), setting.scale.lanes)


async def produce(bed: Bed, lanes: int) -> None:
    """Add the jobs of all lanes with several concurrent producers. The jobs of a lane are added one after the other."""
    names = [f"lane-{number}" for number in range(lanes)]

    async def hand(mine: list[str]) -> None:
        for number in range(EACH):
            await bed.store.write(add_in_lanes, mine, number, bed.clock.now())

    await asyncio.gather(*(hand(names[start::PRODUCERS]) for start in range(PRODUCERS)))


def order_figures(found: tuple[int, int], lanes: int, who: str = "") -> list[Figure]:
    return [
        Figure(f"{what} in {lanes} lanes × {EACH}{who}", count, "", target=NOTHING)
        for what, count in zip(("overlaps", "inversions"), found, strict=True)
    ]


class _Watch:
    """A handler that runs jobs of varying length and records their times."""

    def __init__(self, *, expected: int) -> None:
        self._expected = expected
        self._random = random.Random(1)
        self.stays: list[Stay] = []
        self.complete = asyncio.Event()

    async def see(self, job: Job) -> None:
        begun = time.monotonic_ns()
        await asyncio.sleep(self._random.choice(LENGTHS))
        self.stays.append(Stay(job.lane, job.payload["number"], begun, time.monotonic_ns()))
        if len(self.stays) == self._expected:
            self.complete.set()
