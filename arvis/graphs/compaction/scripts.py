"""The rows of compaction: the selection of messages for a summary, and the script that replaces them by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.conversations import Compaction, CompactionStatus, Conversation
from arvis.domain.errors import Conflict, NotFound
from arvis.domain.executions import Execution
from arvis.domain.jobs import JobKind, NewJob, Priority
from arvis.domain.memory import Category, NewFact, scope_for, taint_for_others
from arvis.domain.messages import PastMessage, Role
from arvis.domain.money import Spender
from arvis.domain.runs import Cooldown
from arvis.domain.taint import Label, Taint
from arvis.engine import lifecycle
from arvis.graphs.context import SUMMARIES
from arvis.memory import remember
from arvis.memory.service import ARVIS
from arvis.messaging import notices
from arvis.messaging.owner_alerts import DAY_MS, alert_owner
from arvis.ports.conversations import Calibration, Size
from arvis.ports.store import Transaction
from arvis.prompt import Budget
from arvis.tasks.access import spender_of
from arvis.tasks.state import WorkState

# The value that the nodes of a compaction hand on: plain JSON, a part of the position, so that a crash loses no
# finished call.


# -- selection ---------------------------------------------------------------------------------------------------------
#
# Arithmetic over rows. A cut inside a turn would separate a question from its answer.


@dataclass(frozen=True, slots=True)
class Plan:
    """`round` counts from 1. `ids` are the messages of this round; `tight`: a model refused as many as seemed to
    fit; `again`: they had changed once; `tried` is the summary that was to be written in the last round."""

    round: int = 1
    ids: tuple[str, ...] = ()
    tight: bool = False
    again: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    summary: str = ""
    taint: str = ""
    tried: str | None = None

    @classmethod
    def of(cls, value: Mapping[str, Any] | None) -> Plan:
        given = dict(value or {})
        facts = tuple((category, text) for category, text in given.pop("facts", ()))
        return cls(**{**given, "ids": tuple(given.get("ids", ())), "facts": facts})

    def next_round(self) -> Plan:
        return Plan(round=self.round + 1, tight=self.tight)

    def look_again(self) -> Plan:
        """The messages have changed since they were chosen: the same round once more."""
        return Plan(round=self.round, tight=self.tight, again=True)

    def with_half(self) -> Plan:
        """A model refused the call as too long."""
        return Plan(round=self.round, tight=True, again=self.again)

    def written(self, compaction_id: str) -> Plan:
        """This summary is about to be written."""
        return Plan(round=self.round, tight=self.tight, again=self.again, tried=compaction_id)

    def chosen(self, ids: Sequence[str]) -> Plan:
        return replace(self, ids=tuple(ids), tried=None)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


#: The number of newest messages that stay unchanged (behaviour 1.5), if they take no more than this part of a prompt.
KEPT_MESSAGES = 10
KEPT_SHARE = 4

#: Messages below this part of a prompt get no summary, unless a prompt has no room for them.
LEAST_SHARE = 8

#: More messages than this make a conversation due for compaction (behaviour §7), and so do too many tokens.
DUE_MESSAGES = 80


def compaction_due(size: Size, ceiling: int) -> bool:
    """Return True if a conversation of this size must be compacted. `ceiling` is the maximum of tokens in a prompt of
    the agent: the smaller of the model's window and `context_tokens`."""
    return size.messages > DUE_MESSAGES or size.tokens > Budget(ceiling).threshold


