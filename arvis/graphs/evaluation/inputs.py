"""The inputs of a recorded turn as the rows from which a prompt is composed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from arvis.domain.agents import Agent
from arvis.domain.conversations import Compaction, CompactionStatus, Conversation
from arvis.domain.evaluations import CaseFact, CaseFile, CaseMessage, FrozenCall, TurnInput
from arvis.domain.memory import EVERYWHERE, Category, Fact, FactStatus, State
from arvis.domain.messages import (
    Address,
    Attachment,
    MessageStatus,
    PastFile,
    PastMessage,
    Principal,
    PrincipalRole,
    Role,
    StoredMessage,
)
from arvis.domain.money import Spender
from arvis.domain.past_rounds import Excerpt, PastCall, PastRound
from arvis.domain.taint import CLEAN, Label
from arvis.graphs.context import TurnContext
from arvis.llm.tokens import estimate_tokens
from arvis.memory.recall import Recall
from arvis.ports.store import Transaction
from arvis.prompt import MOST_OTHERS

#: The maximum number of characters of a past file or output in a prompt.
_LONGEST = 60_000


def turn_context(tx: Transaction, agent: Agent, case_id: str, asked: TurnInput, spender: Spender) -> TurnContext:
    """Return the rows of a turn of `agent` with these inputs. The other agents in the prompt and the state of the
    accounts are not recorded, so they are read from the database."""
    conversation = Conversation(
        id=f"case-{case_id}",
        agent_id=agent.id,
        address=Address(asked.platform, asked.platform, "evaluation"),
        created_at=asked.at,
        direct=asked.direct,
        room=asked.room,
    )
    history = list(_history(conversation, asked.history))
    current = [
        _current(conversation, message, number, asked.at) for number, message in enumerate(asked.messages, start=1)
    ]
    return TurnContext(
        agent=agent,
        current=current,
        conversation=conversation,
        history=history,
        summaries=[_summary(conversation, text, asked.at) for text in asked.summaries],
        recall=_recall(agent.id, asked),
        agents=tx.agents.all(),
        bindings=tx.agents.bindings() if agent.is_conductor else [],
        rests=tx.cooldowns.all(),
        calibrations=tx.calibrations.all(),
        spender=spender,
        taint=CLEAN,
        observed=[],
        incidents=[],
        group=asked.group,
        others=() if agent.is_conductor else _others(tx, agent),
        person=_person(asked),
    )


def _others(tx: Transaction, agent: Agent) -> list[Agent]:
    known = tx.agents.active_after("", MOST_OTHERS + 1)
    return [each for each in known if each.id != agent.id and not each.is_conductor][:MOST_OTHERS]


def _person(asked: TurnInput) -> Principal:
    author = asked.messages[-1].author
    return Principal(
        id=_person_id(author),
        platform=asked.platform,
        user_id=author,
        name=author,
        role=PrincipalRole.MEMBER,
        timezone=asked.timezone,
        language=asked.language,
    )


def _person_id(author: str) -> str:
    """Return an id for this author. The prompt of a group distinguishes people by their ids."""
    return hashlib.sha256(author.encode("utf-8", "replace")).hexdigest()[:26]


def _current(conversation: Conversation, message: CaseMessage, number: int, at: int) -> StoredMessage:
    return StoredMessage(
        id=f"{conversation.id}-{number}",
        conversation_id=conversation.id,
        role=Role.USER,
        content=message.text,
        tokens=estimate_tokens(message.text),
        status=MessageStatus.ACCEPTED,
        address=conversation.address,
        principal_id=_person_id(message.author),
        user_name=message.author,
        agent_id=conversation.agent_id,
        execution_id=None,
        turn=None,
        created_at=message.at or at,
        attachments=tuple(_attachment(file, file.text) for file in message.files),
        quotations=message.quotations,
    )


def _history(conversation: Conversation, messages: Sequence[CaseMessage]) -> Iterator[PastMessage]:
    turn, files, last = 0, 0, Role.ASSISTANT
    for number, message in enumerate(messages, start=1):
        if message.role is Role.USER and last is not Role.USER:
            turn, files = turn + 1, 0
        last = message.role
        yield PastMessage(
            role=message.role,
            content=message.text,
            tokens=estimate_tokens(message.text),
            id=f"{conversation.id}-past-{number}",
            turn=max(turn, 1),
            position=number,
            taint=frozenset({Label.FILES}) if message.files else CLEAN,
            principal_id=_person_id(message.author) if message.role is Role.USER else None,
            user_name=message.author,
            created_at=message.at,
            file_names=", ".join(file.name for file in message.files),
            files=tuple(
                PastFile(files + place, _attachment(file, ""), Excerpt.of(file.text, _LONGEST))
                for place, file in enumerate(message.files, start=1)
            ),
            rounds=tuple(PastRound(each.text, tuple(map(_past_call, each.calls))) for each in message.rounds),
            quotations=message.quotations,
        )
        files += len(message.files)


def _attachment(file: CaseFile, text: str) -> Attachment:
    return Attachment(file.name, file.content_type, file.size, file.sha256, kind=file.kind, content=text)


def _past_call(call: FrozenCall) -> PastCall:
    return PastCall(call.tool, call.arguments, Excerpt.of(call.output, _LONGEST), call.failed, call.secret)


def _summary(conversation: Conversation, text: str, at: int) -> Compaction:
    return Compaction(
        id=conversation.id,
        conversation_id=conversation.id,
        execution_id="",
        first_turn=0,
        last_turn=0,
        summary=text,
        tokens=estimate_tokens(text),
        taint=CLEAN,
        messages_before=0,
        messages_after=0,
        tokens_saved=0,
        status=CompactionStatus.ACTIVE,
        created_at=at,
    )


def _recall(agent_id: str, asked: TurnInput) -> Recall:
    facts = [_fact(agent_id, fact, number, asked.at) for number, fact in enumerate(asked.facts, start=1)]
    rules = [fact for fact in facts if fact.category is Category.STICKY and not fact.taint]
    states = [
        State(agent_id, EVERYWHERE, key, value, CLEAN, None, None, asked.at) for key, value in asked.values.items()
    ]
    return Recall(tuple(rules), tuple(fact for fact in facts if fact not in rules), tuple(states))


def _fact(agent_id: str, fact: CaseFact, number: int, at: int) -> Fact:
    return Fact(
        id=f"case-fact-{number}",
        number=number,
        agent_id=agent_id,
        scope=EVERYWHERE,
        category=fact.category,
        content=fact.text,
        taint=fact.taint,
        author_id=None,
        message_id=None,
        execution_id=None,
        confidence=1000,
        status=FactStatus.ACTIVE,
        superseded_by=None,
        accessed_at=at,
        access_count=0,
        expires_at=None,
        created_at=at,
        updated_at=at,
    )
