"""A queue with real parts: a store, a handler that the test controls, and a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Concatenate, ParamSpec, TypeVar

from arvis.domain.errors import LeaseLost
from arvis.domain.jobs import Done, Job, JobKind, JobResult, JobStatus, NewJob, Unfinished
from arvis.ports.clock import Clock
from arvis.ports.job_store import Claimer
from arvis.ports.store import Store, Transaction
from arvis.queue.queue import Queue, RetryPolicy
from tests.conformance.databases import NOW

P = ParamSpec("P")
R = TypeVar("R")

BOOT, NODE = "boot-1", "node-1"
PATIENCE = 20.0

Work = Callable[[Job], Awaitable[JobResult | None]]


class HandClock:
    """A clock that stands still until the test moves it; then it wakes the sleepers whose time has come."""

    def __init__(self) -> None:
        self._now = NOW
        self._sleepers: list[tuple[int, asyncio.Event]] = []

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return self._now / 1000

    async def sleep(self, seconds: float) -> None:
        awake = asyncio.Event()
        self._sleepers.append((self._now + int(seconds * 1000), awake))
        await awake.wait()

    def move(self, seconds: float) -> None:
        self._now += int(seconds * 1000)
        for at, awake in self._sleepers:
            if at <= self._now:
                awake.set()
        self._sleepers = [(at, awake) for at, awake in self._sleepers if at > self._now]


class ToldHandler:
    """A handler that does the `work`, and settles the job if `work` returns None.

    It counts runs, and jobs that run at once.
    """

    def __init__(self, store: Store, clock: Clock, work: Work) -> None:
        self._store = store
        self._clock = clock
        self.work = work
        self.runs: Counter[str] = Counter()
        self.now_running: Counter[str] = Counter()
        self.most_running: Counter[str] = Counter()
        self.outcomes: list[Unfinished] = []
        self.announced: asyncio.Queue[Unfinished] = asyncio.Queue()

    async def run(self, job: Job) -> JobResult:
        self.runs[job.id] += 1
        self.now_running[job.pool] += 1
        self.most_running[job.pool] = max(self.most_running[job.pool], self.now_running[job.pool])
        try:
            verdict = await self.work(job)
        finally:
            self.now_running[job.pool] -= 1
        if verdict is not None:
            return verdict
        await self._store.write(self._settle, job)
        return Done()

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        self.outcomes.append(outcome)

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        self.announced.put_nowait(outcome)

    def _settle(self, tx: Transaction, job: Job) -> None:
        if not tx.jobs.settle(job, Done(), self._clock.now()):
            raise LeaseLost("taken away")


class CountingStore:
    """A store that counts its writes and raises the given failures first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.shared = store.shared
        self.writes = 0
        self.failures: list[Exception] = []

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        self.writes += 1
        if self.failures:
            raise self.failures.pop(0)
        return await self._store.write(script, *args, **kwargs)

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._store.read(script, *args, **kwargs)

    def attend(self, claimer: Claimer | None) -> None:
        self._store.attend(claimer)

    async def wait_for_change(self, timeout: float) -> bool:
        return await self._store.wait_for_change(timeout)

    async def put_blob(self, data: bytes) -> str:
        return await self._store.put_blob(data)

    async def get_blob(self, sha256: str) -> bytes | None:
        return await self._store.get_blob(sha256)

    async def delete_blob(self, sha256: str) -> None:
        await self._store.delete_blob(sha256)

    async def overwrite_deleted(self) -> bool:
        return await self._store.overwrite_deleted()


def nothing_expires(tx: Transaction, now: int) -> None:
    """Expire no question: these queues have none."""


def make_queue(
    store: Store,
    clock: Clock,
    handler: ToldHandler,
    *,
    boot: str = BOOT,
    node: str = NODE,
    workers: int = 4,
    unit_ms: int = 60_000,
    lease_seconds: float = 30,
    expire: Callable[[Transaction, int], None] = nothing_expires,
) -> Queue:
    return Queue(
        store=store,
        clock=clock,
        policy=RetryPolicy(max_attempts=3, unit_ms=unit_ms, random=lambda: 0.5),
        handlers=dict.fromkeys((JobKind.MESSAGE, JobKind.CRON, JobKind.DELIVER), handler),
        expire=expire,
        workers=workers,
        delivery_workers=2,
        lease_seconds=lease_seconds,
        boot=boot,
        node=node,
    )


@asynccontextmanager
async def running(queue: Queue) -> AsyncIterator[Queue]:
    await queue.start()
    try:
        yield queue
    finally:
        await queue.stop(0)


def message(lane: str | None = None, *, kind: JobKind = JobKind.MESSAGE, priority: int = 5) -> NewJob:
    return NewJob(kind=kind, priority=priority, lane=lane, principal_id="ann")


async def add(store: Store, job: NewJob, now: int = NOW) -> str:
    return (await store.write(lambda tx: tx.jobs.add(job, now))).id


async def job_of(store: Store, job_id: str) -> Job:
    job = await store.read(lambda tx: tx.jobs.get(job_id))
    assert job is not None
    return job


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Poll the condition, which no event signals."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():  # noqa: ASYNC110 the database has no event for it
            await asyncio.sleep(0.005)


async def ended(store: Store, job_id: str, status: JobStatus = JobStatus.DONE) -> Job:
    async def has_ended() -> bool:
        return (await job_of(store, job_id)).status is status

    await until(has_ended)
    return await job_of(store, job_id)


async def at_once(job: Job) -> JobResult | None:
    return None


def always(verdict: JobResult) -> Callable[[Job], Awaitable[JobResult]]:
    async def work(job: Job) -> JobResult:
        return verdict

    return work


class Gate:
    """Work that reports its start, and ends when `go` is set."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[Job] = asyncio.Queue()
        self.go = asyncio.Event()
        self.cancelled: list[str] = []

    async def work(self, job: Job) -> JobResult | None:
        self.begun.put_nowait(job)
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.append(job.id)
            raise
        return None

    async def next(self) -> Job:
        async with asyncio.timeout(PATIENCE):
            return await self.begun.get()
