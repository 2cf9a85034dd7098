"""The transaction scripts that begin and end a turn: one or several user messages, and exactly one reply or notice.

Only `end_turn` ends a turn, so that no turn is answered twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation, conversation_lane
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.executions import Answer, Execution, Wait, WaitKind
from arvis.domain.jobs import NewJob, Priority, behind
from arvis.domain.messages import (
    FINAL_STATUSES,
    Address,
    Attachment,
    IncomingMessage,
    MessageStatus,
    Principal,
    PrincipalRole,
    Role,
    StoredMessage,
)
from arvis.domain.quotations import quoted_texts, with_quotations
from arvis.domain.taint import CLEAN, Label, Taint, taint_in
from arvis.engine import lifecycle
from arvis.engine.state import changes
from arvis.graphs.agent.graph import new_turn_state
from arvis.graphs.agent.input import examine
from arvis.graphs.compaction.scripts import compaction_due, enqueue, room_is_short
from arvis.llm.tokens import estimate_tokens
from arvis.messaging.messages import deliver, notice
from arvis.messaging.owner_alerts import note_place
from arvis.ports.conversations import Size
from arvis.ports.store import Transaction
from arvis.services import graph_selection
from arvis.services.billing import charge_turn
from arvis.services.graph_selection import Selection, default_graph, select_graph
from arvis.services.workflow_runs import is_workflow, note_begun
from arvis.tasks.access import limits_of_sender, origin_of
from arvis.tasks.past_rounds import past_rounds
from arvis.tasks.state import AgentState, WorkState
from arvis.tasks.task import is_run
from arvis.turns.questions import repeat_questions
from arvis.turns.quotations import quoted_by
from arvis.turns.requeue import read_messages


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a turn."""

    status: MessageStatus
    #: The role of the text: a reply or a notice.
    role: Role
    #: The text to show (empty: no text).
    content: str
    #: The reason code if the text is not a complete reply.
    reason: str | None = None
    #: The taint of the text.
    taint: Taint = CLEAN


def priority_of(agent: Agent, role: PrincipalRole) -> Priority:
    """Return the priority of a message. Messages of owners come first, then messages to the conductor, then all other
    messages."""
    if role is PrincipalRole.OWNER:
        return Priority.OWNER
    return Priority.CONDUCTOR if agent.is_conductor else Priority.MESSAGE


def begin_turn(
    tx: Transaction,
    incoming: IncomingMessage,
    *,
    agent: Agent,
    route: str,
    principal: Principal,
    attachments: Sequence[Attachment],
    now: int,
    run_at: int | None = None,
    number: int = 1,
) -> StoredMessage:
    """Store an accepted message together with the work that answers it: the message continues a turn that waits for its
    person, or begins a new turn (an execution and a job). A new turn does not start before `run_at` (ms; None: now).
    `number` is the number of this message among the messages of its person in this minute."""
    conversation = tx.conversations.open(agent.id, incoming.address, now, direct=incoming.is_direct, room=incoming.room)
    message = _user_message(tx, incoming, conversation, principal, route=route, now=now)
    asked = _answer_agent(tx, conversation, principal, message, now)
    if asked is not None:
        message = _as_answer(tx, message, asked)
    else:
        state = new_turn_state(agent.id, message.address, conversation.id) | limits_of_sender(incoming.sender).to_json()
        if incoming.wishes:
            state |= changes(WorkState, wishes=dict(incoming.wishes))
        way = select_graph(tx, agent, message.content, message.address, files=bool(attachments))
        priority = priority_of(agent, principal.role)
        message = _queue_turn(tx, message, agent, way, state, priority=priority, now=now, run_at=run_at, number=number)
    tx.messages.add(message, event_id=incoming.event_id)
    tx.files.add(message.id, attachments)
    note_place(tx, message, principal, direct=incoming.is_direct, now=now)
    return message


def _as_answer(tx: Transaction, message: StoredMessage, asked: Execution) -> StoredMessage:
    """Return the message as a part of the turn that continues with it. A run does not reply to messages, so a message
    that continues a run is stored as answered."""
    if is_run(asked):
        return replace(message, status=MessageStatus.ANSWERED)
    return replace(message, execution_id=asked.id, position=_last_position(tx, asked.id) + 1)


def _answer_agent(
    tx: Transaction, conversation: Conversation, principal: Principal, message: StoredMessage, now: int
) -> Execution | None:
    """Use the message as the answer to an agent's open question to this person, and return the root execution that
    continues. Return None if no question is open or another answer came first; the message then begins a turn."""
    for wait in _questions(tx, tx.waits.open_in_lane(conversation.lane, WaitKind.USER, WaitKind.CHILD)):
        asking = tx.executions.get(wait.execution_id)
        given = Answer({"decision": "answer", "text": message.content, "message": message.id}, principal.id)
        if not asking or is_run(asking):
            continue
        if asking.principal_id == principal.id and lifecycle.answer(tx, wait.id, given, now):
            return lifecycle.root_of(tx, asking)
    return None


