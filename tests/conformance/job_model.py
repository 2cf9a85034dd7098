"""The job store as plain dictionaries: what queue.md says, without SQL. The state machine compares both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from arvis.domain.jobs import (
    CRASH_DELAYS,
    Done,
    Failed,
    HandedBack,
    Job,
    NewJob,
    Outcome,
    Pool,
    Retry,
    Snooze,
    pool_of,
    rank_of,
)
from arvis.ports.job_store import Slots

LIVE = {"pending", "running"}


@dataclass(slots=True)
class ModelJob:
    id: str
    new: NewJob
    lane: str
    rank: int
    run_at: int
    key: str | None
    status: str = "pending"
    claimable: bool = False
    attempts: int = 0
    crashes: int = 0
    claim: int = 0
    owner: str | None = None
    node: str | None = None
    lease_until: int = 0
    merged_into: str | None = None

    @property
    def pool(self) -> Pool:
        return pool_of(self.new.kind, self.new.priority)

    def held_by(self, claim: Job) -> bool:
        return self.status == "running" and (self.owner, self.claim) == (claim.owner, claim.claim)


@dataclass(slots=True)
class JobModel:
    jobs: dict[str, ModelJob] = field(default_factory=dict)
    lanes: dict[str, list[ModelJob]] = field(default_factory=dict)

    # -- what can be asked ---------------------------------------------------------------------------------

    def keyed(self, key: str | None) -> ModelJob | None:
        return next((job for job in self.jobs.values() if key is not None and job.key == key), None)

    def to_claim(self, slots: Slots) -> list[ModelJob]:
        ready = [lane[0] for lane in self.lanes.values() if lane[0].status == "pending" and lane[0].claimable]
        ready.sort(key=lambda job: (job.rank, job.id))
        background = [job for job in ready if job.pool is Pool.BACKGROUND][: slots.background]
        work = [job for job in ready if job.pool is Pool.INTERACTIVE or job in background][: slots.work]
        deliveries = [job for job in ready if job.pool is Pool.DELIVERY][: slots.delivery]
        return sorted(work + deliveries, key=lambda job: (job.rank, job.id))

    def foldable(self, claim: Job, max_jobs: int, max_tokens: int) -> list[ModelJob]:
        if claim.id not in self.jobs or not self.jobs[claim.id].held_by(claim):
            return []
        head, *followers = self.lanes[claim.lane]
        tokens, folded = head.new.tokens, list[ModelJob]()
        for job in followers[: max_jobs - 1]:
            tokens += job.new.tokens
            same = (job.new.kind, job.new.principal_id) == (head.new.kind, head.new.principal_id)
            if not same or job.claim or tokens > max_tokens:
                break
            folded.append(job)
        return folded

    def next_due(self) -> int | None:
        resting = [lane[0] for lane in self.lanes.values() if lane[0].status == "pending" and not lane[0].claimable]
        return min((job.run_at for job in resting), default=None)

    # -- what can be done ----------------------------------------------------------------------------------

    def add(self, job_id: str, new: NewJob, now: int) -> None:
        lane = new.lane if new.lane is not None else f"job:{job_id}"
        run_at = now if new.run_at is None else new.run_at
        job = ModelJob(job_id, new, lane, rank_of(new.priority, now), run_at, new.key)
        self.jobs[job_id] = job
        self._join(job, now)

    def claim(self, picked: Sequence[ModelJob], owner: str, node: str, lease_until: int) -> None:
        for job in picked:
            job.status, job.owner, job.node, job.lease_until = "running", owner, node, lease_until
            job.claim += 1

    def settle(self, claim: Job, outcome: Outcome, now: int) -> bool:
        job = self.jobs.get(claim.id)
        if job is None or not job.held_by(claim):
            return False
        match outcome:
            case Done():
                self._end(job, "done", now)
            case Failed():
                self._end(job, "failed", now)
            case Retry(run_at=run_at):
                job.attempts += 1
                self._rest(job, run_at, now)
            case Snooze(run_at=run_at):
                self._rest(job, run_at, now)
            case HandedBack():
                self._rest(job, now, now)
        return True

    def cancel(self, job_id: str, now: int) -> bool:
        job = self.jobs.get(job_id)
        if job is None or job.status not in LIVE:
            return False
        self._end(job, "cancelled", now)
        return True

    def requeue(self, job_id: str, now: int) -> bool:
        job = self.jobs.get(job_id)
        if job is None or job.status != "failed":
            return False
        job.status, job.attempts, job.crashes = "pending", 0, 0
        job.rank, job.run_at = rank_of(job.new.priority, now), now
        self._join(job, now)
        return True

    def delete(self, job_id: str) -> bool:
        if job_id not in self.jobs or self.jobs[job_id].status in LIVE:
            return False
        del self.jobs[job_id]
        return True

    def fold(self, folded: Sequence[ModelJob], head_id: str, now: int) -> None:
        for job in folded:
            self._end(job, "done", now)
            job.merged_into = head_id

    def rescue(self, node: str, boot: str, now: int) -> set[str]:
        lost = [
            job
            for job in self.jobs.values()
            if job.status == "running" and (job.lease_until < now or (job.node == node and job.owner != boot))
        ]
        for job in lost:
            delay = CRASH_DELAYS[job.crashes] if job.crashes < len(CRASH_DELAYS) else 0
            job.crashes += 1
            self._rest(job, now + 1000 * delay, now)
        return {job.id for job in lost}

    def wake(self, now: int) -> int:
        woken = 0
        for head, *_ in self.lanes.values():
            if head.status == "pending" and not head.claimable and head.run_at <= now:
                head.claimable = True
                woken += 1
        return woken

    # -- lanes ---------------------------------------------------------------------------------------------

    def _join(self, job: ModelJob, now: int) -> None:
        lane = self.lanes.setdefault(job.lane, [])
        lane.append(job)
        job.claimable = lane[0] is job and job.run_at <= now

    def _rest(self, job: ModelJob, run_at: int, now: int) -> None:
        job.status, job.owner, job.run_at, job.claimable = "pending", None, run_at, run_at <= now

    def _end(self, job: ModelJob, status: str, now: int) -> None:
        job.status, job.owner, job.claimable = status, None, False
        if job.new.key_live:
            job.key = None
        lane = self.lanes[job.lane]
        was_head = lane[0] is job
        lane.remove(job)
        if not lane:
            del self.lanes[job.lane]
        elif was_head:
            lane[0].claimable = lane[0].run_at <= now
