"""Outgoing messages other than replies (progress, open questions, notices), and the deliveries of all messages.

The functions are parts of transaction scripts. A message reaches a platform only as a delivery. `posted_by` selects the
bot that posts in a channel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from arvis.approvals import LONGEST_QUESTION, as_markdown, beginning, named_approvers, visible
from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.executions import PERSONAL_WAITS, Execution, Wait, WaitKind
from arvis.domain.jobs import NewJob
from arvis.domain.messages import (
    Address,
    Attachment,
    Button,
    ButtonStyle,
    Delivery,
    DeliveryState,
    MessageStatus,
    OutgoingFile,
    PrincipalRole,
    Role,
    StoredMessage,
)
from arvis.domain.regex import regex
from arvis.domain.taint import CLEAN, Taint, taint_in
from arvis.domain.text import presentable
from arvis.domain.workflows import PREFIX
from arvis.engine import lifecycle
from arvis.engine.state import State, changes, stored
from arvis.llm.tokens import estimate_tokens
from arvis.messaging import notices
from arvis.ports.store import Transaction
from arvis.tasks.access import PlacedState
from arvis.tasks.task import is_run, message_of

#: The name of the web platform and of its one connector.
WEB = "web"


#: The prefix of threads in which programs write over the OpenAI-compatible API.
_PROGRAMS = "v1/"


def is_of_programs(address: Address) -> bool:
    """Return True if this is a place of the OpenAI-compatible API, where programs write."""
    return address.platform == WEB and address.thread.startswith(_PROGRAMS)


def posted_by(tx: Transaction, place: Address) -> Address | str:
    """Return the place with the name of its bot. `place` may lack the name if the platform has only one bot. If no bot
    can be selected, return the reason as a text."""
    if place.connector:
        return place
    if place.platform == WEB:
        return replace(place, connector=WEB)
    names = sorted({bot.name for bot in tx.bots.statuses() if bot.platform == place.platform})
    if len(names) == 1:
        return replace(place, connector=names[0])
    if not names:
        return f"No bot for {place.platform} is set up, so the text cannot be posted."
    return (
        f"There are several bots for {place.platform}. Name the bot that posts the text as `connector`: "
        f"{', '.join(names)}."
    )


#: The first part of a button's id. `wait.QUESTION.NUMBER` answers a question with the choice of this number;
#: `stop.MESSAGE` stops the turn of a message.
WAIT, STOP = "wait", "stop"
_STYLES = {
    "approve": ButtonStyle.SUCCESS,
    "reject": ButtonStyle.DANGER,
    "accept": ButtonStyle.SUCCESS,
    "decline": ButtonStyle.DANGER,
}
#: The maximum number of buttons of a message. Every platform can show this number.
_MOST_BUTTONS = 25
_LONGEST_LABEL = 75
#: The name of the file with a question that is too long for a chat, and the note that refers to it.
_QUESTION_FILE = "question.md"
_WHOLE = "The whole text is in the file {file}{command}. Your answer applies to the whole text."


@dataclass(frozen=True, slots=True)
class MentionedState(State):
    """The part of an execution's state that records which messages about the execution were sent."""

    #: True after a progress notice was sent.
    notified: bool = stored(default=False, key="told")
    #: The ids of the questions that were shown, and of the questions that were shown a second time.
    shown: Sequence[str] = ()
    repeated: Sequence[str] = ()


def send_notice_once(tx: Transaction, execution: Execution, text: str, now: int) -> None:
    """Send a progress notice, at most once for each execution. The notice does not end the turn and is not a part of
    the history. The notice of a child execution is sent to the chat of the turn for which the child works."""
    asked = tx.messages.of_turn(lifecycle.root_of(tx, execution).id)
    if not asked or MentionedState.from_json(execution.state).notified:
        return
    notice(tx, like=asked[-1], text=text, priority=execution.priority, now=now)
    tx.executions.save(replace(execution, state={**execution.state, **changes(MentionedState, notified=True)}))


