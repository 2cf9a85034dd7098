"""Benchmark rows about adding jobs: one at a time, many at the same time, and the time until the handler starts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from arvis.domain.jobs import Job
from arvis.store.transaction import SqlTransaction
from bench.bed import Bed, add_job, open_bed
from bench.controls import RawCommits, ThreadTrip, p50, thread_trip
from bench.report import Figure, Target
from bench.rounds import Setting, in_turn

IN_FLIGHT = 64


async def enqueue(setting: Setting) -> list[Figure]:
    """Measure jobs added per second: one at a time, and 64 at the same time."""
    return [await _alone(setting), await _together(setting)]


async def _alone(setting: Setting) -> Figure:
    work = setting.scale.work
    with setting.place.commits() as commits:
        async with open_bed(setting.place.fresh("alone")) as bed:

            async def control() -> float:
                return commits.rate(work)

            async def measure() -> float:
                return await _enqueue_rate(bed, work, in_flight=1)

            paired = await in_turn(setting.scale.rounds, control, measure)
    return Figure(
        "enqueue, 1 in flight",
        paired.value,
        "/s",
        paired.control,
        "one insert a durable commit in a plain loop",
        paired.ratio,
        Target(gate=0.3, goal=0.55, of_ratio=True),
    )


async def _together(setting: Setting) -> Figure:
    """Measure with many calls in flight. The control runs the same scripts without the store's thread, queue and
    futures."""
    work = setting.scale.work * 4
    beside = setting.place.fresh("plain")
    async with open_bed(setting.place.fresh("together")) as bed:
        with setting.place.plain(beside, bed.new_id) as (session, commit):
            tx = SqlTransaction(session)

            async def control() -> float:
                begun = time.perf_counter()
                for _ in range(0, work, IN_FLIGHT):
                    for _ in range(IN_FLIGHT):
                        add_job(tx, bed.clock.now())
                    commit()
                return work / (time.perf_counter() - begun)

            async def measure() -> float:
                return await _enqueue_rate(bed, work, in_flight=IN_FLIGHT)

            paired = await in_turn(setting.scale.rounds, control, measure)
    return Figure(
        f"enqueue, {IN_FLIGHT} in flight",
        paired.value,
        "/s",
        paired.control,
        f"the same scripts in a plain loop with a commit per {IN_FLIGHT}",
        paired.ratio,
        Target(gate=0.4, goal=0.7, of_ratio=True),
    )


async def _enqueue_rate(bed: Bed, count: int, *, in_flight: int) -> float:
    """Return jobs added per second by `in_flight` concurrent callers, each of which waits for its commit before it adds
    the next job."""

    async def caller() -> None:
        for _ in range(count // in_flight):
            await bed.store.write(add_job, bed.clock.now())

    begun = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(in_flight)))
    return count / (time.perf_counter() - begun)


async def _commit_and_trip(commits: RawCommits, trip: ThreadTrip) -> float:
    return commits.once() + await trip.once()


async def pickup(setting: Setting) -> list[Figure]:
    """Measure the time from the call that adds a job to the first line of its handler, on an idle queue (p50)."""
    with setting.place.commits() as commits, thread_trip() as trip:
        async with open_bed(setting.place.fresh("pickup")) as bed:
            starts: asyncio.Queue[float] = asyncio.Queue()

            async def on_job(_: Job) -> None:
                starts.put_nowait(time.perf_counter())

            async def one() -> float:
                begun = time.perf_counter()
                await bed.store.write(add_job, bed.clock.now())
                return await starts.get() - begun

            async def idle_p50(once: Callable[[], Awaitable[float]]) -> float:
                samples = []
                for _ in range(setting.scale.work // 10):
                    samples.append(await once())
                    # During the pause the queue becomes idle again. The control pauses too, because a processor that
                    # has slept reacts more slowly.
                    await asyncio.sleep(0.002)
                return p50(samples)

            async def control() -> float:
                return await idle_p50(partial(_commit_and_trip, commits, trip))

            async def measure() -> float:
                return await idle_p50(one)

            async with bed.queue(on_job):
                paired = await in_turn(setting.scale.rounds, control, measure)
    return [
        Figure(
            "idle enqueue → handler start, p50",
            paired.value * 1000,
            "ms",
            paired.control * 1000,
            "one insert in a durable commit + one round trip to a thread",
            paired.ratio,
            Target(gate=2.2, goal=1.4, of_ratio=True, lower=True),
        )
    ]
