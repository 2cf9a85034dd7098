"""Transaction scripts that rewind a conversation: they answer a message again, with the same or another text, and
switch between the versions of the conversation.

A rewind to a turn makes this turn and all later turns inactive. Their messages stay stored with their version, but no
prompt, list or search contains them. A new turn then continues from the turn before. The effects of the inactive turns
are not undone: people see a list of these effects, and the next prompt names them (docs/adr/0086).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.conversations import (
    CompactionStatus,
    Conversation,
    ConversationVersion,
    EarlierEffect,
    EarlierEffects,
    conversation_lane,
)
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effects import EffectKind, Outcome
from arvis.domain.errors import Conflict, Forbidden, NotFound
from arvis.domain.executions import Execution, WaitKind
from arvis.domain.jobs import NewJob
from arvis.domain.messages import RANKS, MessageStatus, Principal, PrincipalRole, Role, Sender, StoredMessage
from arvis.domain.past_rounds import PastRound
from arvis.domain.taint import Label
from arvis.domain.tools import Risk
from arvis.domain.workflows import RESULTS, LogEntry, LogType
from arvis.extensions import declared_tools
from arvis.llm.tokens import estimate_tokens
from arvis.ports.operations import RewoundConversation
from arvis.ports.store import Transaction
from arvis.routing import WEB, may_call
from arvis.services.allowances import Allowed, UsedUp, count_message, too_many_messages
from arvis.tasks.access import CallerLimits
from arvis.tasks.past_rounds import AGENT_GRAPHS, past_rounds
from arvis.turns.requeue import OF_THE_PERSON, begin_again
from arvis.turns.turns import priority_of

#: The maximum number of messages that a rewind makes inactive, and of executions that were started for them; the maximum
#: length of the detail of an effect.
_MOST_MESSAGES, _LONGEST_DETAIL = 1_000, 200
#: The maximum number of lines of a run's log that are searched for tool calls.
_MOST_LINES = 2_000
_LISTS = frozenset({EffectKind.LIST_AGENTS, EffectKind.LIST_CRONS, EffectKind.LIST_HEARTBEATS, EffectKind.LIST_CLIENTS})
#: The routes of the messages with which agents and workflows begin turns (`turns.Task.route`).
_ROUTES_OF_AGENTS = frozenset({"delegation", "report", RESULTS})
_LOOKS_AFTER = frozenset({PrincipalRole.OWNER, PrincipalRole.OPERATOR})


@dataclass(frozen=True, slots=True)
class Request:
    """A request over the API, which the inbox has not checked: its sender, and the limits for a person."""

    sender: Sender
    allowed: Allowed


@dataclass(frozen=True, slots=True)
class _Point:
    """The point to which a conversation is rewound: before the turn `turn`."""

    conversation: Conversation
    turn: int
    #: The messages of people in the turn, in order, with their files.
    asked: Sequence[StoredMessage]


# -- transaction scripts -----------------------------------------------------------------------------------


def effects_from(tx: Transaction, message_id: str, by: Principal) -> EarlierEffects:
    """Return the effects of the message's turn and of all later turns, which a rewind to this message does not undo."""
    point = _point(tx, message_id, by)
    return _effects(tx, _messages_from(tx, point.conversation, point.turn, by))


