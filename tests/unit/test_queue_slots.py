"""Free slots: never exceeded and never leaked, in any order of commits, failures and ends of tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from arvis.domain.jobs import Job, JobKind, JobStatus, Pool, pool_of, rank_of
from arvis.ports.job_store import Slots
from arvis.queue.slots import SlotPool
from arvis.testing.clock import SteppedClock

WORKERS, DELIVERY_WORKERS = 4, 2
NOW = 1_800_000_000_000
PRIORITIES = {Pool.INTERACTIVE: 5, Pool.BACKGROUND: 10, Pool.DELIVERY: 5}


def running_job(job_id: str, pool: Pool, claim: int = 1) -> Job:
    kind = {Pool.DELIVERY: JobKind.DELIVER, Pool.BACKGROUND: JobKind.CRON}.get(pool, JobKind.MESSAGE)
    assert pool_of(kind, PRIORITIES[pool]) is pool
    return Job(
        id=job_id,
        kind=kind,
        status=JobStatus.RUNNING,
        pool=pool,
        priority=PRIORITIES[pool],
        rank=rank_of(PRIORITIES[pool], NOW),
        lane=job_id,
        position=1,
        run_at=NOW,
        attempts=0,
        crashes=0,
        claim=claim,
        owner="boot",
        key=None,
        agent_id=None,
        principal_id=None,
        message_id=None,
        execution_id=None,
        delivery_id=None,
        tokens=0,
        payload={},
        error=None,
        reason=None,
        merged_into=None,
        created_at=NOW,
        started_at=NOW,
        finished_at=None,
        lease_until=NOW,
    )


class Kept:
    """A pool of slots, and the calls that it made."""

    def __init__(self, workers: int = WORKERS, *, alone: bool = False) -> None:
        self.started: list[Job] = []
        self.missed = 0
        self.keeper = SlotPool(
            workers=workers,
            delivery_workers=DELIVERY_WORKERS,
            owner="boot",
            node="node",
            lease_ms=30_000,
            alone=alone,
            clock=SteppedClock(now=NOW),
            start=self.started.extend,
            due=lambda at: None,
            sent=lambda deliveries: None,
            changed=lambda topics: None,
            missed=self._miss,
        )

    def _miss(self) -> None:
        self.missed += 1

    def claim(self, *jobs: Job, ended: Sequence[str] = ()) -> Slots:
        slots = self.keeper.reserve(ended, ready=Pool)
        self.keeper.deliver(slots, ended, jobs)
        return slots


def test_all_free_slots_are_offered_and_background_never_gets_the_last() -> None:
    kept = Kept()
    assert kept.claim() == Slots(4, 3, 2)
    assert kept.claim(*(running_job(f"b{n}", Pool.BACKGROUND) for n in range(3))) == Slots(4, 3, 2)
    assert kept.claim(running_job("i", Pool.INTERACTIVE)) == Slots(1, 0, 2)
    assert kept.claim(running_job("d", Pool.DELIVERY)) == Slots(0, 0, 2)
    assert kept.claim(ended=["b0"]) == Slots(1, 1, 1)


def test_a_process_without_others_claims_only_if_jobs_may_be_ready() -> None:
    kept = Kept(alone=True)
    keeper = kept.keeper
    assert keeper.reserve((), ready=()), "before the first claim, jobs may be waiting"
    kept = Kept(alone=True)
    keeper = kept.keeper
    kept.claim(running_job("i", Pool.INTERACTIVE))  # It left slots of each kind, so no job is ready.
    nothing = keeper.reserve(["i"], ready=())
    assert not nothing
    keeper.deliver(nothing, ["i"], [])
    full = kept.claim(*(running_job(f"d{n}", Pool.DELIVERY) for n in range(DELIVERY_WORKERS)))
    assert full.delivery == DELIVERY_WORKERS
    again = keeper.reserve(["d0"], ready=())
    assert again, "a claim that used all slots of a kind may have left jobs"
    keeper.deliver(again, ["d0"], None)
    assert keeper.reserve(["d0"], ready=()), "the commit failed"


def test_a_process_without_others_claims_only_from_pools_with_ready_jobs() -> None:
    kept = Kept(alone=True)
    assert kept.claim() == Slots(4, 3, 2)
    keeper = kept.keeper

    def claim(*ready: Pool, jobs: Sequence[Job] = ()) -> Slots:
        slots = keeper.reserve((), ready=ready)
        keeper.deliver(slots, (), jobs)
        return slots

    assert claim(Pool.INTERACTIVE) == Slots(4, 0, 0)
    assert claim(Pool.DELIVERY) == Slots(0, 0, 2, interactive=False)
    assert claim(Pool.BACKGROUND) == Slots(4, 3, 0, interactive=False)
    two = [running_job(f"d{number}", Pool.DELIVERY) for number in range(2)]
    assert claim(Pool.DELIVERY, jobs=two) == Slots(0, 0, 2, interactive=False)
    freed = keeper.reserve(["d0"], ready=())
    assert freed == Slots(0, 0, 1, interactive=False), "deliveries may wait, because the last claim used all slots"
    keeper.deliver(freed, ["d0"], None)
    assert claim() == Slots(0, 0, 0, interactive=False), "the delivery still runs, because its commit failed"


def test_jobs_that_become_ready_while_all_slots_are_used_are_claimed_later() -> None:
    kept = Kept(workers=1, alone=True)
    kept.claim()
    kept.claim(running_job("i", Pool.INTERACTIVE), *(running_job(f"d{n}", Pool.DELIVERY) for n in range(2)))
    nothing = kept.keeper.reserve((), ready=Pool)
    assert not nothing
    kept.keeper.deliver(nothing, (), [])
    assert kept.keeper.reserve(["i"], ready=())


def test_two_claims_at_once_never_share_a_slot() -> None:
    keeper = Kept().keeper
    first, second = keeper.reserve((), ready=Pool), keeper.reserve((), ready=Pool)
    assert (first, second) == (Slots(4, 3, 2), Slots(0, 0, 0))


def test_two_claims_at_once_leave_the_last_slot_to_interactive_work() -> None:
    """One claim ends an interactive job, while the other may be claiming background jobs into all other slots."""
    kept = Kept(workers=2)
    kept.claim(running_job("i", Pool.INTERACTIVE))
    assert kept.keeper.reserve((), ready=Pool) == Slots(1, 1, 2)
    assert kept.keeper.reserve(["i"], ready=Pool) == Slots(1, 0, 0)


def test_what_was_not_used_is_offered_again() -> None:
    kept = Kept()
    first = kept.keeper.reserve((), ready=Pool)
    second = kept.keeper.reserve((), ready=Pool)
    kept.keeper.deliver(first, (), [])
    assert kept.missed == 0
    kept.keeper.deliver(second, (), [])
    assert kept.missed == 1
    assert kept.claim() == Slots(4, 3, 2)
    assert kept.missed == 1


def test_a_job_that_should_have_ended_counts_again_when_its_commit_failed() -> None:
    kept = Kept()
    job = running_job("i", Pool.INTERACTIVE)
    kept.claim(job)
    slots = kept.keeper.reserve(["i"], ready=Pool)
    assert slots.work == 4
    kept.keeper.deliver(slots, ["i"], None)
    assert kept.keeper.counts(job)
    assert kept.claim().work == 3


def test_a_task_that_ended_during_its_failing_commit_is_not_counted_for_ever() -> None:
    kept = Kept()
    job = running_job("i", Pool.INTERACTIVE)
    kept.claim(job)
    slots = kept.keeper.reserve(["i"], ready=Pool)
    assert not kept.keeper.release(job)
    kept.keeper.deliver(slots, ["i"], None)
    assert kept.claim().work == 4


def test_an_older_claim_does_not_free_the_slot_of_a_newer_one() -> None:
    """A job that is postponed to now is claimed again in the same commit, before its first task has ended."""
    kept = Kept()
    first = running_job("i", Pool.INTERACTIVE)
    kept.claim(first)
    second = replace(first, claim=2)
    kept.claim(second, ended=["i"])
    assert not kept.keeper.release(first)
    assert kept.keeper.counts(second)
    assert kept.keeper.running() == [second]
    assert kept.keeper.release(second)


def test_a_closed_keeper_offers_nothing_and_tells_when_claims_have_come_home() -> None:
    kept = Kept()
    quiet: list[bool] = []
    on_its_way = kept.keeper.reserve((), ready=Pool)
    kept.keeper.close(lambda: quiet.append(True))
    assert kept.claim() == Slots(0, 0, 0)
    assert quiet == []
    kept.keeper.deliver(on_its_way, (), [running_job("i", Pool.INTERACTIVE)])
    assert quiet == [True]
    assert [job.id for job in kept.started] == ["i"]


@pytest.mark.parametrize("pool", Pool)
def test_a_settled_job_is_released_once(pool: Pool) -> None:
    kept = Kept()
    job = running_job("x", pool)
    kept.claim(job)
    kept.claim(ended=["x"])
    assert not kept.keeper.release(job)
    assert kept.claim() == Slots(4, 3, 2)


class SlotMachine(RuleBasedStateMachine):
    """Several commits at once, as on PostgreSQL; tasks end before or after their commits."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = Kept()
        self.numbers = count()
        self.on_the_way: list[tuple[Slots, tuple[str, ...]]] = []
        self.live: dict[str, Job] = {}
        self.tasks: list[Job] = []

    @rule(ending=st.integers(0, 3))
    def reserve(self, ending: int) -> None:
        taken = {job_id for _, ended in self.on_the_way for job_id in ended}
        ended = tuple([job_id for job_id in self.live if job_id not in taken][:ending])
        self.on_the_way.append((self.kept.keeper.reserve(ended, ready=Pool), ended))

    @precondition(lambda self: self.on_the_way)
    @rule(which=st.integers(0, 9), used=st.integers(0, 6), fails=st.sampled_from([False, False, True]), data=st.data())
    def deliver(self, which: int, used: int, *, fails: bool, data: st.DataObject) -> None:
        slots, ended = self.on_the_way.pop(which % len(self.on_the_way))
        if fails:
            self.kept.keeper.deliver(slots, ended, None)
            return
        jobs = [job for _, job in zip(range(used), self._jobs_for(slots, data), strict=False)]
        for job_id in ended:
            self.live.pop(job_id, None)
        self.live.update((job.id, job) for job in jobs)
        self.tasks += jobs
        self.kept.keeper.deliver(slots, ended, jobs)

    @precondition(lambda self: self.tasks)
    @rule(which=st.integers(0, 9))
    def end_task(self, which: int) -> None:
        job = self.tasks.pop(which % len(self.tasks))
        busy = {job_id for _, ended in self.on_the_way for job_id in ended}
        counted = job.id in self.live and job.id not in busy
        assert self.kept.keeper.release(job) == counted
        self.live.pop(job.id, None)

    @invariant()
    def no_pool_is_overfull(self) -> None:
        pools = [job.pool for job in self.live.values()]
        deliveries = pools.count(Pool.DELIVERY)
        assert deliveries <= DELIVERY_WORKERS
        assert len(pools) - deliveries <= WORKERS
        assert pools.count(Pool.BACKGROUND) <= WORKERS - 1

    @invariant()
    def counted_is_what_runs(self) -> None:
        busy = {job_id for _, ended in self.on_the_way for job_id in ended}
        assert {job.id for job in self.kept.keeper.running()} == self.live.keys() - busy

    @invariant()
    def nothing_is_held_back_when_nothing_is_on_its_way(self) -> None:
        if not self.on_the_way:
            deliveries = sum(job.pool is Pool.DELIVERY for job in self.live.values())
            slots = self.kept.claim()
            assert (slots.work, slots.delivery) == (
                WORKERS - (len(self.live) - deliveries),
                DELIVERY_WORKERS - deliveries,
            )

    def _jobs_for(self, slots: Slots, data: st.DataObject) -> list[Job]:
        background = data.draw(st.integers(0, slots.background))
        pools = [Pool.BACKGROUND] * background + [Pool.INTERACTIVE] * (slots.work - background)
        pools += [Pool.DELIVERY] * slots.delivery
        return [running_job(f"j{next(self.numbers)}", pool) for pool in data.draw(st.permutations(pools))]


TestSlotMachine = SlotMachine.TestCase
TestSlotMachine.settings = settings(max_examples=60, stateful_step_count=40)
