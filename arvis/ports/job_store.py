"""The queue's mechanism as a contract (queue.md), and the queue as the store sees it.

All times are integer milliseconds. `JobStore` is one repository of a `Transaction` (`ports/store.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.jobs import Job, NewJob, Outcome


@dataclass(frozen=True, slots=True)
class AddedJob:
    """`created` is False when a job with the same key was there already; `id` is then that job's."""

    id: str
    position: int
    created: bool = True


@dataclass(frozen=True, slots=True)
class Slots:
    """How many jobs may be claimed now: `work` for interactive and background together, of which at most
    `background` for background, and `delivery`."""

    work: int
    background: int
    delivery: int

    def __bool__(self) -> bool:
        return self.work > 0 or self.delivery > 0


class JobStore(Protocol):
    """The queue's mechanism (queue.md); `arvis/queue` is its policy."""

    def lock(self, lanes: Sequence[str]) -> None:
        """Take these lanes in a fixed order. A script that touches two lanes calls it first."""
        ...

    def add(self, job: NewJob, now: int) -> AddedJob: ...

    def add_first(self, jobs: Sequence[NewJob], now: int) -> list[AddedJob]:
        """Add jobs without a key to one lane, in order, before all that waits there and never ran. A head that runs, or was
        tried already, stays the head."""
        ...

    def get(self, job_id: str) -> Job | None: ...

    def claim(self, slots: Slots, owner: str, node: str, now: int, lease_until: int) -> list[Job]:
        """Lease ready heads of lanes, the lowest rank first; the claim commits the start of each."""
        ...

    def extend(self, job_ids: Sequence[str], owner: str, lease_until: int) -> set[str]:
        """Renew leases; the ids that are still held."""
        ...

    def settle(self, job: Job, outcome: Outcome, now: int) -> bool:
        """End or postpone a claimed job; False when the lease was lost, and then nothing was changed."""
        ...

    def rescue(self, node: str, boot: str, now: int, *, judge: bool = True, died: str = "") -> list[Job]:
        """Return to the queue what runs under an older boot of this node or, where they are to be judged, an expired
        lease; adds one to the crashes of each, but for those whose execution got further since the last time: these begin
        to count anew. Whoever renews leases does so before, in the same script: then nothing that is known to
        run is taken, however the clock jumps. A lease that reaches too far, because the clock was put back, is cut
        short. A process that died while no suspect ran takes one crash of each waiting suspect back; `died` names the one
        that ended before this start of the node without handing its work back."""
        ...

    def cancel(self, job_id: str, now: int) -> Job | None:
        """End a pending or running job as cancelled; None when it is neither. A running worker loses its
        lease by this."""
        ...

    def requeue(self, job_id: str, now: int) -> Job | None:
        """Put a failed job at the tail of its lane with fresh counters; None when it has not failed."""
        ...

    def take_up(self, execution_id: str, now: int) -> None:
        """The failed jobs of an execution are done with, because what called it has dealt with the failure: cancelled, with the reason
        `handled_by_caller` and their error."""
        ...

    def take_over(self, job_id: str, by: str, now: int) -> None:
        """A job that is not live is done with: another one does its work."""
        ...

    def delete(self, job_id: str) -> bool:
        """Remove a job that is not live."""
        ...

    def fold(self, head: Job, max_jobs: int, max_tokens: int, now: int) -> list[Job]:
        """End the waiting followers of the same principal that stand directly behind `head` as merged into
        it, as long as they never ran and fit into the limits (which count `head`); the folded jobs in order. None
        of them when the lease was lost."""
        ...

    def would_fold(self, head: Job, max_jobs: int, max_tokens: int, now: int) -> bool:
        """Whether there is one that `fold` would end."""
        ...

    def joined_messages(self, execution_id: str) -> set[str]:
        """The ids of the messages that `fold` let join the work of this execution."""
        ...

    def call_back(self, job_id: str, now: int) -> None:
        """Let a job go on that waits for the children of its execution; one that waits for anything else does so still."""
        ...

    def hasten(self, now: int) -> None:
        """Let all jobs go on that wait because no model could answer: one can again."""
        ...

    def step_aside(self, job_id: str, now: int) -> None:
        """End a job that waits for the children of its execution, so that its lane goes on: what they bring gets a job of
        its own."""
        ...

    def live_of_execution(self, execution_id: str) -> list[Job]:
        """Its jobs that wait or run, held: none that waits begins before this commit."""
        ...

    def running(self, now: int, limit: int) -> list[tuple[Job, str]]:
        """Those that run anywhere under a lease that holds, but for deliveries, with the node that runs each; the longest
        one first."""
        ...

    def head_of_lane(self, lane: str) -> Job | None:
        """The one job of a lane that may run or runs."""
        ...

    def hold_suspects(self, now: int) -> None:
        """Let only one of the jobs that may have caused crashes start now; the others rest a little longer. Called
        before `wake`."""
        ...

    def wake(self, now: int) -> int:
        """Make heads claimable whose time has come (how many), and let this commit claim."""
        ...

    def held(self, job: Job) -> bool:
        """Whether this claim still holds; asked before each commit on the way, so that a lost lease commits
        nothing."""
        ...

    def defer(self, job_id: str, run_at: int) -> bool:
        """Let a job that never ran wait until then; False when it has begun, or is over."""
        ...

    def next_due(self) -> int | None:
        """The soonest time at which a waiting head becomes claimable."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` jobs that ended before this time; how many."""
        ...


class Claimer(Protocol):
    """The queue as the store sees it: free slots for the claim that rides in another script's commit.
    Called from the store's threads."""

    def reserve(self, ended: Sequence[str]) -> Slots:
        """Take all free slots, counting those of the jobs that this commit ends; every call is followed by
        `deliver` with the same jobs."""
        ...

    def deliver(self, reserved: Slots, ended: Sequence[str], jobs: Sequence[Job] | None) -> None:
        """The claim is committed: start these, free what was not used. None: the commit failed, and what it would
        have ended runs on."""
        ...

    def lease(self) -> tuple[str, str, int, int]:
        """Owner, node, now and end of lease for a claim made now."""
        ...

    def due(self, at: int) -> None:
        """Something was committed that wants attention at this time (ms)."""
        ...
