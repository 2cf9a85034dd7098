"""The queue at run time, on real SQLite: what starts, what waits, what becomes of what fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.domain.errors import StoreError
from arvis.domain.jobs import (
    Failed,
    GiveUp,
    Job,
    JobKind,
    JobStatus,
    NotBefore,
    Pool,
    Retry,
    Snooze,
    TryAgain,
    Verdict,
)
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from arvis.process.clock import SystemClock
from arvis.store.opening import Database
from tests.conformance.databases import NOW, opened
from tests.conformance.queue_kit import (
    BOOT,
    NODE,
    PATIENCE,
    CountingStore,
    HandClock,
    ToldHandler,
    add,
    ended,
    job_of,
    make_queue,
    message,
    running,
    until,
)

ONE = Slots(1, 1, 1)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        yield store


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


async def at_once(job: Job) -> Verdict | None:
    return None


def always(verdict: Verdict) -> Callable[[Job], Awaitable[Verdict]]:
    async def work(job: Job) -> Verdict:
        return verdict

    return work


class Gate:
    """Work that begins, says so, and ends when it is let go."""

    def __init__(self) -> None:
        self.begun: asyncio.Queue[Job] = asyncio.Queue()
        self.go = asyncio.Event()
        self.cancelled: list[str] = []

    async def work(self, job: Job) -> Verdict | None:
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


# -- what starts --------------------------------------------------------------------------------------------


async def test_a_commit_that_adds_a_job_starts_it(store: Store, clock: HandClock) -> None:
    """On a clock that stands still: nothing polls."""
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
    """64 jobs and 8 workers: no write but the settlements, and the four of a start."""
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
    """Vector Q3: the second starts after the first has ended."""
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
    """Successes, errors, retries at once, waits, cancellations: in the end all slots can be used again."""
    numbers = iter(range(10_000))

    async def work(job: Job) -> Verdict | None:
        await asyncio.sleep(0)
        match next(numbers) % 7:
            case 0:
                raise ValueError("boom")
            case 1:
                return TryAgain("no")
            case 2:
                return GiveUp("refused", "no")
            case 3:
                return NotBefore(0, "busy")
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


# -- what fails ---------------------------------------------------------------------------------------------


async def test_a_job_that_fails_three_times_is_failed(store: Store, clock: HandClock) -> None:
    """Vector Q2: again after two minutes, again after four, then it is given up."""
    handler = ToldHandler(store, clock, always(TryAgain("timeout")))
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
    assert [type(outcome) for outcome in handler.outcomes] == [Retry, Retry, Failed]


async def test_waiting_counts_nothing(store: Store, clock: HandClock) -> None:
    handler = ToldHandler(store, clock, always(NotBefore(5, "rate_limit")))
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
    """Postponed to now, it runs again before its first task has ended."""
    gate = Gate()

    async def work(job: Job) -> Verdict | None:
        return TryAgain("no") if job.attempts == 0 else await gate.work(job)

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
    """The disk was full for a moment: neither the job nor its lane is lost."""
    verdicts: list[Verdict | None] = [TryAgain("no"), None, None]
    counted = CountingStore(store)

    async def work(job: Job) -> Verdict | None:
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


# -- its own troubles ---------------------------------------------------------------------------------------


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


# -- the end ------------------------------------------------------------------------------------------------


async def test_a_drain_waits_for_what_runs(store: Store, clock: HandClock) -> None:
    gate = Gate()
    queue = make_queue(store, clock, ToldHandler(store, clock, gate.work))
    await queue.start()
    first, second = [await add(store, message("a")) for _ in range(2)]
    await gate.next()
    stopping = asyncio.create_task(queue.stop(PATIENCE))
    await asyncio.sleep(0)
    gate.go.set()
    await asyncio.wait_for(stopping, PATIENCE)
    assert (await job_of(store, first)).status is JobStatus.DONE
    assert (await job_of(store, second)).status is JobStatus.PENDING
    assert gate.begun.empty()


async def test_a_drain_hands_back_what_does_not_end(store: Store, clock: HandClock) -> None:
    gate = Gate()
    queue = make_queue(store, clock, ToldHandler(store, clock, gate.work))
    await queue.start()
    job_id = await add(store, message())
    await gate.next()
    await queue.stop(0)
    job = await job_of(store, job_id)
    assert (job.status, job.attempts, job.crashes, job.reason) == (JobStatus.PENDING, 0, 0, "handed_back")
    assert gate.cancelled == [job_id]


@pytest.mark.parametrize("turns", range(12))
async def test_a_stop_at_any_moment_leaves_nothing_running(store: Store, clock: HandClock, turns: int) -> None:
    """Claimed and not begun, on its way from the writer, half settled: nothing counts as a crash."""
    queue = make_queue(store, clock, ToldHandler(store, clock, at_once))
    await queue.start()
    adding = [asyncio.create_task(add(store, message(f"lane-{n % 9}"))) for n in range(40)]
    for _ in range(turns * 2):
        await asyncio.sleep(0)
    await queue.stop(0)
    ids = await asyncio.gather(*adding)
    jobs = [await job_of(store, job_id) for job_id in ids]
    assert {job.status for job in jobs} <= {JobStatus.PENDING, JobStatus.DONE}
    assert {(job.attempts, job.crashes) for job in jobs} == {(0, 0)}
    assert await store.write(lambda tx: tx.jobs.rescue(NODE, "next boot", NOW)) == []


async def test_a_stopped_queue_starts_nothing(store: Store, clock: HandClock) -> None:
    handler = ToldHandler(store, clock, at_once)
    async with running(make_queue(store, clock, handler)):
        pass
    await add(store, message())
    assert not handler.runs
    async with running(make_queue(store, clock, handler, boot="boot-2")):
        await until(lambda: _ran(handler))


def _none_left(counted: CountingStore) -> Callable[[], Awaitable[bool]]:
    async def none_left() -> bool:
        return not counted.failures

    return none_left


async def _ran(handler: ToldHandler) -> bool:
    return bool(handler.runs)


def _taken_away(tx: Transaction, job_id: str) -> None:
    """As another process does after a lease has expired."""
    later = NOW + 60_000
    kept = [job.id for lane in ("a", "b") if (job := tx.jobs.head_of_lane(lane)) is not None and job.id != job_id]
    tx.jobs.extend(kept, BOOT, later)
    tx.jobs.rescue("node-2", "another boot", later - 1)
    tx.jobs.claim(ONE, "another boot", "node-2", later - 1, later + 30_000)
