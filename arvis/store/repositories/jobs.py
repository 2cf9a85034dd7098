"""The rows of the queue: lanes, claims, leases and the ends of jobs. Every method runs only a few statements. The rules
(when a job runs, how many jobs run at once, how often a job is retried) are in `arvis/queue`."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
    Begun,
    Done,
    Fail,
    Job,
    JobKind,
    JobStatus,
    NewJob,
    Pool,
    Released,
    Retry,
    Settlement,
    Snooze,
    pool_of,
    rank_of,
)
from arvis.domain.messages import Delivery
from arvis.ports.job_store import AddedJob, Slots
from arvis.store.repositories.messages import delivery_of
from arvis.store.sql.session import Row, Session, dump


class Lanes:
    """The lanes of the queue. Only the head of a lane, its first pending or running job, can run."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def enter(self, lane: str, pool: Pool, run_at: int, now: int) -> tuple[int, int]:
        """Count a job that is added at the end of a lane. Return the job's position and its value of the column
        `ready`."""
        position, live = self._counted(lane)
        if live > 1:
            return position, 0
        self.announce(run_at, now, pool)
        return position, 1 if run_at <= now else 2

    def make_room(self, lane: str, count: int, now: int) -> tuple[int, bool] | None:
        """Reserve `count` positions before all waiting jobs of a lane, which the caller has locked. Return the first of
        these positions, and True if the job at this position becomes the head of the lane. If no job waits, reserve
        nothing and return None; the caller then adds its jobs at the end."""
        head = self._session.one("head_of_lane", lane=lane)
        waits = head is not None and head["status"] == JobStatus.PENDING and head["claim"] == 0
        if head is not None and waits:
            self._session.execute("requeue_head", id=head["id"])
            first: int = head["position"]
        else:
            rows = self._session.rows("followers", lane=lane, limit=1)
            if not rows:
                return None
            first = rows[0]["position"]
        self._session.execute("join_lane", lane=lane, count=count)
        if waits:
            self.announce(now, now, *Pool)
        return first - count, waits

    def leave(self, lane: str, count: int, now: int, *, promote: bool) -> None:
        if self._session.execute("leave_lane_empty", lane=lane, count=count):
            return
        self._session.execute("leave_lane", lane=lane, count=count)
        if promote and (promoted := self._session.one("promote_next", lane=lane, now=now)):
            self.announce(promoted["run_at"], now, _POOLS[promoted["pool"]])

    def announce(self, run_at: int, now: int, *pools: Pool) -> None:
        """After the commit, notify the queue that a lane has a new head, which can be claimed from the time `run_at`
        on. The head is in one of these pools."""
        if run_at <= now:
            self._session.notices.ready(pools)
        else:
            self._session.notices.due(run_at)

    def _counted(self, lane: str) -> tuple[int, int]:
        """Add one job to the counters of a lane. Return its last position and the number of its pending and running
        jobs. Most lanes are empty before this call. For an empty lane, SQLite uses a faster query."""
        if not self._session.locks_rows and self._session.execute("open_lane", lane=lane):
            return 1, 1
        row = self._session.one("enter_lane", lane=lane)
        assert row is not None  # noqa: S101 an upsert returns its row
        return row["tail"], row["live"]


#: Enum members by value. A look-up here is much cheaper than a call of the enum, and each claim converts many rows.
_KINDS = {kind.value: kind for kind in JobKind}
_STATUSES = {status.value: status for status in JobStatus}
_POOLS = {pool.value: pool for pool in Pool}

#: The stored payload of most jobs. Comparing a payload with this text is faster than parsing JSON.
NO_PAYLOAD = dump({})


