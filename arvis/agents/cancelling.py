"""Turns and runs that end at somebody's word. Scripts, and what is announced after their commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arvis.agents import notices, workflow_ends
from arvis.agents.cut_replies import with_mark
from arvis.agents.occasions import run_ended
from arvis.agents.runs import is_run, source_of
from arvis.agents.streamed import Shown, nothing_shown
from arvis.agents.turns import Ending, end_turn
from arvis.agents.workflow_runs import is_workflow
from arvis.domain.changes import ChangeTopic
from arvis.domain.events import Changed, JobSettled, RunAdvanced, StatusChanged
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.messages import MessageStatus, Role, StoredMessage
from arvis.domain.taint import taint_in
from arvis.graph import lifecycle
from arvis.ports.bus import Bus
from arvis.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class CancelledTurn:
    """The user messages of a turn that was cancelled, and the jobs whose tasks are to end; `run` is the id of a workflow's run
    that has ended."""

    asked: Sequence[StoredMessage]
    jobs: Sequence[str]
    run: str | None = None


def cancel_turn(
    tx: Transaction, execution_id: str, by: str, now: int, *, shown: Shown = nothing_shown
) -> CancelledTurn:
    """End a turn or a run at somebody's word, with all that works for it; its notice says so, its timeline who. What people were
    `shown` of the answer stays as the answer."""
    before = tx.executions.get(execution_id)
    jobs = lifecycle.cancel(tx, execution_id, now)
    execution = tx.executions.get(execution_id)
    if execution is None or before is None:
        return CancelledTurn([], jobs)
    if before.status in lifecycle.LIVE and execution.status is ExecutionStatus.CANCELLED:
        workflow_ends.ended(tx, execution, now, by=by)
    run = execution_id if is_workflow(execution) else None
    if is_run(execution):
        if execution.status is ExecutionStatus.CANCELLED and source_of(execution):
            run_ended(tx, execution, "cancelled", f"Stopped by {by}.", now)
        return CancelledTurn([], jobs, run)
    asked = end_turn(tx, execution, _ending(tx, execution, shown), now)
    tx.timeline.note([message.id for message in asked], "stopped", {"by": by}, now)
    return CancelledTurn(asked, jobs, run)


def _ending(tx: Transaction, execution: Execution, shown: Shown) -> Ending:
    texts = (shown(message.id).rstrip() for message in reversed(tx.messages.of_turn(execution.id)))
    if (text := next(filter(None, texts), "")) == "":
        return Ending(MessageStatus.CANCELLED, Role.NOTICE, notices.STOPPED, "stopped")
    said = with_mark(text, notices.STOPPED_HERE)
    return Ending(MessageStatus.CANCELLED, Role.ASSISTANT, said, "stopped", taint=taint_in(execution.state))


def withdraw_turn(tx: Transaction, execution_id: str, now: int) -> CancelledTurn:
    """End a turn that has not begun, because its message was taken back: nothing is said."""
    jobs = lifecycle.cancel(tx, execution_id, now)
    execution = tx.executions.get(execution_id)
    if execution is None:
        return CancelledTurn([], jobs)
    workflow_ends.ended(tx, execution, now, by="its message was taken back")
    ending = Ending(MessageStatus.CANCELLED, Role.NOTICE, "", "deleted")
    return CancelledTurn(end_turn(tx, execution, ending, now), jobs)


def announce_cancelled(bus: Bus, turn: CancelledTurn) -> None:
    """After the commit: end the tasks, tell the clients."""
    for job_id in turn.jobs:
        bus.publish(JobSettled(job_id, "cancelled"))
    for message in turn.asked:
        bus.publish(StatusChanged(message.address, message.id, MessageStatus.CANCELLED, "stopped"))
    if turn.run is not None:
        bus.publish(RunAdvanced(turn.run))
        bus.publish(Changed(ChangeTopic.WORKFLOWS, turn.run))
