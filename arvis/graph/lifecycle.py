"""The life of an execution outside its walk, as scripts: begin, answer, expire, fail, try again, cancel.

All of these are called inside other transactions; an execution's rows never change in a commit of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.executions import Answer, Cursor, Execution, ExecutionStatus, WaitKind
from arvis.domain.jobs import JobStatus, NewJob
from arvis.domain.messages import MessageStatus
from arvis.graph.progress import new_execution
from arvis.ports.store import Transaction

EXPIRED_AT_ONCE = 100


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
) -> Execution:
    """Write an execution at the start of its graph. The job that advances it is the caller's."""
    execution = new_execution(
        execution_id, graph, dict(state), lane=lane, priority=priority, principal_id=principal_id, now=now
    )
    tx.executions.add(execution, Cursor(tx.new_id(), execution_id, "", None))
    return execution


def answer(tx: Transaction, wait_id: str, given: Answer, now: int) -> bool:
    """Answer an open question and let its execution go on; False when somebody was faster."""
    wait = tx.waits.get(wait_id)
    if wait is None or not tx.waits.answer(wait_id, given, now):
        return False
    execution = tx.executions.get(wait.execution_id)
    if execution is None or execution.status not in {ExecutionStatus.PAUSED, ExecutionStatus.RUNNING}:
        return False
    tx.messages.mark_turn(execution.id, MessageStatus.ACCEPTED)
    waiting = [job for job in tx.jobs.live_of_execution(execution.id) if job.status is JobStatus.PENDING]
    if not waiting:
        tx.jobs.add(
            NewJob.advance(execution.id, execution.lane, execution.priority, principal_id=execution.principal_id), now
        )
    return True


def expire(tx: Transaction, now: int) -> None:
    """Answer what nobody answered in time; a timer is a question that only time answers."""
    for wait in tx.waits.due(now, EXPIRED_AT_ONCE):
        by = "timer" if wait.kind is WaitKind.TIMER else "nobody"
        answer(tx, wait.id, Answer(None, by, expired=wait.kind is not WaitKind.TIMER), now)


def answer_parent(tx: Transaction, execution: Execution, now: int) -> None:
    """Tell the execution that called this one how it ended."""
    if execution.parent_wait is not None:
        value = {"status": execution.status.value, "result": execution.result, "error": execution.error}
        answer(tx, execution.parent_wait, Answer(value, "child"), now)


def fail(tx: Transaction, execution_id: str, error: str, now: int) -> None:
    """End an execution whose job was given up. Its positions stay, so that a retry by hand goes on there."""
    tx.executions.set_status(execution_id, ExecutionStatus.FAILED, error, now)
    if (execution := tx.executions.get(execution_id)) is not None:
        answer_parent(tx, execution, now)


def try_again(tx: Transaction, execution_id: str, now: int) -> None:
    tx.executions.set_status(execution_id, ExecutionStatus.RUNNING, None, now)


def cancel(tx: Transaction, execution_id: str, now: int) -> list[str]:
    """End an execution, its questions, jobs and children. The ids of the jobs that were cancelled."""
    execution = tx.executions.get(execution_id)
    if execution is None or execution.status not in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED}:
        return []
    cancelled = [job.id for job in tx.jobs.live_of_execution(execution_id) if tx.jobs.cancel(job.id, now) is not None]
    for child in tx.executions.children_of(execution_id):
        cancelled += cancel(tx, child.id, now)
    tx.waits.close(execution_id, now)
    tx.executions.drop_cursors(execution_id)
    tx.executions.set_status(execution_id, ExecutionStatus.CANCELLED, None, now)
    if (ended := tx.executions.get(execution_id)) is not None:
        answer_parent(tx, ended, now)
    return cancelled
