"""The selection of messages for a summary, and the transaction scripts that read and write the rows of a compaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.conversations import Compaction, CompactionStatus, Conversation
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Conflict, NotFound
from arvis.domain.executions import Execution
from arvis.domain.jobs import JobKind, NewJob, Priority
from arvis.domain.memory import Category, NewFact, scope_for, taint_for_others
from arvis.domain.messages import PastMessage, Role
from arvis.domain.money import Spender
from arvis.domain.notifications import DAY_MS, Hint, Problem, Severity
from arvis.domain.runs import Cooldown
from arvis.domain.taint import Label, Taint
from arvis.engine import lifecycle
from arvis.graphs.context import SUMMARIES
from arvis.memory.decay import ARVIS
from arvis.memory.service import remember
from arvis.messaging import notices
from arvis.messaging.owner_alerts import alert_owner, resolve
from arvis.ports.conversations import Calibration, Size
from arvis.ports.store import Transaction
from arvis.prompt.compose import budget_of
from arvis.prompt.past import sources_of
from arvis.tasks.access import spender_of
from arvis.tasks.state import WorkState

# -- selection ---------------------------------------------------------------------------------------------------------
#
# Whole turns are selected: a cut inside a turn would separate a question from its answer.


@dataclass(frozen=True, slots=True)
class Plan:
    """The value that one node of a compaction passes to the next node. It is stored with the execution's position, so
    that a crash loses no finished model call."""

    #: The number of this round, from 1.
    round: int = 1
    #: The ids of the messages of this round.
    ids: tuple[str, ...] = ()
    #: True if a model refused a prompt as too long. Each call then gets half of the tokens for messages.
    tight: bool = False
    #: True if the messages of this round have changed once.
    again: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    summary: str = ""
    taint: str = ""
    #: The id of the summary that the previous round tried to store.
    tried: str | None = None

    @classmethod
    def of(cls, value: Mapping[str, Any] | None) -> Plan:
        given = dict(value or {})
        facts = tuple((category, text) for category, text in given.pop("facts", ()))
        return cls(**{**given, "ids": tuple(given.get("ids", ())), "facts": facts})

    def next_round(self) -> Plan:
        return Plan(round=self.round + 1, tight=self.tight)

    def look_again(self) -> Plan:
        """Return the plan to repeat this round, because its messages have changed since they were chosen."""
        return Plan(round=self.round, tight=self.tight, again=True)

    def with_half(self) -> Plan:
        """Return the plan to repeat this round with half of the tokens for messages, because a model refused the prompt
        as too long."""
        return Plan(round=self.round, tight=True, again=self.again)

    def written(self, compaction_id: str) -> Plan:
        """Return the plan after an attempt to store the summary with this id."""
        return Plan(round=self.round, tight=self.tight, again=self.again, tried=compaction_id)

    def chosen(self, ids: Sequence[str]) -> Plan:
        return replace(self, ids=tuple(ids), tried=None)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


#: The newest turns are not summarised: about `KEPT_MESSAGES` messages, with at most a quarter of a prompt's tokens.
KEPT_MESSAGES = 10
KEPT_SHARE = 4

#: Messages with less than an eighth of a prompt's tokens are not summarised, unless the conversation is due for
#: compaction or a prompt has no space for the messages.
LEAST_SHARE = 8

#: A conversation with more messages than this is due for compaction.
DUE_MESSAGES = 80


def compaction_due(size: Size, ceiling: int) -> bool:
    """Return True if a conversation of this size must be compacted. `ceiling` is the maximum number of tokens in a
    prompt of the agent: the smaller of the model's window and the agent's `context_tokens`."""
    return size.messages > DUE_MESSAGES or size.tokens > budget_of(ceiling).threshold


def room_is_short(layers: Mapping[str, int], reply: int, ceiling: int) -> bool:
    """Return True if the next prompt may have no space for all messages, because the messages up to this turn use most
    of the tokens that the other layers leave. `layers` are the numbers of tokens of the layers of the last prompt, and
    `reply` is the number of tokens of the reply."""
    budget = budget_of(ceiling)
    messages = layers.get("history", 0) + layers.get("current", 0)
    room = budget.usable - (sum(layers.values()) - messages)
    return messages + reply > room - min(room // 4, 2 * budget.reply)


def first_kept(
    newest: Sequence[PastMessage], tokens_of: Callable[[PastMessage], int], most: int, room: int | None = None
) -> int:
    """Return the number of the first turn that is not summarised. The last turn is never summarised, unless it has more
    than `room` tokens (None means no limit). Earlier turns are added until there are `KEPT_MESSAGES` messages or the
    next turn would exceed `most` tokens. `newest` are the last messages, in order. They contain at least the whole last
    turn."""
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
    """Return the messages of the first turns, in order, with at most `room` tokens together. The first turn is returned
    even if it is longer. Turns from the number `before` on are not returned."""
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


#: The name of the graph for compaction.
COMPACTION = "compaction"

#: The maximum numbers of messages that a compaction reads. It chooses the messages to keep from the newest messages,
#: and the messages to summarise in one call from the oldest messages.
NEWEST_ROWS = 60
OLDEST_ROWS = 200

#: For this number of turns, compaction is postponed after a failure, after a check that found no messages to summarise,
#: and after the restore of a summary.
REST_TURNS = 5


@dataclass(frozen=True, slots=True)
class Backlog:
    """The messages of a conversation that are not summarised, and the summaries of older messages."""

    agent: Agent
    conversation: Conversation
    #: The size of all messages that are not summarised, and the newest and the oldest of these messages.
    size: Size
    newest: Sequence[PastMessage]
    oldest: list[PastMessage]
    summaries: Sequence[Compaction]
    accounts: Sequence[Cooldown]
    calibrations: Sequence[Calibration]
    spender: Spender
    #: True if compaction is postponed.
    rests: bool
    #: True if the summary that the previous round tried to store was stored.
    written: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary that will replace these messages, and the facts that a model found in them."""

    id: str
    messages: Sequence[PastMessage]
    summary: str
    tokens: int
    taint: Taint
    facts: Sequence[tuple[Category, str]]
    sources: tuple[str, ...] = ()


