"""Several processes on one PostgreSQL: each job runs once, each lane in order, and the processes wake each other.

Each "process" is a separate store and queue with its own boot id; they share only the server.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from arvis.domain.jobs import Job, JobResult, JobStatus
from arvis.ports.store import Store, Transaction
from arvis.process.clock import SystemClock
from arvis.queue.queue import LOOK_SECONDS, Queue
from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.conformance.queue_kit import (
    PATIENCE,
    CountingStore,
    ToldHandler,
    ended,
    make_queue,
    message,
    nothing_expires,
    running,
    until,
)

JOBS = 2_000
LANES = 100

#: Seconds until a started process listens for notices; no event signals it.
LISTENING = 0.3


class Processes:
    """A factory of processes on one database; `ran` lists their jobs in the order in which they ran."""

    def __init__(self, database: Database, stack: AsyncExitStack) -> None:
        self._database = database
        self._stack = stack
        self.clock = SystemClock()
        self.stores: list[CountingStore] = []
        self.ran: list[str] = []
        self.lanes: dict[str, list[int]] = defaultdict(list)
        self._busy: set[str] = set()
        self.overlaps = 0

    async def work(self, job: Job) -> JobResult | None:
        self.overlaps += job.lane in self._busy
        self._busy.add(job.lane)
        await asyncio.sleep(0)
        self._busy.discard(job.lane)
        self.ran.append(job.id)
        self.lanes[job.lane].append(job.payload.get("number", 0))
        return None

    async def open(self, boot: str) -> CountingStore:
        store = CountingStore(await self._stack.enter_async_context(opened(self._database, boot)))
        self.stores.append(store)
        return store

    async def start(
        self, boot: str, node: str, expire: Callable[[Transaction, int], None] = nothing_expires
    ) -> tuple[CountingStore, Queue]:
        store = await self.open(boot)
        handler = ToldHandler(store, self.clock, self.work)
        queue = make_queue(store, self.clock, handler, boot=boot, node=node, expire=expire)
        return store, await self._stack.enter_async_context(running(queue))

    async def add(self, store: Store, lane: str | None = None, number: int = 0) -> str:
        job = replace(message(lane), payload={"number": number})
        return (await store.write(lambda tx: tx.jobs.add(job, self.clock.now()))).id


@pytest.fixture
async def processes(tmp_path: Path, migrated_url: str) -> AsyncIterator[Processes]:
    async with AsyncExitStack() as stack:
        yield Processes(Database(tmp_path / "unused.db", migrated_url, tmp_path), stack)


async def test_two_processes_run_each_job_once_and_each_lane_in_order(processes: Processes, migrated_url: str) -> None:
    first, _ = await processes.start("boot-a", "node-a")
    second, _ = await processes.start("boot-b", "node-b")

    async def add_lane(lane: int) -> None:
        for number in range(JOBS // LANES):
            await processes.add((first, second)[number % 2], f"lane-{lane}", number)

    await asyncio.gather(*(add_lane(lane) for lane in range(LANES)))

    async def all_ran() -> bool:
        return len(processes.ran) >= JOBS

    await until(all_ran)
    assert len(set(processes.ran)) == len(processes.ran) == JOBS
    assert processes.overlaps == 0
    assert processes.lanes == {f"lane-{lane}": list(range(JOBS // LANES)) for lane in range(LANES)}

    async def all_settled() -> bool:
        return _rows(migrated_url, "SELECT count(*) FROM jobs WHERE status <> 'done'") == [(0,)]

    await until(all_settled)
    assert _rows(migrated_url, "SELECT * FROM lanes") == []


async def test_a_process_is_woken_by_another_ones_notice(processes: Processes) -> None:
    """The job starts before the other process would look by itself."""
    worker, _ = await processes.start("boot-a", "node-a")
    other = await processes.open("boot-b")
    await _listens(processes, worker, other)
    job_id = await processes.add(other)
    async with asyncio.timeout(LOOK_SECONDS / 2):
        await ended(other, job_id)


async def test_idle_processes_leave_one_another_in_peace(processes: Processes) -> None:
    """A look that finds nothing sends no notice; otherwise the processes would wake each other for ever."""
    first, _ = await processes.start("boot-a", "node-a")
    second, _ = await processes.start("boot-b", "node-b")
    await _listens(processes, first, second)
    quiet = [store.writes for store in processes.stores]
    await asyncio.sleep(1)
    assert sum(store.writes for store in processes.stores) - sum(quiet) <= 4


async def test_what_a_process_leaves_behind_is_taken_over(processes: Processes, migrated_url: str) -> None:
    """A draining process hands its jobs back and notifies the others."""
    gate = asyncio.Event()
    leaving = await processes.open("boot-a")

    async def never(job: Job) -> None:
        gate.set()
        await asyncio.Event().wait()

    queue = make_queue(leaving, processes.clock, ToldHandler(leaving, processes.clock, never), boot="boot-a")
    await queue.start()
    job_id = await processes.add(leaving)
    await asyncio.wait_for(gate.wait(), PATIENCE)
    staying, _ = await processes.start("boot-b", "node-b")
    await asyncio.sleep(LISTENING)
    await queue.stop(0)
    async with asyncio.timeout(LOOK_SECONDS / 2):
        job = await ended(staying, job_id)
    assert (job.attempts, job.crashes) == (0, 0)


async def test_a_server_that_drops_every_connection_loses_nothing(processes: Processes, migrated_url: str) -> None:
    """Idle connections are replaced, and a write without a commit is repeated."""
    store, _ = await processes.start("boot-a", "node-a")
    await asyncio.gather(*(processes.add(store) for _ in range(16)))
    _rows(migrated_url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    ids = await asyncio.gather(*(processes.add(store) for _ in range(16)))
    for job_id in ids:
        assert (await ended(store, job_id)).status is JobStatus.DONE


async def _listens(processes: Processes, *stores: Store) -> None:
    """Wait until all jobs have ended and all processes listen."""
    for store in stores:
        await ended(store, await processes.add(store))
    await asyncio.sleep(LISTENING)


def _rows(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()
