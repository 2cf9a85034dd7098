"""How a turn begins and ends in the store: one user message or several, exactly one reply or notice.

Scripts and parts of scripts. Whatever ends a turn goes through `end_turn`, so that no two ways can answer twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arvis.agents import notices
from arvis.agents.agent import new_turn_state
from arvis.conversations import estimate_tokens
from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation, conversation_lane
from arvis.domain.events import JobSettled, StatusChanged
from arvis.domain.executions import PERSONAL_WAITS, Answer, Execution, WaitKind
from arvis.domain.jobs import NewJob, Priority
from arvis.domain.messages import (
    FINAL_STATUSES,
    Attachment,
    Delivery,
    DeliveryState,
    IncomingMessage,
    MessageStatus,
    Principal,
    PrincipalRole,
    Role,
    StoredMessage,
)
from arvis.graph import lifecycle
from arvis.ports.bus import Bus
from arvis.ports.store import Transaction
from arvis.runner.billing import charge_turn


@dataclass(frozen=True, slots=True)
class Ending:
    """What a turn ends with: the text to show, and why if it is not an answer."""

    status: MessageStatus
    role: Role
    content: str
    reason: str | None = None


def priority_of(agent: Agent, role: PrincipalRole) -> Priority:
    """Behaviour 1.10: the owner first, then the conductor, then everybody."""
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
) -> StoredMessage:
    """Conversation, user message, execution and job: a message that is accepted is one that will be answered."""
    conversation = tx.conversations.open(agent.id, incoming.address, now)
    message = _user_message(tx, incoming, conversation, principal, route=route, now=now)
    asked = _answer_question(tx, conversation, principal, incoming.content, now)
    if asked is not None:
        joined = tx.messages.of_turn(asked)
        message = replace(message, execution_id=asked, position=joined[-1].position + 1 if joined else 1)
    else:
        message = _queue_turn(tx, message, agent, principal, now=now)
    tx.messages.add(message, event_id=incoming.event_id)
    tx.messages.attach(message.id, attachments)
    return message


def _answer_question(
    tx: Transaction, conversation: Conversation, principal: Principal, text: str, now: int
) -> str | None:
    """The execution that asked this person here and goes on with the answer; the message is part of its turn. None
    when nobody asked, or somebody was faster: then the message is a turn of its own."""
    for wait in tx.waits.open_in_lane(conversation.lane, WaitKind.USER):
        asking = tx.executions.get(wait.execution_id)
        given = Answer({"decision": "answer", "text": text}, principal.id)
        if asking and asking.principal_id == principal.id and lifecycle.answer(tx, wait.id, given, now):
            return asking.id
    return None


def _queue_turn(
    tx: Transaction, message: StoredMessage, agent: Agent, principal: Principal, *, now: int
) -> StoredMessage:
    priority = priority_of(agent, principal.role)
    conversation_id = message.conversation_id or ""
    lane = conversation_lane(conversation_id)
    execution = lifecycle.begin(
        tx,
        tx.new_id(),
        agent.graph,
        new_turn_state(agent.id, message.address, conversation_id),
        lane=lane,
        priority=priority,
        principal_id=principal.id,
        now=now,
    )
    job = NewJob.answer(
        lane,
        priority,
        agent_id=agent.id,
        principal_id=principal.id,
        message_id=message.id,
        execution_id=execution.id,
        tokens=message.tokens,
    )
    added = tx.jobs.add(job, now)
    return replace(message, execution_id=execution.id, position=added.position)


def _user_message(
    tx: Transaction,
    incoming: IncomingMessage,
    conversation: Conversation,
    principal: Principal,
    *,
    route: str,
    now: int,
) -> StoredMessage:
    return StoredMessage(
        id=tx.new_id(),
        conversation_id=conversation.id,
        role=Role.USER,
        content=incoming.content,
        tokens=estimate_tokens(incoming.content),
        status=MessageStatus.ACCEPTED,
        address=incoming.address,
        principal_id=principal.id,
        user_name=incoming.sender.name,
        agent_id=conversation.agent_id,
        execution_id=None,
        turn=None,
        created_at=now,
        route=route,
    )


def end_turn(tx: Transaction, execution: Execution, ending: Ending, now: int) -> list[StoredMessage]:
    """Store the one reply or notice of a turn, give its messages their end, and queue the delivery. Returns the
    user messages; none when the execution is no turn of a chat, or its turn has ended already."""
    asked = tx.messages.of_turn(execution.id)
    if all(message.status in FINAL_STATUSES for message in asked):
        return []
    newest = asked[-1]
    agent = tx.agents.get(newest.agent_id or "")
    turn = tx.conversations.next_turn(newest.conversation_id or "", now)
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
        position=newest.position + 1,
        attachments=(),
    )
    tx.messages.add(reply)
    if ending.status is MessageStatus.ANSWERED:
        charge_turn(tx, execution, now, message_id=reply.id)
    tx.messages.settle_turn(execution.id, ending.status, reason=ending.reason, turn=turn, reply_id=reply.id)
    deliver(tx, reply, agent=agent, answers=[message.id for message in asked], priority=execution.priority, now=now)
    return asked


@dataclass(frozen=True, slots=True)
class CancelledTurn:
    """The user messages of a turn that was cancelled, and the jobs whose tasks are to end."""

    asked: Sequence[StoredMessage]
    jobs: Sequence[str]


def cancel_turn(tx: Transaction, execution_id: str, by: str, now: int) -> CancelledTurn:
    """End a turn at somebody's word; its notice says so, its timeline who."""
    jobs = lifecycle.cancel(tx, execution_id, now)
    execution = tx.executions.get(execution_id)
    if execution is None:
        return CancelledTurn([], jobs)
    ending = Ending(MessageStatus.CANCELLED, Role.NOTICE, notices.STOPPED, "stopped")
    asked = end_turn(tx, execution, ending, now)
    tx.timeline.note([message.id for message in asked], "stopped", {"by": by}, now)
    return CancelledTurn(asked, jobs)