def answer_again(
    tx: Transaction,
    message_id: str,
    by: Principal,
    now: int,
    *,
    content: str | None = None,
    limits: CallerLimits | None = None,
    request: Request | None = None,
) -> RewoundConversation:
    """Answer the turn of a message again in a new version of the conversation. `content` replaces the text of the
    message, which must be a message of a person. `limits` are the limits of the credential of `by`. `request` is None
    if the inbox has checked the sender. Raise `NotFound`, `Conflict`, `Forbidden` or `TooMany`; nothing is changed
    then."""
    _hold(tx, tx.messages.get(message_id))
    point = _point(tx, message_id, by)
    _check_idle(tx, point.conversation)
    later = _messages_from(tx, point.conversation, point.turn, by)
    _check_text(tx, point, message_id, content, by)
    agent, author = _agent(tx, point), _author(tx, point)
    if request is not None:
        _check_request(tx, request, agent, point, by=by, now=now)
    kept = _kept(tx, point, by, author, limits)
    if kept["reach"] is not None and agent.slug not in kept["reach"]:
        raise Forbidden(f"This key may not use the agent {agent.slug}.", fix="Use a key that may use this agent.")
    effects = _effects(tx, later)
    first = _deactivate(tx, point, now)
    _reopen(tx, point.conversation, later)
    _report(tx, point.conversation, effects, now)
    copies = [_copy(tx, each, content if each.id == message_id else None, by, now) for each in point.asked]
    job = begin_again(tx, copies[0], agent, kept, priority=priority_of(agent, author.role), now=now)
    _ask(tx, job, point, copies, now)
    for copy, original in zip(copies, point.asked, strict=True):
        if copy.content != original.content:
            note = {"before": original.content, "by": by.name, "userId": by.user_id}
            tx.timeline.note([copy.id], "edited", note, now)
    version = ConversationVersion(
        id=tx.new_id(),
        conversation_id=point.conversation.id,
        point_id=first.point_id,
        first_turn=first.first_turn,
        message_id=copies[0].id,
        active=True,
        created_at=now,
    )
    tx.conversation_versions.add(version)
    return RewoundConversation(point.conversation, version, effects)


def switch_version(
    tx: Transaction, conversation_id: str, version_id: str, by: Principal, now: int
) -> RewoundConversation:
    """Make the messages of an inactive version active, and make the messages of the active version of the same point
    inactive. Raise `NotFound`, `Conflict` or `Forbidden`; nothing is changed then."""
    versions, conversation = tx.conversation_versions, tx.conversations.get(conversation_id)
    if conversation is not None:
        tx.jobs.lock([conversation.lane])
    chosen = versions.get(version_id)
    if chosen is None or conversation is None or chosen.conversation_id != conversation_id:
        fix = f"GET /api/conversations/{conversation_id}/versions lists the versions."
        raise NotFound("There is no such version of this conversation.", fix=fix)
    _check_idle(tx, conversation)
    active = versions.active_of(chosen.point_id)
    later = _messages_from(tx, conversation, chosen.first_turn, by)
    if chosen.active or active is None:
        return RewoundConversation(conversation, chosen, EarlierEffects())
    first = tx.messages.get(active.message_id)
    if first is None or first.version_id is not None:
        raise Conflict(
            "This version belongs to a part of the conversation that is not active.",
            why="Another version of an earlier message is active, or the first message of the active version was erased.",
            fix="First switch to the version that contains this part.",
        )
    effects = _effects(tx, later)
    _free_of_summaries(tx, conversation, chosen.first_turn, now)
    _reopen(tx, conversation, later)
    versions.deactivate(active, now)
    versions.activate(chosen)
    # The turns from the point on are now the turns of the chosen version. The person must be allowed to change these
    # turns, too.
    _messages_from(tx, conversation, chosen.first_turn, by)
    tx.handover_threads.drop_all(conversation.id)
    _report(tx, conversation, effects, now)
    return RewoundConversation(conversation, replace(chosen, active=True), effects)


# -- checks ------------------------------------------------------------------------------------------------


def _hold(tx: Transaction, message: StoredMessage | None) -> None:
    """Lock the lane of the message's conversation, so that no turn and no other rewind changes it until the commit."""
    if message is not None and message.conversation_id is not None:
        tx.jobs.lock([conversation_lane(message.conversation_id)])


