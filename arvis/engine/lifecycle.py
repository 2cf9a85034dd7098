"""The scripts of executions: begin, walk, answer, expire, fail, try again, cancel.

A walk reads its rows at its beginning (`load`) and commits its steps (`commit`, `complete`). All others are called
inside other transactions; an execution's rows never change in a commit of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from arvis.domain.errors import LeaseLost
from arvis.domain.executions import (
    CUT_OFF,
    PERSONAL_WAITS,
    Answer,
    Cursor,
    Effect,
    Execution,
    ExecutionStatus,
    Wait,
    WaitKind,
)
from arvis.domain.jobs import CALLED, Done, Job, JobStatus, NewJob, Settlement, Snooze
from arvis.domain.messages import MessageStatus
from arvis.engine.graph import Fact, Graph
from arvis.engine.unit_of_work import ExecutionUpdate, new_execution
from arvis.ports.store import Transaction

EXPIRED_AT_ONCE = 100

#: In these states an execution can continue.
LIVE = frozenset({ExecutionStatus.RUNNING, ExecutionStatus.PAUSED})


def begin(
    tx: Transaction,
    execution_id: str,
    graph: str,
    state: Mapping[str, Any],
    *,
    lane: str,
    priority: int,
    principal_id: str | None,
    now: int,
    begun_by: str | None = None,
) -> Execution:
    """Write an execution at the start of its graph. The job that advances it is the caller's. `begun_by` is the execution for
    which it works."""
    execution = new_execution(
        execution_id,
        graph,
        dict(state),
        lane=lane,
        priority=priority,
        principal_id=principal_id,
        now=now,
        begun_by=begun_by,
    )
    tx.executions.add(execution, Cursor(tx.new_id(), execution_id, "", None))
    return execution


def answer(tx: Transaction, wait_id: str, given: Answer, now: int) -> bool:
    """Answer an open question and let its execution continue. Return False if another answer came first, or the
    execution has failed: the answer of a person is then refused, while answers of timers and children are stored for
    a retry by hand."""
    wait = tx.waits.get(wait_id)
    execution = _locked(tx, wait.execution_id) if wait is not None else None
    if wait is None or execution is None:
        return False
    goes_on = execution.status in LIVE
    by_person = wait.kind in PERSONAL_WAITS and not given.expired
    if (by_person and not goes_on) or not tx.waits.answer(wait_id, given, now) or not goes_on:
        return False
    turn = root_of(tx, execution)
    tx.messages.mark_turn(turn.id, MessageStatus.ACCEPTED if turn is execution else MessageStatus.RUNNING)
    live = tx.jobs.live_of_execution(execution.id)
    for job in live:
        if job.status is JobStatus.PENDING:
            tx.jobs.call_back(job.id, now)
    if not live:  # one that runs finds the answer at its last commit
        tx.jobs.add(
            NewJob.advance(execution.id, execution.lane, execution.priority, principal_id=execution.principal_id), now
        )
    return True


def expire(tx: Transaction, now: int) -> None:
    """Answer the questions whose deadline has passed; a timer is a question that only time answers."""
    for wait in tx.waits.due(now, EXPIRED_AT_ONCE):
        by = "timer" if wait.kind is WaitKind.TIMER else "nobody"
        answer(tx, wait.id, Answer(None, by, expired=wait.kind is not WaitKind.TIMER), now)


def answer_parent(tx: Transaction, execution: Execution, now: int, *, reason: str | None = None) -> None:
    """Report the end of an execution to the execution that called it; `reason` is the code of its job, if that was
    given up."""
    if execution.parent_wait is not None:
        value = {
            "status": execution.status.value,
            "result": execution.result,
            "error": execution.error,
            "reason": reason,
        }
        answer(tx, execution.parent_wait, Answer(value, "child"), now)


def make_way(tx: Transaction, execution: Execution, now: int) -> None:
    """Release the lanes of the calling executions while this one waits for a person."""
    while execution.parent_wait is not None:
        wait = tx.waits.get(execution.parent_wait)
        above = tx.executions.get(wait.execution_id) if wait is not None else None
        if above is None:
            return
        for job in tx.jobs.live_of_execution(above.id):
            if job.status is JobStatus.PENDING:
                tx.jobs.step_aside(job.id, now)
        execution = above


def fail(tx: Transaction, execution_id: str, error: str, now: int, *, reason: str | None = None) -> None:
    """End an execution whose job was given up. Its positions stay, so that a retry by hand continues there."""
    execution = tx.executions.get(execution_id)
    if execution is not None and execution.status in LIVE:
        tx.executions.set_status(execution_id, ExecutionStatus.FAILED, error, now)
        tx.spending.release_all(execution_id)
        answer_parent(tx, replace(execution, status=ExecutionStatus.FAILED, error=error), now, reason=reason)


def try_again(tx: Transaction, execution_id: str, now: int) -> bool:
    """Let a failed execution continue at its last position. Return False if it has not failed."""
    execution = _locked(tx, execution_id)
    if execution is None or execution.status is not ExecutionStatus.FAILED:
        return False
    tx.executions.set_status(execution_id, ExecutionStatus.RUNNING, None, now)
    return True


def cancel(tx: Transaction, execution_id: str, now: int) -> list[str]:
    """End an execution, its questions, jobs and children. The ids of the jobs that were cancelled."""
    hold_children(tx, execution_id)
    execution = _locked(tx, execution_id)
    if execution is None or execution.status not in LIVE:
        return []
    cancelled = [job.id for job in tx.jobs.live_of_execution(execution_id) if tx.jobs.cancel(job.id, now) is not None]
    if at := sorted({cursor.node for cursor in tx.executions.cursors(execution_id) if cursor.node}):
        tx.executions.save(replace(execution, state={**execution.state, CUT_OFF: at}))
    tx.executions.drop_cursors(execution_id)
    tx.executions.set_status(execution_id, ExecutionStatus.CANCELLED, None, now)
    # Release the budget that its calls reserved; the costs are booked when the calls end.
    tx.spending.release_all(execution_id)
    cancelled += end_branches(tx, execution_id, now)
    answer_parent(tx, replace(execution, status=ExecutionStatus.CANCELLED), now)
    return cancelled


def end_branches(tx: Transaction, execution_id: str, now: int) -> list[str]:
    """With an execution end its open questions and the children that still run for it: their answers would come too
    late. The ids of the jobs that were cancelled."""
    tx.waits.close(execution_id, now)
    running = [child for child in tx.executions.children_of(execution_id) if child.status in LIVE]
    return [job_id for child in running for job_id in cancel(tx, child.id, now)]


def hold_children(tx: Transaction, execution_id: str) -> None:
    """Lock the lanes of all that still runs for an execution, before its own: a child that ends holds its own lane and
    then its parent's."""
    for child in tx.executions.children_of(execution_id):
        if child.status in LIVE:
            hold_children(tx, child.id)
            tx.jobs.lock([child.lane])