def announce_cancelled(bus: Bus, turn: CancelledTurn) -> None:
    """After the commit: end the tasks, tell the clients."""
    for job_id in turn.jobs:
        bus.publish(JobSettled(job_id, "cancelled"))
    for message in turn.asked:
        bus.publish(StatusChanged(message.address, message.id, MessageStatus.CANCELLED, "stopped"))


def tell(tx: Transaction, execution: Execution, text: str, now: int) -> None:
    """A word on the way, which answers nothing and is no part of the history; said once a turn."""
    asked = tx.messages.of_turn(execution.id)
    if not asked or execution.state.get("told"):
        return
    _say(tx, execution, asked[-1], text, now)
    tx.executions.save(replace(execution, state={**execution.state, "told": True}))


def ask(tx: Transaction, execution: Execution, now: int) -> None:
    """Show the open questions of a turn in its chat, each once."""
    asked, known = tx.messages.of_turn(execution.id), set(execution.state.get("shown", ()))
    open_ = [
        wait
        for wait in tx.waits.of_execution(execution.id)
        if wait.answer is None and wait.kind in PERSONAL_WAITS and wait.id not in known
    ]
    if not asked or not open_:
        return
    for wait in open_:
        text = wait.prompt if wait.kind is WaitKind.USER else notices.question(wait.prompt, wait.id, wait.choices)
        _say(tx, execution, asked[-1], text, now)
    shown = [*known, *(wait.id for wait in open_)]
    tx.executions.save(replace(execution, state={**execution.state, "shown": sorted(shown)}))


def _say(tx: Transaction, execution: Execution, newest: StoredMessage, text: str, now: int) -> None:
    """A notice that answers nothing and is no part of the history."""
    notice = replace(
        newest,
        id=tx.new_id(),
        role=Role.NOTICE,
        content=text,
        tokens=0,
        status=MessageStatus.ANSWERED,
        principal_id=None,
        execution_id=None,
        created_at=now,
        reply_to=newest.id,
        attachments=(),
    )
    tx.messages.add(notice)
    agent = tx.agents.get(notice.agent_id or "")
    deliver(tx, notice, agent=agent, answers=[], priority=execution.priority, now=now)


def deliver(
    tx: Transaction, message: StoredMessage, *, agent: Agent | None, answers: Sequence[str], priority: int, now: int
) -> None:
    """Messages leave only as deliveries: a row and a job in the lane of the address."""
    delivery = Delivery(
        id=tx.new_id(),
        message_id=message.id,
        part=0,
        address=message.address,
        seq=tx.deliveries.next_seq(message.address),
        content=message.content,
        reply_to=message.reply_to,
        answers=tuple(answers),
        agent=agent.slug if agent else None,
        state=DeliveryState.PENDING,
        created_at=now,
    )
    tx.deliveries.add(delivery)
    tx.jobs.add(NewJob.deliver(message.address, priority, delivery_id=delivery.id, message_id=message.id), now)
