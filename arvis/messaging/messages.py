"""Outgoing messages other than replies: progress, open questions, notices; and deliveries for all messages.

Parts of scripts. Messages leave only as deliveries. `posted_by` selects the bot that posts in a channel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from arvis.approvals import LONGEST_QUESTION, beginning, named_approvers
from arvis.domain.agents import Agent
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

#: The platform whose one connector has its name.
WEB = "web"


#: The prefix of threads in which programs write over the OpenAI-compatible API.
_PROGRAMS = "v1/"


def is_of_programs(address: Address) -> bool:
    """Return whether a program wrote here over the API of OpenAI's form, rather than a person on the page."""
    return address.platform == WEB and address.thread.startswith(_PROGRAMS)


def posted_by(tx: Transaction, place: Address) -> Address | str:
    """Return the place with its bot, which needs no name where a platform has one bot; or the reason why there is no
    choice."""
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


# Messages that an agent posts without a request in that place: appended to its conversation there, so that answers to
# them make sense, and marked with their cause (behaviour.md 1.12).


#: The prefix of a button's id that answers a question (then its id and the number of the choice), and of one that
#: stops a turn (then the id of its message).
WAIT, STOP = "wait", "stop"
_STYLES = {"approve": ButtonStyle.SUCCESS, "reject": ButtonStyle.DANGER}
#: The most buttons that every platform can show.
_MOST_BUTTONS = 25
_LONGEST_LABEL = 75
#: The file that holds a question which is too long for a chat, and where else it is read.
_QUESTION_FILE = "question.md"
_WHOLE = "The whole text is in the file {file}{command}. Your answer applies to the whole text."


@dataclass(slots=True)
class MentionedState(State):
    """The part of an execution's state that holds which messages about it were sent."""

    #: A progress notice was sent.
    notified: bool = stored(default=False, key="told")
    #: Ids of the questions that were shown, and of those that were shown a second time.
    shown: Sequence[str] = ()
    repeated: Sequence[str] = ()


def send_notice_once(tx: Transaction, execution: Execution, text: str, now: int) -> None:
    """Send a progress notice, once. It answers nothing and is not in the history; that of a child goes to the turn
    that it works for."""
    asked = tx.messages.of_turn(lifecycle.root_of(tx, execution).id)
    if not asked or MentionedState.from_json(execution.state).notified:
        return
    notice(tx, like=asked[-1], text=text, priority=execution.priority, now=now)
    tx.executions.save(replace(execution, state={**execution.state, **changes(MentionedState, notified=True)}))


def post_progress(tx: Transaction, execution: Execution, text: str, now: int, *, taint: Taint = CLEAN) -> None:
    """Post text of an agent before its answer, each text once (until a person writes): shown in the chat and stored
    in its history. Text of a child is posted in the turn that it works for; without such a turn it is not posted.
    `taint` is added to what the execution has read."""
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
        taint=taint_in(execution.state) | taint,
    )
    tx.messages.add(message)
    # This is not the answer, so the draft of the turn stays.
    deliver(tx, replace(message, execution_id=None), agent=agent, answers=(), priority=execution.priority, now=now)


def was_posted(tx: Transaction, execution: Execution, text: str) -> bool:
    """Return whether the agent already posted this text and no person has written since."""
    return _was_posted(text, tx.messages.of_turn(execution.id), tx.messages.progress(execution.id))


def _was_posted(text: str, asked: Sequence[StoredMessage], posted: Sequence[StoredMessage]) -> bool:
    newest = max((each.position for each in asked), default=0)
    return any(each.content == text and each.position > newest for each in posted)


def ask_questions(tx: Transaction, execution: Execution, now: int) -> None:
    """Show the open questions of a turn in its chat, each once; those of a child, in the turn that it works for. A
    run without a message asks where it would post."""
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
    """Route answers from the conversation that shows the questions to the workflow run, which has a lane of its own."""
    talk = tx.conversations.get(PlacedState.from_json(run.state).conversation)
    for wait in tx.waits.of_execution(execution.id):
        if talk is not None and wait.answer is None and wait.kind in PERSONAL_WAITS:
            tx.waits.find_in(wait.id, talk.lane)


def show_questions(tx: Transaction, execution: Execution, *, like: StoredMessage, now: int) -> None:
    """Show the open questions of an execution in the place of this message, each once."""
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
    """Show one open question with its buttons in the place of this message; `again`: it was shown there before."""
    on_page = like.address.platform == WEB
    command = None if on_page else f"arvis questions answer {wait.id}"
    prints = "" if on_page else f"; `arvis questions show {wait.id}` prints it"
    prompt = beginning(wait.prompt, _WHOLE.format(file=_QUESTION_FILE, command=prints))
    text = notices.question(prompt, wait.choices, _who(execution, wait), command=command, again=again)
    priority, buttons, files = execution.priority, _buttons(wait), _whole_of(wait)
    notice(tx, like=like, text=text, priority=priority, now=now, buttons=buttons, files=files, wait_id=wait.id)


def _who(execution: Execution, wait: Wait) -> str:
    """Return the people who may answer, as the start of a sentence. People whom the configuration names besides the
    owners are not listed."""
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
    """Return the question as a file where the chat shows no more than its beginning."""
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
    """Send a notice of the daemon in the place of this message (or of a run), after it: not in the history. It ends
    only the messages that it `answers`; `wait_id` is the question that it shows."""
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
    """Enqueue the delivery of a message: a row and a job in the lane of the address."""
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
        state=DeliveryState.PENDING,
        created_at=now,
        reply_ref=message.platform_ref,
        execution_id=message.execution_id,
        buttons=tuple(replace(button, label=presentable(button.label)) for button in buttons),
        files=tuple(files),
    )
    tx.deliveries.add(delivery)
    tx.jobs.add(NewJob.deliver(message.address, priority, delivery_id=delivery.id, message_id=message.id), now)


#: Only at the start or the end of a text: other places may quote outsiders, who could silence the agent.
_SILENT = re.compile(r"\A\s*\[SILENT\]|\[SILENT\]\s*\Z", re.IGNORECASE)


def is_silent(text: str) -> bool:
    """Return whether the agent marked the text as not worth reading."""
    return _SILENT.search(text) is not None


def unsilenced(text: str) -> str:
    """Return the text to post, or "" if the agent marked it as not worth reading."""
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
    """`source` is that of a schedule or a web hook; `execution_id` the run that wrote it, which posts once."""
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