def _questions(tx: Transaction, waits: Sequence[Wait]) -> Iterator[Wait]:
    """Yield the open questions to people among these waits. For a wait for a child execution, yield the open questions
    of that child."""
    for wait in waits:
        if wait.kind is WaitKind.USER and wait.answer is None:
            yield wait
        elif wait.kind is WaitKind.CHILD:
            for child in tx.executions.children_of(wait.execution_id):
                if child.status in lifecycle.LIVE:
                    yield from _questions(tx, tx.waits.open_in_lane(child.lane, WaitKind.USER, WaitKind.CHILD))


def _last_position(tx: Transaction, execution_id: str) -> int:
    messages = (*tx.messages.of_turn(execution_id), *tx.messages.progress(execution_id))
    return max((each.position for each in messages), default=0)


def _queue_turn(
    tx: Transaction,
    message: StoredMessage,
    agent: Agent,
    way: Selection,
    state: Mapping[str, Any],
    *,
    priority: int,
    now: int,
    run_at: int | None = None,
    number: int = 1,
) -> StoredMessage:
    """Write the execution and the job of a turn. Return the message with the id of the execution and with the message's
    position in the conversation."""
    quoted = quoted_texts(message.quotations)
    if way.alone and examine(message.content, quoted=quoted, times_ms=(), now=now).suspicious:
        # A workflow has no node that examines its input, so the input is examined here.
        message = replace(message, taint=message.taint | {Label.FLAGGED})
        state = {**state, "taint": sorted(taint_in(state) | {Label.FLAGGED})}
    conversation_id, principal_id = message.conversation_id or "", message.principal_id
    lane = conversation_lane(conversation_id)
    execution = lifecycle.begin(
        tx,
        tx.new_id(),
        way.graph,
        {**state, **graph_selection.marked(tx, way.state, principal_id, taint_in(state))},
        lane=lane,
        priority=priority,
        principal_id=principal_id,
        now=now,
        begun_by=origin_of(state).parent,
    )
    if is_workflow(execution):
        note_begun(tx, execution, "message", now)
    job = NewJob.answer(
        lane,
        priority,
        agent_id=agent.id,
        principal_id=None if way.alone else principal_id,
        message_id=message.id,
        execution_id=execution.id,
        tokens=message.tokens,
        run_at=run_at,
        behind=behind(number),
    )
    added = tx.jobs.add(job, now)
    return replace(message, execution_id=execution.id, position=added.position)


@dataclass(frozen=True, slots=True)
class Task:
    """A task or report for an agent."""

    #: The agent that sends the task or report. For the results of a workflow, it is an agent with the name of the
    #: workflow.
    speaker: Agent
    text: str
    principal_id: str | None
    taint: Taint
    #: The `Origin` (as JSON) of the new turn.
    origin: Mapping[str, Any]
    #: `delegation`, `report` or the route of workflow results.
    route: str
    #: True: the task is sent to a direct chat.
    direct: bool


def begin_agent_turn(
    tx: Transaction, task: Task, *, agent: Agent, address: Address, priority: int, now: int
) -> StoredMessage:
    """Begin a turn of `agent` with this task, in the agent's conversation at `address`. The turn runs after the turns
    that already wait there."""
    conversation = tx.conversations.open(agent.id, address, now, direct=task.direct)
    message = StoredMessage(
        id=tx.new_id(),
        conversation_id=conversation.id,
        role=Role.USER,
        content=task.text,
        tokens=estimate_tokens(task.text),
        status=MessageStatus.ACCEPTED,
        address=address,
        principal_id=task.principal_id,
        user_name=task.speaker.name,
        agent_id=agent.id,
        execution_id=None,
        turn=None,
        created_at=now,
        route=task.route,
        taint=task.taint,
    )
    state = new_turn_state(agent.id, address, conversation.id)
    state |= {"taint": sorted(task.taint), "lineage": dict(task.origin), "task": task.route}
    way = replace(default_graph(tx, agent, task.text), alone=True)
    message = _queue_turn(tx, message, agent, way, state, priority=priority, now=now)
    tx.messages.add(message)
    return message


def _user_message(
    tx: Transaction,
    incoming: IncomingMessage,
    conversation: Conversation,
    principal: Principal,
    *,
    route: str,
    now: int,
) -> StoredMessage:
    quoted = quoted_by(tx, incoming, conversation, principal)
    return StoredMessage(
        id=tx.new_id(),
        conversation_id=conversation.id,
        role=Role.USER,
        content=incoming.content,
        tokens=estimate_tokens(with_quotations(incoming.content, quoted.quotations)),
        status=MessageStatus.ACCEPTED,
        address=incoming.address,
        principal_id=principal.id,
        user_name=incoming.sender.name,
        agent_id=conversation.agent_id,
        execution_id=None,
        turn=None,
        created_at=now,
        route=route,
        platform_ref=incoming.platform_ref,
        album=incoming.album,
        taint=quoted.taint,
        quotations=quoted.quotations,
    )


