"""Cases for jobs: claims, leases, settlements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from arvis.domain.jobs import (
    CALLED,
    CLASS_MS,
    Done,
    Fail,
    JobKind,
    JobStatus,
    NewJob,
    Pool,
    Priority,
    Released,
    Retry,
    Settlement,
    Snooze,
    rank_of,
)
from arvis.ports.job_store import Slots
from arvis.ports.store import Store
from tests.conformance.store.records import RecordCases
from tests.conformance.store.scripts import (
    BOOT,
    LEASE,
    NOW,
    add,
    claim,
    claim_one,
    get,
    message,
    next_due,
    rescue,
    settle,
    wake,
)


def loose(kind: JobKind, priority: int, key: str | None = None, *, key_live: bool = False) -> NewJob:
    """Return a job in its own lane."""
    return NewJob(kind=kind, priority=priority, key=key, key_live=key_live)


class JobCases(RecordCases):
    # -- order and slots -----------------------------------------------------------------------------------

    async def test_the_urgent_come_first(self, store: Store) -> None:
        """The order is the owner's newest message, another message, and an older heartbeat."""
        await store.write(add, loose(JobKind.HEARTBEAT, Priority.BACKGROUND), NOW - CLASS_MS + 1)
        await store.write(add, loose(JobKind.CRON, Priority.MESSAGE), NOW)
        await store.write(add, loose(JobKind.ADVANCE, Priority.OWNER), NOW + 1)
        claimed = await store.write(claim)
        assert [job.priority for job in claimed] == [1, 5, 10]

    async def test_each_minute_of_waiting_is_worth_a_class(self, store: Store) -> None:
        await store.write(add, loose(JobKind.CRON, 10), NOW - 5 * CLASS_MS - 1)
        await store.write(add, loose(JobKind.MESSAGE, 5), NOW)
        [first] = await store.write(claim, Slots(1, 1, 0))
        assert first.kind is JobKind.CRON
        assert first.rank == rank_of(10, NOW - 5 * CLASS_MS - 1)

    async def test_arrival_decides_between_equals(self, store: Store) -> None:
        added = [(await store.write(add, loose(JobKind.MESSAGE, 5), NOW)).id for _ in range(5)]
        assert [job.id for job in await store.write(claim)] == added

    @pytest.mark.parametrize(
        ("slots", "expected"),
        [
            (Slots(4, 3, 2), "iii b dd"),
            (Slots(3, 1, 0), "iii"),
            (Slots(0, 0, 3), "ddd"),
            (Slots(6, 1, 0), "iii b"),
            (Slots(6, 0, 0), "iii"),
        ],
    )
    async def test_a_claim_keeps_to_the_slots_of_each_pool(self, store: Store, slots: Slots, expected: str) -> None:
        for kind, priority in ((JobKind.MESSAGE, 5), (JobKind.CRON, 10), (JobKind.DELIVER, 5)):
            for _ in range(3):
                await store.write(add, loose(kind, priority), NOW)
        claimed = await store.write(claim, slots)
        assert sorted(job.pool[0] for job in claimed) == sorted(expected.replace(" ", ""))

    async def test_old_background_work_goes_before_young_work_but_within_its_share(self, store: Store) -> None:
        for _ in range(4):
            await store.write(add, loose(JobKind.CRON, 10), NOW - 60 * CLASS_MS)
            await store.write(add, loose(JobKind.MESSAGE, 5), NOW)
        pools = [job.pool for job in await store.write(claim, Slots(4, 3, 0))]
        assert pools == [Pool.BACKGROUND] * 3 + [Pool.INTERACTIVE]

    # -- leases and fencing --------------------------------------------------------------------------------

    async def test_a_claim_is_a_lease(self, store: Store) -> None:
        added = await store.write(add, replace(message(), message_id="m1", payload={"a": 1}))
        job = await store.write(claim_one)
        assert (job.id, job.status, job.owner, job.claim) == (added.id, JobStatus.RUNNING, BOOT, 1)
        assert (job.started_at, job.lease_until, job.message_id) == (NOW, NOW + LEASE, "m1")
        assert job.payload == {"a": 1}
        assert await store.write(claim) == []

    async def test_a_lease_is_renewed_by_its_owner_alone(self, store: Store) -> None:
        await store.write(add, message("a"))
        await store.write(add, message("b"))
        mine, other = await store.write(claim)
        await store.write(settle, other, Done())
        ids = [mine.id, other.id, "unknown"]
        assert await store.write(lambda tx: tx.jobs.extend(ids, "another boot", NOW + 60_000)) == set()
        assert await store.write(lambda tx: tx.jobs.extend(ids, BOOT, NOW + 60_000)) == {mine.id}
        assert (await store.read(get, mine.id)).lease_until == NOW + 60_000

    @pytest.mark.parametrize(
        "outcome",
        [Done(), Fail("bad", "no"), Retry("no", NOW + 1), Snooze(NOW + 1, "busy"), Released()],
        ids=lambda outcome: type(outcome).__name__,
    )
    async def test_a_lost_lease_settles_nothing(self, store: Store, outcome: Settlement) -> None:
        await store.write(add, message())
        await store.write(add, message())
        stale = await store.write(claim_one)
        await store.write(rescue, NOW)
        current = (await store.write(claim, owner="boot-2"))[0]
        before = await store.read(get, stale.id)
        assert not await store.write(settle, stale, outcome)
        assert not await store.write(lambda tx: tx.jobs.held(stale))
        assert await store.write(lambda tx: tx.jobs.held(current))
        assert await store.read(get, stale.id) == before

    async def test_the_same_owner_is_fenced_by_the_number_of_its_claim(self, store: Store) -> None:
        await store.write(add, message())
        first = await store.write(claim_one)
        await store.write(settle, first, Released())
        second = await store.write(claim_one)
        assert (second.owner, second.claim) == (first.owner, 2)
        assert not await store.write(settle, first, Done())
        assert await store.write(settle, second, Done())
        assert not await store.write(settle, second, Done())

    async def test_what_waits_for_what_it_called_is_called_back_or_steps_aside(self, store: Store) -> None:
        for _ in range(2):
            added = await store.write(add, message())
            await store.write(settle, await store.write(claim_one), Snooze(NOW + 60_000, CALLED))
            assert await store.write(claim) == []
            await store.write(lambda tx, job_id: tx.jobs.call_back(job_id, NOW), added.id)
            again = await store.write(claim_one)
            assert again.id == added.id
            await store.write(settle, again, Snooze(NOW + 60_000, CALLED))
            await store.write(lambda tx, job_id: tx.jobs.step_aside(job_id, NOW), added.id)
            assert (await store.read(get, added.id)).status is JobStatus.DONE

    async def test_work_that_was_called_back_and_died_steps_aside_no_more(self, store: Store) -> None:
        added = await store.write(add, message())
        for _ in range(2):
            await store.write(settle, await store.write(claim_one), Snooze(NOW + 60_000, CALLED))
            await store.write(lambda tx: tx.jobs.call_back(added.id, NOW))
        for at in (NOW, NOW + 1):
            await store.write(claim, now=at)
            await store.write(rescue, at)
        await store.write(lambda tx: tx.jobs.step_aside(added.id, NOW + 2))
        assert (await store.read(get, added.id)).status is JobStatus.PENDING

    # -- settlements ---------------------------------------------------------------------------------------

    async def test_ends_are_kept_with_their_reasons(self, store: Store) -> None:
        for _ in range(2):
            await store.write(add, loose(JobKind.MESSAGE, 5), NOW)
        done, failed = await store.write(claim)
        await store.write(settle, done, Done(), NOW + 7)
        await store.write(settle, failed, Fail("refused", "The model refused"), NOW + 7)
        done, failed = await store.read(get, done.id), await store.read(get, failed.id)
        assert (done.status, done.finished_at, done.owner) == (JobStatus.DONE, NOW + 7, None)
        assert (failed.status, failed.reason, failed.error) == (JobStatus.FAILED, "refused", "The model refused")

    @pytest.mark.parametrize(
        ("outcome", "attempts", "error", "reason", "rests"),
        [
            (Retry("timeout", NOW + 60_000), 1, "timeout", "retry", True),
            (Snooze(NOW + 60_000, "rate_limit"), 0, None, "rate_limit", True),
            (Released(), 0, None, "handed_back", False),
        ],
    )
    async def test_a_postponed_job_counts_what_it_should(
        self, store: Store, outcome: Settlement, attempts: int, error: str | None, reason: str, *, rests: bool
    ) -> None:
        await store.write(add, message())
        job = await store.write(claim_one)
        await store.write(settle, job, outcome)
        job = await store.read(get, job.id)
        assert (job.attempts, job.crashes, job.error, job.reason) == (attempts, 0, error, reason)
        assert (job.status, job.owner, job.lease_until) == (JobStatus.PENDING, None, None)
        assert await store.read(next_due) == (NOW + 60_000 if rests else None)
        assert len(await store.write(claim)) == (0 if rests else 1)
        await store.write(wake, NOW + 59_999)
        assert await store.write(claim) == []
        assert await store.write(wake, NOW + 60_000) == (1 if rests else 0)
        assert len(await store.write(claim)) == (1 if rests else 0)