def post_progress(tx: Transaction, execution: Execution, text: str, now: int, *, taint: Taint = CLEAN) -> None:
    """Post a text that an agent wrote before its answer: show it in the chat and store it in the history.

    The same text is not posted again before a person has written. The text of a child execution is posted in the turn
    for which the child works. If there is no turn, nothing is posted. `taint` is added to the taint of the execution.
    """
    turn = lifecycle.root_of(tx, execution)
    asked, posted = tx.messages.of_turn(turn.id), tx.messages.progress(turn.id)
    if not asked or _was_posted(text, asked, posted):
        return
    agent = tx.agents.get(PlacedState.from_json(execution.state).agent)
    message = replace(
        asked[-1],
        id=tx.new_id(),
        role=Role.PROGRESS,
        content=text,
        tokens=estimate_tokens(text),
        status=MessageStatus.ANSWERED,
        principal_id=None,
        user_name=agent.name if agent else "",
        turn=None,
        created_at=now,
        reply_to=asked[-1].id,
        position=max(each.position for each in (*asked, *posted)) + 1,
        attachments=(),
        quotations=(),
        taint=taint_in(execution.state) | taint,
    )
    tx.messages.add(message)
    # The delivery has no execution id, because it is not the answer and must not replace the draft of the turn.
    deliver(tx, replace(message, execution_id=None), agent=agent, answers=(), priority=execution.priority, now=now)


def was_posted(tx: Transaction, execution: Execution, text: str) -> bool:
    """Return True if the agent has already posted this text and no person has written since then."""
    return _was_posted(text, tx.messages.of_turn(execution.id), tx.messages.progress(execution.id))


def _was_posted(text: str, asked: Sequence[StoredMessage], posted: Sequence[StoredMessage]) -> bool:
    newest = max((each.position for each in asked), default=0)
    return any(each.content == text and each.position > newest for each in posted)


def ask_questions(tx: Transaction, execution: Execution, now: int) -> None:
    """Show the new open questions of an execution in the chat of its turn. Questions of a run are shown in the place
    where the run would post its result."""
    turn = lifecycle.root_of(tx, execution)
    lifecycle.make_way(tx, execution, now)
    if asked := tx.messages.of_turn(turn.id):
        show_questions(tx, execution, like=asked[-1], now=now)
        tx.messages.mark_turn(turn.id, MessageStatus.WAITING)
    elif is_run(turn):
        if turn.graph.startswith(PREFIX):
            _be_found(tx, execution, turn)
        show_questions(tx, execution, like=message_of(turn, None), now=now)


def _be_found(tx: Transaction, execution: Execution, run: Execution) -> None:
    """Store the lane of the conversation in the open questions of a workflow run. Messages of that lane can then answer
    the questions, although the run has a separate lane."""
    talk = tx.conversations.get(PlacedState.from_json(run.state).conversation)
    for wait in tx.waits.of_execution(execution.id):
        if talk is not None and wait.answer is None and wait.kind in PERSONAL_WAITS:
            tx.waits.find_in(wait.id, talk.lane)


def show_questions(tx: Transaction, execution: Execution, *, like: StoredMessage, now: int) -> None:
    """Show the open questions of an execution in the place of the message `like`, each question once."""
    known = MentionedState.from_json(execution.state).shown
    open_ = [
        wait
        for wait in tx.waits.of_execution(execution.id)
        if wait.answer is None and wait.kind in PERSONAL_WAITS and wait.id not in known
    ]
    if not open_:
        return
    for wait in open_:
        if wait.kind is WaitKind.USER and not is_run(lifecycle.root_of(tx, execution)):
            post_progress(tx, execution, wait.prompt, now)
            continue
        if wait.kind is WaitKind.USER:
            notice(tx, like=like, text=wait.prompt, priority=execution.priority, now=now, wait_id=wait.id)
            continue
        show_question(tx, execution, wait, like=like, now=now)
    shown = changes(MentionedState, shown=sorted([*known, *(wait.id for wait in open_)]))
    tx.executions.save(replace(execution, state={**execution.state, **shown}))


