"""A store and a queue on a fresh database, without the daemon, for the benchmark rows about the queue."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from arvis.domain.jobs import Done, Job, JobKind, JobResult, NewJob, Priority, Unfinished
from arvis.ports.store import Store, Transaction
from arvis.process.clock import IdMaker, SystemClock
from arvis.queue.queue import Queue, RetryPolicy
from arvis.store.open import Database, open_store

#: The configuration's defaults.
WORKERS = 8
LEASE_SECONDS = 30.0

OnJob = Callable[[Job], Awaitable[None]]


class Worker:
    """A handler that calls `on_job`, then settles the job in a separate commit."""

    def __init__(self, *, store: Store, clock: SystemClock, on_job: OnJob) -> None:
        self._store = store
        self._clock = clock
        self._on_job = on_job

    async def run(self, job: Job) -> JobResult:
        await self._on_job(job)
        await self._store.write(settle, job, self._clock.now())
        return Done()

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        raise AssertionError(f"nothing fails here, but {job.id} did: {outcome}")

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        """Do nothing, because no person waits for these jobs."""


class Bed:
    """The open store of one database, with its clock. `new_id` also makes the ids of boots. `boot` is the name of the
    node for all queues."""

    def __init__(self, *, store: Store, clock: SystemClock, new_id: IdMaker, boot: str) -> None:
        self.store = store
        self.clock = clock
        self.new_id = new_id
        self._node = boot

    async def add(self, count: int, *, slice_size: int = 1_000) -> None:
        """Add jobs that may all run at the same time, each in its own lane."""
        for start in range(0, count, slice_size):
            await self.store.write(add_jobs, min(slice_size, count - start), self.clock.now())

    @asynccontextmanager
    async def queue(self, on_job: OnJob, *, workers: int = WORKERS) -> AsyncIterator[Queue]:
        """Run a queue during the context, as the daemon does. Each call counts as a new boot."""
        worker = Worker(store=self.store, clock=self.clock, on_job=on_job)
        queue = Queue(
            store=self.store,
            clock=self.clock,
            policy=RetryPolicy(max_attempts=3, unit_ms=60_000, random=lambda: 0.5),
            handlers={JobKind.ADVANCE: worker},
            expire=_expire_nothing,
            workers=workers,
            delivery_workers=workers,
            lease_seconds=LEASE_SECONDS,
            boot=self.new_id(),
            node=self._node,
        )
        await queue.start()
        try:
            yield queue
        finally:
            await queue.stop()

    async def drain(self, count: int, *, workers: int = WORKERS) -> float:
        """Run `count` jobs and return the jobs per second. All other jobs remain."""
        loop = asyncio.get_running_loop()
        started: list[float] = []
        enough = asyncio.Event()

        async def on_job(_: Job) -> None:
            started.append(loop.time())
            if len(started) > count:
                enough.set()

        async with self.queue(on_job, workers=workers):
            await enough.wait()
        return count / (started[count] - started[0])


@asynccontextmanager
async def open_bed(database: Database) -> AsyncIterator[Bed]:
    clock = SystemClock()
    new_id = IdMaker(clock=clock, random_bits=secrets.randbits)
    boot = new_id()
    async with open_store(database, boot=boot, new_id=new_id) as (store, _):
        yield Bed(store=store, clock=clock, new_id=new_id, boot=boot)


# -- scripts -----------------------------------------------------------------------------------------------


def add_job(tx: Transaction, now: int) -> str:
    return tx.jobs.add(NewJob(JobKind.ADVANCE, Priority.MESSAGE), now).id


def add_jobs(tx: Transaction, count: int, now: int) -> None:
    for _ in range(count):
        add_job(tx, now)


def settle(tx: Transaction, job: Job, now: int) -> None:
    if not tx.jobs.settle(job, Done(), now):
        raise AssertionError(f"{job.id} was taken away while it ran")


def add_in_lanes(tx: Transaction, lanes: Sequence[str], number: int, now: int) -> None:
    """Add the `number`-th job of each lane."""
    for lane in lanes:
        tx.jobs.add(NewJob(JobKind.ADVANCE, Priority.MESSAGE, lane=lane, payload={"number": number}), now)


def _expire_nothing(_tx: Transaction, _now: int) -> None:
    """Do nothing, because the benchmark has no questions."""
