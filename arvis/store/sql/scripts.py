"""Script execution for both databases: run a script, and claim jobs in the same commit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TypeVar

from arvis.domain.errors import StoreError
from arvis.domain.jobs import Job
from arvis.ports.job_store import Claimer, JobStore
from arvis.ports.store import Transaction
from arvis.store.sql.session import Notices

R = TypeVar("R")

#: Objects with one of these attributes do their work later: awaitables, iterators and generators of either kind.
_LATER = ("__await__", "__next__", "__anext__")


def store_closed() -> StoreError:
    """Return the error for calls after the store was closed; without it their callers would wait forever."""
    return StoreError(
        "The store is closed", why="Arvis is stopping", fix="nothing: it is taken up after the next start"
    )


def run_script(script: Callable[[Transaction], R], transaction: Transaction) -> R:
    """Run the script and return its result. Refuses results that would do their work after the commit."""
    try:
        result = script(transaction)
    except StopIteration as stop:
        # A future does not accept it as an error, and its waiter would wait forever.
        raise RuntimeError("a script raised StopIteration") from stop
    if inspect.iscoroutine(result):
        result.close()
    # A cursor of either database is also an iterator.
    if any(hasattr(result, later) for later in _LATER):
        raise TypeError(f"a script returned a {type(result).__name__}: settle first, then return a value")
    return result


class Claim:
    """A claim of jobs within a commit. Its creator settles it exactly once."""

    def __init__(self, claimer: Claimer, notices: Notices) -> None:
        self._claimer = claimer
        self._ended = tuple(notices.ended)
        self._due_at = notices.due_at
        self._reserved = claimer.reserve(self._ended) if notices.want_claim else None
        self.jobs: Sequence[Job] = ()

    def take(self, jobs: JobStore) -> None:
        if self._reserved:
            self.jobs = jobs.claim(self._reserved, *self._claimer.lease())

    def settle(self, *, committed: bool) -> None:
        """Pass the claimed jobs to the queue if they were committed, else free the reserved slots."""
        if self._reserved is not None:
            self._claimer.deliver(self._reserved, self._ended, self.jobs if committed else None)
        if committed and self._due_at is not None:
            self._claimer.due(self._due_at)


class CommitUnknown(Exception):
    """The connection broke during the commit. `claim` is not settled yet."""

    claim: Claim | None = None


def claim_and_commit(
    claimer: Claimer | None, notices: Notices, jobs: JobStore, commit: Callable[[], object]
) -> Sequence[Job]:
    """Commit, and in the same commit claim jobs if a head became claimable or a slot became free; return the claimed
    jobs."""
    if claimer is None:
        commit()
        return ()
    claim = Claim(claimer, notices)
    try:
        claim.take(jobs)
        commit()
    except CommitUnknown as unknown:
        unknown.claim = claim
        raise
    except BaseException:
        claim.settle(committed=False)
        raise
    claim.settle(committed=True)
    return claim.jobs