def load_backlog(tx: Transaction, execution: Execution, *, planned: bool, tried: str | None = None) -> Backlog | None:
    """Read the rows for a compaction. Return None if the agent or the conversation no longer exists. `planned` is True
    if the compaction is not part of a turn. `tried` is the id of the summary that the previous round tried to store."""
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
    """Return the taint of a summary of these messages and summaries. If several people wrote the messages, the taint
    includes `people`, because each reader of the summary gets text of other people."""
    taint = frozenset[Label]().union(*(each.taint for each in messages), *(each.taint for each in summaries))
    return taint | {Label.PEOPLE} if len(_people(messages)) > 1 else taint


def newest_sources(
    messages: Sequence[PastMessage], summaries: Sequence[Compaction], characters: int
) -> tuple[str, ...]:
    """Return the newest references to the results and files of these summaries and messages, with at most this number
    of characters together."""
    found = [
        *(each for one in summaries for each in one.sources),
        *(each for one in messages for each in sources_of(one)),
    ]
    kept: list[str] = []
    for source in reversed(found):
        characters -= len(source) + 1
        if characters < 0:
            break
        kept.append(source)
    return tuple(kept[::-1])


def put_in_place(tx: Transaction, draft: Draft, execution: Execution, now: int) -> None:
    """Replace the messages by the summary, and store the facts and a line in the timeline. Change nothing if the
    messages are no longer the same."""
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
        sources=draft.sources,
    )
    if not tx.compactions.add(compaction, [message.id for message in messages]):
        return
    _remember(tx, draft, conversation, execution, now)
    data = {"compaction": draft.id, "messages": len(messages), "tokensSaved": compaction.tokens_saved}
    tx.timeline.note(_concerned(tx, execution, messages), "compacted", data, now)
    resolve(tx, _cause_of(conversation_id), now)


def _taint_for_readers(tx: Transaction, draft: Draft, conversation: Conversation) -> Taint:
    """Return the taint of the summary, which depends on its readers. In a direct conversation, the only reader is the
    author of the messages. Elsewhere, the readers are all members."""
    people = _people(draft.messages)
    if conversation.direct and len(people) <= 1:
        return draft.taint
    speakers = [tx.principals.get(each) if each is not None else None for each in people]
    return taint_for_others(draft.taint, [speaker.role if speaker is not None else None for speaker in speakers])