def _point(tx: Transaction, message_id: str, by: Principal) -> _Point:
    """Return the turn of a message. For a member, another person's message counts as missing."""
    message = tx.messages.get(message_id)
    asked = tx.messages.of_turn(message.execution_id) if message is not None and message.execution_id else []
    ours = message is not None and any(by.id and by.id == each.principal_id for each in (message, *asked))
    conversation = tx.conversations.get(message.conversation_id or "") if message is not None else None
    if message is None or conversation is None or not (ours or by.role in _LOOKS_AFTER):
        raise NotFound("There is no such message.", fix="Check the id of the message.")
    if message.version_id is not None:
        raise Conflict(
            "This message belongs to a version of the conversation that is not active.",
            fix="Switch to this version first.",
            code="inactive_version",
        )
    asked = [each for each in asked if each.turn is not None and each.turn == message.turn]
    if message.turn is None or not asked:
        open_turn = message.status in {MessageStatus.ACCEPTED, MessageStatus.WAITING}
        copied = message.execution_id is None and message.turn is not None
        other = "It is a copy in a branch." if copied else "It is not part of a turn that answered a person."
        raise Conflict(
            "This message cannot be answered again.",
            why="Its turn has not ended." if open_turn else other,
            fix="Wait until the turn has ended, or stop it." if open_turn else "Choose an answered message.",
        )
    if asked[0].principal_id is None or asked[0].route in _ROUTES_OF_AGENTS:
        fix = "Choose the message of a person that started the agent's task."
        raise Conflict("An agent wrote this message, so it cannot be answered again.", fix=fix)
    return _Point(conversation, message.turn, asked)


def _check_idle(tx: Transaction, conversation: Conversation) -> None:
    """Raise `Conflict` if work in the conversation has not ended, or if the conversation is closed. The caller must
    have locked the lane of the conversation."""
    if tx.jobs.head_of_lane(conversation.lane) is not None or any(
        tx.waits.open_in_lane(conversation.lane, kind) for kind in WaitKind
    ):
        raise Conflict(
            "The agent is still working in this conversation.",
            why="A message or a question waits for an answer, or a summary is being written.",
            fix="Wait until this work has ended, or cancel it.",
            code="busy",
        )
    if all(each.id != conversation.id for each in tx.conversations.in_place(conversation.address)):
        raise Conflict("This conversation is closed.", fix="Write a new message instead.")


def _messages_from(tx: Transaction, conversation: Conversation, turn: int, by: Principal) -> Sequence[StoredMessage]:
    """Return the messages from a turn on. Raise `Forbidden` if others wrote some of them and this person may not change
    messages of others."""
    later = tx.conversation_versions.messages_from(conversation.id, turn, _MOST_MESSAGES + 1)
    if len(later) > _MOST_MESSAGES:
        raise Conflict(
            f"The rewind would make more than {_MOST_MESSAGES:,} messages inactive.",
            why=f"A rewind can make at most {_MOST_MESSAGES:,} messages inactive.",
            fix="Choose a later message, or continue in a branch.",
        )
    others = any(each.role is Role.USER and each.principal_id != by.id for each in later)
    if others and by.role not in _LOOKS_AFTER:
        raise Forbidden(
            "Other people, agents or schedules have written here since this message.",
            fix="Ask an operator or an owner to do this.",
        )
    return later


def _check_text(tx: Transaction, point: _Point, message_id: str, content: str | None, by: Principal) -> None:
    """Raise an error if this person may not replace the text of this message."""
    if content is None:
        return
    edited = next((each for each in point.asked if each.id == message_id), None)
    if edited is None:
        raise Conflict("Only messages of people can be edited.", fix="Edit the message that this one answers.")
    author = tx.principals.get(edited.principal_id or "")
    if author is not None and author.id != by.id and RANKS.index(author.role) > RANKS.index(by.role):
        raise Forbidden(
            "You may not change a message of a person with more rights.", fix=f"Ask an {author.role} to change it."
        )


def _check_request(tx: Transaction, request: Request, agent: Agent, point: _Point, *, by: Principal, now: int) -> None:
    """Raise `Forbidden` if this person may not write to the agent, and `TooMany` at the limit of messages."""
    if by.role not in _LOOKS_AFTER and not may_call(tx, request.sender, agent, point.conversation.address):
        raise Forbidden(f"You may not use the agent {agent.slug}.", fix="Ask an operator or an owner for access.")
    used = count_message(tx, by if by.id else None, by.role, request.allowed, now)
    if isinstance(used, UsedUp):
        raise too_many_messages(used)


def _agent(tx: Transaction, point: _Point) -> Agent:
    agent = tx.agents.get(point.conversation.agent_id)
    if agent is None or not agent.active:
        raise Conflict(
            "The agent of this conversation is paused or no longer exists.",
            fix="Activate the agent, or write a message to another agent.",
        )
    return agent


