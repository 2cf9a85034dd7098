"""The transaction scripts of executions: begin, advance, answer, expire, fail, try again, cancel.

The engine reads an execution with `load` and commits its steps with `commit` and `complete`. The other scripts are
parts of their callers' transactions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from arvis.domain.dataclass import dataclass, replace
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
from arvis.domain.jobs import CALLED, Done, Job, JobKind, JobStatus, NewJob, Settlement, Snooze
from arvis.domain.messages import MessageStatus, StoredMessage
from arvis.engine.graph import Graph, Write
from arvis.engine.unit_of_work import ExecutionUpdate, new_execution
from arvis.ports.store import Transaction

EXPIRED_AT_ONCE = 100

#: The states in which an execution can continue.
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
    """Write a new execution at the start of its graph. The caller adds the job that advances the execution. `begun_by`
    is the id of the execution for which the new one works."""
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
    tx.executions.add(execution)
    return execution


def answer(tx: Transaction, wait_id: str, given: Answer, now: int) -> bool:
    """Answer an open question and let its execution continue. Return False if another answer came first or the
    execution has ended. If the execution has ended, a person's answer is not stored. The answers of timers and children
    are still stored, because a person may retry a failed execution."""
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
    if not live:  # a running job finds the answer at its last commit
        tx.jobs.add(
            NewJob.advance(execution.id, execution.lane, execution.priority, principal_id=execution.principal_id), now
        )
    return True


def expire(tx: Transaction, now: int) -> None:
    """Answer the questions whose deadline has passed, at most `EXPIRED_AT_ONCE`. A timer is stored as a question that
    only its deadline answers."""
    for wait in tx.waits.due(now, EXPIRED_AT_ONCE):
        by = "timer" if wait.kind is WaitKind.TIMER else "nobody"
        answer(tx, wait.id, Answer(None, by, expired=wait.kind is not WaitKind.TIMER), now)


def answer_parent(tx: Transaction, execution: Execution, now: int, *, reason: str | None = None) -> None:
    """If another execution called this execution, report the end of this execution to the caller. If the job of the
    ended execution failed, `reason` is the job's reason code."""
    if execution.parent_wait is not None:
        value = {
            "status": execution.status.value,
            "result": execution.result,
            "error": execution.error,
            "reason": reason,
        }
        answer(tx, execution.parent_wait, Answer(value, "child"), now)


def make_way(tx: Transaction, execution: Execution, now: int) -> None:
    """Release the lanes of all callers of this execution, direct and indirect, because this execution waits for a
    person."""
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
    """End an execution whose job failed. Its positions stay stored, so that a retry can continue there."""
    execution = tx.executions.get(execution_id)
    if execution is not None and execution.status in LIVE:
        tx.executions.set_status(execution_id, ExecutionStatus.FAILED, error, now)
        tx.spending.release_all(execution_id)
        answer_parent(tx, replace(execution, status=ExecutionStatus.FAILED, error=error), now, reason=reason)


def try_again(tx: Transaction, execution_id: str, now: int) -> bool:
    """Set a failed execution to running. The caller adds a job, which continues the execution at its stored positions.
    Return False if the execution has not failed."""
    execution = _locked(tx, execution_id)
    if execution is None or execution.status is not ExecutionStatus.FAILED:
        return False
    tx.executions.set_status(execution_id, ExecutionStatus.RUNNING, None, now)
    return True


def cancel(tx: Transaction, execution_id: str, now: int) -> list[str]:
    """End an execution, its questions, jobs and children. Return the ids of the cancelled jobs."""
    hold_children(tx, execution_id)
    execution = _locked(tx, execution_id)
    if execution is None or execution.status not in LIVE:
        return []
    cancelled = [job.id for job in tx.jobs.live_of_execution(execution_id) if tx.jobs.cancel(job.id, now) is not None]
    if at := sorted({cursor.node for cursor in tx.executions.cursors(execution_id) if cursor.node}):
        tx.executions.save(replace(execution, state={**execution.state, CUT_OFF: at}))
    tx.executions.drop_cursors(execution_id)
    tx.executions.set_status(execution_id, ExecutionStatus.CANCELLED, None, now)
    # Release the budget that the model calls have reserved. Running calls store their costs when they end.
    tx.spending.release_all(execution_id)
    cancelled += end_branches(tx, execution_id, now)
    answer_parent(tx, replace(execution, status=ExecutionStatus.CANCELLED), now)
    return cancelled


def end_branches(tx: Transaction, execution_id: str, now: int) -> list[str]:
    """Close the open questions of an execution that has ended, and cancel its running children. Return the ids of the
    cancelled jobs."""
    tx.waits.close(execution_id, now)
    running = [child for child in tx.executions.children_of(execution_id) if child.status in LIVE]
    return [job_id for child in running for job_id in cancel(tx, child.id, now)]


def hold_children(tx: Transaction, execution_id: str) -> None:
    """Lock the lanes of all running children of an execution. Call this function before the lane of the execution is
    locked. A child that ends locks first its own lane and then the lane of its parent; the opposite order could
    deadlock."""
    for child in tx.executions.children_of(execution_id):
        if child.status in LIVE:
            hold_children(tx, child.id)
            tx.jobs.lock([child.lane])


