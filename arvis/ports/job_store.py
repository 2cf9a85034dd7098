"""The repository of jobs (`JobStore`, a part of each `Transaction` in `ports/store.py`), and the interface through
which the store calls the queue (`Claimer`). All times are integer milliseconds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.jobs import Job, NewJob, Pool, Settlement
from arvis.domain.messages import Delivery


@dataclass(frozen=True, slots=True)
class AddedJob:
    """The result of adding a job."""

    id: str
    position: int
    #: False if a job with the same key exists. `id` is then the id of that job.
    created: bool = True


@dataclass(frozen=True, slots=True)
class Slots:
    """The numbers of jobs that may be claimed now."""

    #: The maximum number of interactive and background jobs together.
    work: int
    #: The maximum number of background jobs. They also count towards `work`.
    background: int
    delivery: int
    #: False if no interactive job is ready, so that the claim need not search for such a job.
    interactive: bool = True

    def __bool__(self) -> bool:
        return self.work > 0 or self.delivery > 0


class JobStore(Protocol):
    """The rows of the queue and the operations on them. `arvis/queue` decides when each operation is used.

    Only the first live job of a lane, its head, may be claimed. A job is live while it waits or runs."""

    def lock(self, lanes: Sequence[str]) -> None:
        """Lock these lanes in a fixed order. A script that changes several lanes does this first, so that no two
        scripts wait for each other."""
        ...

    def add(self, job: NewJob, now: int) -> AddedJob: ...

    def add_first(self, jobs: Sequence[NewJob], now: int) -> list[AddedJob]:
        """Add jobs without keys to one lane, in order, before its waiting jobs that never ran. If the head of the lane
        runs or has run, it stays the head."""
        ...

    def get(self, job_id: str) -> Job | None: ...

    def claim(self, slots: Slots, owner: str, node: str, now: int, lease_until: int) -> list[Job]:
        """Claim due heads of lanes, lowest rank first, and return them. The claim also stores the start times of the
        jobs."""
        ...

    def extend(self, job_ids: Sequence[str], owner: str, lease_until: int) -> set[str]:
        """Renew the leases of these jobs. Return the ids of the jobs that `owner` still runs. `owner` has lost the
        leases of the other jobs."""
        ...

    def settle(self, job: Job, outcome: Settlement, now: int) -> bool:
        """Store the result of a claimed job: end or postpone the job. Return False and change nothing if the lease was
        lost."""
        ...

    def rescue(self, node: str, boot: str, now: int, *, judge: bool = True, died: str = "") -> list[Job]:
        """Put the jobs of dead processes back into the queue, and return these jobs. They are the running jobs of older
        boots of `node` and, with `judge`, all jobs whose lease has expired.

        Each returned job counts one more crash. If the job's execution has progressed since the last crash, the count
        restarts. The caller first renews its own leases in the same script, so that it does not lose running jobs if
        the clock was set forward. Leases that end too late, because the clock was set back, are shortened.

        A suspect is a job that ran during at least `SUSPECT_CRASHES` crashes, so it may have caused them. If a process
        died while it ran no suspect, another job must have caused the crash. Each waiting suspect with more than
        `SUSPECT_CRASHES` crashes then loses one crash. `died` is the last boot of this node if that boot did not shut
        down in an orderly way."""
        ...

    def cancel(self, job_id: str, now: int) -> Job | None:
        """Cancel a waiting or running job; return None if the job has ended. The worker of a running job loses the
        lease."""
        ...

    def requeue(self, job_id: str, now: int) -> Job | None:
        """Put a failed job at the end of its lane, with its attempts and crashes reset to 0. Return None if the job has
        not failed."""
        ...

    def cancel_failed(self, execution_id: str, now: int) -> None:
        """Mark the failed jobs of an execution as cancelled, with the reason `handled_by_caller`, because the calling
        execution has handled the failure. The jobs keep their errors."""
        ...

    def take_over(self, job_id: str, by: str, now: int) -> None:
        """Mark a failed or cancelled job as done and merged into the job `by`, which does its work."""
        ...

    def delete(self, job_id: str) -> bool:
        """Delete a job that has ended; return False if the job is live."""
        ...

    def fold(self, head: Job, max_jobs: int, max_tokens: int, now: int) -> list[Job]:
        """Merge waiting jobs into `head`, and return the merged jobs in order. A job can be merged if it has the
        principal of `head`, follows `head` in its lane without other jobs between them, and has never run. `head` and
        all merged jobs together do not exceed the limits. Merge no job if the lease of `head` was lost."""
        ...

    def would_fold(self, head: Job, max_jobs: int, max_tokens: int, now: int) -> bool:
        """Return whether `fold` with these arguments would merge any job."""
        ...

    def joined_messages(self, execution_id: str) -> set[str]:
        """Return the ids of the messages that `fold` added to the work of this execution."""
        ...

    def call_back(self, job_id: str, now: int) -> None:
        """Make a job due if it waits for the child executions of its execution. Change nothing if it waits for another
        reason."""
        ...

    def hasten(self, now: int) -> None:
        """Make all jobs due that wait for a model because of a failed model call or a rate limit. A failed model call
        is no longer counted as an attempt. This method is called when a model answers again."""
        ...

    def step_aside(self, job_id: str, now: int) -> None:
        """End a job that waits for the child executions of its execution, so that the next job of the lane can run.
        When the child executions have ended, a new job is added for the execution."""
        ...

    def live_of_execution(self, execution_id: str) -> list[Job]:
        """Return the live jobs of an execution, and lock them, so that no waiting job among them starts before this
        commit."""
        ...

    def running(self, now: int, limit: int) -> list[tuple[Job, str]]:
        """Return the jobs that any process runs under a valid lease, except deliveries. Return each job in a pair with
        the name of its node, the job that has run longest first."""
        ...

    def head_of_lane(self, lane: str) -> Job | None:
        """Return the head of a lane: the one job that runs, or that may run next; None if the lane is empty."""
        ...

    def hold_suspects(self, now: int) -> None:
        """Postpone all due suspects (jobs that may have caused crashes, see `rescue`) except one. Postpone that one too
        if another suspect started less than `SUSPECT_ALONE_MS` ago. The caller calls `wake` afterwards."""
        ...

    def wake(self, now: int) -> int:
        """Make the due heads of lanes claimable, and return their number. The commit of the script then also claims
        jobs."""
        ...

    def held(self, job: Job) -> bool:
        """Return whether the claim of this job is still valid. Scripts check this before they change rows for the job,
        so that a worker that has lost its lease commits nothing."""
        ...

    def defer(self, job_id: str, run_at: int) -> bool:
        """Delay until `run_at` a job that has never run. Return False if the job has begun or ended."""
        ...

    def next_due(self) -> int | None:
        """Return the earliest time at which a waiting head is due; None if no head waits for a time."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` jobs that ended before this time; return their number."""
        ...


