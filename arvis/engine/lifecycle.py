"""The changes of an execution outside its walk, as scripts: begin, answer, expire, fail, try again, cancel.

All of them are called inside other transactions; an execution's rows never change in a commit of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from arvis.domain.executions import CUT_OFF, PERSONAL_WAITS, Answer, Cursor, Execution, ExecutionStatus, WaitKind
from arvis.domain.jobs import JobStatus, NewJob
from arvis.domain.messages import MessageStatus
from arvis.engine.unit_of_work import new_execution
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
