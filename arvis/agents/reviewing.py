"""Human review by a plain message (seed 003): whoever may allow what an agent wants to do says so in the chat.

A word that means yes or no, or `edit {…}` with other arguments, answers the newest question of the place. Alone with the
agent, anything else is feedback on what it asked about; where several talk, it is a message like any other. What a node of a
workflow asks is answered by such a word, or by one of its choices with a note behind it, and by nothing else: it stays open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from arvis.agents.answers import Approvers, answer_question, may_answer, question_of
from arvis.agents.rounds import TOOL_EFFECT
from arvis.agents.runs import is_run
from arvis.domain.agents import Agent
from arvis.domain.conversations import Conversation
from arvis.domain.errors import Conflict, Unprocessable
from arvis.domain.executions import Wait, WaitKind
from arvis.domain.messages import Address, Principal
from arvis.ports.operations import WaitAnswer
from arvis.ports.store import Transaction

#: Words of several languages that can mean nothing else here; compared in lower case without what ends a sentence.
YES = frozenset(
    {"approve", "approved", "accept", "yes", "ok", "okay", "allow", "ja", "oui", "si", "sí", "да", "是", "好"}
)
NO = frozenset({"reject", "rejected", "deny", "no", "nein", "non", "нет", "否", "不"})

_EDIT = re.compile(r"edit\s+(?P<arguments>\{.*\})", re.DOTALL | re.IGNORECASE)
_ENDS = ".!…。\uff01 \t\n"


#: One of the choices, and a note behind it.
_CHOICE = re.compile(r"\s*(?P<word>approved?|reject(?:ed)?)\b[\s,.:;!–-]*(?P<note>.*)", re.DOTALL | re.IGNORECASE)
#: Of a question that is older (ms) nobody may still think who says yes or no.
_STALE = 86_400_000

#: Clocks of platforms are as far from ours (ms), and tell whole seconds.
_CLOCKS_APART = 5_000
#: Nobody has read a question that is younger than this (ms) while they were answering another one.
_READING = 2_000
_UNREAD = "Another question has come meanwhile. Read it, and then answer it."


def may_be_review(tx: Transaction, agent: Agent, place: Address) -> bool:
    """Whether anything is asked in this place at all."""
    if not tx.waits.any_open():
        return False
    talk = next((each for each in tx.conversations.in_place(place) if each.agent_id == agent.id), None)
    return talk is not None and next(_open(tx, talk.lane), None) is not None


def review(
    tx: Transaction,
    text: str,
    *,
    talk: Conversation,
    by: Principal,
    approvers: Approvers,
    now: int,
    said_at: int | None = None,
) -> str | None:
    """What to tell the person whose message answered a question; None where it is no answer. What was `said_at` a time (ms,
    None: just now) before a question was asked is not about it."""
    heard = now if said_at is None else said_at + _CLOCKS_APART
    open_ = sorted(_open(tx, talk.lane), key=lambda wait: wait.id, reverse=True)
    theirs = [each for each in open_ if each.asked_at <= heard and _is_asked(tx, each, by, approvers)]
    wait = next(iter(theirs), None)
    if wait is None or (given := _said(tx, text, wait, alone=talk.direct, now=now)) is None:
        return None
    if _is_unread(tx, wait, theirs, now):
        return _UNREAD
    try:
        answer_question(tx, wait.id, given, by=by, approvers=approvers, now=now)
    except Conflict:
        return "This question is answered already."
    except Unprocessable as wrong:
        return f"{wrong.what} {wrong.fix or ''}".strip()
    said = {
        "approve": "Allowed.",
        "reject": "Not allowed.",
        "edit": "Allowed with your change.",
        "answer": "Passed on.",
    }
    return said.get(given.decision, "Passed on; nothing was done.")


def _is_asked(tx: Transaction, wait: Wait, by: Principal, approvers: Approvers) -> bool:
    """Whoever looks after the house may answer in another one's place, but does not by talking."""
    if wait.kind is WaitKind.USER:
        asking = tx.executions.get(wait.execution_id)
        return asking is not None and asking.principal_id == by.id
    return may_answer(tx, wait, by, approvers)


def _is_unread(tx: Transaction, wait: Wait, open_: Sequence[Wait], now: int) -> bool:
    """Whether it came while another one was being answered, and a word may be meant for that."""
    others = [each for each in (*open_, *tx.waits.of_execution(wait.execution_id)) if each.id != wait.id]
    answering = any(now - (each.answered_at or now) < _READING for each in others)
    return answering and now - wait.asked_at < _READING


def _open(tx: Transaction, lane: str) -> Iterator[Wait]:
    """What is to be allowed in a conversation, also by those who work for its turns; and what a run asks somebody there."""
    yield from tx.waits.open_in_lane(lane, WaitKind.APPROVAL)
    yield from (wait for wait in tx.waits.open_in_lane(lane, WaitKind.USER) if _is_of_run(tx, wait))
    for wait in tx.waits.open_in_lane(lane, WaitKind.CHILD):
        for child in tx.executions.children_of(wait.execution_id):
            if child.parent_wait == wait.id:
                yield from _open(tx, child.lane)


def _is_of_run(tx: Transaction, wait: Wait) -> bool:
    """A turn goes on with the message itself; a run has no messages."""
    execution = tx.executions.get(wait.execution_id)
    return execution is not None and is_run(execution)


def _said(tx: Transaction, text: str, wait: Wait, *, alone: bool, now: int) -> WaitAnswer | None:
    """What the text says to this question."""
    if wait.kind is WaitKind.USER:
        return WaitAnswer(decision="answer", text=text) if text.strip() and not text.startswith("/") else None
    if question_of(tx.executions.get(wait.execution_id), wait) is not None:
        return _of_choices(text, fresh=now - wait.asked_at < _STALE)
    return _read(text, wait, alone=alone)


def _of_choices(text: str, *, fresh: bool) -> WaitAnswer | None:
    word = text.strip(_ENDS).casefold()
    if fresh and word in YES | NO:
        return WaitAnswer(decision="approve" if word in YES else "reject")
    if (found := _CHOICE.fullmatch(text)) is None:
        return None
    decision = "reject" if found["word"].casefold().startswith("reject") else "approve"
    return WaitAnswer(decision=decision, note=found["note"].strip() or None)


def _read(text: str, wait: Wait, *, alone: bool) -> WaitAnswer | None:
    word = text.strip(_ENDS).casefold()
    if word in YES:
        return WaitAnswer(decision="approve")
    if word in NO:
        return WaitAnswer(decision="reject")
    if (found := _EDIT.fullmatch(text.strip())) is not None:
        return _edited(found["arguments"])
    # About an effect that may have happened there is nothing to comment on.
    plain = alone and not (wait.subject or "").startswith(TOOL_EFFECT)
    return WaitAnswer(decision="feedback", text=text) if plain and text.strip() and not text.startswith("/") else None


def _edited(text: str) -> WaitAnswer | None:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return WaitAnswer(decision="edit", arguments=arguments) if isinstance(arguments, dict) else None
