"""Rows about putting work in: alone, with many others at once, and until its handler starts."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from functools import partial

from arvis.domain.jobs import Job
from arvis.store.session import SqliteDialect, load_queries
from arvis.store.sqlite_session import SqliteSession, connect
from arvis.store.transaction import SqlTransaction
from bench.bed import Bed, add_job, open_bed
from bench.controls import RawCommits, ThreadTrip, p50, raw_commits, thread_trip
from bench.report import Figure, Target
from bench.rounds import Setting, in_turn

IN_FLIGHT = 64


async def enqueue(setting: Setting) -> list[Figure]:
    """Jobs added a second: one at a time, and 64 at once."""
    return [await _alone(setting), await _together(setting)]


async def _alone(setting: Setting) -> Figure:
    work = setting.scale.work
    with raw_commits(setting.folder) as raw:
        async with open_bed(setting.folder / "alone") as bed:

            async def control() -> float:
                return raw.rate(work)

            async def measure() -> float:
                return await _enqueue_rate(bed, work, in_flight=1)

            paired = await in_turn(setting.scale.rounds, control, measure)
    return Figure(
        "enqueue, 1 in flight",
        paired.value,
        "/s",
        paired.control,
        "one insert a FULL commit in a plain loop",
        paired.ratio,
        Target(gate=0.3, goal=0.55, of_ratio=True),
    )


async def _together(setting: Setting) -> Figure:
    work = setting.scale.work * 4
    async with open_bed(setting.folder / "together") as bed, open_bed(setting.folder / "plain"):
        with closing(connect(setting.folder / "plain" / "arvis.db", writing=True)) as connection:
            plain = _PlainLoop(connection, bed)

            async def control() -> float:
                return plain.rate(work)

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


class _PlainLoop:
    """The scripts of the store without its thread, queue and futures."""

    def __init__(self, connection: sqlite3.Connection, bed: Bed) -> None:
        self._connection = connection
        self._clock = bed.clock
        queries = load_queries(SqliteDialect())
        self._tx = SqlTransaction(SqliteSession(connection=connection, queries=queries, new_id=bed.new_id))

    def rate(self, count: int) -> float:
        begun = time.perf_counter()
        for _ in range(0, count, IN_FLIGHT):
            self._connection.execute("BEGIN IMMEDIATE")
            for _ in range(IN_FLIGHT):
                add_job(self._tx, self._clock.now())
            self._connection.execute("COMMIT")
        # Where the store does it, too: between groups.
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return count / (time.perf_counter() - begun)


async def _enqueue_rate(bed: Bed, count: int, *, in_flight: int) -> float:
    """`in_flight` callers, each of which waits for its commit before the next."""

    async def caller() -> None:
        for _ in range(count // in_flight):
            await bed.store.write(add_job, bed.clock.now())

    begun = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(in_flight)))
    return count / (time.perf_counter() - begun)


async def raw_and_trip(raw: RawCommits, trip: ThreadTrip) -> float:
    return raw.once() + await trip.once()


async def pickup(setting: Setting) -> list[Figure]:
    """From the call that adds a job to the first line of its handler, on an idle queue (p50)."""
    with raw_commits(setting.folder) as raw, thread_trip() as trip:
        async with open_bed(setting.folder / "pickup") as bed:
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
                    # Idle again, the control as well: a processor that slept wakes slowly for both.
                    await asyncio.sleep(0.002)
                return p50(samples)

            async def control() -> float:
                return await idle_p50(partial(raw_and_trip, raw, trip))

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
            "one insert in a FULL commit + one round trip to a thread",
            paired.ratio,
            Target(gate=2.2, goal=1.4, of_ratio=True, lower=True),
        )
    ]