def root_of(tx: Transaction, execution: Execution) -> Execution:
    """Return the execution at the top of the chain of callers; this execution itself if it has no caller."""
    while execution.parent_wait is not None:
        wait = tx.waits.get(execution.parent_wait)
        parent = tx.executions.get(wait.execution_id) if wait is not None else None
        if parent is None:
            break
        execution = parent
    return execution


def _locked(tx: Transaction, execution_id: str) -> Execution | None:
    """Lock the lane of the execution. The lock protects the rows of the execution. Return the execution as read under
    this lock."""
    execution = tx.executions.get(execution_id)
    if execution is None:
        return None
    tx.jobs.lock([execution.lane])
    return tx.executions.get(execution_id)


T = TypeVar("T")
#: A transaction script of the caller for the commit in which an execution ends or begins to wait.
OnComplete = Callable[[Transaction, int], T]
#: If an execution waits for children, its job runs again after this time (ms), even if no child has answered.
LOOK_AGAIN_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Loaded:
    execution: Execution
    #: The stored positions.
    cursors: list[Cursor]
    waits: list[Wait]
    effects: list[Effect]
    opened: Any
    graph: Graph | None
    visited: int = 0
    #: For a job of kind `advance`, the messages of the turn for which the execution works.
    messages: Sequence[StoredMessage] = ()


#: A function that returns the graph of an execution that runs a workflow. It runs in the transaction that reads the
#: execution.
Drawn = Callable[[Transaction, Execution], Graph | None]


def load(tx: Transaction, job: Job, graph_of: Drawn, now: int) -> Loaded | None:
    """Return the execution of a job; None if the execution does not exist."""
    if (begun := job.begun) is not None:
        graph = graph_of(tx, begun.execution)
        opened = _open(tx, begun.execution, graph, now, begun.messages)
        return Loaded(begun.execution, [], [], [], opened, graph, messages=_messages_of(tx, job, begun.execution))
    execution_id = job.execution_id or ""
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
        _open(tx, execution, graph, now, None) if fresh else None,
        graph,
        0 if fresh or graph is None or not graph.counts_visits else tx.executions.visited(execution_id),
        _messages_of(tx, job, execution),
    )


def _messages_of(tx: Transaction, job: Job, execution: Execution) -> Sequence[StoredMessage]:
    return tx.messages.of_turn(root_of(tx, execution).id) if job.kind is JobKind.ADVANCE else ()


def _open(
    tx: Transaction, execution: Execution, graph: Graph | None, now: int, messages: Sequence[StoredMessage] | None
) -> Any:
    """Return the rows for the first node of an execution; None if its graph has no `opening`."""
    if graph is None or graph.opening is None or execution.status is not ExecutionStatus.RUNNING:
        return None
    return graph.opening(tx, execution, now, messages)


def commit(tx: Transaction, job: Job, update: ExecutionUpdate, effect: Effect | None) -> None:
    """Commit steps of an execution that continues, or an effect and the steps that led to it."""
    if not tx.jobs.held(job):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")
    update.write(tx)
    if effect is not None:
        tx.executions.put_effect(effect)


@dataclass(frozen=True, slots=True)
class Completed(Generic[T]):
    """The result of `complete`."""

    #: The ids of the jobs of children that were cancelled because the execution ended.
    stopped: list[str]
    result: T


def complete(tx: Transaction, job: Job, update: ExecutionUpdate, on_complete: OnComplete[T], now: int) -> Completed[T]:
    """Commit the last steps before an execution ends or waits, together with the end of its job and the script
    `on_complete`."""
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
    """Return the settlement of the job: the job is done, or it runs again.

    The job runs again immediately in two cases: the execution continues in another graph, or an answer arrived while
    the job was running (`answer` then adds no job). If the execution waits only for its children, the job stays at the
    head of its lane, so that no later message overtakes the work. It runs again after `LOOK_AGAIN_MS` at the latest.
    """
    if update.switching:
        return Snooze(now, CALLED)
    if update.ended:
        return Done()
    live = tx.jobs.live_of_execution(update.execution.id)  # locks the jobs: no answer can arrive before the commit
    if update.is_outdated(tx.waits.answered(update.execution.id)):
        return Snooze(now, CALLED)
    if not update.waits_for_children or any(each.id != job.id for each in live):
        return Done()
    return Snooze(now + LOOK_AGAIN_MS, CALLED)


def note_change(tx: Transaction, *, execution: Execution, now: int) -> None:
    """Note in the timeline that the graph was changed while the execution waited. The next steps may therefore differ
    from those of the earlier graph."""
    asked = [message.id for message in tx.messages.of_turn(execution.id)]
    tx.timeline.note(asked, "graph_changed", {"graph": execution.graph}, now)


def settle_idle(tx: Transaction, job: Job, execution: Execution, now: int) -> Execution:
    """End the job of an execution that has ended already (cancelled, or finished by an earlier job)."""
    if not tx.jobs.settle(job, Done(), now):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")
    return execution


def keep_fenced(tx: Transaction, job: Job, effect: Effect) -> None:
    if not tx.jobs.held(job):
        raise LeaseLost("This process no longer has the lease of the job, so it stores no result.")
    tx.executions.put_effect(effect)


def keep_effect(tx: Transaction, effect: Effect) -> None:
    tx.executions.put_effect(effect)


def make_writes(tx: Transaction, writes: list[Write]) -> None:
    for write in writes:
        write(tx)
