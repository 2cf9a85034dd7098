"""The `Inbox` that connectors call (step 1 of `arvis/message_flow.py`). Every event is handled in one commit, and bus
events are published after this commit.

`accept.py` contains the script for messages, and this module contains the scripts for all other events. A button
answers a question or stops a turn. The button of a question stays valid while the question is open, even after a
restart. A repeated press has no further effect. Only people who may answer the question can press its button. An edit
replaces the text of a message whose turn has not begun. A later edit is only recorded in the timeline. People cannot
edit messages of others.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from arvis.approvals import answer_question
from arvis.bus import EventBus
from arvis.commands.registry import searched_text
from arvis.domain.changes import ChangeTopic
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.embeddings import Meaning
from arvis.domain.errors import Conflict, Forbidden, NotFound, Unprocessable
from arvis.domain.events import Changed, MessageReceived, StatusChanged, TypingRequested
from arvis.domain.executions import ExecutionStatus
from arvis.domain.jobs import JobStatus
from arvis.domain.messages import (
    FINAL_STATUSES,
    Address,
    Attachment,
    FeedPosition,
    FileKind,
    IncomingMessage,
    MessageStatus,
    Principal,
    PrincipalRole,
    StoredMessage,
    Upload,
)
from arvis.domain.notifications import DAY_MS, Hint, Problem, Severity
from arvis.domain.platforms import ChannelStatus, Click, MessageDeletion, MessageEdit
from arvis.domain.quotations import is_forward
from arvis.domain.reactions import EDITED, ReactionChange, edit_line
from arvis.domain.text import presentable
from arvis.inbox.accept import LONGEST_OBSERVED, Handled, InboxRules, Prepared, handle_message
from arvis.inbox.feeds import EventSource, FeedPositions, Fence, unfenced
from arvis.inbox.reactions import change_reactions
from arvis.llm.tokens import estimate_tokens
from arvis.messaging.messages import STOP, WAIT
from arvis.messaging.owner_alerts import alert_owner
from arvis.messaging.streaming import StreamedTexts, nothing_shown
from arvis.ports.clock import Clock
from arvis.ports.embeddings import MeaningOf, no_meaning
from arvis.ports.inbox import Clicked, Received
from arvis.ports.operations import WaitAnswer
from arvis.ports.platforms import SeenEvent
from arvis.ports.store import Store, Transaction
from arvis.routing import WEB, Refused, Routed, Router
from arvis.services import allowances
from arvis.services.allowances import Allowed
from arvis.turns import cancellation
from arvis.turns.cancellation import CancelledTurn, stop_turns

_NOTHING = Clicked("This button is no longer valid.", done=True)
_NOT_YOURS = Clicked("You are not allowed to do this.", done=False)
_LONGEST_NUMBER = 4
#: The maximum number of characters of the name of a channel.
_LONGEST_ROOM = 100
_LOOKS_AFTER = {PrincipalRole.OWNER, PrincipalRole.OPERATOR}


@dataclass(frozen=True, slots=True)
class Pressed:
    """The result of the press of a button."""

    #: The text for the person.
    clicked: Clicked
    #: The cancelled turns. They are announced after the commit.
    cancelled: Sequence[CancelledTurn] = ()


@dataclass(frozen=True, slots=True)
class _Person:
    """The person who pressed a button, the place of the button, and the inbox rules."""

    principal: Principal
    place: Address
    rules: InboxRules


def press_button(
    tx: Transaction, source: EventSource, pressed: Click, *, router: Router, rules: InboxRules, now: int
) -> Pressed:
    """Do the action of a button with the rights of the person who pressed it. A repeated event gets the stored
    result."""
    source.advance(tx)
    address, sender = pressed.address, pressed.sender
    if (seen := tx.events.seen(address.platform, address.connector, pressed.event_id)) is not None:
        return Pressed(Clicked(**json.loads(seen.outcome)))
    known = tx.principals.find(address.platform, sender.user_id)
    role = router.role_of(address.platform, sender, known)
    if role is PrincipalRole.BLOCKED or (known is None and role not in _LOOKS_AFTER):
        return Pressed(_NOT_YOURS)  # nothing is stored, so that unknown users cannot fill the tables
    person = tx.principals.seen(address.platform, sender.user_id, sender.name, role, now)
    outcome = _press(tx, pressed.data, _Person(person, address, rules), now)
    kept = SeenEvent(None, json.dumps({"text": outcome.clicked.text, "done": outcome.clicked.done}))
    tx.events.keep(address.platform, address.connector, pressed.event_id, kept, now)
    return outcome


def _press(tx: Transaction, data: str, by: _Person, now: int) -> Pressed:
    match data.split("."):
        case [kind, wait_id, number] if kind == WAIT:
            return Pressed(_answer(tx, wait_id, number, by, now))
        case [kind, message_id] if kind == STOP:
            return _stop(tx, message_id, by, now)
        case _:
            return Pressed(_NOTHING)


def _answer(tx: Transaction, wait_id: str, number: str, by: _Person, now: int) -> Clicked:
    wait = tx.waits.get(wait_id)
    digits = number.isascii() and number.isdigit() and len(number) < _LONGEST_NUMBER
    if wait is None or not digits or int(number) >= len(wait.choices):
        return _NOTHING
    choice = wait.choices[int(number)]
    given = WaitAnswer(decision="answer", text=choice)
    try:
        answer_question(tx, wait_id, given, by=by.principal, approvers=by.rules.approvers, now=now)
    except Conflict:
        return Clicked("This question has been answered already.", done=True)
    except Forbidden as refused:
        return Clicked(f"{refused.what}.", done=False)
    except (NotFound, Unprocessable):
        return _NOTHING
    return Clicked(f"{by.principal.name}: {choice}", done=True)


def _stop(tx: Transaction, message_id: str, by: _Person, now: int) -> Pressed:
    """Stop the turn of a message, if its sender, an owner or an operator pressed the button."""
    message = tx.messages.get(message_id)
    if message is None or message.execution_id is None or message.status in FINAL_STATUSES:
        return Pressed(_NOTHING)
    if (message.address.platform, message.address.channel) != (by.place.platform, by.place.channel):
        return Pressed(_NOTHING)
    if by.principal.id != message.principal_id and by.principal.role not in _LOOKS_AFTER:
        return Pressed(Clicked("Only the person who asked, an operator or an owner may stop this.", done=False))
    cancelled = cancellation.cancel_turn(tx, message.execution_id, by.principal.name, now, shown=by.rules.shown)
    return Pressed(Clicked("Stopped.", done=True), [cancelled])


#: The maximum number of characters that the timeline stores of a message's text before or after an edit.
_LONGEST_NOTE = 2_000


def edit_message(tx: Transaction, source: EventSource, change: MessageEdit, now: int) -> None:
    source.advance(tx)
    if _seen(tx, change.address, change.event_id):
        return
    known = _known(tx, change.address, change.ref)
    if known is None:
        tx.overheard.edit(change.address, change.ref, change.content[:LONGEST_OBSERVED])
    elif _wrote(tx, change, known):
        _change_text(tx, known, change.content, now)
    _keep(tx, change.address, change.event_id, known, now)


def delete_message(tx: Transaction, source: EventSource, deletion: MessageDeletion, now: int) -> CancelledTurn | None:
    """Handle a deleted message. If its turn has not begun, cancel the turn and return the cancelled turn. Otherwise
    record the deletion in the timeline and return None."""
    source.advance(tx)
    if _seen(tx, deletion.address, deletion.event_id):
        return None
    known = _known(tx, deletion.address, deletion.ref)
    cancelled = None
    if known is None:
        tx.overheard.edit(deletion.address, deletion.ref, None)
    elif _not_begun(tx, known):
        cancelled = cancellation.withdraw_turn(tx, known.execution_id or "", now)
    else:
        _note(tx, known, "deleted", {}, now)
    _keep(tx, deletion.address, deletion.event_id, known, now)
    return cancelled


def _known(tx: Transaction, address: Address, ref: str) -> StoredMessage | None:
    """Return the stored message with this platform id. Return None if the message is unknown or was rejected, because
    edits of rejected messages are not stored."""
    found = tx.incoming.by_ref(address, ref)
    return None if found is None or found.status is MessageStatus.DROPPED else found


def _change_text(tx: Transaction, message: StoredMessage, content: str, now: int) -> None:
    if content == message.content:
        return
    if content.strip() and not is_forward(message.quotations) and _not_begun(tx, message):
        tx.incoming.replace_text(message.id, content, estimate_tokens(content))
        _note(tx, message, "edited", {"before": message.content[:_LONGEST_NOTE]}, now)
    else:
        _note(tx, message, "edited", {"now": content[:_LONGEST_NOTE]}, now)
        _report_edit(tx, message, content, now)


def _report_edit(tx: Transaction, message: StoredMessage, content: str, now: int) -> None:
    """Let the next prompt of the conversation report the edit, because the agent has already read the earlier text. A
    later edit of the same message replaces the report of an earlier one."""
    if message.conversation_id is None or message.principal_id is None or message.turn is None:
        return
    tx.reactions.remove(message.id, message.principal_id, EDITED)
    line = edit_line(message.user_name, message.content, content)
    tx.reactions.add(message, message.principal_id, EDITED, line, now)


def _wrote(tx: Transaction, change: MessageEdit, message: StoredMessage) -> bool:
    """Return True if the person who edits the message has written it and is not blocked."""
    person = tx.principals.find(change.address.platform, change.sender.user_id)
    return person is not None and person.role is not PrincipalRole.BLOCKED and person.id == message.principal_id


def _not_begun(tx: Transaction, message: StoredMessage) -> bool:
    """Return True if the turn of this message has not begun. This function locks the job of the turn, so that the turn
    cannot begin before the commit."""
    if message.execution_id is None or message.status in FINAL_STATUSES:
        return False
    waiting = tx.jobs.live_of_execution(message.execution_id)
    execution = tx.executions.get(message.execution_id)
    unmoved = execution is not None and execution.steps == 0 and execution.status is ExecutionStatus.RUNNING
    return unmoved and len(waiting) == 1 and waiting[0].status is JobStatus.PENDING and waiting[0].claim == 0


def _note(tx: Transaction, message: StoredMessage, step: str, data: Mapping[str, Any], now: int) -> None:
    tx.timeline.note([message.id], step, data, now)


def _seen(tx: Transaction, address: Address, event_id: str) -> bool:
    return tx.events.seen(address.platform, address.connector, event_id) is not None


def _keep(tx: Transaction, address: Address, event_id: str, message: StoredMessage | None, now: int) -> None:
    """Store the id of an event about a stored message. Other events are not stored, so that unknown senders cannot fill
    the table."""
    if message is not None:
        tx.events.keep(address.platform, address.connector, event_id, SeenEvent(message.id, ""), now)


_UNREACHABLE = "unreachable"
#: The kinds of data that a message with a text command, or with an answer to a question, may have changed.
_COMMANDED = (ChangeTopic.CONVERSATIONS, ChangeTopic.MEMORY, ChangeTopic.QUESTIONS)


class InboxService:
    """The implementation of `Inbox`. `admit` raises an error while the daemon accepts no new messages; it does not
    access the disk. `new_code` makes a pairing code for an unknown person. `fence` is called in every commit and raises
    an error if another process now receives these events. `meaning` embeds the texts for which people search facts."""

    def __init__(
        self,
        *,
        admit: Callable[[], None],
        store: Store,
        router: Router,
        bus: EventBus,
        clock: Clock,
        rules: InboxRules,
        new_code: Callable[[], str],
        fence: Fence = unfenced,
        meaning: MeaningOf = no_meaning,
    ) -> None:
        self._admit = admit
        self._store = store
        self._router = router
        self._bus = bus
        self._clock = clock
        watched = rules.shown is nothing_shown
        self._rules = replace(rules, shown=StreamedTexts(bus).shown) if watched else rules
        self._new_code = new_code
        self._fence = fence
        self._meaning = meaning
        self._feeds = FeedPositions(store=store, fence=fence)

    def fenced_by(self, fence: Fence) -> InboxService:
        """Return an inbox with this fence, for a bot that only one process may run."""
        return InboxService(
            admit=self._admit,
            store=self._store,
            router=self._router,
            bus=self._bus,
            clock=self._clock,
            rules=self._rules,
            new_code=self._new_code,
            fence=fence,
            meaning=self._meaning,
        )

    # -- messages ------------------------------------------------------------------------------------------

    async def receive(self, message: IncomingMessage) -> Received:
        """Receive a message, store it and enqueue its turn (steps 1 to 4 and 8), without a model call."""
        self._admit()
        message = replace(
            message,
            sender=replace(message.sender, name=presentable(message.sender.name)),
            room=presentable(message.room)[:_LONGEST_ROOM],
        )
        uploads = await self._keep_uploads(message)  # before the rows that refer to the stored bytes
        handled = await self._store.write(
            handle_message,
            self._source(message.address, message.position),
            message,
            uploads,
            router=self._router,
            rules=self._rules,
            prepared=Prepared(self._new_code(), await self._meaning_of(message)),
            now=self._clock.now(),
        )
        self._publish_received(message, handled)  # step 3
        return handled.received

    async def _meaning_of(self, message: IncomingMessage) -> Meaning | None:
        """Return the vector of the text for which a person searches facts; None for all other messages. The text of a person who
        may not use the bot is not embedded."""
        text = searched_text(message.content)
        if text is None or message.forwarded:
            return None
        routed = await self._store.read(self._router.route, message)
        return await self._meaning(text) if isinstance(routed, Routed) else None

    async def edit(self, edit: MessageEdit) -> None:
        source = self._source(edit.address, edit.position)
        await self._store.write(edit_message, source, edit, self._clock.now())

    async def delete(self, deletion: MessageDeletion) -> None:
        source = self._source(deletion.address, deletion.position)
        cancelled = await self._store.write(delete_message, source, deletion, self._clock.now())
        self._publish_cancelled([cancelled] if cancelled is not None else [])

    async def react(self, change: ReactionChange) -> None:
        source = self._source(change.address, change.position)
        if await self._store.write(change_reactions, source, change, router=self._router, now=self._clock.now()):
            self._bus.publish(Changed(ChangeTopic.CONVERSATIONS))

    async def click(self, click: Click) -> Clicked:
        source = self._source(click.address, click.position)
        pressed = await self._store.write(
            press_button, source, click, router=self._router, rules=self._rules, now=self._clock.now()
        )
        self._publish_cancelled(pressed.cancelled)
        self._bus.publish(Changed(ChangeTopic.QUESTIONS))
        return pressed.clicked

    async def stop(self, address: Address, by: str) -> int:
        stopped = await self._store.write(stop_turns, address, by, self._clock.now(), shown=self._rules.shown)
        self._publish_cancelled(stopped)
        return len(stopped)

    # -- places and feeds ----------------------------------------------------------------------------------

    async def move(self, old: Address, new_channel: str, position: FeedPosition | None = None) -> None:
        await self._store.write(move_channel, self._source(old, position), old, new_channel, self._clock.now())

    async def reachable(self, place: Address, position: FeedPosition | None = None) -> None:
        await self._store.write(mark_reachable, self._source(place, position), place)

    async def unreachable(self, place: Address, reason: str, position: FeedPosition | None = None) -> None:
        gone = ChannelStatus(place, _UNREACHABLE, reason, None, self._clock.now())
        await self._store.write(mark_unreachable, self._source(place, position), gone)

    async def passed(self, platform: str, connector: str, position: FeedPosition) -> None:
        await self._feeds.passed(platform, connector, position)

    async def position(self, platform: str, connector: str, feed: str) -> int | None:
        return await self._feeds.position(platform, connector, feed)

    async def feeds(self, platform: str, connector: str) -> dict[str, int]:
        return await self._feeds.feeds(platform, connector)

    # -- helpers -------------------------------------------------------------------------------------------

    def _source(self, address: Address, position: FeedPosition | None) -> EventSource:
        return EventSource(self._fence, address, position)

    async def _keep_uploads(self, message: IncomingMessage) -> list[Attachment]:
        """Store the uploaded files. To protect the disk, do not store files of refused people, and raise `TooMany` if
        the sender's byte limit is exceeded."""
        if not message.uploads:
            return []
        routed = await self._store.read(self._router.route, message)
        if isinstance(routed, Refused):
            return []
        await self._store.write(_use_bytes, message, routed.role, self._rules.allowed, self._clock.now())
        return [await self._keep(file) for file in message.uploads]

    async def _keep(self, file: Upload) -> Attachment:
        sha256 = await self._store.put_blob(file.data)
        kind = FileKind.VOICE if file.voice else None
        return Attachment(file.filename, file.content_type, len(file.data), sha256, kind=kind)

    def _publish_received(self, message: IncomingMessage, handled: Handled) -> None:
        match handled.received:
            case Received(duplicate=True):
                pass
            case Received(status=MessageStatus.ACCEPTED) as received:
                self._bus.publish(MessageReceived(received.message_id, message.address))
                self._bus.publish(TypingRequested(message.address))
            case Received(status=MessageStatus.ANSWERED) as received:
                self._bus.publish(StatusChanged(message.address, received.message_id, received.status))
                for topic in _COMMANDED:
                    self._bus.publish(Changed(topic))
        self._publish_cancelled(handled.cancelled)
        for event in handled.events:
            self._bus.publish(event)

    def _publish_cancelled(self, cancelled: Iterable[CancelledTurn]) -> None:
        for turn in cancelled:
            cancellation.announce_cancelled(self._bus, turn)