def show_question(
    tx: Transaction, execution: Execution, wait: Wait, *, like: StoredMessage, now: int, again: bool = False
) -> None:
    """Show one open question with its buttons in the place of the message `like`. `again` means that the question was
    shown there before."""
    on_page = like.address.platform == WEB
    # No command is shown for the question of a tool server: only the person in this chat may answer it, and a terminal
    # uses the key of an owner.
    command = None if on_page or wait.kind is WaitKind.INPUT else f"arvis questions answer {wait.id}"
    prints = "" if on_page else f"; `arvis questions show {wait.id}` prints it"
    prompt = beginning(wait.prompt, _WHOLE.format(file=_QUESTION_FILE, command=prints))
    text = notices.question(as_markdown(prompt), wait.choices, _who(tx, execution, wait), command=command, again=again)
    priority, buttons, files = execution.priority, _buttons(wait), _whole_of(wait)
    notice(tx, like=like, text=text, priority=priority, now=now, buttons=buttons, files=files, wait_id=wait.id)


def _who(tx: Transaction, execution: Execution, wait: Wait) -> str:
    """Return the people who may answer, as the beginning of a sentence. For a question that names no people, return
    only the owners, although the configuration may allow other people, too."""
    if wait.kind is WaitKind.INPUT:
        person = tx.principals.get(execution.principal_id or "")
        return f"Only {visible(person.name)[:_LONGEST_LABEL]}" if person is not None else "Only the person who asked"
    named = named_approvers(execution, wait)
    if named is None:
        return "An owner"
    if PrincipalRole.MEMBER in named:
        return "Anyone who may use this agent"
    people = sorted(each for each in named if each not in set(PrincipalRole))
    roles = ["an owner", *(["an operator"] if PrincipalRole.OPERATOR in named else [])]
    words = " or ".join([*roles, *people])
    return words[0].upper() + words[1:]


def _whole_of(wait: Wait) -> list[OutgoingFile]:
    """If the question is too long for the chat, return a list with one file that contains it. Otherwise return an empty
    list."""
    if len(wait.prompt) <= LONGEST_QUESTION:
        return []
    size = len(wait.prompt.encode())
    return [OutgoingFile(_QUESTION_FILE, "text/markdown", size, content=wait.prompt)]


def _buttons(wait: Wait) -> list[Button]:
    return [
        Button(f"{WAIT}.{wait.id}.{number}", choice[:_LONGEST_LABEL], _STYLES.get(choice, ButtonStyle.SECONDARY))
        for number, choice in enumerate(wait.choices[:_MOST_BUTTONS])
    ]


def stop_button(message_id: str) -> Button:
    """Return the button that stops the turn of a message."""
    return Button(f"{STOP}.{message_id}", "Stop", ButtonStyle.DANGER)


def notice(
    tx: Transaction,
    *,
    like: StoredMessage,
    text: str,
    priority: int,
    now: int,
    answers: Sequence[str] = (),
    buttons: Sequence[Button] = (),
    files: Sequence[OutgoingFile] = (),
    wait_id: str | None = None,
) -> StoredMessage:
    """Send a notice of the daemon in the place of the message `like`, as a reply to it. A notice is not a part of the
    history. `answers` are the ids of the messages that the notice answers, and `wait_id` is the question that it
    shows."""
    message = replace(
        like,
        id=tx.new_id(),
        role=Role.NOTICE,
        content=text,
        tokens=0,
        status=MessageStatus.ANSWERED,
        principal_id=None,
        execution_id=None,
        turn=None,
        created_at=now,
        reply_to=None if like.id == like.execution_id else like.id,
        attachments=(),
        quotations=(),
        taint=CLEAN,
        wait_id=wait_id,
    )
    tx.messages.add(message)
    deliver(tx, message, agent=None, answers=answers, priority=priority, now=now, buttons=buttons, files=files)
    return message