def _remember(tx: Transaction, draft: Draft, conversation: Conversation, execution: Execution, now: int) -> None:
    if not conversation.remembers:
        return
    people = _people(draft.messages)
    # If several people wrote the messages, a preference is stored for the conversation, not for a person.
    person = people.pop() if len(people) == 1 else None
    for found, text in draft.facts:
        # A fact that never fades may come only from a person's turn, not from a model that reads old messages.
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
        remember(tx, fact, by_id=ARVIS, now=now)  # if the fact is refused, the summary still contains it


def note_failure(
    tx: Transaction, execution: Execution, messages: Sequence[PastMessage], now: int, *, reason: str, error: str
) -> None:
    """Note a failed compaction: postpone the next one by `REST_TURNS` turns, write to the timeline and alert an owner.
    No message is replaced."""
    tx.compactions.postpone(WorkState.from_json(execution.state).conversation, REST_TURNS)
    tx.timeline.note(_concerned(tx, execution, messages), "compaction_failed", {"reason": reason, "error": error}, now)
    agent = tx.agents.get(WorkState.from_json(execution.state).agent)
    text = notices.compaction_failed(agent.name if agent else "An agent", error)
    conversation = WorkState.from_json(execution.state).conversation
    hint = Hint(link=f"/conversations/{conversation}")
    problem = Problem(
        cause=_cause_of(conversation),
        text=text,
        severity=Severity.WARNING,
        hint=hint,
        subject=conversation,
        interval=DAY_MS,
    )
    alert_owner(tx, problem, now)


def _cause_of(conversation_id: str) -> str:
    return f"compaction:{conversation_id}"


def give_up(tx: Transaction, execution: Execution, now: int, *, reason: str, error: str) -> None:
    """Note that a compaction failed because the queue no longer retries its job."""
    newest = tx.messages.history(WorkState.from_json(execution.state).conversation, KEPT_MESSAGES)
    note_failure(tx, execution, newest, now, reason=reason, error=error)


def leave_alone(tx: Transaction, conversation_id: str) -> None:
    """Postpone planned compaction of a conversation that is large but has no messages to summarise. Otherwise, the
    check would be repeated after every turn and find nothing."""
    tx.compactions.postpone(conversation_id, REST_TURNS, planned_only=True)


def enqueue(
    tx: Transaction, conversation: Conversation, agent: Agent, now: int, *, begun_by: str | None = None
) -> bool:
    """Queue the compaction of a conversation that is due (`compaction_due`), behind the conversation's waiting turns.
    The cost is charged to the person who asked last. Return False if the compaction is queued already or postponed."""
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
    """Put the messages of a summary back into the prompts and return their number. Planned compaction is postponed by
    `REST_TURNS` turns. Raise `NotFound`, or `Conflict` if the messages were restored or deleted before."""
    compaction = tx.compactions.get(compaction_id)
    if compaction is None:
        raise NotFound(f"There is no summary {compaction_id}.", fix="List the summaries of the conversation.")
    restored = tx.compactions.restore(compaction_id, now)
    if restored is None:
        done = compaction.status is CompactionStatus.RESTORED
        why = "it was restored already" if done else "its messages were deleted after their retention time"
        raise Conflict(f"The summary {compaction_id} cannot be restored.", why=why, fix=_FIXES[done])
    tx.compactions.postpone(compaction.conversation_id, REST_TURNS, planned_only=True)
    return restored


_FIXES = {True: "You need not do anything.", False: "Raise `retention.compacted_days` to keep other messages longer."}


def _people(messages: Sequence[PastMessage]) -> set[str | None]:
    return {message.principal_id for message in messages if message.role is Role.USER}


def _last_asker(tx: Transaction, conversation_id: str) -> str | None:
    newest = tx.messages.history(conversation_id, 2 * KEPT_MESSAGES)
    return next((each.principal_id for each in reversed(newest) if each.role is Role.USER), None)


def _concerned(tx: Transaction, execution: Execution, messages: Sequence[PastMessage]) -> list[str]:
    """Return the ids of the messages whose timeline shows the compaction. These are the messages of the turn that
    waited for the compaction. If no turn waited, return only the id of the last summarised message of a person."""
    waiting = [message.id for message in tx.messages.of_turn(execution.id)]
    asked = [message.id for message in messages if message.role is Role.USER]
    return waiting or asked[-1:]