# -- scripts -----------------------------------------------------------------------------------------------


def move_channel(tx: Transaction, source: EventSource, old: Address, new_channel: str, now: int) -> None:
    """Move the rows of a channel to its new id, and alert the owner, because the configuration still contains the old
    id."""
    source.advance(tx)
    tx.channel_status.move(old, new_channel, now)
    text = (
        f"{old.platform.title()} has given the group {old.channel} the new id {new_channel}. Arvis has moved its "
        "conversations and bindings. In the settings of the bot, replace the old id in `allowed_channels`."
    )
    hint = Hint(link="/settings/bots")
    problem = Problem(cause=f"moved:{old.lane}", text=text, severity=Severity.WARNING, hint=hint, lasts=7 * DAY_MS)
    alert_owner(tx, problem, now)


def mark_reachable(tx: Transaction, source: EventSource, place: Address) -> None:
    source.advance(tx)
    tx.channel_status.clear(place)


def mark_unreachable(tx: Transaction, source: EventSource, place: ChannelStatus) -> None:
    source.advance(tx)
    tx.channel_status.put(place)


def _use_bytes(tx: Transaction, message: IncomingMessage, role: PrincipalRole, allowed: Allowed, now: int) -> None:
    """Count the bytes of the uploads. Raise `TooMany` if the sender exceeds the limit of bytes or has reached the limit
    of messages, because the files of a refused message would only take space. A repeated event is not counted again."""
    if tx.messages.by_event(message.address, message.event_id) is not None:
        return
    sender, size = message.sender, sum(len(file.data) for file in message.uploads)
    person = tx.principals.seen(message.address.platform, sender.user_id, sender.name, role, now)
    if message.address.platform == WEB and (reached := allowances.limit_of_messages(tx, person, role, allowed, now)):
        raise allowances.too_many_messages(reached)
    used = allowances.use_bytes(tx, person, role, allowed, now, size=size)
    if used is not None:
        raise allowances.too_many_bytes(used)