def root_of(tx: Transaction, execution: Execution) -> Execution:
    """The execution at the top of those that called this one."""
    while execution.parent_wait is not None:
        wait = tx.waits.get(execution.parent_wait)
        parent = tx.executions.get(wait.execution_id) if wait is not None else None
        if parent is None:
            break
        execution = parent
    return execution


def _locked(tx: Transaction, execution_id: str) -> Execution | None:
    """Lock the lane of the execution, which is the mutex of its rows, and return the row as it is then."""
    execution = tx.executions.get(execution_id)
    if execution is None:
        return None
    tx.jobs.lock([execution.lane])
    return tx.executions.get(execution_id)


T = TypeVar("T")
#: A script that is part of the commit which ends an execution (and its job) or lets it wait.
OnComplete = Callable[[Transaction, int], T]
#: Interval (ms) in which work that waits for children checks them without a notice.
LOOK_AGAIN_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Loaded:
    execution: Execution
    cursors: list[Cursor]
    waits: list[Wait]
    effects: list[Effect]
    opened: Any
    graph: Graph | None
    visited: int = 0


#: Finds the graph of an execution that is drawn by people, in the one look that reads the execution.
Drawn = Callable[[Transaction, Execution], Graph | None]


def load(tx: Transaction, execution_id: str, graph_of: Drawn, now: int) -> Loaded | None:
    execution = tx.executions.get(execution_id)
    if execution is None:
        return None
    fresh = execution.steps == 0
    graph = graph_of(tx, execution)
    return Loaded(
        execution,
        tx.executions.cursors(execution_id),
        [] if fresh else tx.waits.of_execution(execution_id),
        tx.executions.effects(execution_id),
        _open(tx, execution, graph, now) if fresh else None,
        graph,
        0 if fresh or graph is None or not graph.counts_visits else tx.executions.visited(execution_id),
    )