def _author(tx: Transaction, point: _Point) -> Principal:
    author = tx.principals.get(point.asked[0].principal_id or "")
    if author is None or author.role is PrincipalRole.BLOCKED:
        raise Forbidden("The person who wrote this message is blocked.", fix="Ask an owner to unblock this person.")
    return author


def _kept(
    tx: Transaction, point: _Point, by: Principal, author: Principal, limits: CallerLimits | None
) -> dict[str, Any]:
    """Return the part of the new turn's state that describes its person: from the credential of the author, or else from
    the turn that is answered again."""
    before = tx.executions.get(point.asked[0].execution_id or "")
    state = before.state if before is not None else {}
    if limits is not None and by.id == author.id:
        kept = limits.to_json()
    else:
        kept = CallerLimits(None, author.paired).to_json() | {
            name: state[name] for name in OF_THE_PERSON if name in state
        }
    return kept | ({"wishes": state["wishes"]} if "wishes" in state else {})


# -- changes -----------------------------------------------------------------------------------------------


def _deactivate(tx: Transaction, point: _Point, now: int) -> ConversationVersion:
    """Make the turns from the point on inactive. Return the version to which these turns belong."""
    conversation, first = point.conversation, point.asked[0].id
    _free_of_summaries(tx, conversation, point.turn, now)
    version = tx.conversation_versions.beginning_with(first)
    if version is None:
        new_id = tx.new_id()
        version = ConversationVersion(
            id=new_id,
            conversation_id=conversation.id,
            point_id=new_id,
            first_turn=point.turn,
            message_id=first,
            active=True,
            created_at=now,
        )
        tx.conversation_versions.add(version)
    tx.conversation_versions.deactivate(version, now)
    # A thread of a helper agent may repeat texts of the inactive turns.
    tx.handover_threads.drop_all(conversation.id)
    return version


def _free_of_summaries(tx: Transaction, conversation: Conversation, turn: int, now: int) -> None:
    """Restore the messages of all summaries that contain turns from `turn` on. Raise `Conflict` if texts of such
    messages were deleted."""
    for each in tx.conversation_versions.summaries_from(conversation.id, turn):
        if each.status is CompactionStatus.FINAL or tx.compactions.restore(each.id, now) is None:
            raise Conflict(
                "The conversation can no longer be rewound to this message.",
                why="A summary replaces the message, and the original texts were deleted (`retention.compacted_days`).",
                fix="Choose a later message, or start a new conversation.",
            )


def _ask(tx: Transaction, job: NewJob, point: _Point, copies: Sequence[StoredMessage], now: int) -> None:
    """Add the job of the new turn, and its messages with their files."""
    added = tx.jobs.add(job, now)
    # Messages that join the turn later follow in the lane, so the last copy has the position of the job.
    first = added.position - len(copies) + 1
    for position, (copy, original) in enumerate(zip(copies, point.asked, strict=True), start=first):
        tx.messages.add(replace(copy, execution_id=job.execution_id, position=position))
        tx.files.add(copy.id, original.attachments)


def _copy(tx: Transaction, message: StoredMessage, content: str | None, by: Principal, now: int) -> StoredMessage:
    taint = message.taint
    if content is not None and content != message.content and by.id != message.principal_id:
        # The new text is not the author's own, so it must not act with the author's rights.
        taint |= {Label.PEOPLE}
    return replace(
        message,
        id=tx.new_id(),
        content=message.content if content is None else content,
        tokens=message.tokens if content is None else estimate_tokens(content),
        status=MessageStatus.ACCEPTED,
        reason=None,
        turn=None,
        created_at=now,
        attachments=(),
        album=None,
        taint=taint,
    )


def _reopen(tx: Transaction, conversation: Conversation, removed: Sequence[StoredMessage]) -> None:
    """Ensure that the next prompt again reports the effects and problems that only the inactive turns have read."""
    tx.incidents.reopen(conversation.id, sorted({each.execution_id for each in removed if each.execution_id}))