def send_to_place(tx: Transaction, address: Address, text: str, *, priority: int, now: int) -> None:
    """Send a notice of the daemon to a place that may have no conversation."""
    message = StoredMessage(
        id=tx.new_id(),
        conversation_id=None,
        role=Role.NOTICE,
        content=text,
        tokens=0,
        status=MessageStatus.ANSWERED,
        address=address,
        principal_id=None,
        user_name="",
        agent_id=None,
        execution_id=None,
        turn=None,
        created_at=now,
    )
    tx.messages.add(message)
    deliver(tx, message, agent=None, answers=(), priority=priority, now=now)


def deliver(
    tx: Transaction,
    message: StoredMessage,
    *,
    agent: Agent | None,
    answers: Sequence[str],
    priority: int,
    now: int,
    buttons: Sequence[Button] = (),
    files: Sequence[OutgoingFile] = (),
) -> None:
    """Add the delivery of a message: a row, and a job in the lane of the address. `answers` are the ids of the answered
    messages.

    A delivery on the web is complete when it is stored, because clients request the deliveries that they have missed.
    So it needs no job, except to notify other processes."""
    at_once = tx.alone and message.address.platform == WEB
    delivery = Delivery(
        id=tx.new_id(),
        message_id=message.id,
        part=0,
        address=message.address,
        seq=tx.deliveries.next_seq(message.address),
        content=presentable(message.content),
        reply_to=message.reply_to,
        answers=tuple(answers),
        agent=agent.slug if agent else None,
        state=DeliveryState.SENT if at_once else DeliveryState.PENDING,
        created_at=now,
        reply_ref=message.platform_ref,
        execution_id=message.execution_id,
        buttons=tuple(replace(button, label=presentable(button.label)) for button in buttons),
        files=tuple(files),
    )
    tx.deliveries.add(delivery)
    if not at_once:
        tx.jobs.add(NewJob.deliver(message.address, priority, delivery_id=delivery.id, message_id=message.id), now)


#: The mark `[SILENT]` counts only at the start or the end of a text. Elsewhere the mark may be a quotation of other
#: people, who must not be able to suppress the text.
_SILENT = regex(r"\A\s*\[SILENT\]|\[SILENT\]\s*\Z", re.IGNORECASE)


def is_silent(text: str) -> bool:
    """Return True if the agent has marked the text as not worth reading."""
    return _SILENT.search(text) is not None


def unsilenced(text: str) -> str:
    """Return the text to post; "" if the agent has marked it as not worth reading."""
    return "" if is_silent(text) else text


def post(
    tx: Transaction,
    *,
    agent: Agent,
    address: Address,
    text: str,
    source: str,
    taint: Taint,
    priority: int,
    now: int,
    execution_id: str | None = None,
    files: Sequence[OutgoingFile] = (),
) -> StoredMessage:
    """Post a text of an agent that no message asked for. It becomes a part of the agent's conversation at `address`, so
    that the agent understands answers to it. `source` is the source of the run that wrote the text (`schedule:ID`,
    `webhook:ID`), and `execution_id` is the id of this run."""
    conversation = tx.conversations.open(agent.id, address, now, direct=False)
    message = StoredMessage(
        id=tx.new_id(),
        conversation_id=conversation.id,
        role=Role.ASSISTANT,
        content=text,
        tokens=estimate_tokens(text),
        status=MessageStatus.ANSWERED,
        address=address,
        principal_id=None,
        user_name=agent.name,
        agent_id=agent.id,
        execution_id=execution_id,
        turn=tx.conversations.next_turn(conversation.id, now),
        created_at=now,
        route=source.partition(":")[0],
        taint=taint,
        source=source,
    )
    tx.messages.add(message)
    tx.files.add(message.id, [Attachment(each.filename, each.content_type, each.size, each.sha256) for each in files])
    deliver(tx, message, agent=agent, answers=(), priority=priority, now=now, files=files)
    return message
