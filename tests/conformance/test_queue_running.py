"""The queue at run time on real SQLite: which jobs start, which wait, and how failures end."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from arvis.domain.jobs import (
    Fail,
    Job,
    JobKind,
    JobResult,
    JobStatus,
    Pool,
    Retry,
    Snooze,
)
from arvis.ports.job_store import Slots
from arvis.ports.store import Store
from arvis.process.clock import SystemClock
from tests.conformance.databases import NOW
from tests.conformance.queue_kit import (
    NODE,
    PATIENCE,
    CountingStore,
    Gate,
    HandClock,
    ToldHandler,
    add,
    always,
    at_once,
    ended,
    job_of,
    make_queue,
    message,
    running,
    until,
)

ONE = Slots(1, 1, 1)


# -- jobs that start ----------------------------------------------------------------------------------------


async def test_a_commit_that_adds_a_job_starts_it(store: Store, clock: HandClock) -> None:
    """The clock stands still, so no polling can start the job."""
    gate = Gate()
    async with running(make_queue(store, clock, ToldHandler(store, clock, gate.work))):
        job_id = await add(store, message())
        assert (await gate.next()).id == job_id
        gate.go.set()
        await ended(store, job_id)


async def test_what_waited_before_the_start_is_started(store: Store, clock: HandClock) -> None:
    ids = [await add(store, message()) for _ in range(3)]
    handler = ToldHandler(store, clock, at_once)
    async with running(make_queue(store, clock, handler)):
        for job_id in ids:
            await ended(store, job_id)
    assert handler.runs == dict.fromkeys(ids, 1)


async def test_a_job_for_later_starts_when_its_time_comes(store: Store) -> None:
    clock = SystemClock()
    started: dict[str, int] = {}

    async def work(job: Job) -> None:
        started[job.id] = clock.now()

    async with running(make_queue(store, clock, ToldHandler(store, clock, work))):
        times = [clock.now() + delay for delay in (120, 40, 80)]
        ids = [await add(store, replace(message(), run_at=at), clock.now()) for at in times]
        for job_id in ids:
            await ended(store, job_id)
    assert all(started[job_id] >= at for job_id, at in zip(ids, times, strict=True))
    assert sorted(started.values()) == [started[ids[1]], started[ids[2]], started[ids[0]]]


async def test_each_settlement_claims_the_next_job_in_its_commit(store: Store, clock: HandClock) -> None:
    """64 jobs and 8 workers need no writes but the settlements and the four of a start."""
    counted = CountingStore(store)
    ids = [await add(store, message()) for _ in range(64)]
    handler = ToldHandler(counted, clock, at_once)
    async with running(make_queue(counted, clock, handler, workers=8)):
        for job_id in ids:
            await ended(store, job_id)
        assert counted.writes <= 64 + 4
    assert handler.runs == dict.fromkeys(ids, 1)
    assert handler.most_running[Pool.INTERACTIVE] <= 8


async def test_messages_of_one_lane_follow_one_another(store: Store, clock: HandClock) -> None:
    """The second job starts after the first has ended."""
    gate = Gate()
    async with running(make_queue(store, clock, ToldHandler(store, clock, gate.work))):
        first, second = [await add(store, message("a")) for _ in range(2)]
        assert (await gate.next()).id == first
        assert gate.begun.empty()
        gate.go.set()
        assert (await gate.next()).id == second
        await ended(store, second)


# -- slots --------------------------------------------------------------------------------------------------


async def test_each_pool_keeps_to_its_slots(store: Store, clock: HandClock) -> None:
    gate = Gate()
    handler = ToldHandler(store, clock, gate.work)
    async with running(make_queue(store, clock, handler, workers=4)):
        background = [await add(store, message(kind=JobKind.CRON, priority=10)) for _ in range(8)]
        deliveries = [await add(store, message(kind=JobKind.DELIVER)) for _ in range(8)]
        begun = [await gate.next() for _ in range(5)]
        assert [job.pool for job in begun].count(Pool.BACKGROUND) == 3
        assert [job.pool for job in begun].count(Pool.DELIVERY) == 2
        urgent = await add(store, message())
        assert (await gate.next()).id == urgent
        gate.go.set()
        for job_id in [*background, *deliveries, urgent]:
            await ended(store, job_id)
    assert handler.most_running == {Pool.BACKGROUND: 3, Pool.DELIVERY: 2, Pool.INTERACTIVE: 1}


async def test_a_mixed_history_leaves_every_slot_free(store: Store, clock: HandClock) -> None:
    """After successes, errors, immediate retries, waits and cancellations, all slots can be used again."""
    numbers = iter(range(10_000))

    async def work(job: Job) -> JobResult | None:
        await asyncio.sleep(0)
        match next(numbers) % 7:
            case 0:
                raise ValueError("boom")
            case 1:
                return Retry("no")
            case 2:
                return Fail("refused", "no")
            case 3:
                return Snooze.after(clock.now(), 0, "busy")
            case _:
                return None

    handler = ToldHandler(store, clock, work)
    queue = make_queue(store, clock, handler, unit_ms=0)
    async with running(queue):
        ids = [await add(store, message(f"lane-{n % 20}")) for n in range(120)]
        for job_id in ids[::9]:
            await store.write(lambda tx, i: tx.jobs.cancel(i, NOW), job_id)
            queue.abandon(job_id)

        async def all_ended() -> bool:
            jobs = [await job_of(store, job_id) for job_id in ids]
            return all(job.status not in {JobStatus.PENDING, JobStatus.RUNNING} for job in jobs)

        await until(all_ended)
        gate = Gate()
        handler.work = gate.work
        for _ in range(5):
            await add(store, message())
        begun = {(await gate.next()).id for _ in range(4)}
        assert len(begun) == 4
        assert gate.begun.empty()
        gate.go.set()
    assert handler.most_running[Pool.INTERACTIVE] <= 4


# -- jobs that fail -----------------------------------------------------------------------------------------


async def test_a_job_that_fails_three_times_is_failed(store: Store, clock: HandClock) -> None:
    """The job is retried after two minutes and after four, then it is given up."""
    handler = ToldHandler(store, clock, always(Retry("timeout")))
    queue = make_queue(store, clock, handler)
    async with running(queue):
        job_id = await add(store, message())
        waits = []
        for failures in (1, 2):
            await handler.announced.get()
            job = await job_of(store, job_id)
            assert (job.status, job.attempts, job.error) == (JobStatus.PENDING, failures, "timeout")
            waits.append((job.run_at - clock.now()) / 60_000)
            clock.move((job.run_at - clock.now()) / 1000 - 0.001)
            queue.look()
            clock.move(0.001)
            assert handler.runs[job_id] == failures
            queue.look()
        job = await ended(store, job_id, JobStatus.FAILED)
    assert waits == [2 * 1.05, 4 * 1.05]
    assert (job.reason, job.error, handler.runs[job_id]) == ("attempts", "timeout", 3)
    assert [type(outcome) for outcome in handler.outcomes] == [Retry, Retry, Fail]


async def test_waiting_counts_nothing(store: Store, clock: HandClock) -> None:
    async def work(_job: Job) -> JobResult:
        return Snooze.after(clock.now(), 5, "rate_limit")

    handler = ToldHandler(store, clock, work)
    queue = make_queue(store, clock, handler)
    async with running(queue):
        job_id = await add(store, message())
        for _ in range(6):
            assert await handler.announced.get() == Snooze(clock.now() + 5_000, "rate_limit")
            clock.move(5)
            queue.look()
    job = await job_of(store, job_id)
    assert (job.status, job.attempts, job.crashes) == (JobStatus.PENDING, 0, 0)


async def test_what_a_handler_throws_is_an_error_of_the_job(store: Store, clock: HandClock) -> None:
    async def work(job: Job) -> None:
        raise ValueError("boom")

    handler = ToldHandler(store, clock, work)
    async with running(make_queue(store, clock, handler)):
        job_id = await add(store, message())
        assert isinstance(await handler.announced.get(), Retry)
    assert (await job_of(store, job_id)).error == "ValueError: boom"


async def test_something_cancelled_inside_a_handler_is_an_error_of_the_job(store: Store, clock: HandClock) -> None:
    async def work(job: Job) -> None:
        inner = asyncio.create_task(asyncio.sleep(PATIENCE))
        inner.cancel()
        await inner

    handler = ToldHandler(store, clock, work)
    async with running(make_queue(store, clock, handler)):
        job_id = await add(store, message())
        assert isinstance(await handler.announced.get(), Retry)
        assert (await job_of(store, job_id)).attempts == 1


async def test_an_unknown_kind_is_failed(store: Store, clock: HandClock) -> None:
    async with running(make_queue(store, clock, ToldHandler(store, clock, at_once))):
        job_id = await add(store, message(kind=JobKind.WEBHOOK))
        assert (await ended(store, job_id, JobStatus.FAILED)).reason == "unknown_kind"


async def test_the_fifth_crash_is_poison(store: Store, clock: HandClock) -> None:
    job_id = await add(store, message())
    now = NOW
    for crash in range(1, 6):
        await store.write(lambda tx, at: tx.jobs.wake(at), now)
        await store.write(lambda tx, at, n: tx.jobs.claim(ONE, f"dead-{n}", NODE, at, at + 1), now, crash)
        [job] = await store.write(lambda tx, at: tx.jobs.rescue(NODE, "later", at), now)
        now = job.run_at
    handler = ToldHandler(store, clock, at_once)
    clock.move((now - NOW) / 1000)
    async with running(make_queue(store, clock, handler)):
        job = await ended(store, job_id, JobStatus.FAILED)
    assert (job.reason, job.crashes, handler.runs[job_id]) == ("poison", 5, 0)


async def test_a_job_claimed_again_in_its_own_commit_keeps_its_slot_and_its_lease(
    store: Store, clock: HandClock
) -> None:
    """A job that is postponed to now runs again before its first task has ended."""
    gate = Gate()

    async def work(job: Job) -> JobResult | None:
        return Retry("no") if job.attempts == 0 else await gate.work(job)

    handler = ToldHandler(store, clock, work)
    async with running(make_queue(store, clock, handler, unit_ms=0)):
        job_id = await add(store, message())
        again = await gate.next()
        await handler.announced.get()
        assert (again.id, again.claim) == (job_id, 2)
        before = again.lease_until
        clock.move(10)

        async def renewed() -> bool:
            return (await job_of(store, job_id)).lease_until != before

        await until(renewed)
        gate.go.set()
        await ended(store, job_id)
