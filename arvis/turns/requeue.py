"""Transaction scripts that give a message a new turn, because the reply has not read the message or because a person
corrects its text.

A reply answers a message only if the prompt of the reply contained the text of the message (docs/adr/0034). Each model
call stores the ids of the messages in its request in the state of the turn. The transaction that ends a turn settles
these messages. Each other message gets a separate turn, before all turns that wait in the conversation.

An owner or operator can change the text of a message whose turn failed or was cancelled. The message keeps its position
and its sender, and a new turn begins with the new text. The rows of the old turn stay stored and do not affect the new
turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import structlog

from arvis.domain.agents import Agent
from arvis.domain.conversations import conversation_lane
from arvis.domain.errors import Conflict, ExecutionError, Forbidden, NotFound
from arvis.domain.executions import Execution
from arvis.domain.jobs import Job, JobKind, JobStatus, NewJob
from arvis.domain.messages import RANKS, Principal, StoredMessage
from arvis.domain.quotations import quoted_texts
from arvis.domain.taint import CLEAN, Label
from arvis.engine import lifecycle
from arvis.graphs.agent.graph import new_turn_state
from arvis.graphs.agent.input import examine
from arvis.graphs.agent.steering import HEARING
from arvis.llm.tokens import estimate_tokens
from arvis.ports.store import Transaction
from arvis.services.graph_selection import default_graph, marked, select_graph
from arvis.services.workflow_runs import is_workflow, note_begun
from arvis.tasks.state import BY_DAEMON, AgentState

#: The keys of a turn's state that describe the person of the turn. A new turn of the same message gets their values.
OF_THE_PERSON = ("reach", "paired")
_OVER = {JobStatus.FAILED, JobStatus.CANCELLED}


def ask_anew(tx: Transaction, job_id: str, content: str, by: Principal, now: int) -> str:
    """Change the text of a message whose turn failed or was cancelled, and begin a new turn. Return the id of the new
    job, which replaces the old job. Raise `NotFound`, `Conflict` or `Forbidden`."""
    job = tx.jobs.get(job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}", fix="`arvis jobs list` shows the jobs.")
    execution, message = _correctable(tx, job, by)
    agent = tx.agents.get(message.agent_id or "")
    if agent is None:
        raise Conflict("The agent of this message no longer exists.", fix="Write a new message to another agent.")
    before = execution.id
    tx.messages.reopen_turn(before)
    way = default_graph(tx, agent, content)
    state = new_turn_state(message.agent_id or "", message.address, message.conversation_id or "")
    state |= {name: execution.state[name] for name in OF_THE_PERSON if name in execution.state}
    begun = lifecycle.begin(
        tx,
        tx.new_id(),
        way.graph,
        state | dict(marked(tx, way.state, execution.principal_id, CLEAN)),
        lane=conversation_lane(message.conversation_id or ""),
        priority=execution.priority,
        principal_id=execution.principal_id,
        now=now,
    )
    if is_workflow(begun):
        note_begun(tx, begun, "message", now)
    tx.messages.join_turn(before, begun.id)
    tx.incoming.replace_text(message.id, content, estimate_tokens(content))
    if by.id != message.principal_id:
        # The new text is not the author's own, so it must not act with the author's rights.
        tx.messages.label(message.id, message.taint | {Label.PEOPLE})
    note = {"before": message.content, "by": by.name, "userId": by.user_id, "job": job.id}
    tx.timeline.note([message.id], "edited", note, now)
    added = tx.jobs.add(_job(job, begun, content), now)
    tx.jobs.take_over(job.id, added.id, now)
    return added.id


def _correctable(tx: Transaction, job: Job, by: Principal) -> tuple[Execution, StoredMessage]:
    """Return the execution and the message of a job. Raise `Conflict` or `Forbidden` if this person may not change the
    message's text."""
    message = tx.messages.get(job.message_id or "") if job.kind is JobKind.MESSAGE else None
    execution = tx.executions.get(job.execution_id or "")
    if message is None or execution is None or message.execution_id != execution.id:
        raise Conflict(
            f"The job {job.id} does not belong to a message of a person.", fix="Only messages of people can be edited."
        )
    if message.version_id is not None:
        raise Conflict(
            "This message belongs to a version of the conversation that is not active.",
            fix="Switch to this version first.",
            code="inactive_version",
        )
    if job.status not in _OVER or execution.status in lifecycle.LIVE:
        raise Conflict(
            f"The job {job.id} has not failed.",
            why=f"It is {job.status}",
            fix="Wait until the job has ended, or cancel it first.",
        )
    if AgentState.from_json(execution.state).task or message.principal_id is None:
        raise Conflict("An agent wrote this message.", fix="Edit the message that started the task of that agent.")
    author = tx.principals.get(message.principal_id)
    if author is not None and RANKS.index(author.role) > RANKS.index(by.role):
        raise Forbidden(
            "You may not change a message of a person with more rights.", fix=f"Ask an {author.role} to change it."
        )
    return execution, message


def _job(job: Job, execution: Execution, content: str) -> NewJob:
    return NewJob.answer(
        execution.lane,
        job.priority,
        agent_id=AgentState.from_json(execution.state).agent,
        principal_id=job.principal_id,
        message_id=job.message_id or "",
        execution_id=execution.id,
        tokens=estimate_tokens(content),
    )


log = structlog.get_logger(__name__)

#: The code of the timeline entry of a message that gets a separate turn, and the two possible reasons in this entry.
PUT_BACK = "requeued"
UNREAD, CRASHED = "unread", "crashed"


