"""Leases at run time: renewed, lost, and jobs that could not be settled; and failures of the queue itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from arvis.domain.errors import StoreError
from arvis.domain.jobs import (
    Job,
    JobResult,
    JobStatus,
    Retry,
)
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from tests.conformance.databases import NOW
from tests.conformance.queue_kit import (
    BOOT,
    PATIENCE,
    CountingStore,
    Gate,
    HandClock,
    ToldHandler,
    add,
    at_once,
    ended,
    job_of,
    make_queue,
    message,
    running,
    until,
)

ONE = Slots(1, 1, 1)


def _taken_away(tx: Transaction, job_id: str) -> None:
    """Take a job away, as another process does after the lease has expired."""
    later = NOW + 60_000
    kept = [job.id for lane in ("a", "b") if (job := tx.jobs.head_of_lane(lane)) is not None and job.id != job_id]
    tx.jobs.extend(kept, BOOT, later)
    tx.jobs.rescue("node-2", "another boot", later - 1)
    tx.jobs.claim(ONE, "another boot", "node-2", later - 1, later + 30_000)


def _none_left(counted: CountingStore) -> Callable[[], Awaitable[bool]]:
    async def none_left() -> bool:
        return not counted.failures

    return none_left


# -- leases -------------------------------------------------------------------------------------------------


async def test_a_cancelled_job_ends_its_task_and_frees_its_lane(store: Store, clock: HandClock) -> None:
    gate = Gate()
    queue = make_queue(store, clock, ToldHandler(store, clock, gate.work), workers=2)
    async with running(queue):
        first, second = [await add(store, message("a")) for _ in range(2)]
        await gate.next()
        await store.write(lambda tx: tx.jobs.cancel(first, NOW))
        assert (await gate.next()).id == second
        queue.abandon(first)
        gate.go.set()
        await ended(store, second)
    assert gate.cancelled == [first]
    assert (await job_of(store, first)).status is JobStatus.CANCELLED


async def test_the_sweep_ends_the_task_of_a_lost_lease(store: Store, clock: HandClock) -> None:
    gate = Gate()
    handler = ToldHandler(store, clock, gate.work)
    queue = make_queue(store, clock, handler)
    async with running(queue):
        lost, kept = [await add(store, message(lane)) for lane in ("a", "b")]
        for _ in range(2):
            await gate.next()
        await store.write(_taken_away, lost)
        clock.move(10)

        async def was_cancelled() -> bool:
            return gate.cancelled == [lost]

        await until(was_cancelled)
        gate.go.set()
        await ended(store, kept)
    job = await job_of(store, lost)
    assert (job.owner, job.status) == ("another boot", JobStatus.RUNNING)


async def test_a_jump_of_the_clock_takes_nothing_that_runs(store: Store, clock: HandClock) -> None:
    gate = Gate()
    async with running(make_queue(store, clock, ToldHandler(store, clock, gate.work))):
        job_id = await add(store, message())
        await gate.next()
        clock.move(86_400)

        async def renewed() -> bool:
            return (await job_of(store, job_id)).lease_until == clock.now() + 30_000

        await until(renewed)
        gate.go.set()
        assert (await ended(store, job_id)).crashes == 0


async def test_a_job_whose_end_could_not_be_written_runs_again(store: Store, clock: HandClock) -> None:
    """The disk was full for a moment, but neither the job nor its lane is lost."""
    verdicts: list[JobResult | None] = [Retry("no"), None, None]
    counted = CountingStore(store)

    async def work(job: Job) -> JobResult | None:
        verdict = verdicts.pop(0)
        if verdict is not None:
            counted.failures = [StoreError("The disk is full")]
        return verdict

    handler = ToldHandler(store, clock, work)
    async with running(make_queue(counted, clock, handler)):
        job_id = await add(store, message("a"))
        follower = await add(store, message("a"))

        async def swept() -> bool:
            clock.move(10)
            return (await job_of(store, job_id)).status is JobStatus.DONE

        await until(swept)
        await ended(store, follower)
    assert (await job_of(store, job_id)).crashes == 1
    assert handler.runs == {job_id: 2, follower: 1}


# -- failures of the queue itself ---------------------------------------------------------------------------


async def test_a_look_that_failed_is_tried_again(store: Store, clock: HandClock) -> None:
    counted = CountingStore(store)
    handler = ToldHandler(store, clock, at_once)
    queue = make_queue(counted, clock, handler)
    async with running(queue):
        job_id = await add(store, replace(message(), run_at=NOW + 1_000))
        clock.move(1)
        counted.failures = [StoreError("locked")] * 2
        queue.look()
        await until(_none_left(counted))
        queue.look()
        await ended(store, job_id)


async def test_a_sweep_that_failed_is_tried_again(store: Store, clock: HandClock) -> None:
    counted, gate = CountingStore(store), Gate()
    queue = make_queue(counted, clock, ToldHandler(store, clock, gate.work))
    async with running(queue):
        job_id = await add(store, message())
        await gate.next()
        counted.failures = [StoreError("locked")]
        clock.move(10)
        await until(_none_left(counted))

        async def renewed() -> bool:
            clock.move(10)
            return ((await job_of(store, job_id)).lease_until or 0) > NOW + 45_000

        await until(renewed)
        gate.go.set()


async def test_a_duty_that_dies_is_told_to_whoever_watches(store: Store, clock: HandClock) -> None:
    broken = False

    def expire(tx: Transaction, now: int) -> None:
        if broken:
            raise ZeroDivisionError

    queue = make_queue(store, clock, ToldHandler(store, clock, at_once), expire=expire)
    async with running(queue):
        watching = asyncio.create_task(queue.watch())
        broken = True
        queue.look()
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(watching, PATIENCE)
