"""What both databases do with a script: run it, and let the claim of jobs ride in its commit."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TypeVar

from arvis.domain.errors import StoreError
from arvis.domain.jobs import Job
from arvis.ports.job_store import Claimer, JobStore
from arvis.ports.store import Transaction
from arvis.store.session import Notices

R = TypeVar("R")

#: Who has one of these does its work when it is asked again: awaitables, iterators and generators of either kind.
_LATER = ("__await__", "__next__", "__anext__")


def store_closed() -> StoreError:
    """For those who come after the end; waiting for an answer they would wait for ever."""
    return StoreError(
        "The store is closed", why="Arvis is stopping", fix="nothing: it is taken up after the next start"
    )


def run_script(script: Callable[[Transaction], R], transaction: Transaction) -> R:
    """What the script returned. Refuses what would do its work after the commit."""
    try:
        result = script(transaction)
    except StopIteration as stop:
        # A future does not take it as an error, and its waiter would wait for ever.
        raise RuntimeError("a script raised StopIteration") from stop
    if inspect.iscoroutine(result):
        result.close()
    # A cursor of either database is an iterator, too.
    if any(hasattr(result, later) for later in _LATER):
        raise TypeError(f"a script returned a {type(result).__name__}: settle first, then return a value")
    return result


def claim_and_commit(
    claimer: Claimer | None, notices: Notices, jobs: JobStore, commit: Callable[[], object]
) -> Sequence[Job]:
    """Commit, and in the same commit claim jobs when heads came to stand or slots came free; the claimed jobs."""
    if claimer is None:
        commit()
        return ()
    claimed: Sequence[Job] = ()
    if notices.want_claim:
        claimed = _claim_in_commit(claimer, tuple(notices.ended), jobs, commit)
    else:
        commit()
    if notices.due_at is not None:
        claimer.due(notices.due_at)
    return claimed


def _claim_in_commit(
    claimer: Claimer, ended: Sequence[str], jobs: JobStore, commit: Callable[[], object]
) -> Sequence[Job]:
    reserved = claimer.reserve(ended)
    committed = False
    claimed: Sequence[Job] = ()
    try:
        if reserved:
            claimed = jobs.claim(reserved, *claimer.lease())
        commit()
        committed = True
    finally:
        claimer.deliver(reserved, ended, claimed if committed else None)
    return claimed