def _open(tx: Transaction, execution: Execution, graph: Graph | None, now: int) -> Any:
    """Read the rows for the first node of an execution, where its graph has an opening."""
    if graph is None or graph.opening is None or execution.status is not ExecutionStatus.RUNNING:
        return None
    return graph.opening(tx, execution, now)


def commit(tx: Transaction, job: Job, update: ExecutionUpdate, effect: Effect | None) -> None:
    """Commit steps of an execution that continues, or an effect and the steps that led to it."""
    if not tx.jobs.held(job):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")
    update.write(tx)
    if effect is not None:
        tx.executions.put_effect(effect)


@dataclass(frozen=True, slots=True)
class Completed(Generic[T]):
    """The end of a walk."""

    #: Jobs of children that ended with the execution.
    stopped: list[str]
    result: T


def complete(tx: Transaction, job: Job, update: ExecutionUpdate, on_complete: OnComplete[T], now: int) -> Completed[T]:
    """Commit the last steps of a walk, the end of its job, and the script `on_complete`."""
    ends_others = update.ended and update.has_asked
    if ends_others:
        hold_children(tx, update.execution.id)
    if not tx.jobs.settle(job, _settlement(tx, job, update, now), now):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")
    update.write(tx)
    stopped = end_branches(tx, update.execution.id, now) if ends_others else []
    result = on_complete(tx, now)
    if update.ended:
        answer_parent(tx, update.execution, now)
    return Completed(stopped, result)


def _settlement(tx: Transaction, job: Job, update: ExecutionUpdate, now: int) -> Settlement:
    """Return how the job ends. The job of an execution that waits only for its children stays at the head of its lane, so
    that no later message overtakes the work; it runs again after LOOK_AGAIN_MS even if no child answers. It runs again at
    once where an answer arrived during this walk, because `lifecycle.answer` adds no job beside a running one."""
    if update.switching:
        return Snooze(now, CALLED)
    if update.ended:
        return Done()
    live = tx.jobs.live_of_execution(update.execution.id)  # holds the job: an answer comes before or after this commit
    if update.is_outdated(tx.waits.answered(update.execution.id)):
        return Snooze(now, CALLED)
    if not update.waits_for_children or any(each.id != job.id for each in live):
        return Done()
    return Snooze(now + LOOK_AGAIN_MS, CALLED)


def note_change(tx: Transaction, *, execution: Execution, now: int) -> None:
    """Note in the timeline that the graph changed while the execution slept, which explains another path."""
    asked = [message.id for message in tx.messages.of_turn(execution.id)]
    tx.timeline.note(asked, "graph_changed", {"graph": execution.graph}, now)


def settle_idle(tx: Transaction, job: Job, execution: Execution, now: int) -> Execution:
    """The execution ended in the meantime (cancelled, or finished by an earlier job): only the job is left."""
    if not tx.jobs.settle(job, Done(), now):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")
    return execution


def keep_fenced(tx: Transaction, job: Job, effect: Effect) -> None:
    if not tx.jobs.held(job):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")
    tx.executions.put_effect(effect)


def keep_effect(tx: Transaction, effect: Effect) -> None:
    tx.executions.put_effect(effect)


def run_facts(tx: Transaction, facts: list[Fact]) -> None:
    for fact in facts:
        fact(tx)
