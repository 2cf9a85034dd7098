"""The port of the queue's mechanism (queue.md), and of the queue as the store uses it. All times are integer
milliseconds. `JobStore` is one repository of a `Transaction` (`ports/store.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.jobs import Job, NewJob, Settlement


@dataclass(frozen=True, slots=True)
class AddedJob:
    """`created` is False if a job with the same key existed; `id` is then the id of that job."""

    id: str
    position: int
    created: bool = True


@dataclass(frozen=True, slots=True)
class Slots:
    """The number of jobs that may be claimed now: `work` for interactive and background together, of which at most `background`
    for background, and `delivery`."""

    work: int
    background: int
    delivery: int

    def __bool__(self) -> bool:
        return self.work > 0 or self.delivery > 0


class JobStore(Protocol):
    """The queue's mechanism (queue.md); `arvis/queue` is its policy."""

    def lock(self, lanes: Sequence[str]) -> None:
        """Lock these lanes in a fixed order. A script that changes two lanes calls it first."""
        ...

    def add(self, job: NewJob, now: int) -> AddedJob: ...

    def add_first(self, jobs: Sequence[NewJob], now: int) -> list[AddedJob]:
        """Add jobs without a key to one lane, in order, before all jobs that wait there and never ran. A head that
        runs or has run stays the head."""
        ...

    def get(self, job_id: str) -> Job | None: ...

    def claim(self, slots: Slots, owner: str, node: str, now: int, lease_until: int) -> list[Job]:
        """Lease ready heads of lanes, lowest rank first; the claim commits the start of each."""
        ...

    def extend(self, job_ids: Sequence[str], owner: str, lease_until: int) -> set[str]:
        """Renew leases; return the ids that are still held."""
        ...

    def settle(self, job: Job, outcome: Settlement, now: int) -> bool:
        """End or postpone a claimed job; return False and change nothing if the lease was lost."""
        ...

    def rescue(self, node: str, boot: str, now: int, *, judge: bool = True, died: str = "") -> list[Job]:
        """Return running jobs of an older boot of this node to the queue, and with `judge` jobs with an expired
        lease. Add one to the crashes of each job; a job whose execution progressed since its last crash starts
        counting again. A process that renews leases does so before, in the same script: then no job that is known to
        run is taken, regardless of clock jumps. A lease that ends too late, because the clock was set back, is
        shortened. If a process died while no suspect ran, each waiting suspect loses one crash; `died` names the
        process of this node that ended without releasing its jobs."""
        ...

    def cancel(self, job_id: str, now: int) -> Job | None:
        """Cancel a pending or running job; return None if it is neither. A running worker thereby loses its lease."""
        ...

    def requeue(self, job_id: str, now: int) -> Job | None:
        """Put a failed job at the tail of its lane with fresh counters; return None if it has not failed."""
        ...

    def cancel_failed(self, execution_id: str, now: int) -> None:
        """Cancel the failed jobs of an execution whose caller has handled the failure, with the reason
        `handled_by_caller` and their error."""
        ...

    def take_over(self, job_id: str, by: str, now: int) -> None:
        """Mark a job that is not live as done: another job does its work."""
        ...

    def delete(self, job_id: str) -> bool:
        """Delete a job that is not live."""
        ...

    def fold(self, head: Job, max_jobs: int, max_tokens: int, now: int) -> list[Job]:
        """End the waiting followers of the same principal directly behind `head` as merged into it, if they never ran
        and fit into the limits (which count `head`); return the merged jobs in order. Merge none if the lease was
        lost."""
        ...

    def would_fold(self, head: Job, max_jobs: int, max_tokens: int, now: int) -> bool:
        """Return whether `fold` would end any job."""
        ...

    def joined_messages(self, execution_id: str) -> set[str]:
        """Return the ids of the messages that `fold` added to the work of this execution."""
        ...

    def call_back(self, job_id: str, now: int) -> None:
        """Resume a job that waits for the children of its execution; a job that waits for anything else keeps
        waiting."""
        ...

    def hasten(self, now: int) -> None:
        """Resume all jobs that wait because no model was available: one is available again."""
        ...

    def step_aside(self, job_id: str, now: int) -> None:
        """End a job that waits for the children of its execution, so that its lane continues. The results of the
        children get their own job."""
        ...

    def live_of_execution(self, execution_id: str) -> list[Job]:
        """Return its waiting and running jobs, locked: no waiting job begins before this commit."""
        ...

    def running(self, now: int, limit: int) -> list[tuple[Job, str]]:
        """Return the jobs that run anywhere under a valid lease, except deliveries, with the node that runs each;
        longest running first."""
        ...

    def head_of_lane(self, lane: str) -> Job | None:
        """Return the one job of a lane that may run or runs."""
        ...

    def hold_suspects(self, now: int) -> None:
        """Let only one of the jobs that may have caused crashes start now; the others wait a little longer. Called
        before `wake`."""
        ...

    def wake(self, now: int) -> int:
        """Make due heads claimable, return their number, and let this commit claim."""
        ...

    def held(self, job: Job) -> bool:
        """Return whether this claim is still valid. Checked before each intermediate commit, so that a job with a
        lost lease commits nothing."""
        ...

    def defer(self, job_id: str, run_at: int) -> bool:
        """Delay a job that never ran until this time; return False if it has begun or ended."""
        ...

    def next_due(self) -> int | None:
        """Return the earliest time at which a waiting head becomes claimable."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` jobs that ended before this time; return their number."""
        ...


class Claimer(Protocol):
    """The interface of the queue for the store: free slots for the claim in another script's commit. Called from the
    store's threads."""

    def reserve(self, ended: Sequence[str]) -> Slots:
        """Reserve all free slots, counting those of the jobs that this commit ends; every call is followed by
        `deliver` with the same jobs."""
        ...

    def deliver(self, reserved: Slots, ended: Sequence[str], jobs: Sequence[Job] | None) -> None:
        """Start the jobs of a committed claim, and free unused slots. None: the commit failed, and the jobs that it
        would have ended keep running."""
        ...

    def lease(self) -> tuple[str, str, int, int]:
        """Return owner, node, now and end of lease for a claim made now."""
        ...

    def due(self, at: int) -> None:
        """Note that a commit needs attention at this time (ms)."""
        ...
