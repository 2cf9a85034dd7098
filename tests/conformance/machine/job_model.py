"""The job store as plain dictionaries: the rules of the queue without SQL.

The model repeats each call of every committed transaction, and each must have had the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arvis.domain.ids import first_id_at
from arvis.domain.jobs import (
    CALLED,
    CRASH_DELAYS,
    LONGEST_LEASE_MS,
    MODEL_RETRY,
    POISON_CRASHES,
    RETRY,
    SUSPECT_ALONE_MS,
    SUSPECT_CRASHES,
    SUSPECT_RETRY_MS,
    Done,
    Fail,
    Job,
    NewJob,
    Pool,
    Released,
    Retry,
    Settlement,
    Snooze,
    pool_of,
    rank_of,
)
from arvis.ports.job_store import AddedJob, Slots

LIVE = {"pending", "running"}

#: Calls that change nothing and lock nothing.
_ONLY_READ = {"next_due", "live_of_execution", "head_of_lane", "would_fold", "joined_messages", "running"}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a `JobStore`, and what it returned."""

    name: str
    args: tuple[Any, ...]
    result: Any
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class ModelJob:
    id: str
    new: NewJob
    lane: str
    rank: int
    run_at: int
    key: str | None
    made_at: int
    status: str = "pending"
    claimable: bool = False
    attempts: int = 0
    crashes: int = 0
    progress: int = 0
    claim: int = 0
    owner: str | None = None
    node: str | None = None
    lease_until: int = 0
    started_at: int = 0
    finished_at: int | None = None
    merged_into: str | None = None
    told_to_wait: bool = False
    reason: str | None = None

    @property
    def pool(self) -> Pool:
        return pool_of(self.new.kind, self.new.priority)

    def held_by(self, claim: Job) -> bool:
        return self.status == "running" and (self.owner, self.claim) == (claim.owner, claim.claim)

    def waits(self, now: int) -> bool:
        """Return whether the job was postponed, and not only added before the clock was set back."""
        return self.told_to_wait and self.run_at > now


