"""Cases for jobs whose worker died: recovery, keys, and manual operations."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from arvis.domain.jobs import (
    POISON_CRASHES,
    SUSPECT_ALONE_MS,
    SUSPECT_CRASHES,
    SUSPECT_RETRY_MS,
    Done,
    Fail,
    Job,
    JobKind,
    JobStatus,
    NewJob,
    Retry,
)
from arvis.ports.job_store import AddedJob, Slots
from arvis.ports.store import Store, Transaction
from tests.conformance.store.jobs import JobCases, loose
from tests.conformance.store.scripts import (
    BOOT,
    LEASE,
    NODE,
    NOW,
    add,
    begin_execution,
    cancel,
    claim,
    claim_one,
    delete,
    end_effect,
    get,
    hasten,
    head_of,
    make_progress,
    message,
    next_due,
    requeue,
    rescue,
    settle,
    wake,
)


class RecoveryCases(JobCases):
    # -- recovery ------------------------------------------------------------------------------------------

    async def test_an_older_boot_of_this_node_loses_its_jobs_at_once(self, store: Store) -> None:
        await store.write(add, message())
        job = await store.write(claim_one)
        [rescued] = await store.write(rescue, NOW)
        assert (rescued.id, rescued.status, rescued.crashes, rescued.attempts) == (job.id, JobStatus.PENDING, 1, 0)
        assert len(await store.write(claim, owner="boot-2")) == 1

    async def test_another_node_loses_its_jobs_only_by_expiry(self, store: Store) -> None:
        await store.write(add, message())
        await store.write(claim, node="node-2")
        assert await store.write(rescue, NOW + LEASE) == []
        assert len(await store.write(rescue, NOW + LEASE + 1)) == 1

    async def test_our_own_boot_keeps_what_it_renews(self, store: Store) -> None:
        """This holds even when the clock jumps, because the sweep renews and rescues in one commit."""
        for lane in ("a", "b"):
            await store.write(add, message(lane))
        known, orphan = await store.write(claim)

        def sweep(tx: Transaction, now: int) -> list[str]:
            tx.jobs.extend([known.id], BOOT, now + LEASE)
            return [job.id for job in tx.jobs.rescue(NODE, BOOT, now)]

        assert await store.write(sweep, NOW + LEASE) == []
        assert await store.write(sweep, NOW + 3_600_000) == [orphan.id]

    async def test_each_crash_rests_longer_and_is_counted(self, store: Store) -> None:
        """The waits are 0, 1, 5 and 30 s. After the fifth crash the job comes back immediately, to be given up."""
        await store.write(add, message())
        now, rests = NOW, []
        for crash in range(1, 6):
            job = await store.write(claim_one, now)
            [rescued] = await store.write(rescue, now)
            assert (rescued.id, rescued.crashes, rescued.attempts) == (job.id, crash, 0)
            rests.append(rescued.run_at - now)
            if rests[-1]:
                assert await store.write(claim, now=now) == []
            now = rescued.run_at
            await store.write(wake, now)
        assert rests == [0, 1_000, 5_000, 30_000, 0]

    async def test_a_crash_after_progress_begins_to_count_anew(self, store: Store) -> None:
        await store.write(add, replace(message(), execution_id="e"))
        await store.write(begin_execution, "e")
        crashes, now = [], NOW
        for step in (0, 0, 1, 1, 2, 2):
            await store.write(make_progress, "e", step)
            await store.write(claim_one, now)
            [rescued] = await store.write(rescue, now)
            crashes.append(rescued.crashes)
            now = rescued.run_at
            await store.write(wake, now)
        assert crashes == [1, 2, 0, 1, 0, 1]

    async def test_an_effect_is_progress(self, store: Store) -> None:
        await store.write(add, replace(message(), execution_id="e"))
        await store.write(begin_execution, "e")
        crashes = []
        for effect in ("", "one", "", "two"):
            await store.write(end_effect, "e", effect)
            await store.write(claim_one)
            [rescued] = await store.write(rescue, NOW)
            crashes.append(rescued.crashes)
            await store.write(wake, rescued.run_at)
        assert crashes == [1, 0, 1, 0]

    async def test_suspects_start_one_by_one(self, store: Store) -> None:
        """If suspects started together, the faulty job would crash the others with it each time."""
        for lane in ("a", "b", "c"):
            await store.write(add, message(lane))
        rescued: list[Job] = []
        for _ in range(SUSPECT_CRASHES):
            assert len(await store.write(claim)) == 3
            rescued = await store.write(rescue, NOW)
        first, second, third = (job.id for job in rescued)
        now = rescued[0].run_at
        job = await self._only(store, now)
        assert job.id == first
        assert await store.write(next_due) == now + SUSPECT_RETRY_MS
        assert await self._started(store, now + SUSPECT_RETRY_MS) == []
        await store.write(settle, job, Done(), now)
        now += 2 * SUSPECT_RETRY_MS
        assert (await self._only(store, now)).id == second
        now += SUSPECT_ALONE_MS  # a long turn must not hold back other suspects for ever
        assert (await self._only(store, now)).id == third

    async def test_a_retry_goes_on_when_a_model_can_answer_again(self, store: Store) -> None:
        """The earlier failure was caused by the missing model, so it counts no attempt."""
        await store.write(add, message())
        job = await store.write(claim_one)
        await store.write(settle, job, Retry("no model", NOW + 60_000, needs_model=True))
        await store.write(hasten, NOW + 1)
        assert (await store.write(claim_one, NOW + 1)).attempts == 0

    async def test_a_retry_after_another_error_waits_and_counts_when_a_model_can_answer_again(
        self, store: Store
    ) -> None:
        await store.write(add, message())
        job = await store.write(claim_one)
        await store.write(settle, job, Retry("a defect", NOW + 60_000))
        await store.write(hasten, NOW + 1)
        assert await store.write(claim, now=NOW + 1) == []
        again = await store.write(get, job.id)
        assert (again.attempts, again.run_at) == (1, NOW + 60_000)

    async def test_a_pause_after_a_crash_does_not_end_when_a_model_can_answer_again(self, store: Store) -> None:
        """Also where the job had waited for a model before it crashed."""
        await store.write(add, message())
        job = await store.write(claim_one)
        await store.write(settle, job, Retry("no model", NOW, needs_model=True))
        rescued: list[Job] = []
        for _ in range(SUSPECT_CRASHES):
            await store.write(claim_one)
            rescued = await store.write(rescue, NOW)
        await store.write(hasten, NOW)
        assert await store.write(claim) == []
        assert (await store.write(get, job.id)).run_at == rescued[0].run_at > NOW

    async def test_a_suspect_holds_up_nobody_else(self, store: Store) -> None:
        await store.write(add, message("a"))
        rescued: list[Job] = []
        for _ in range(SUSPECT_CRASHES):
            await store.write(claim_one)
            rescued = await store.write(rescue, NOW)
        [suspect] = rescued
        await store.write(add, message("b"))
        other = await store.write(claim_one)
        await store.write(settle, other, Retry("no", suspect.run_at))
        assert {job.id for job in await self._started(store, suspect.run_at)} == {suspect.id, other.id}

    async def test_a_death_without_a_suspect_takes_one_crash_of_each_suspect_back(self, store: Store) -> None:
        """If a process crashes without running the job, the job probably did not cause the crashes; it stays a
        suspect."""
        await store.write(add, message("slow"))
        now = await self._crashed(store, POISON_CRASHES - 1)
        for crashes in (POISON_CRASHES - 2, SUSPECT_CRASHES, SUSPECT_CRASHES):
            await store.write(add, message(f"quick-{crashes}"))
            await store.write(claim_one)
            await store.write(rescue, NOW)
            slow = await self._head(store, "slow")
            assert (slow.crashes, slow.run_at) == (crashes, now)
            await store.write(settle, await store.write(claim_one), Done())

    async def test_a_process_that_died_without_any_work_says_so_too(self, store: Store) -> None:
        await store.write(add, message("slow"))
        await self._crashed(store, POISON_CRASHES - 1)
        await store.write(rescue, NOW, died="dead")
        assert (await self._head(store, "slow")).crashes == POISON_CRASHES - 2
        await store.write(rescue, NOW)
        assert (await self._head(store, "slow")).crashes == POISON_CRASHES - 2

    async def test_a_death_with_another_suspect_takes_nothing_back(self, store: Store) -> None:
        """Two jobs that crash their process do not excuse each other."""
        for lane in ("a", "b"):
            await store.write(add, message(lane))
        now, deaths, poison = NOW, 0, 0
        while poison < 2:
            started = await self._started(store, now)
            for job in started:
                if job.crashes >= POISON_CRASHES:
                    poison += await store.write(settle, job, Fail("poison", ""), now)
            if any(job.crashes < POISON_CRASHES for job in started):
                await store.write(rescue, now, died=BOOT)
                deaths += 1
            now += SUSPECT_RETRY_MS
        assert deaths == SUSPECT_CRASHES + 2 * (POISON_CRASHES - SUSPECT_CRASHES)

    async def test_a_verdict_is_not_taken_back(self, store: Store) -> None:
        await store.write(add, message("slow"))
        await self._crashed(store, POISON_CRASHES)
        await store.write(rescue, NOW, died="dead")
        assert (await self._head(store, "slow")).crashes == POISON_CRASHES

    async def _crashed(self, store: Store, times: int) -> int:
        """Let the job take part in this number of crashes, and return the time at which it may run again."""
        now = NOW
        for _ in range(times):
            await store.write(wake, now)
            await store.write(claim_one, now)
            [rescued] = await store.write(rescue, now, died=BOOT)
            now = rescued.run_at
        return now

    async def _head(self, store: Store, lane: str) -> Job:
        head = await store.write(head_of, lane)
        assert head is not None
        return head

    async def _only(self, store: Store, now: int) -> Job:
        [job] = await self._started(store, now)
        return job

    async def _started(self, store: Store, now: int) -> list[Job]:
        """Return the jobs that start when the queue checks at this time."""

        def look(tx: Transaction) -> list[Job]:
            tx.jobs.hold_suspects(now)
            tx.jobs.wake(now)
            return claim(tx, now=now)

        return await store.write(look)

    async def test_only_running_jobs_are_rescued(self, store: Store) -> None:
        for number in range(3):
            await store.write(add, loose(JobKind.MESSAGE, 5, key=f"k{number}"), NOW)
        done, waiting = await store.write(claim, Slots(2, 0, 0))
        await store.write(settle, done, Done())
        await store.write(settle, waiting, Retry("no", NOW + 5))
        assert await store.write(rescue, NOW + 10 * LEASE) == []

    # -- keys ----------------------------------------------------------------------------------------------

    async def test_a_key_is_taken_for_ever(self, store: Store) -> None:
        first = await store.write(add, loose(JobKind.CRON, 10, "k"), NOW)
        assert first.created
        again = AddedJob(first.id, first.position, created=False)
        assert await store.write(add, loose(JobKind.CRON, 10, "k"), NOW) == again
        job = await store.write(claim_one)
        await store.write(settle, job, Done())
        assert await store.write(add, loose(JobKind.CRON, 10, "k"), NOW) == again

    @pytest.mark.parametrize("end", ["done", "failed", "cancelled", "merged"])
    async def test_a_live_key_is_free_again_after_the_end(self, store: Store, end: str) -> None:
        head = replace(message(), key="head")
        guarded = replace(message(), key="k", key_live=True)
        if end == "merged":
            await store.write(add, head)
        first = await store.write(add, guarded)
        assert not (await store.write(add, guarded)).created
        job = await store.write(claim_one)
        assert not (await store.write(add, guarded)).created
        match end:
            case "done":
                await store.write(settle, job, Done())
            case "failed":
                await store.write(settle, job, Fail("x", "x"))
            case "cancelled":
                await store.write(cancel, job.id)
            case _:
                assert len(await store.write(lambda tx: tx.jobs.fold(job, 10, 8_000, NOW))) == 1
        again = await store.write(add, guarded)
        assert again.created
        assert again.id != first.id

    async def test_a_key_raced_for_is_one_job(self, store: Store) -> None:
        added = await asyncio.gather(*(store.write(add, loose(JobKind.CRON, 10, "k"), NOW) for _ in range(32)))
        assert len({job.id for job in added}) == 1
        assert [job.created for job in added].count(True) == 1
        assert len(await store.write(claim)) == 1

    # -- by hand -------------------------------------------------------------------------------------------

    async def test_only_a_failed_job_is_requeued_and_starts_afresh(self, store: Store) -> None:
        added = await store.write(add, message())
        assert await store.write(requeue, added.id) is None
        job = await store.write(claim_one)
        assert await store.write(requeue, added.id) is None
        await store.write(settle, job, Retry("first", NOW))
        job = await store.write(claim_one)
        await store.write(settle, job, Fail("attempts", "second"))
        assert await store.write(requeue, added.id, NOW + 5) is not None
        assert await store.write(requeue, added.id) is None
        fresh = await store.read(get, added.id)
        assert (fresh.status, fresh.attempts, fresh.crashes) == (JobStatus.PENDING, 0, 0)
        assert (fresh.error, fresh.reason, fresh.started_at, fresh.finished_at) == (None, None, None, None)
        assert (await store.write(claim_one, NOW + 5)).id == added.id
        assert await store.write(requeue, "unknown") is None

    async def test_only_a_live_job_is_cancelled(self, store: Store) -> None:
        for outcome in (Done(), Fail("x", "x")):
            await store.write(add, message())
            job = await store.write(claim_one)
            await store.write(settle, job, outcome)
            assert await store.write(cancel, job.id) is None
        assert await store.write(cancel, "unknown") is None

    async def test_a_live_job_is_not_deleted(self, store: Store) -> None:
        added = await store.write(add, message())
        assert not await store.write(delete, added.id)
        job = await store.write(claim_one)
        assert not await store.write(delete, added.id)
        await store.write(settle, job, Done())
        assert await store.write(delete, added.id)
        assert await store.read(lambda tx: tx.jobs.get(added.id)) is None
        assert not await store.write(delete, added.id)

    async def test_old_ends_are_pruned_in_slices(self, store: Store) -> None:
        ended: list[Job] = []
        for number in range(7):
            await store.write(add, loose(JobKind.CRON, 10), NOW)
            ended.append(await store.write(claim_one))
            await store.write(settle, ended[-1], Done(), NOW + number)
        live = await store.write(add, message())
        sizes = [await store.write(lambda tx: tx.jobs.prune(NOW + 5, 2)) for _ in range(4)]
        assert sizes == [2, 2, 1, 0]
        kept = [await store.read(lambda tx, i: tx.jobs.get(i), job.id) for job in ended]
        assert [job is not None for job in kept] == [False] * 5 + [True] * 2
        assert (await store.read(get, live.id)).status is JobStatus.PENDING

    async def test_live_jobs_of_an_execution_are_found(self, store: Store) -> None:
        jobs = [NewJob.advance("e1", "a", 5), NewJob.advance("e2", "a", 5), NewJob.advance("e1", "b", 5)]
        ids = [(await store.write(add, job)).id for job in jobs]
        for job in await store.write(claim):
            if job.lane == "b":
                await store.write(settle, job, Done())
        found = await store.write(lambda tx: [job.id for job in tx.jobs.live_of_execution("e1")])
        assert found == [ids[0]]
