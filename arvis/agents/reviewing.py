"""Human review by a plain message (seed 003): whoever may allow what an agent wants to do says so in the chat.

A word that means yes or no, or `edit {…}` with other arguments, answers the newest question of the place. Alone with the
agent, anything else is feedback on what it asked about; where several talk, it is a message like any other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from arvis.agents.answers import Approvers, answer_question, may_answer
from arvis.agents.rounds import TOOL_EFFECT
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
    theirs = [each for each in open_ if each.asked_at <= heard and may_answer(tx, each, by, approvers)]
    wait = next(iter(theirs), None)
    if wait is None or (given := _read(text, wait, alone=talk.direct)) is None:
        return None
    if _is_unread(tx, wait, theirs, now):
        return _UNREAD
    try:
        answer_question(tx, wait.id, given, by=by, approvers=approvers, now=now)
    except Conflict:
        return "This question is answered already."
    except Unprocessable as wrong:
        return f"{wrong.what} {wrong.fix or ''}".strip()
    return {"approve": "Allowed.", "reject": "Not allowed.", "edit": "Allowed with your change."}.get(
        given.decision, "Passed on; nothing was done."
    )


def _is_unread(tx: Transaction, wait: Wait, open_: Sequence[Wait], now: int) -> bool:
    """Whether it came while another one was being answered, and a word may be meant for that."""
    others = [each for each in (*open_, *tx.waits.of_execution(wait.execution_id)) if each.id != wait.id]
    answering = any(now - (each.answered_at or now) < _READING for each in others)
    return answering and now - wait.asked_at < _READING


def _open(tx: Transaction, lane: str) -> Iterator[Wait]:
    """What is to be allowed in a conversation, also by those who work for its turns."""
    yield from tx.waits.open_in_lane(lane, WaitKind.APPROVAL)
    for wait in tx.waits.open_in_lane(lane, WaitKind.CHILD):
        for child in tx.executions.children_of(wait.execution_id):
            if child.parent_wait == wait.id:
                yield from _open(tx, child.lane)


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