def job_of(row: Row, *, followers: int = 0, delivery: Delivery | None = None, begun: Begun | None = None) -> Job:
    return Job(
        id=row["id"],
        kind=_KINDS[row["kind"]],
        status=_STATUSES[row["status"]],
        pool=_POOLS[row["pool"]],
        priority=row["priority"],
        rank=row["rank"],
        lane=row["lane"],
        position=row["position"],
        run_at=row["run_at"],
        attempts=row["attempts"],
        crashes=row["crashes"],
        claim=row["claim"],
        owner=row["owner"],
        key=row["key"],
        agent_id=row["agent_id"],
        principal_id=row["principal_id"],
        message_id=row["message_id"],
        execution_id=row["execution_id"],
        delivery_id=row["delivery_id"],
        tokens=row["tokens"],
        payload=json.loads(row["payload"]) if row["payload"] != NO_PAYLOAD else {},
        error=row["error"],
        reason=row["reason"],
        merged_into=row["merged_into"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        lease_until=row["lease_until"],
        followers=followers,
        delivery=delivery,
        begun=begun,
    )


class SqlJobs:
    """Implements the port `JobStore` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lanes = Lanes(session)

    def lock(self, lanes: Sequence[str]) -> None:
        if self._session.locks_rows:
            for lane in sorted(set(lanes)):
                self._session.execute("lock_lane", lane=lane)

    def add(self, job: NewJob, now: int) -> AddedJob:
        if job.key is not None and (known := self._session.one("job_by_key", key=job.key)):
            return AddedJob(known["id"], known["position"], created=False)
        job_id = self._session.new_id()
        lane = job.lane if job.lane is not None else f"job:{job_id}"
        run_at = now if job.run_at is None else job.run_at
        position, ready = self._lanes.enter(lane, pool_of(job.kind, job.priority), run_at, now)
        self._insert(job, job_id, lane, position=position, ready=ready, run_at=run_at, now=now)
        return AddedJob(job_id, position)

    def add_first(self, jobs: Sequence[NewJob], now: int) -> list[AddedJob]:
        lane = jobs[0].lane or ""
        self.lock([lane])
        room = self._lanes.make_room(lane, len(jobs), now)
        if room is None:
            return [self.add(job, now) for job in jobs]
        first, heads = room
        added = [AddedJob(self._session.new_id(), first + number) for number in range(len(jobs))]
        for number, (job, place) in enumerate(zip(jobs, added, strict=True)):
            ready = int(heads and number == 0)
            self._insert(job, place.id, lane, position=place.position, ready=ready, run_at=now, now=now)
        return added

    def _insert(self, job: NewJob, job_id: str, lane: str, *, position: int, ready: int, run_at: int, now: int) -> None:
        self._session.execute(
            "add_job",
            id=job_id,
            kind=job.kind,
            pool=pool_of(job.kind, job.priority),
            priority=int(job.priority),
            rank=rank_of(job.priority, now) + job.behind,
            lane=lane,
            position=position,
            ready=ready,
            run_at=run_at,
            key=job.key,
            key_live=int(job.key_live),
            agent_id=job.agent_id,
            principal_id=job.principal_id,
            message_id=job.message_id,
            execution_id=job.execution_id,
            delivery_id=job.delivery_id,
            tokens=job.tokens,
            payload=dump(dict(job.payload)),
            now=now,
        )

    def get(self, job_id: str) -> Job | None:
        row = self._session.one("get_job", id=job_id)
        return job_of(row) if row else None

    def claim(self, slots: Slots, owner: str, node: str, now: int, lease_until: int) -> list[Job]:
        lease = {"owner": owner, "node": node, "now": now, "lease_until": lease_until}
        if self._session.locks_rows:
            limits = {"work": slots.work, "background": slots.background, "delivery": slots.delivery}
            rows = self._session.rows("claim_jobs", **limits, **lease)
        else:
            rows = [self._claimed(row, **lease) for row in self._ready(slots)]
        claimed: list[Job] = []
        for row in rows:
            # A `deliver` job needs its delivery. The claim reads it, which saves a query later.
            found = None if row["delivery_id"] is None else self._session.one("get_delivery", id=row["delivery_id"])
            delivery = delivery_of(found) if found else None
            begun = self._session.notices.begun.get(row["execution_id"] or "")
            claimed.append(job_of(row, followers=row["followers"], delivery=delivery, begun=begun))
        return sorted(claimed, key=lambda job: (job.rank, job.id))

    def _ready(self, slots: Slots) -> list[Row]:
        """Return the rows of the jobs to claim. Interactive and background jobs share the work slots."""
        found: list[Row] = []
        if slots.work and slots.interactive:
            found += self._session.rows("ready_jobs", pool=Pool.INTERACTIVE, limit=slots.work)
        if slots.background:
            found += self._session.rows("ready_jobs", pool=Pool.BACKGROUND, limit=slots.background)
            found = sorted(found, key=lambda row: (row["rank"], row["id"]))[: slots.work]
        if slots.delivery:
            found += self._session.rows("ready_jobs", pool=Pool.DELIVERY, limit=slots.delivery)
        return found

    def _claimed(self, row: Row, **lease: Any) -> Row:
        """Claim a job, and return its changed row."""
        self._session.execute("claim_job", id=row["id"], **lease)
        changed = {"status": JobStatus.RUNNING, "claim": row["claim"] + 1, "started_at": lease["now"], **lease}
        return {**dict(row), **changed}

    def extend(self, job_ids: Sequence[str], owner: str, lease_until: int) -> set[str]:
        return {
            job_id
            for job_id in sorted(job_ids)
            if self._session.execute("extend_lease", id=job_id, owner=owner, lease_until=lease_until)
        }

    def settle(self, job: Job, outcome: Settlement, now: int) -> bool:
        self.lock([job.lane])
        match outcome:
            case Done():
                return self._end(job, JobStatus.DONE, None, None, now)
            case Fail(reason=reason, error=error):
                return self._end(job, JobStatus.FAILED, reason, error, now)
            case Retry(run_at=run_at, error=error, needs_model=needs_model):
                reason = MODEL_RETRY if needs_model else RETRY
                return self._postpone(job, run_at, now, attempts=1, error=error, reason=reason)
            case Snooze(run_at=run_at, reason=reason):
                return self._postpone(job, run_at, now, attempts=0, error=None, reason=reason)
            case Released():
                return self._postpone(job, now, now, attempts=0, error=None, reason="handed_back")

    def rescue(self, node: str, boot: str, now: int, *, judge: bool = True, died: str = "") -> list[Job]:
        self._session.execute("shorten_leases", longest=now + LONGEST_LEASE_MS)
        lost = {"node": node, "expired_before": now if judge else 0}
        self._session.execute(
            "clear_suspects", **lost, boot=boot, died=died, suspect=SUSPECT_CRASHES, poison=POISON_CRASHES
        )
        self._session.execute("forget_dead_processes", **lost)
        self._session.execute("note_progress", **lost, boot=boot)
        first, second, third, fourth = CRASH_DELAYS
        rows = self._session.rows(
            "rescue_jobs",
            **lost,
            boot=boot,
            now=now,
            delay_1=1000 * first,
            delay_2=1000 * second,
            delay_3=1000 * third,
            delay_4=1000 * fourth,
        )
        rescued = [job_of(row) for row in rows]
        for job in rescued:
            self._lanes.announce(job.run_at, now, job.pool)
        return sorted(rescued, key=lambda job: (job.rank, job.id))

    def cancel(self, job_id: str, now: int) -> Job | None:
        job = self._locked(job_id)
        if job is None or job.status not in {JobStatus.PENDING, JobStatus.RUNNING}:
            self._unlock(job)
            return None
        head = self._session.one("head_of_lane", lane=job.lane)
        self._session.execute("cancel_job", id=job_id, now=now)
        self._session.notices.ended.append(job_id)
        self._lanes.leave(job.lane, 1, now, promote=head is not None and head["id"] == job_id)
        return job

    def requeue(self, job_id: str, now: int) -> Job | None:
        job = self._locked(job_id)
        if job is None or job.status is not JobStatus.FAILED:
            self._unlock(job)
            return None
        position, ready = self._lanes.enter(job.lane, job.pool, now, now)
        self._session.execute(
            "requeue_job", id=job_id, position=position, ready=ready, rank=rank_of(job.priority, now), now=now
        )
        return job

    def cancel_failed(self, execution_id: str, now: int) -> None:
        self._session.execute("take_up_failed", execution_id=execution_id, now=now)

    def take_over(self, job_id: str, by: str, now: int) -> None:
        self._session.execute("take_over_job", id=job_id, by=by, now=now)

    def delete(self, job_id: str) -> bool:
        return self._session.execute("delete_job", id=job_id) > 0

    def fold(self, head: Job, max_jobs: int, max_tokens: int, now: int) -> list[Job]:
        self.lock([head.lane])
        if head.principal_id is None or not self.held(head):
            self._unlock(head)
            return []
        folded: list[Job] = []
        for job_id in self._foldable(head, max_jobs, max_tokens, now):
            self._session.execute("merge_job", id=job_id, head=head.id, now=now)
            if (job := self.get(job_id)) is not None:
                folded.append(job)
        if folded:
            self._session.execute("leave_lane", lane=head.lane, count=len(folded))
        return folded

    def would_fold(self, head: Job, max_jobs: int, max_tokens: int, now: int) -> bool:
        return head.principal_id is not None and bool(self._foldable(head, max_jobs, max_tokens, now))

    def _foldable(self, head: Job, max_jobs: int, max_tokens: int, now: int) -> list[str]:
        tokens = head.tokens
        found: list[str] = []
        for row in self._session.rows("followers", lane=head.lane, limit=max_jobs - 1):
            tokens += row["tokens"]
            same = row["kind"] == JobKind.MESSAGE and row["principal_id"] == head.principal_id
            # Two kinds of turns stay separate: a turn that a person retried, because it has its own history; and a turn
            # that waits for more parts of its message, so that its `run_at` is later than its `created_at`. A
            # comparison with `now` alone is not enough: after the clock was set back, every turn would seem to wait.
            waits = row["run_at"] > max(now, row["created_at"])
            if not same or row["claim"] > 0 or waits or tokens > max_tokens:
                break
            found.append(row["id"])
        return found

    def joined_messages(self, execution_id: str) -> set[str]:
        rows = self._session.rows("joined_messages", execution_id=execution_id)
        return {row["message_id"] for row in rows if row["message_id"] is not None}

    def call_back(self, job_id: str, now: int) -> None:
        if self._session.execute("call_back", id=job_id, reason=CALLED, now=now) > 0:
            self._lanes.announce(now, now, *Pool)

    def hasten(self, now: int) -> None:
        if self._session.execute("hasten_jobs", now=now) > 0:
            self._lanes.announce(now, now, *Pool)

    def step_aside(self, job_id: str, now: int) -> None:
        job = self._locked(job_id)
        if job is not None and self._session.execute("step_aside", id=job_id, reason=CALLED, now=now) > 0:
            self._session.notices.ended.append(job_id)
            self._lanes.leave(job.lane, 1, now, promote=True)
        else:
            self._unlock(job)

    def live_of_execution(self, execution_id: str) -> list[Job]:
        rows = self._session.rows("live_of_execution", execution_id=execution_id)
        if self._session.locks_rows:
            # This query locks the rows. Another process that claims jobs skips locked rows and may have skipped one of
            # these, so notify the queue again.
            self._session.notices.ready(Pool, sum(row["ready"] == 1 for row in rows))
        return [job_of(row) for row in rows]

    def running(self, now: int, limit: int) -> list[tuple[Job, str]]:
        return [(job_of(row), row["node"]) for row in self._session.rows("running_work", now=now, limit=limit)]

    def head_of_lane(self, lane: str) -> Job | None:
        row = self._session.one("head_of_lane", lane=lane)
        return job_of(row) if row else None

    def hold_suspects(self, now: int) -> None:
        self._session.execute(
            "hold_suspects",
            now=now,
            crashes=SUSPECT_CRASHES,
            alone_since=now - SUSPECT_ALONE_MS,
            until=now + SUSPECT_RETRY_MS,
        )

    def wake(self, now: int) -> int:
        woken = self._session.execute("wake_jobs", now=now)
        self._session.notices.ready(Pool, woken)
        self._session.notices.look = True
        return woken

    def held(self, job: Job) -> bool:
        return self._session.one("hold_job", id=job.id, owner=job.owner, claim=job.claim) is not None

    def defer(self, job_id: str, run_at: int) -> bool:
        job = self._locked(job_id)
        if job is None or not self._session.execute("defer_job", id=job_id, run_at=run_at):
            self._unlock(job)
            return False
        self._session.notices.due(run_at)
        return True

    def next_due(self) -> int | None:
        row = self._session.one("next_due_job")
        return row["run_at"] if row else None

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_jobs", oldest=first_id_at(before), before=before, limit=limit)

    def move_lane(self, old: str, new: str, now: int) -> int:
        """Move all waiting jobs of a lane to the end of another lane, in the same order, and return their number.
        Running jobs are not moved. The caller has locked both lanes."""
        moved = 0
        while rows := [*self._session.rows("waiting_head", lane=old), *self._session.rows("waiting_behind", lane=old)]:
            for row in rows:
                position, ready = self._lanes.enter(new, _POOLS[row["pool"]], row["run_at"], now)
                self._session.execute("change_lane", id=row["id"], lane=new, position=position, ready=ready)
            moved += len(rows)
        if moved and not self._session.execute("leave_lane_empty", lane=old, count=moved):
            self._session.execute("leave_lane", lane=old, count=moved)
        for lane in (old, new):
            self._session.execute("drop_lane", lane=lane)
        return moved

    def _locked(self, job_id: str) -> Job | None:
        job = self.get(job_id)
        if job is not None and self._session.locks_rows:
            self.lock([job.lane])
            job = self.get(job_id)
        return job

    def _unlock(self, job: Job | None) -> None:
        """Delete the row of the lane if the lane has no pending or running job. Locking the lane may have created this
        row."""
        if job is not None and self._session.locks_rows:
            self._session.execute("drop_lane", lane=job.lane)

    # -- settlements ---------------------------------------------------------------------------------------

    def _end(self, job: Job, status: JobStatus, reason: str | None, error: str | None, now: int) -> bool:
        if not self._fenced("end_job", job, status=status, reason=reason, error=error, now=now):
            return False
        self._lanes.leave(job.lane, 1, now, promote=True)
        return True

    def _postpone(
        self, job: Job, run_at: int, now: int, *, attempts: int, error: str | None, reason: str | None
    ) -> bool:
        ready = 1 if run_at <= now else 2
        held = self._fenced(
            "postpone_job", job, ready=ready, run_at=run_at, attempts=attempts, error=error, reason=reason
        )
        if held:
            self._lanes.announce(run_at, now, job.pool)
        return held

    def _fenced(self, query: str, job: Job, **values: Any) -> bool:
        held = self._session.execute(query, id=job.id, owner=job.owner, claim=job.claim, **values) > 0
        if held:
            self._session.notices.ended.append(job.id)
        else:
            self._unlock(job)
        return held