def _report(tx: Transaction, conversation: Conversation, effects: EarlierEffects, now: int) -> None:
    """Add a report of the earlier effects to the next prompt of the conversation. The report contains only names,
    because the details may be texts of other people."""
    done = Counter(each.name for each in effects.effects if not each.failed)
    if not done:
        return
    named = ", ".join(name if times == 1 else f"{name} ({times} times)" for name, times in done.items())
    text = (
        "The conversation was rewound to an earlier message. These tool calls and actions of the removed turns remain in "
        f"effect: {named}. Do not repeat them unless you are asked to."
    )
    tx.incidents.add(conversation.id, text, now)


# -- effects -----------------------------------------------------------------------------------------------


def _effects(tx: Transaction, messages: Sequence[StoredMessage]) -> EarlierEffects:
    """Return the effects of these messages' turns and of all executions that were started for them."""
    turns = list(dict.fromkeys(each.execution_id for each in messages if each.execution_id is not None))
    own = filter(None, map(tx.executions.get, turns))
    below = [each for each in tx.executions.below(turns, _MOST_MESSAGES) if each.id not in turns]
    executions = [*turns, *(each.id for each in below)]
    calls = (effect for each in messages for effect in _calls(each.execution_id or "", each.rounds))
    # The rounds of an agent's turn are stored with its reply, and are kept longer than the execution.
    without_rounds = [*(each for each in own if each.graph not in AGENT_GRAPHS), *below]
    calls_below = (effect for each in without_rounds for effect in _calls_of(tx, each))
    actions = (effect for each in executions for effect in _actions(tx, each))
    said = [each for each in messages if each.role in {Role.ASSISTANT, Role.PROGRESS}]
    return EarlierEffects(
        turns=len({each.turn for each in messages}),
        sent=sum(each.address.platform != WEB for each in said),
        cost_micros=tx.usage.cost_of_all(executions),
        effects=(*calls, *calls_below, *actions),
    )


def _calls(execution_id: str, rounds: Sequence[PastRound]) -> Iterator[EarlierEffect]:
    """Yield the tool calls of these rounds that may have changed something."""
    for call in (call for past in rounds for call in past.calls):
        if _may_change(call.name):
            detail = json.dumps(dict(call.arguments), ensure_ascii=False)
            yield EarlierEffect(execution_id, call.name, _short(detail), call.failed)


def _calls_of(tx: Transaction, execution: Execution) -> Iterator[EarlierEffect]:
    """Yield the tool calls of an execution that may have changed something: those of its rounds, or of the workflow's own
    steps."""
    if execution.graph in AGENT_GRAPHS:
        yield from _calls(execution.id, past_rounds(tx, execution))
    elif (run := tx.workflow_runs.get(execution.id)) is not None:
        yield from _calls_of_steps(run.execution_id, tx.workflow_runs.entries(run.execution_id, 0, _MOST_LINES))


def _calls_of_steps(run_id: str, lines: Sequence[LogEntry]) -> Iterator[EarlierEffect]:
    """Yield the tool calls of a workflow's own steps. Calls of its agents, whose arguments are texts in the log, are yielded
    with the executions of these agents."""
    for number, line in enumerate(lines):
        if line.type != LogType.TOOL_CALL:
            continue
        try:
            found = json.loads(line.content)
        except ValueError:  # a long line is cut
            found = {"tool": "tool", "arguments": {"shortened": line.content}}
        if isinstance(found["arguments"], dict) and _may_change(found["tool"]):
            after = next((each.type for each in lines[number + 1 :] if each.node_id == line.node_id), "")
            detail = _short(json.dumps(found["arguments"], ensure_ascii=False))
            yield EarlierEffect(run_id, found["tool"], detail, after != LogType.TOOL_RESULT)


def _may_change(name: str) -> bool:
    tool = declared_tools().get(name)
    return tool is None or not (tool.risk is Risk.READ or tool.harmless)


def _actions(tx: Transaction, execution_id: str) -> Iterator[EarlierEffect]:
    for entry in tx.audit.of_execution(execution_id):
        kind = entry.proposal.kind
        if entry.outcome is Outcome.DONE and kind not in _LISTS:
            yield EarlierEffect(execution_id, str(kind), _short(entry.report or entry.proposal.subject))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_DETAIL else f"{line[: _LONGEST_DETAIL - 1]}…"