def read_messages(
    tx: Transaction, execution: Execution, asked: Sequence[StoredMessage], now: int
) -> list[StoredMessage]:
    """Return the messages whose text was in the prompt of the reply. Begin a separate turn for each other message.
    Raise `ExecutionError` if the prompt contained none of them, because then no message may be marked as answered."""
    unread = _unread(tx, execution, asked)
    if not unread:
        return list(asked)
    ids = [message.id for message in unread]
    if len(unread) == len(asked):
        raise ExecutionError(
            f"The turn {execution.id} wrote a reply without reading its messages.",
            why="The prompt of the last model call did not contain the messages of the turn.",
            fix="Retry the job. If this happens again, report it with the output of `arvis explain` for the message.",
        )
    log.warning("message_unread", execution=execution.id, graph=execution.graph, messages=ids)
    put_back(tx, execution, unread, now, why=UNREAD)
    return [message for message in asked if message.id not in ids]


def separate(tx: Transaction, execution: Execution, now: int) -> None:
    """Give each message that joined this turn a separate turn. This script is called after crashes: if one of the
    messages causes the crashes, the other messages are still answered."""
    joined = tx.jobs.joined_messages(execution.id)
    messages = [message for message in tx.messages.of_turn(execution.id) if message.id in joined]
    if messages:
        log.warning("messages_separated", execution=execution.id, messages=[message.id for message in messages])
        put_back(tx, execution, messages, now, why=CRASHED)


def put_back(tx: Transaction, execution: Execution, messages: Sequence[StoredMessage], now: int, *, why: str) -> None:
    """Begin a separate turn for each of these messages, in their order, before all turns that wait in the
    conversation."""
    jobs = [_begin(tx, execution, message, now) for message in messages]
    added = tx.jobs.add_first(jobs, now)
    for message, job, place in zip(messages, jobs, added, strict=True):
        tx.messages.move(message.id, job.execution_id or "", place.position)
        tx.timeline.note([message.id], PUT_BACK, {"why": why, "from": execution.id}, now)


def _unread(tx: Transaction, execution: Execution, asked: Sequence[StoredMessage]) -> list[StoredMessage]:
    if AgentState.from_json(execution.state).read == BY_DAEMON:
        return []
    read = _read(execution, asked)
    unread = [message for message in asked if message.id not in read]
    if unread and execution.graph not in HEARING:
        answers = set(_answers(tx, execution))
        unread = [message for message in unread if message.id not in answers]
    return unread


def _read(execution: Execution, asked: Sequence[StoredMessage]) -> set[str]:
    """Return the ids of the messages that the turn has read. A workflow reads only the first message of its turn."""
    if is_workflow(execution):
        return {asked[0].id}
    state = AgentState.from_json(execution.state)
    if state.read is not None:
        return set(state.read)
    # The state is from an earlier version of Arvis, which stored the messages of the prompt in these two places.
    return {*(state.first_messages or ()), *state.rounds.messages}


def _answers(tx: Transaction, execution: Execution) -> Iterator[str]:
    """Yield the ids of the messages that answered a question of this execution or of its children."""
    for wait in tx.waits.of_execution(execution.id):
        given = wait.answer.value if wait.answer is not None else None
        if isinstance(given, dict) and isinstance(given.get("message"), str):
            yield given["message"]
    for child in tx.executions.children_of(execution.id):
        yield from _answers(tx, child)


def _begin(tx: Transaction, execution: Execution, message: StoredMessage, now: int) -> NewJob:
    """Write the execution of the message's separate turn. Return its job, which the caller adds to the queue."""
    agent = tx.agents.get(message.agent_id or "")
    if agent is None:
        raise ExecutionError(
            f"The agent of the message {message.id} does not exist any more.",
            fix="Write a new message to another agent.",
        )
    kept = {name: execution.state[name] for name in OF_THE_PERSON if name in execution.state}
    return begin_again(tx, message, agent, kept, priority=execution.priority, now=now)


def begin_again(
    tx: Transaction, message: StoredMessage, agent: Agent, kept: Mapping[str, Any], *, priority: int, now: int
) -> NewJob:
    """Write the execution of a new turn for a message. Return its job, which the caller adds to the queue. `kept` is
    added to the state of the turn: the values of `OF_THE_PERSON`."""
    way = select_graph(tx, agent, message.content, message.address, files=bool(message.attachments))
    state = {
        "agent": agent.id,
        "address": message.address.to_json(),
        "conversation": message.conversation_id,
        **kept,
    }
    # A workflow has no node that examines its input, so the input is examined here.
    taint = message.taint if way.alone else CLEAN
    if way.alone and examine(message.content, quoted=quoted_texts(message.quotations), times_ms=(), now=now).suspicious:
        taint |= {Label.FLAGGED}
    if taint:
        state["taint"] = sorted(taint)
    begun = lifecycle.begin(
        tx,
        tx.new_id(),
        way.graph,
        state | dict(marked(tx, way.state, message.principal_id, taint)),
        lane=conversation_lane(message.conversation_id or ""),
        priority=priority,
        principal_id=message.principal_id,
        now=now,
    )
    if is_workflow(begun):
        note_begun(tx, begun, "message", now)
    return NewJob.answer(
        begun.lane,
        begun.priority,
        agent_id=agent.id,
        principal_id=None if way.alone else message.principal_id,
        message_id=message.id,
        execution_id=begun.id,
        tokens=message.tokens,
    )
