"""Transaction scripts that cancel turns and runs and close conversations, and a function that publishes the events
after the commit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.conversations import Conversation
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Conflict, NotFound
from arvis.domain.events import Changed, JobSettled, RunAdvanced, StatusChanged
from arvis.domain.executions import PERSONAL_WAITS, Execution, ExecutionStatus, WaitKind
from arvis.domain.messages import Address, MessageStatus, Role, StoredMessage
from arvis.domain.taint import taint_in
from arvis.engine import lifecycle
from arvis.messaging import notices
from arvis.messaging.notices import with_mark
from arvis.messaging.streaming import Shown, nothing_shown
from arvis.ports.store import Transaction
from arvis.services.schedule_runs import run_ended
from arvis.services.workflow_runs import is_workflow
from arvis.tasks.access import PlacedState
from arvis.tasks.task import is_run, source_of
from arvis.turns import workflow_results
from arvis.turns.turns import Ending, end_turn


@dataclass(frozen=True, slots=True)
class CancelledTurn:
    """A cancelled turn or run."""

    #: The user messages of the turn.
    messages: Sequence[StoredMessage]
    #: The ids of the cancelled jobs. `announce_cancelled` ends the tasks that run these jobs.
    jobs: Sequence[str]
    #: The id of the run if it is a run of a workflow, else None.
    run: str | None = None


def cancel_turn(
    tx: Transaction, execution_id: str, by: str, now: int, *, shown: Shown = nothing_shown
) -> CancelledTurn:
    """Cancel a turn or a run on request, with all executions that work for it. `by` names the person in the timeline
    and in the log of a run. The part of the reply that people have already seen (`shown`) is stored as the reply. If
    people have seen nothing, a notice reports the end."""
    before = tx.executions.get(execution_id)
    jobs = lifecycle.cancel(tx, execution_id, now)
    execution = tx.executions.get(execution_id)
    if execution is None or before is None:
        return CancelledTurn([], jobs)
    if before.status in lifecycle.LIVE and execution.status is ExecutionStatus.CANCELLED:
        workflow_results.ended(tx, execution, now, by=by)
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
    text_so_far = with_mark(text, notices.STOPPED_HERE)
    return Ending(MessageStatus.CANCELLED, Role.ASSISTANT, text_so_far, "stopped", taint=taint_in(execution.state))


def withdraw_turn(tx: Transaction, execution_id: str, now: int) -> CancelledTurn:
    """Cancel a turn that has not begun because its message was deleted. No notice is sent."""
    jobs = lifecycle.cancel(tx, execution_id, now)
    execution = tx.executions.get(execution_id)
    if execution is None:
        return CancelledTurn([], jobs)
    workflow_results.ended(tx, execution, now, by="its message was deleted on the platform")
    ending = Ending(MessageStatus.CANCELLED, Role.NOTICE, "", "deleted")
    return CancelledTurn(end_turn(tx, execution, ending, now), jobs)


def announce_cancelled(bus: EventBus, turn: CancelledTurn) -> None:
    """Publish the events of a cancelled turn or run after the commit. The events also end the tasks that run its
    jobs."""
    for job_id in turn.jobs:
        bus.publish(JobSettled(job_id, "cancelled"))
    for message in turn.messages:
        bus.publish(StatusChanged(message.address, message.id, MessageStatus.CANCELLED, "stopped"))
    if turn.run is not None:
        bus.publish(RunAdvanced(turn.run))
        bus.publish(Changed(ChangeTopic.WORKFLOWS, turn.run))


#: The maximum number of active runs that `_stop_runs` examines.
_MOST_RUNS = 1_000
#: The kinds of waits in which a turn can be cancelled: waits for people, for children, for timers and for clients.
_STOPPABLE = (*sorted(PERSONAL_WAITS), WaitKind.CHILD, WaitKind.TIMER, WaitKind.CLIENT)


def stop_turns(
    tx: Transaction,
    address: Address,
    by: str,
    now: int,
    *,
    asked_by: str | None = None,
    shown: Shown = nothing_shown,
) -> list[CancelledTurn]:
    """Cancel the work of all agents in this place. In each conversation, cancel the turn that runs or is the next to
    run, and the turns that wait for people, children or timers. Also cancel the runs that people started there. All
    other queued turns stay in the queue. `asked_by`: cancel only the work that this principal asked for."""
    talks = tx.conversations.in_place(address)
    lanes = [conversation.lane for conversation in talks]
    for execution_id in _stoppable(tx, lanes, asked_by):
        lifecycle.hold_children(tx, execution_id)
    tx.jobs.lock([address.lane, *lanes])
    found = _stoppable(tx, lanes, asked_by)
    stopped = [cancel_turn(tx, execution_id, by, now, shown=shown) for execution_id in found]
    return [*stopped, *_stop_runs(tx, {talk.id for talk in talks}, by, now, asked_by)]


def stop_waiting(
    tx: Transaction, conversation: Conversation, by: str, now: int, *, asked_by: str | None = None
) -> list[CancelledTurn]:
    """Cancel the turns of a conversation that wait for people, children or timers; running turns continue. `asked_by`:
    cancel only the turns that this principal asked for."""
    for execution_id in _waiting(tx, conversation.lane, asked_by):
        lifecycle.hold_children(tx, execution_id)
    tx.jobs.lock([conversation.address.lane, conversation.lane])
    return [cancel_turn(tx, each, by, now) for each in _waiting(tx, conversation.lane, asked_by)]


def _stop_runs(
    tx: Transaction, talks: Collection[str], by: str, now: int, asked_by: str | None
) -> Iterator[CancelledTurn]:
    """Cancel the workflow runs that people started by a message in these conversations (`talks`). The lanes of the
    conversations do not contain them, because each run has a separate lane."""
    for execution in tx.workflow_runs.at_work(_MOST_RUNS):
        here = PlacedState.from_json(execution.state).conversation in talks and source_of(execution) == "chat"
        if here and asked_by in {None, execution.principal_id}:
            yield cancel_turn(tx, execution.id, by, now)


def _waiting(tx: Transaction, lane: str, asked_by: str | None) -> list[str]:
    found = [wait.execution_id for kind in _STOPPABLE for wait in tx.waits.open_in_lane(lane, kind)]
    return [each for each in _roots(tx, found) if asked_by is None or _is_of(tx, each, asked_by)]


def _stoppable(tx: Transaction, lanes: Sequence[str], asked_by: str | None) -> list[str]:
    heads = [tx.jobs.head_of_lane(lane) for lane in lanes]
    found = [head.execution_id for head in heads if head is not None and head.execution_id is not None]
    found += [wait.execution_id for lane in lanes for kind in _STOPPABLE for wait in tx.waits.open_in_lane(lane, kind)]
    return [each for each in _roots(tx, found) if asked_by is None or _is_of(tx, each, asked_by)]


def _roots(tx: Transaction, found: Sequence[str]) -> Sequence[str]:
    """Return the ids of the roots of these executions. Cancelling a root also cancels its children."""
    executions = [execution for each in dict.fromkeys(found) if (execution := tx.executions.get(each)) is not None]
    return list(dict.fromkeys(lifecycle.root_of(tx, execution).id for execution in executions))


def _is_of(tx: Transaction, execution_id: str, principal_id: str) -> bool:
    execution = tx.executions.get(execution_id)
    return execution is not None and execution.principal_id == principal_id


def close(tx: Transaction, conversation_id: str, by: str, now: int) -> Sequence[CancelledTurn]:
    """Close a conversation: it stays stored, and the next message begins a new conversation. Turns that wait for
    people, children or timers are cancelled; all other turns continue and end in the closed conversation. Raise
    `NotFound`, or `Conflict` if the conversation is closed already."""
    conversation = tx.conversations.get(conversation_id)
    if conversation is None:
        raise NotFound(f"There is no conversation {conversation_id}", fix="Check the id of the conversation.")
    if conversation_id not in {each.id for each in tx.conversations.in_place(conversation.address)}:
        raise Conflict("This conversation is closed already")
    stopped = stop_waiting(tx, conversation, by, now)
    tx.conversations.close(conversation_id, now)
    return stopped