def end_turn(
    tx: Transaction, execution: Execution, ending: Ending, now: int, *, asked: Sequence[StoredMessage] | None = None
) -> Sequence[StoredMessage]:
    """Store the one reply or notice of a turn, set the final status of its messages, and queue the delivery.

    Return the user messages that have ended: an empty list if the execution is not a turn of a chat or its turn has
    ended before. Each message that the reply has not read gets a separate turn. `asked` contains the messages of the
    turn, if the caller's transaction has read them already.
    """
    if asked is None:
        asked = tx.messages.of_turn(execution.id)
    if all(message.status in FINAL_STATUSES for message in asked):
        return []
    if ending.status is MessageStatus.ANSWERED:
        asked = read_messages(tx, execution, asked, now)
    newest = asked[-1]
    agent = tx.agents.get(newest.agent_id or "")
    turn = tx.conversations.next_turn(newest.conversation_id or "", now)
    # An agent's turn without rounds has sent no message between the question and the reply, so the next position is
    # free.
    straight = execution.graph == "agent" and not AgentState.from_json(execution.state).rounds.count
    rounds = () if straight else past_rounds(tx, execution)
    reply = replace(
        newest,
        id=tx.new_id(),
        role=ending.role,
        content=ending.content,
        tokens=estimate_tokens(ending.content),
        status=ending.status,
        reason=ending.reason,
        principal_id=None,
        user_name=agent.name if agent else "",
        turn=turn,
        created_at=now,
        reply_to=newest.id,
        position=1 + (newest.position if straight else _last_position(tx, execution.id)),
        attachments=(),
        quotations=(),
        # A notice is written by the daemon, but the rounds of its turn have the taint of the turn.
        taint=ending.taint | (taint_in(execution.state) if rounds else CLEAN),
        rounds=rounds,
    )
    tx.messages.add(reply)
    if ending.status is MessageStatus.ANSWERED:
        charge_turn(tx, execution, now, message_id=reply.id)
        if newest_incident := AgentState.from_json(execution.state).last_incident:
            tx.incidents.mark_reported(reply.conversation_id or "", execution.id, newest_incident)
            tx.reactions.mark_reported(reply.conversation_id or "", execution.id, newest_incident)
    tx.messages.settle_turn(
        execution.id, ending.status, reason=ending.reason, turn=turn, reply_id=reply.id, straight=straight
    )
    files = WorkState.from_json(execution.state).files if ending.status is MessageStatus.ANSWERED else ()
    tx.files.add(reply.id, [Attachment(each.filename, each.content_type, each.size, each.sha256) for each in files])
    if ending.content or files:
        answers = [message.id for message in asked]
        deliver(tx, reply, agent=agent, answers=answers, priority=execution.priority, now=now, files=files)
    if ending.status is MessageStatus.ANSWERED:
        repeat_questions(tx, execution, reply, now)
    _compact_if_due(tx, execution, [*asked, reply], agent, now, straight=straight)
    return asked


def _compact_if_due(
    tx: Transaction,
    execution: Execution,
    said: Sequence[StoredMessage],
    agent: Agent | None,
    now: int,
    *,
    straight: bool,
) -> None:
    """Queue a compaction of the conversation if its stored messages or the last prompt have become too long. `said` are
    the messages and the reply of the turn; `straight` is True if the turn has no other messages."""
    reply, state = said[-1], AgentState.from_json(execution.state)
    conversation_id = reply.conversation_id
    if agent is None or conversation_id is None:
        return
    ceiling = state.ceiling or agent.context_tokens
    if not ceiling:
        return
    layers = state.prompt.get("tokens", {})
    if straight and state.size and state.compaction is None:
        messages, tokens = state.size
        size = Size(messages + len(said), tokens + sum([message.tokens for message in said]))
    else:
        size = tx.compactions.size(conversation_id)
    due = compaction_due(size, ceiling) or room_is_short(layers, reply.tokens, ceiling)
    if due and (conversation := tx.conversations.get(conversation_id)) is not None:
        enqueue(tx, conversation, agent, now, begun_by=execution.id)


def answer_at_once(
    tx: Transaction, incoming: IncomingMessage, text: str, *, agent: Agent, principal: Principal, route: str, now: int
) -> StoredMessage:
    """Store a message and the notice with which the daemon answers it immediately, without a turn. Neither becomes part
    of the conversation's history."""
    conversation = tx.conversations.open(agent.id, incoming.address, now, direct=incoming.is_direct)
    asked = replace(
        _user_message(tx, incoming, conversation, principal, route=route, now=now), status=MessageStatus.ANSWERED
    )
    tx.messages.add(asked, event_id=incoming.event_id)
    sent = notice(tx, like=asked, text=text, priority=Priority.OWNER, now=now, answers=[asked.id])
    tx.messages.answered_by(asked.id, sent.id)
    return asked