class Claimer(Protocol):
    """The interface through which the store calls the queue. A commit that adds or ends jobs also claims jobs: the
    queue names the number of free slots and receives the claimed jobs. The store calls these methods in its own
    threads."""

    def reserve(self, ended: Sequence[str], *, ready: Iterable[Pool]) -> Slots:
        """Reserve the free slots for a commit, including the slots of the jobs that the commit ends (`ended`). Jobs have
        become ready only in the pools `ready`; slots of other pools need not be reserved. The store always calls
        `deliver` with the same `ended` afterwards."""
        ...

    def deliver(self, reserved: Slots, ended: Sequence[str], jobs: Sequence[Job] | None) -> None:
        """Start the claimed `jobs` after the commit, and free the unused slots. If `jobs` is None, the commit failed,
        so the jobs in `ended` still run."""
        ...

    def lease(self) -> tuple[str, str, int, int]:
        """Return the arguments of a claim: owner, node, the current time and the end of the lease."""
        ...

    def due(self, at: int) -> None:
        """Schedule a check of the queue for this time, because a job or the deadline of a wait is then due."""
        ...

    def sent(self, deliveries: Sequence[Delivery]) -> None:
        """Show deliveries that a commit has stored as sent."""
        ...

    def changed(self, topics: Collection[str]) -> None:
        """Announce that a commit has changed data of these topics (`ChangeTopic`)."""
        ...
