"""The open questions of a conversation, and the messages in the chat that answer them.

A message is an answer only if it cannot mean anything else. A message that directly replies to a question is about that
question. Any other message answers the newest question of the place only if it consists of a word for yes or no, of one
of the choices, or of `edit {…}` with other arguments. In a chat with several people, it must also come from the person
who asked for the work. A person without the right to answer gets a notice. All other messages are handled as usual, and
the question stays open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from arvis.approvals import Approvers, answer_question, form_of, may_answer, question_of
from arvis.domain.conversations import Conversation, conversation_lane
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Conflict, Forbidden, Unprocessable, sentences
from arvis.domain.executions import PERSONAL_WAITS, Execution, Wait, WaitKind
from arvis.domain.forms import ACCEPT, CANCEL, DECLINE, ServerQuestion
from arvis.domain.messages import Address, Principal, StoredMessage
from arvis.domain.regex import regex
from arvis.engine import lifecycle
from arvis.engine.state import changes
from arvis.messaging.messages import MentionedState, show_question
from arvis.ports.operations import WaitAnswer
from arvis.ports.store import Transaction
from arvis.tasks.rounds import TOOL_EFFECT
from arvis.tasks.state import AgentState
from arvis.tasks.task import is_run


def proposals_lane(conversation_id: str) -> str:
    """Return the lane of the changes that were proposed in a conversation and wait for an approval."""
    return f"proposals:{conversation_id}"


def open_questions(tx: Transaction, talk: Conversation) -> list[Wait]:
    """Return the open questions of this conversation that people can answer by a message, newest first."""
    found = [*_in_lane(tx, talk.lane), *tx.waits.open_in_lane(proposals_lane(talk.id), WaitKind.APPROVAL)]
    return sorted(found, key=lambda wait: wait.id, reverse=True)


def requester_of(tx: Transaction, wait: Wait) -> str | None:
    """Return the id of the principal who asked for the work during which this question was asked."""
    execution = tx.executions.get(wait.execution_id)
    return lifecycle.root_of(tx, execution).principal_id if execution is not None else None


def repeat_questions(tx: Transaction, turn: Execution, reply: StoredMessage, now: int) -> None:
    """After a reply of another turn of the same person, show the newest open question again. Otherwise a “yes” could be
    meant for that reply. Each question is repeated only once."""
    if not tx.waits.any_open() or turn.lane != conversation_lane(reply.conversation_id or ""):
        return
    talk = tx.conversations.get(reply.conversation_id or "")
    for wait in open_questions(tx, talk) if talk is not None else ():
        asking = tx.executions.get(wait.execution_id)
        if asking is None or wait.kind is WaitKind.USER or lifecycle.root_of(tx, asking).id == turn.id:
            continue
        repeated = MentionedState.from_json(asking.state).repeated
        if requester_of(tx, wait) == turn.principal_id and wait.id not in repeated:
            show_question(tx, asking, wait, like=reply, now=now, again=True)
            more = changes(MentionedState, repeated=[*repeated, wait.id])
            tx.executions.save(replace(asking, state={**asking.state, **more}))
        return


def _in_lane(tx: Transaction, lane: str) -> Iterator[Wait]:
    """Yield the open approvals, reviews, questions of tool servers and questions of runs in this lane, and in the lanes of
    children that executions of this lane wait for."""
    yield from tx.waits.open_in_lane(lane, WaitKind.APPROVAL, WaitKind.REVIEW, WaitKind.INPUT)
    yield from (wait for wait in tx.waits.open_in_lane(lane, WaitKind.USER) if _is_of_run(tx, wait))
    for wait in tx.waits.open_in_lane(lane, WaitKind.CHILD):
        for child in tx.executions.children_of(wait.execution_id):
            if child.parent_wait == wait.id:
                yield from _in_lane(tx, child.lane)


def _is_of_run(tx: Transaction, wait: Wait) -> bool:
    """Return True if a run asks the question. The questions of turns are answered in `begin_turn`, where the message
    joins the turn; a run has no messages."""
    execution = tx.executions.get(wait.execution_id)
    return execution is not None and is_run(execution)


# The texts that answer a question: yes and no, other arguments, one of the choices, or feedback.


#: Words for yes and no in several languages, compared in lower case without final punctuation. The words that name the
#: decision itself (`_APPROVE`, `_REJECT`) also answer an older question.
_APPROVE = frozenset({"approve", "approved", "allow"})
_REJECT = frozenset({"reject", "rejected", "deny"})
YES = _APPROVE | {"accept", "yes", "ok", "okay", "ja", "oui", "si", "sí", "да", "是", "好"}
NO = _REJECT | {"no", "nein", "non", "нет", "否", "不"}

_ENDS = ".!…。\uff01 \t\n"
_EDIT = regex(r"edit\s+(?P<arguments>\{.*\})", re.DOTALL | re.IGNORECASE)
#: A decision, a punctuation mark and a note. “approve the budget, please” is not an answer, because no punctuation mark
#: follows “approve”.
_NOTED = regex(r"\s*(?P<word>approved?|reject(?:ed)?)\s*[,.:;!–-]+\s*(?P<note>.+)", re.DOTALL | re.IGNORECASE)


def plain_word(text: str) -> WaitAnswer | None:
    """Return the answer if the message consists only of a word for yes or no, else None."""
    word = text.strip(_ENDS).casefold()
    if word in YES:
        return WaitAnswer(decision="approve")
    return WaitAnswer(decision="reject") if word in NO else None


def explicit(text: str, *, noted: bool) -> WaitAnswer | None:
    """Return the answer if the message names its decision with a word such as `approve` or `reject`, else None. If
    `noted` is True, a note may follow the decision. If `noted` is False, the message may also be `edit {…}`."""
    if text.strip(_ENDS).casefold() in _APPROVE | _REJECT:
        return plain_word(text)
    if not noted:
        found = _EDIT.fullmatch(text.strip())
        return _edited(found["arguments"]) if found is not None else None
    if (found := _NOTED.fullmatch(text)) is None:
        return None
    decision = "reject" if found["word"].casefold().startswith("reject") else "approve"
    return WaitAnswer(decision=decision, note=found["note"].strip() or None)


def of_choices(text: str, choices: Sequence[str]) -> WaitAnswer | None:
    """Return the answer if the message consists only of one of the choices, else None."""
    word = text.strip(_ENDS).casefold()
    chosen = next((choice for choice in choices if choice.casefold() == word), None)
    return WaitAnswer(decision="answer", text=chosen) if chosen is not None else None


def of_form(text: str, form: ServerQuestion | None, *, values: bool) -> WaitAnswer | None:
    """Return the answer to a question of a tool server, else None. If `values` is True, a text that is no decision contains
    the values of the form."""
    if form is None:
        return None
    if (given := of_choices(text, form.choices)) is not None:
        return given
    plain = plain_word(text)
    if plain is not None and form.single is None and not (values and form.takes_text and form.draft is None):
        if plain.decision == "reject":
            return plain
        return plain if ACCEPT in form.choices else None
    return _free_text(text) if values and form.takes_text else None


def feedback(text: str) -> WaitAnswer | None:
    """Return a reply to a question as feedback for the agent that asked; None if the reply is empty or a text
    command."""
    return WaitAnswer(decision="feedback", text=text) if text.strip() and not text.startswith("/") else None


def _edited(text: str) -> WaitAnswer | None:
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return WaitAnswer(decision="edit", arguments=arguments) if isinstance(arguments, dict) else None


#: After this time (ms), a plain “yes” or “no” does not answer a question, because it may be about another subject.
_STALE = 86_400_000
#: The assumed maximum difference (ms) between a platform's clock and this machine's clock. Platforms give times in
#: whole seconds.
_CLOCKS_APART = 5_000
#: A person who has just answered a question cannot have read a question that is younger than this (ms).
_READING = 2_000
_UNREAD = "Another question was asked in the meantime. Read that question, then answer it."
_ANSWERED = "This question has been answered already."


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """A message that may be an answer."""

    text: str
    place: Address
    #: The time (ms) at which the message was written (None: now).
    at: int | None = None
    #: The platform's id of the message to which this message directly replies (None: it is no reply).
    in_reply_to: str | None = None


def replied_question(tx: Transaction, written: WrittenAnswer) -> Wait | None:
    """Return the question that the message directly replies to; None if it does not reply to a question."""
    if written.in_reply_to is None:
        return None
    found = tx.waits.shown_as(written.place, written.in_reply_to)
    wait = tx.waits.get(found) if found is not None else None
    return wait if wait is not None and wait.kind in PERSONAL_WAITS else None


def review_reply(
    tx: Transaction, written: WrittenAnswer, wait: Wait, *, by: Principal, approvers: Approvers, now: int
) -> str | None:
    """Answer the question that a message directly replies to. Return the text for the person; None if the message is
    not an answer. A free text is not an answer if the person may not answer the question."""
    given = _replied(tx, written.text, wait)
    free = given is not None and given.text is not None and given.text not in wait.choices
    if given is None or (free and not may_answer(tx, wait, by, approvers)):
        return None
    if wait.answered_at is not None:
        return None if given.decision == "feedback" else _ANSWERED
    return _answer(tx, wait, given, by=by, approvers=approvers, now=now)


def review(
    tx: Transaction, written: WrittenAnswer, *, talk: Conversation, by: Principal, approvers: Approvers, now: int
) -> str | None:
    """Answer the newest question of the conversation with a message that does not directly reply to another message.
    Return the text for the person; None if the message is not an answer. Questions that are younger than the message
    are ignored."""
    written_at = now if written.at is None else written.at + _CLOCKS_APART
    asked = [each for each in open_questions(tx, talk) if each.asked_at <= written_at]
    theirs = [each for each in asked if _is_for(tx, each, talk, by, approvers)]
    # The person who asked for the work gets a notice that says who may answer.
    others = (each for each in asked if each.kind is not WaitKind.USER and requester_of(tx, each) == by.id)
    wait = next(iter(theirs), None) or next(others, None)
    if wait is None or (given := _plainly(tx, written.text, wait, talk, by=by, now=now)) is None:
        return None
    if _is_unread(tx, wait, theirs, now):
        return _UNREAD
    return _answer(tx, wait, given, by=by, approvers=approvers, now=now)


def _is_for(tx: Transaction, wait: Wait, talk: Conversation, by: Principal, approvers: Approvers) -> bool:
    """Return True if a plain message of this person can answer the question. In a chat with several people, only the
    person who asked for the work can; all others use the buttons or reply to the question."""
    if wait.kind in {WaitKind.USER, WaitKind.INPUT} or not talk.direct:
        return requester_of(tx, wait) == by.id and may_answer(tx, wait, by, approvers)
    return may_answer(tx, wait, by, approvers)


def _plainly(
    tx: Transaction, text: str, wait: Wait, talk: Conversation, *, by: Principal, now: int
) -> WaitAnswer | None:
    """Return the answer in a message that does not directly reply to another message; None if it is not an answer. A
    plain “yes” or “no” does not answer a question that is older than `_STALE` or is followed by another reply of the
    agent."""
    fresh = now - wait.asked_at < _STALE and not tx.waits.is_overtaken(talk, wait.id, by.id)
    if wait.kind is WaitKind.USER:
        return _free_text(text) if fresh else None
    if wait.kind is WaitKind.REVIEW:
        return of_choices(text, wait.choices)
    if wait.kind is WaitKind.INPUT:
        # In a chat with several people, a message is often meant for another person. So values for the form count there
        # only if the message directly replies to the question.
        form = form_of(tx.executions.get(wait.execution_id), wait)
        values = talk.direct and form is not None and form.may_mean(text)
        return of_form(text, form, values=values) if fresh else None
    noted = question_of(tx.executions.get(wait.execution_id), wait) is not None
    return explicit(text, noted=noted) or (plain_word(text) if fresh else None)


def _replied(tx: Transaction, text: str, wait: Wait) -> WaitAnswer | None:
    """Return the answer in a message that directly replies to the question; None if it is not an answer."""
    if wait.kind is WaitKind.USER:
        return _free_text(text)
    if wait.kind is WaitKind.INPUT:
        return of_form(text, form_of(tx.executions.get(wait.execution_id), wait), values=True)
    if wait.kind is WaitKind.REVIEW or (wait.subject or "").startswith(TOOL_EFFECT):
        return of_choices(text, wait.choices)
    noted = question_of(tx.executions.get(wait.execution_id), wait) is not None
    given = explicit(text, noted=noted) or plain_word(text)
    # Only a question about an agent's tool call accepts feedback, because the agent reads it. A node of a workflow and
    # a proposed change cannot use feedback.
    return given or (feedback(text) if not noted and _is_of_a_tool(tx, wait) else None)


def _is_of_a_tool(tx: Transaction, wait: Wait) -> bool:
    execution = tx.executions.get(wait.execution_id)
    return execution is not None and AgentState.from_json(execution.state).asking is not None


def _free_text(text: str) -> WaitAnswer | None:
    return WaitAnswer(decision="answer", text=text) if text.strip() and not text.startswith("/") else None


def _answer(tx: Transaction, wait: Wait, given: WaitAnswer, *, by: Principal, approvers: Approvers, now: int) -> str:
    try:
        answer_question(tx, wait.id, given, by=by, approvers=approvers, now=now)
    except Conflict:
        return _ANSWERED
    except (Forbidden, Unprocessable) as wrong:
        return sentences(wrong.what, wrong.fix)
    if wait.kind is WaitKind.INPUT:
        return _confirmation(wait, given)
    confirmations = {
        "approve": "Allowed.",
        "reject": "Not allowed.",
        "edit": "Allowed with your change.",
        "answer": "Your answer was sent.",
    }
    return confirmations.get(given.decision, "Your feedback was sent; nothing was done.")


def _confirmation(wait: Wait, given: WaitAnswer) -> str:
    """Return the text that follows an answer to a question of a tool server."""
    if given.decision in {"reject", CANCEL} or given.text in {DECLINE, CANCEL}:
        return "Nothing was sent."
    if given.decision == "answer" and given.text not in wait.choices:
        return "Check the values in the next question, then accept."
    return "Sent to the tool server."


def _is_unread(tx: Transaction, wait: Wait, open_: Sequence[Wait], now: int) -> bool:
    """Return True if the question is so new that the answer may be meant for another question that was answered just
    before."""
    others = [each for each in (*open_, *tx.waits.of_execution(wait.execution_id)) if each.id != wait.id]
    answering = any(now - (each.answered_at or now) < _READING for each in others)
    return answering and now - wait.asked_at < _READING
