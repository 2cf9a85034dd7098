"""Cases for lanes: their jobs run one at a time and in order, even if some fail, are cancelled or are folded."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from dataclasses import replace

import pytest

from arvis.domain.jobs import Done, Fail, Job, JobKind, JobStatus, Released, Retry, Snooze
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from tests.conformance.store.recovery import RecoveryCases
from tests.conformance.store.scripts import (
    NOW,
    add,
    add_first,
    cancel,
    claim,
    claim_one,
    delete,
    fold,
    get,
    head_of,
    joined_messages,
    message,
    next_due,
    requeue,
    rescue,
    settle,
    wake,
)


class LaneCases(RecoveryCases):
    async def test_only_the_head_of_a_lane_is_claimed(self, store: Store) -> None:
        ids = [(await store.write(add, message("a"))).id for _ in range(3)]
        other = await store.write(add, message("b"))
        assert {job.id for job in await store.write(claim)} == {ids[0], other.id}
        head = await store.read(head_of, "a")
        assert head is not None
        assert head.id == ids[0]

    async def test_order_in_a_lane_is_arrival_whatever_the_priority(self, store: Store) -> None:
        for priority in (10, 5, 1):
            await store.write(add, message("a", priority=priority))
        order = []
        while claimed := await store.write(claim):
            order += [job.priority for job in claimed]
            await store.write(settle, claimed[0], Done())
        assert order == [10, 5, 1]

    async def test_a_claim_tells_how_many_stand_behind(self, store: Store) -> None:
        for lane in ("a", "b", "b", "b"):
            await store.write(add, message(lane))
        assert {job.lane: job.followers for job in await store.write(claim)} == {"a": 0, "b": 2}

    async def test_an_empty_lane_leaves_nothing_behind(self, store: Store) -> None:
        """Its numbers start again, which shows that its row is gone."""
        for end in (Done(), Fail("x", "x")):
            assert (await store.write(add, message("a"))).position == 1
            stale = await store.write(claim_one)
            await store.write(settle, stale, end)
            # No late event creates the lane again.
            assert not await store.write(settle, stale, Released())
            assert await store.write(cancel, stale.id) is None
            assert await store.write(fold, stale) == []
        added = await store.write(add, message("a"))
        assert added.position == 1
        await store.write(cancel, added.id)
        assert (await store.write(add, message("a"))).position == 1

    async def test_a_head_that_rests_keeps_its_lane(self, store: Store) -> None:
        first = await store.write(add, replace(message("a"), run_at=NOW + 50))
        await store.write(add, message("a"))
        assert await store.write(claim) == []
        assert await store.read(next_due) == NOW + 50
        assert await store.write(wake, NOW + 49) == 0
        assert await store.write(wake, NOW + 50) == 1
        assert await store.read(next_due) is None
        assert (await store.write(claim_one, NOW + 50)).id == first.id

    async def test_a_follower_that_must_wait_rests_when_it_becomes_the_head(self, store: Store) -> None:
        await store.write(add, message("a"))
        second = await store.write(add, replace(message("a"), run_at=NOW + 50))
        assert await store.read(next_due) is None
        await store.write(settle, await store.write(claim_one), Done())
        assert await store.read(next_due) == NOW + 50
        assert await store.write(claim) == []
        await store.write(wake, NOW + 50)
        assert (await store.write(claim_one, NOW + 50)).id == second.id

    @pytest.mark.parametrize("outcome", [Retry("no", NOW + 50), Snooze(NOW + 50, "busy")])
    async def test_a_retry_is_not_overtaken(self, store: Store, outcome: Retry | Snooze) -> None:
        first, second = [(await store.write(add, message("a"))).id for _ in range(2)]
        await store.write(settle, await store.write(claim_one), outcome)
        assert await store.write(claim) == []
        await store.write(wake, NOW + 50)
        head = await store.write(claim_one)
        assert head.id == first
        await store.write(settle, head, Done())
        assert (await store.write(claim_one)).id == second

    async def test_a_rescued_head_is_not_overtaken(self, store: Store) -> None:
        first, _ = [(await store.write(add, message("a"))).id for _ in range(2)]
        await store.write(claim_one)
        await store.write(rescue, NOW)
        assert (await store.write(claim_one)).id == first

    # -- cancel and requeue --------------------------------------------------------------------------------

    async def test_cancelling_a_waiting_head_lets_the_next_one_go(self, store: Store) -> None:
        first, second = [(await store.write(add, message("a"))).id for _ in range(2)]
        cancelled = await store.write(cancel, first)
        assert cancelled is not None
        assert (await store.read(get, first)).status is JobStatus.CANCELLED
        assert (await store.write(claim_one)).id == second

    async def test_cancelling_a_resting_head_lets_the_next_one_go(self, store: Store) -> None:
        first = await store.write(add, replace(message("a"), run_at=NOW + 50))
        second = await store.write(add, message("a"))
        await store.write(cancel, first.id)
        assert await store.read(next_due) is None
        assert (await store.write(claim_one)).id == second.id

    async def test_cancelling_a_running_head_takes_its_lease(self, store: Store) -> None:
        _, second = [(await store.write(add, message("a"))).id for _ in range(2)]
        running = await store.write(claim_one)
        await store.write(cancel, running.id)
        assert not await store.write(settle, running, Done())
        head = await store.write(claim_one)
        assert head.id == second
        assert await store.write(settle, head, Done())

    async def test_cancelling_a_follower_disturbs_nobody(self, store: Store) -> None:
        first, second, third = [(await store.write(add, message("a"))).id for _ in range(3)]
        running = await store.write(claim_one)
        await store.write(cancel, second)
        assert await store.write(claim) == []
        await store.write(settle, running, Done())
        assert running.id == first
        assert (await store.write(claim_one)).id == third

    async def test_a_requeued_job_joins_at_the_tail(self, store: Store) -> None:
        first, second = [(await store.write(add, message("a"))).id for _ in range(2)]
        await store.write(settle, await store.write(claim_one), Fail("x", "x"))
        await store.write(requeue, first)
        order = []
        while claimed := await store.write(claim):
            order += [job.id for job in claimed]
            await store.write(settle, claimed[0], Done())
        assert order == [second, first]

    # -- fold ----------------------------------------------------------------------------------------------

    async def test_followers_of_the_same_person_join_the_head(self, store: Store) -> None:
        ids = [(await store.write(add, message("a"))).id for _ in range(4)]
        await store.write(add, message("b"))
        head = next(job for job in await store.write(claim) if job.lane == "a")
        folded = await store.write(fold, head)
        assert [job.id for job in folded] == ids[1:]
        assert {(job.status, job.merged_into) for job in folded} == {(JobStatus.DONE, head.id)}
        assert await store.write(settle, head, Done())
        assert (await store.write(add, message("a"))).position == 1

    @pytest.mark.parametrize(
        ("followers", "joined"),
        [("aab", 2), ("baa", 0), ("aba", 1), ("", 0), ("a" * 12, 9)],
        ids=["until another", "another first", "never over another", "nobody", "ten at most"],
    )
    async def test_a_fold_ends_at_another_person_and_at_ten(self, store: Store, followers: str, joined: int) -> None:
        await store.write(add, message("a", principal="a"))
        ids = [(await store.write(add, message("a", principal=person))).id for person in followers]
        head = await store.write(claim_one)
        assert [job.id for job in await store.write(fold, head)] == ids[:joined]
        await store.write(settle, head, Done())
        remaining = await store.write(claim)
        assert [job.id for job in remaining] == ids[joined : joined + 1]

    @pytest.mark.parametrize(
        ("head", "followers", "joined"),
        [(7_000, (500, 500, 1), 2), (7_000, (1_001,), 0), (9_000, (1,), 0), (7_999, (2, 1), 0)],
    )
    async def test_a_fold_counts_the_tokens_of_all(
        self, store: Store, head: int, followers: tuple[int, ...], joined: int
    ) -> None:
        await store.write(add, message("a", tokens=head))
        for tokens in followers:
            await store.write(add, message("a", tokens=tokens))
        assert len(await store.write(fold, await store.write(claim_one))) == joined

    async def test_a_fold_takes_messages_only(self, store: Store) -> None:
        await store.write(add, message("a"))
        await store.write(add, replace(message("a"), kind=JobKind.ADVANCE))
        await store.write(add, message("a"))
        assert await store.write(fold, await store.write(claim_one)) == []

    async def test_a_turn_that_has_begun_stays_a_turn(self, store: Store) -> None:
        first, second = [(await store.write(add, message("a"))).id for _ in range(2)]
        await store.write(settle, await store.write(claim_one), Fail("x", "x"))
        await store.write(requeue, first)
        head = await store.write(claim_one)
        assert head.id == second
        assert await store.write(fold, head) == []

    async def test_nobody_is_not_a_person(self, store: Store) -> None:
        for _ in range(2):
            await store.write(add, replace(message("a"), principal_id=None))
        assert await store.write(fold, await store.write(claim_one)) == []

    async def test_a_lost_lease_folds_nothing(self, store: Store) -> None:
        for _ in range(3):
            await store.write(add, message("a"))
        stale = await store.write(claim_one)
        await store.write(rescue, NOW)
        assert await store.write(fold, stale) == []
        assert len(await store.write(fold, await store.write(claim_one))) == 2

    # -- jobs before all that wait -------------------------------------------------------------------------

    async def test_jobs_that_are_put_first_run_before_all_that_waits(self, store: Store) -> None:
        ids = [(await store.write(add, message("a", principal=person))).id for person in "abc"]
        head = await store.write(claim_one)
        early = [job.id for job in await store.write(add_first, [message("a"), message("a")])]
        assert await store.write(claim) == []
        await store.write(settle, head, Done())
        assert await self._in_order(store) == [*early, *ids[1:]]

    async def test_jobs_are_put_before_the_one_that_was_to_run_next(self, store: Store) -> None:
        ids = [(await store.write(add, message("a", principal=person))).id for person in "abc"]
        early = await store.write(_ended_and_put_first, await store.write(claim_one))
        assert await self._in_order(store) == [*early, *ids[1:]]

    async def test_jobs_that_are_put_first_in_an_empty_lane_run(self, store: Store) -> None:
        await store.write(add, message("a"))
        early = await store.write(_ended_and_put_first, await store.write(claim_one))
        assert await self._in_order(store) == early

    async def test_a_job_that_was_tried_stays_before_those_that_are_put_first(self, store: Store) -> None:
        first, last = [(await store.write(add, message("a", principal=person))).id for person in "ab"]
        await store.write(settle, await store.write(claim_one), Retry("no", NOW))
        (early,) = await store.write(add_first, [message("a")])
        assert await self._in_order(store) == [first, early.id, last]

    async def _in_order(self, store: Store) -> list[str]:
        """Run the jobs there one after the other, and return their ids."""
        ran = []
        while jobs := await store.write(claim):
            (job,) = jobs
            ran.append(job.id)
            await store.write(settle, job, Done())
        return ran

    async def test_the_messages_that_joined_are_known(self, store: Store) -> None:
        await store.write(add, replace(message("a"), execution_id="e"))
        await store.write(add, replace(message("a"), message_id="second"))
        head = await store.write(claim_one)
        assert await store.read(joined_messages, "e") == set()
        await store.write(fold, head)
        assert await store.read(joined_messages, "e") == {"second"}

    async def test_a_folded_job_may_be_deleted_and_the_head_retried(self, store: Store) -> None:
        first, second, third = [(await store.write(add, message("a"))).id for _ in range(3)]
        head = await store.write(claim_one)
        await store.write(fold, head, max_jobs=2)
        assert await store.write(delete, second)
        await store.write(settle, head, Retry("no", NOW))
        head = await store.write(claim_one)
        assert (head.id, head.followers) == (first, 1)
        assert [job.id for job in await store.write(fold, head)] == [third]

    # -- many callers at once ------------------------------------------------------------------------------

    async def test_lanes_hold_under_adders_and_workers_at_once(self, store: Store) -> None:
        """Run 200 lanes of 10 jobs.

        No two jobs of a lane run at once or out of order, and no job is lost or runs twice.
        """
        load = _Load(store, lanes=200, depth=10, chance=random.Random(7))
        await asyncio.gather(*(load.add() for _ in range(8)), *(load.work(f"boot-{n}") for n in range(8)))
        assert load.overlaps == 0
        assert load.ran == {f"lane-{lane}": list(range(10)) for lane in range(200)}
        assert await store.write(claim) == []


class _Load:
    """Adders and workers that share a plan; `ran` lists the numbers of each lane's jobs as they ended."""

    def __init__(self, store: Store, *, lanes: int, depth: int, chance: random.Random) -> None:
        self._store = store
        self._depth = depth
        self._waiting = [lane for lane in range(lanes) for _ in range(depth)]
        chance.shuffle(self._waiting)
        self._left = len(self._waiting)
        self._added: dict[int, int] = defaultdict(int)
        self._locks = defaultdict[int, asyncio.Lock](asyncio.Lock)
        self._running: set[str] = set()
        self.ran: dict[str, list[int]] = defaultdict(list)
        self.overlaps = 0

    async def add(self) -> None:
        while self._waiting:
            lane = self._waiting.pop()
            # Numbers are given in the order of commits, so one caller adds to a lane at a time.
            async with self._locks[lane]:
                number, self._added[lane] = self._added[lane], self._added[lane] + 1
                await self._store.write(add, replace(message(f"lane-{lane}"), payload={"number": number}))

    async def work(self, owner: str) -> None:
        while self._left:
            for job in await self._store.write(claim, Slots(4, 4, 0), owner=owner):
                await self._run(job)

    async def _run(self, job: Job) -> None:
        self.overlaps += job.lane in self._running
        self._running.add(job.lane)
        await asyncio.sleep(0)
        self._running.discard(job.lane)
        self.ran[job.lane].append(job.payload["number"])
        assert await self._store.write(settle, job, Done())
        self._left -= 1


def _ended_and_put_first(tx: Transaction, head: Job) -> list[str]:
    """In one commit, end a job, which makes the next one the head, and put two others before that one."""
    tx.jobs.settle(head, Done(), NOW)
    return [job.id for job in tx.jobs.add_first([message("a"), message("a")], NOW)]