def room_is_short(layers: Mapping[str, int], reply: int, ceiling: int) -> bool:
    """Return True if the next prompt may have no room for all messages: those of this turn and before it take most of
    the tokens that the other layers leave. `layers` are the tokens of the last prompt, `reply` those of its reply."""
    budget = Budget(ceiling)
    messages = layers.get("history", 0) + layers.get("current", 0)
    room = budget.usable - (sum(layers.values()) - messages)
    return messages + reply > room - min(room // 4, 2 * budget.reply)


def first_kept(
    newest: Sequence[PastMessage], tokens_of: Callable[[PastMessage], int], most: int, room: int | None = None
) -> int:
    """Return the first turn that stays. `newest` are the last messages in order, at least the last turn; of the turns
    before it as many stay as make `KEPT_MESSAGES` together, within `most` tokens. No message stays without a place in
    `room` (tokens; None: there is enough)."""
    kept = newest[-1].turn + 1 if newest else 0
    messages = tokens = 0
    for turn, group in groupby(reversed(newest), key=_turn_of):
        said = list(group)
        tokens += sum(map(tokens_of, said))
        if room is not None and tokens > room:
            break
        if messages and (messages >= KEPT_MESSAGES or tokens > most):
            break
        kept, messages = turn, messages + len(said)
    return kept


def oldest_turns(
    messages: Sequence[PastMessage], before: int, room: int, tokens_of: Callable[[PastMessage], int]
) -> list[PastMessage]:
    """Return the first turns of these messages, in order, before the first kept turn, with at most `room` tokens
    together in a call; a single turn above it is returned alone."""
    chosen: list[PastMessage] = []
    for turn, group in groupby(messages, key=_turn_of):
        said = list(group)
        room -= sum(map(tokens_of, said))
        if turn >= before or (chosen and room < 0):
            break
        chosen += said
    return chosen


def _turn_of(message: PastMessage) -> int:
    return message.turn


#: The name of the graph.
COMPACTION = "compaction"

#: Rows that are looked at: the newest, to find what stays, and the oldest, to find what one call may sum up.
NEWEST_ROWS = 60
OLDEST_ROWS = 200

#: Turns (each two messages) that pass before the next try: after a failure, after a check without work, and after a
#: restore.
REST_TURNS = 5


@dataclass(frozen=True, slots=True)
class Backlog:
    """The messages in the prompts of a conversation: their size, the `newest` and the `oldest` ones, and the
    summaries in front of them. `rests`: it is not compacted now; `written`: the last try of this execution succeeded."""

    agent: Agent
    conversation: Conversation
    size: Size
    newest: list[PastMessage]
    oldest: list[PastMessage]
    summaries: list[Compaction]
    accounts: list[Cooldown]
    calibrations: list[Calibration]
    spender: Spender
    rests: bool
    written: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary that is about to take the place of these messages, and the facts that were found in them."""

    id: str
    messages: Sequence[PastMessage]
    summary: str
    tokens: int
    taint: Taint
    facts: Sequence[tuple[Category, str]]


def load_backlog(tx: Transaction, execution: Execution, *, planned: bool, tried: str | None = None) -> Backlog | None:
    """None when the agent or the conversation is gone."""
    agent = tx.agents.get(WorkState.from_json(execution.state).agent)
    conversation = tx.conversations.get(WorkState.from_json(execution.state).conversation)
    if agent is None or conversation is None:
        return None
    return Backlog(
        agent=agent,
        conversation=conversation,
        size=tx.compactions.size(conversation.id),
        newest=tx.messages.history(conversation.id, NEWEST_ROWS),
        oldest=tx.compactions.oldest(conversation.id, OLDEST_ROWS),
        summaries=tx.compactions.summaries(conversation.id, SUMMARIES),
        accounts=tx.cooldowns.all(),
        calibrations=tx.calibrations.all(),
        spender=spender_of(tx, execution, agent_id=agent.id),
        rests=tx.compactions.is_postponed(conversation.id, planned=planned),
        written=tried is not None and tx.compactions.get(tried) is not None,
    )


def taint_of_range(messages: Sequence[PastMessage], summaries: Sequence[Compaction]) -> Taint:
    """Return the taint of a summary of these messages; for each person the text of the others is text of other
    people."""
    taint = frozenset[Label]().union(*(each.taint for each in messages), *(each.taint for each in summaries))
    return taint | {Label.PEOPLE} if len(_people(messages)) > 1 else taint


def put_in_place(tx: Transaction, draft: Draft, execution: Execution, now: int) -> None:
    """The summary, the facts and a line in the timeline; nothing at all when the messages are not what they were."""
    conversation_id, messages = WorkState.from_json(execution.state).conversation, draft.messages
    conversation = tx.conversations.get(conversation_id)
    if conversation is None:
        return
    draft = replace(draft, taint=_taint_for_readers(tx, draft, conversation))
    before = tx.compactions.size(conversation_id).messages
    compaction = Compaction(
        id=draft.id,
        conversation_id=conversation_id,
        execution_id=execution.id,
        first_turn=messages[0].turn,
        last_turn=messages[-1].turn,
        summary=draft.summary,
        tokens=draft.tokens,
        taint=draft.taint,
        messages_before=before,
        messages_after=before - len(messages),
        tokens_saved=sum(message.tokens for message in messages) - draft.tokens,
        status=CompactionStatus.ACTIVE,
        created_at=now,
    )
    if not tx.compactions.add(compaction, [message.id for message in messages]):
        return
    _remember(tx, draft, conversation, execution, now)
    told = {"compaction": draft.id, "messages": len(messages), "tokensSaved": compaction.tokens_saved}
    tx.timeline.note(_concerned(tx, execution, messages), "compacted", told, now)


def _taint_for_readers(tx: Transaction, draft: Draft, conversation: Conversation) -> Taint:
    """Return the taint for the readers: the author alone in a direct conversation, all members elsewhere."""
    people = _people(draft.messages)
    if conversation.direct and len(people) <= 1:
        return draft.taint
    speakers = [tx.principals.get(each) if each is not None else None for each in people]
    return taint_for_others(draft.taint, [speaker.role if speaker is not None else None for speaker in speakers])


def _remember(tx: Transaction, draft: Draft, conversation: Conversation, execution: Execution, now: int) -> None:
    people = _people(draft.messages)
    # A preference from a room with several people belongs to the room.
    person = people.pop() if len(people) == 1 else None
    for found, text in draft.facts:
        # Only a person in a turn can make a rule, never a model that reads old ones.
        category = Category.IMPORTANT_EVENT if found is Category.STICKY else found
        scope = scope_for(category, conversation.address, person, direct=conversation.direct)
        fact = NewFact(
            agent_id=conversation.agent_id,
            scope=scope,
            category=category,
            content=text,
            taint=draft.taint,
            author_id=person,
            execution_id=execution.id,
        )
        remember(tx, fact, by_id=ARVIS, now=now)  # what cannot be kept is in the summary


def note_failure(
    tx: Transaction, execution: Execution, messages: Sequence[PastMessage], now: int, *, reason: str, error: str
) -> None:
    """Note a failure: the messages stay, the next try waits some turns, and an owner gets an alert."""
    tx.compactions.postpone(WorkState.from_json(execution.state).conversation, REST_TURNS)
    tx.timeline.note(_concerned(tx, execution, messages), "compaction_failed", {"reason": reason, "error": error}, now)
    agent = tx.agents.get(WorkState.from_json(execution.state).agent)
    text = notices.compaction_failed(agent.name if agent else "An agent", error)
    alert_owner(tx, f"compaction:{WorkState.from_json(execution.state).conversation}", text, now, DAY_MS)


def give_up(tx: Transaction, execution: Execution, now: int, *, reason: str, error: str) -> None:
    """Handle the end of a job that was given up: as after any other failure, the next turns wait before a new try."""
    newest = tx.messages.history(WorkState.from_json(execution.state).conversation, KEPT_MESSAGES)
    note_failure(tx, execution, newest, now, reason=reason, error=error)


def leave_alone(tx: Transaction, conversation_id: str) -> None:
    """Nothing to do, though there is much: a look after every turn would find the same."""
    tx.compactions.postpone(conversation_id, REST_TURNS, planned_only=True)


def enqueue(
    tx: Transaction, conversation: Conversation, agent: Agent, now: int, *, begun_by: str | None = None
) -> bool:
    """Queue the compaction of a conversation behind its waiting turns, at the cost of the person who asked last.
    Return False when it is queued already, or pauses. Only for a conversation that is due (`compaction_due`)."""
    if tx.compactions.is_postponed(conversation.id, planned=True):
        return False
    execution_id = tx.new_id()
    asker = _last_asker(tx, conversation.id)
    job = NewJob(
        kind=JobKind.COMPACT,
        priority=Priority.MESSAGE,
        lane=conversation.lane,
        key=f"compact:{conversation.id}",
        key_live=True,
        agent_id=agent.id,
        principal_id=asker,
        execution_id=execution_id,
    )
    if not tx.jobs.add(job, now).created:
        return False
    state = {"agent": agent.id, "conversation": conversation.id, "address": conversation.address.to_json()}
    lifecycle.begin(
        tx,
        execution_id,
        COMPACTION,
        state,
        lane=conversation.lane,
        priority=Priority.MESSAGE,
        principal_id=asker,
        now=now,
        begun_by=begun_by,
    )
    return True


def restore_messages(tx: Transaction, compaction_id: str, now: int) -> int:
    """Return the messages of a summary to the prompts, and their number. Raises `NotFound` and `Conflict`. For some
    turns they stay there unless a prompt has no room for them."""
    compaction = tx.compactions.get(compaction_id)
    if compaction is None:
        raise NotFound(f"There is no summary {compaction_id}.", fix="List those of the conversation.")
    restored = tx.compactions.restore(compaction_id, now)
    if restored is None:
        done = compaction.status is CompactionStatus.RESTORED
        why = "it was restored already" if done else "its messages are past their time and deleted"
        raise Conflict(f"The summary {compaction_id} cannot be restored.", why=why, fix=_FIXES[done])
    tx.compactions.postpone(compaction.conversation_id, REST_TURNS, planned_only=True)
    return restored


_FIXES = {True: "Nothing is to be done.", False: "A longer `retention.compacted_days` keeps later ones longer."}


def _people(messages: Sequence[PastMessage]) -> set[str | None]:
    return {message.principal_id for message in messages if message.role is Role.USER}


def _last_asker(tx: Transaction, conversation_id: str) -> str | None:
    newest = tx.messages.history(conversation_id, 2 * KEPT_MESSAGES)
    return next((each.principal_id for each in reversed(newest) if each.role is Role.USER), None)


def _concerned(tx: Transaction, execution: Execution, messages: Sequence[PastMessage]) -> list[str]:
    """The messages of the turn that waited for it, or else the last question of the range."""
    waiting = [message.id for message in tx.messages.of_turn(execution.id)]
    asked = [message.id for message in messages if message.role is Role.USER]
    return waiting or asked[-1:]
