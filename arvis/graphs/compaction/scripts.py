"""The scripts of compaction: what its nodes read, and the one that puts a summary in the place of its messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from arvis.graphs.compaction.selection import KEPT_MESSAGES
from arvis.graphs.context import SUMMARIES
from arvis.llm.budgets import spender_of
from arvis.memory import remember
from arvis.memory.service import ARVIS
from arvis.messaging import notices
from arvis.messaging.owner_alerts import DAY_MS, tell_owner
from arvis.ports.compactions import Calibration, Size
from arvis.ports.store import Transaction
from arvis.tasks.state import WorkState

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
    tell_owner(tx, f"compaction:{WorkState.from_json(execution.state).conversation}", text, now, DAY_MS)


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