@dataclass(slots=True)
class JobModel:
    """The jobs by id, and the live jobs of each lane in order."""

    jobs: dict[str, ModelJob] = field(default_factory=dict)
    lanes: dict[str, list[ModelJob]] = field(default_factory=dict)

    def see(self, call: Call, *, alone: bool) -> None:
        """Repeat a call and compare the results.

        Next to another transaction (not `alone`), a claim may have found fewer jobs, and reads may be outdated.
        """
        if call.name == "claim" and not alone:
            self._see_some_claims(*call.args, result=call.result)
        elif alone or call.name not in _ONLY_READ:
            seen: Callable[..., None] = getattr(self, f"_see_{call.name}")
            seen(*call.args, **call.options, result=call.result)

    # -- queries -------------------------------------------------------------------------------------------

    def holds(self, claim: Job) -> bool:
        return claim.id in self.jobs and self.jobs[claim.id].held_by(claim)

    def next_due(self) -> int | None:
        heads = (lane[0] for lane in self.lanes.values())
        return min((head.run_at for head in heads if head.status == "pending" and not head.claimable), default=None)

    def claimable(self) -> list[ModelJob]:
        """Return the claimable heads in the order in which they are claimed."""
        heads = (lane[0] for lane in self.lanes.values())
        return sorted((h for h in heads if h.status == "pending" and h.claimable), key=lambda job: (job.rank, job.id))

    def ready(self, job: ModelJob) -> int:
        """Return the expected value of the column `ready`."""
        if job.status not in LIVE or self.lanes[job.lane][0] is not job:
            return 0
        return 3 if job.status == "running" else 1 if job.claimable else 2

    # -- calls ---------------------------------------------------------------------------------------------

    def _see_lock(self, lanes: Sequence[str], *, result: None) -> None:
        """Check nothing: a lock changes no job."""

    def _see_get(self, job_id: str, *, result: Job | None) -> None:
        """Check nothing: a read without a lock may be outdated."""

    def _see_held(self, claim: Job, *, result: bool) -> None:
        assert result == self.holds(claim), f"held {claim.id}"

    def _see_next_due(self, *, result: int | None) -> None:
        assert result == self.next_due()

    def _see_live_of_execution(self, execution_id: str, *, result: list[Job]) -> None:
        live = {job.id for job in self.jobs.values() if job.status in LIVE and job.new.execution_id == execution_id}
        assert {job.id for job in result} == live

    def _see_head_of_lane(self, lane: str, *, result: Job | None) -> None:
        head = self.lanes[lane][0] if lane in self.lanes else None
        assert (result and result.id) == (head and head.id)

    def _see_add(self, new: NewJob, now: int, *, result: AddedJob) -> None:
        known = next((job for job in self.jobs.values() if new.key is not None and job.key == new.key), None)
        assert result.created == (known is None)
        if known is not None:
            assert result.id == known.id
            return
        self._join(self._new(result.id, new, now), now)

    def _see_add_first(self, jobs: Sequence[NewJob], now: int, *, result: list[AddedJob]) -> None:
        lane = self.lanes.setdefault(jobs[0].lane or "", [])
        behind_head = int(bool(lane) and (lane[0].status == "running" or lane[0].claim > 0))
        added = [self._new(place.id, job, now) for job, place in zip(jobs, result, strict=True)]
        for job in lane[behind_head:]:
            job.claimable = False
        lane[behind_head:behind_head] = added
        lane[0].claimable = lane[0].claimable or lane[0] is added[0]

    def _new(self, job_id: str, new: NewJob, now: int) -> ModelJob:
        lane = new.lane if new.lane is not None else f"job:{job_id}"
        run_at = now if new.run_at is None else new.run_at
        rank = rank_of(new.priority, now) + new.behind
        job = ModelJob(job_id, new, lane, rank, run_at, new.key, now, told_to_wait=run_at > now)
        self.jobs[job_id] = job
        return job

    def _see_claim(self, slots: Slots, owner: str, node: str, now: int, lease_until: int, *, result: list[Job]) -> None:
        ready = self.claimable()
        background = [job for job in ready if job.pool is Pool.BACKGROUND][: slots.background]
        work = [job for job in ready if job.pool is Pool.INTERACTIVE or job in background][: slots.work]
        deliveries = [job for job in ready if job.pool is Pool.DELIVERY][: slots.delivery]
        picked = sorted(work + deliveries, key=lambda job: (job.rank, job.id))
        assert [job.id for job in result] == [job.id for job in picked], "claimed"
        assert [job.followers for job in result] == [len(self.lanes[job.lane]) - 1 for job in picked]
        self._claim(result, owner, node, now, lease_until)

    def _see_some_claims(
        self, slots: Slots, owner: str, node: str, now: int, lease_until: int, *, result: list[Job]
    ) -> None:
        ready = {job.id for job in self.claimable()}
        assert {job.id for job in result} <= ready, "claimed a job that is not claimable"
        pools = [self.jobs[job.id].pool for job in result]
        assert pools.count(Pool.DELIVERY) <= slots.delivery
        assert pools.count(Pool.BACKGROUND) <= slots.background
        assert len(pools) - pools.count(Pool.DELIVERY) <= slots.work
        self._claim(result, owner, node, now, lease_until)

    def _see_extend(self, job_ids: Sequence[str], owner: str, lease_until: int, *, result: set[str]) -> None:
        held = {job_id for job_id in job_ids if job_id in self.jobs and self._runs_for(job_id, owner)}
        assert result == held, "renewed"
        for job_id in held:
            self.jobs[job_id].lease_until = lease_until

    def _see_settle(self, claim: Job, outcome: Settlement, now: int, *, result: bool) -> None:
        assert result == self.holds(claim), (
            f"settled {claim.id} without holding it, or failed to settle it while holding it"
        )
        if not result:
            return
        job = self.jobs[claim.id]
        match outcome:
            case Done():
                self._end(job, "done", now)
            case Fail():
                self._end(job, "failed", now)
            case Retry(run_at=run_at, needs_model=needs_model):
                job.attempts += 1
                self._rest(job, run_at, now, MODEL_RETRY if needs_model else RETRY)
            case Snooze(run_at=run_at, reason=reason):
                self._rest(job, run_at, now, reason)
            case Released():
                self._rest(job, now, now, "handed_back")

    def _see_rescue(
        self,
        node: str,
        boot: str,
        now: int,
        *,
        result: list[Job],
        progress: Mapping[str, int],
        judge: bool = True,
        died: str = "",
    ) -> None:
        running = [job for job in self.jobs.values() if job.status == "running"]
        for job in running:
            job.lease_until = min(job.lease_until, now + LONGEST_LEASE_MS)
        expired = [job for job in running if judge and job.lease_until < now]
        lost = [job for job in running if job in expired or (job.node == node and job.owner != boot)]
        assert {job.id for job in result} == {job.id for job in lost}, "rescued"
        self._clear_suspects(lost, boot, died)
        for job in lost:
            now_at = progress.get(job.new.execution_id or "", 0)
            got_further, job.progress = job.progress < now_at, now_at
            delay = 0 if got_further or job.crashes >= len(CRASH_DELAYS) else CRASH_DELAYS[job.crashes]
            job.crashes = 0 if got_further else job.crashes + 1
            self._rest(job, now + 1000 * delay, now, None)

    def _clear_suspects(self, lost: Sequence[ModelJob], boot: str, died: str) -> None:
        running = [job for job in self.jobs.values() if job.status == "running"]
        suspected = {job.owner for job in running if job.crashes >= SUSPECT_CRASHES}
        idle = died != "" and died not in {job.owner for job in running}
        if not idle and {job.owner for job in lost} - {boot} <= suspected:
            return
        for head in (lane[0] for lane in self.lanes.values()):
            if head.status == "pending" and not head.claimable and SUSPECT_CRASHES < head.crashes < POISON_CRASHES:
                head.crashes -= 1

    def _see_hold_suspects(self, now: int, *, result: None) -> None:
        running = [job for job in self.jobs.values() if job.status == "running" and job.crashes >= SUSPECT_CRASHES]
        alone = all(job.started_at <= now - SUSPECT_ALONE_MS for job in running)
        heads = (lane[0] for lane in self.lanes.values())
        due = [h for h in heads if h.status == "pending" and not h.claimable and h.run_at <= now]
        suspects = sorted((h for h in due if h.crashes >= SUSPECT_CRASHES), key=lambda job: (job.run_at, job.id))
        for held_back in suspects[1:] if alone else suspects:
            held_back.run_at = now + SUSPECT_RETRY_MS

    def _see_wake(self, now: int, *, result: int) -> None:
        heads = (lane[0] for lane in self.lanes.values())
        woken = [h for h in heads if h.status == "pending" and not h.claimable and h.run_at <= now]
        assert result == len(woken), "woken"
        for head in woken:
            head.claimable = True

    def _see_cancel(self, job_id: str, now: int, *, result: Job | None) -> None:
        job = self.jobs.get(job_id)
        live = job is not None and job.status in LIVE
        assert (result is not None) == live, "cancelled"
        if job is not None and live:
            self._end(job, "cancelled", now)

    def _see_defer(self, job_id: str, run_at: int, *, result: bool) -> None:
        job = self.jobs.get(job_id)
        unbegun = job is not None and job.status == "pending" and job.claim == 0
        assert result == unbegun, "deferred"
        if job is not None and unbegun:
            job.run_at, job.claimable, job.told_to_wait = run_at, False, run_at > job.made_at

    def _see_call_back(self, job_id: str, now: int, *, result: None) -> None:
        job = self.jobs[job_id]
        if job.reason == CALLED and job.status == "pending" and not job.claimable:
            job.run_at, job.claimable = now, True

    def _see_step_aside(self, job_id: str, now: int, *, result: None) -> None:
        job = self.jobs[job_id]
        if job.reason == CALLED and job.status == "pending" and not job.claimable:
            self._end(job, "done", now)

    def _see_hasten(self, now: int, *, result: None) -> None:
        for lane in self.lanes.values():
            head = lane[0]
            wants_model = head.new.kind in {"message", "advance", "compact"} and head.reason in {
                MODEL_RETRY,
                "rate_limit",
            }
            if head.status == "pending" and not head.claimable and head.run_at > now and wants_model:
                head.attempts -= head.reason == MODEL_RETRY and head.attempts > 0
                head.run_at, head.claimable = now, True

    def _see_take_up(self, execution_id: str, now: int, *, result: None) -> None:
        for job in self.jobs.values():
            if job.new.execution_id == execution_id and job.status == "failed":
                job.status, job.finished_at = "cancelled", now

    def _see_take_over(self, job_id: str, by: str, now: int, *, result: None) -> None:
        job = self.jobs[job_id]
        if job.status in {"failed", "cancelled"}:
            job.status, job.merged_into, job.finished_at = "done", by, now

    def _see_requeue(self, job_id: str, now: int, *, result: Job | None) -> None:
        job = self.jobs.get(job_id)
        failed = job is not None and job.status == "failed"
        assert (result is not None) == failed, "requeued"
        if job is not None and failed:
            job.status, job.attempts, job.crashes, job.finished_at = "pending", 0, 0, None
            job.rank, job.run_at = rank_of(job.new.priority, now), now
            self._join(job, now)

    def _see_delete(self, job_id: str, *, result: bool) -> None:
        over = job_id in self.jobs and self.jobs[job_id].status not in LIVE
        assert result == over, "deleted"
        if over:
            del self.jobs[job_id]

    def _see_fold(self, claim: Job, max_jobs: int, max_tokens: int, now: int, *, result: list[Job]) -> None:
        may = self.holds(claim) and claim.principal_id is not None
        folded = self._foldable(claim, max_jobs, max_tokens, now) if may else []
        assert [job.id for job in result] == [job.id for job in folded], "folded"
        for job in folded:
            self._end(job, "done", now)
            job.merged_into = claim.id

    def _see_would_fold(self, head: Job, max_jobs: int, max_tokens: int, now: int, *, result: bool) -> None:
        assert result == (head.principal_id is not None and bool(self._foldable(head, max_jobs, max_tokens, now)))

    def _see_joined_messages(self, execution_id: str, *, result: set[str]) -> None:
        own = {job.id for job in self.jobs.values() if job.new.execution_id == execution_id}
        joined = {job.new.message_id for job in self.jobs.values() if job.merged_into in own and job.claim == 0}
        assert result == joined - {None}

    def _see_running(self, now: int, limit: int, *, result: list[tuple[Job, str]]) -> None:
        running = [job for job in self.jobs.values() if job.status == "running" and job.lease_until >= now]
        work = sorted(
            (job for job in running if job.pool is not Pool.DELIVERY), key=lambda job: (job.started_at, job.id)
        )
        assert [(job.id, node) for job, node in result] == [(job.id, job.node) for job in work[:limit]]

    def _see_prune(self, before: int, limit: int, *, result: int) -> None:
        ended = (job for job in self.jobs.values() if job.finished_at is not None and job.finished_at < before)
        old = sorted(job.id for job in ended if job.id < first_id_at(before))[:limit]
        assert result == len(old), "pruned"
        for job_id in old:
            del self.jobs[job_id]

    # -- changes of the model ------------------------------------------------------------------------------

    def _runs_for(self, job_id: str, owner: str) -> bool:
        return self.jobs[job_id].status == "running" and self.jobs[job_id].owner == owner

    def _claim(self, claimed: Sequence[Job], owner: str, node: str, now: int, lease_until: int) -> None:
        for claim in claimed:
            job = self.jobs[claim.id]
            job.started_at = now
            job.status, job.owner, job.node, job.lease_until = "running", owner, node, lease_until
            job.claim += 1
            assert (claim.claim, claim.owner) == (job.claim, owner)
            assert (claim.attempts, claim.crashes) == (job.attempts, job.crashes)

    def _foldable(self, claim: Job, max_jobs: int, max_tokens: int, now: int) -> list[ModelJob]:
        head, *followers = self.lanes.get(claim.lane, [self.jobs[claim.id]])
        tokens, folded = head.new.tokens, list[ModelJob]()
        for job in followers[: max_jobs - 1]:
            tokens += job.new.tokens
            same = (job.new.kind, job.new.principal_id) == ("message", claim.principal_id)
            if not same or job.claim or job.waits(now) or tokens > max_tokens:
                break
            folded.append(job)
        return folded

    def _join(self, job: ModelJob, now: int) -> None:
        lane = self.lanes.setdefault(job.lane, [])
        lane.append(job)
        job.claimable = lane[0] is job and job.run_at <= now

    def _rest(self, job: ModelJob, run_at: int, now: int, reason: str | None) -> None:
        job.status, job.owner, job.run_at, job.claimable, job.reason = "pending", None, run_at, run_at <= now, reason

    def _end(self, job: ModelJob, status: str, now: int) -> None:
        job.status, job.owner, job.claimable, job.finished_at = status, None, False, now
        if job.new.key_live:
            job.key = None
        lane = self.lanes[job.lane]
        was_head = lane[0] is job
        lane.remove(job)
        if not lane:
            del self.lanes[job.lane]
        elif was_head:
            lane[0].claimable = lane[0].run_at <= now
