"""Step 1 of a message: the `Inbox` of connectors. Every event is one commit; the bus events follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from arvis.domain.changes import ChangeTopic
from arvis.domain.events import Changed, MessageReceived, StatusChanged, TypingRequested
from arvis.domain.messages import (
    Address,
    Attachment,
    FeedPosition,
    FileKind,
    IncomingMessage,
    MessageStatus,
    PrincipalRole,
    Upload,
)
from arvis.domain.platforms import ChannelStatus, Click, MessageDeletion, MessageEdit
from arvis.domain.text import presentable
from arvis.inbox.accept import Handled, InboxRules, handle_message
from arvis.inbox.clicks import press_button
from arvis.inbox.edits import delete_message, edit_message
from arvis.inbox.source import EventSource, Fence, unfenced
from arvis.messaging.owner_alerts import tell_owner
from arvis.messaging.streaming import StreamedTexts, nothing_shown
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.inbox import Clicked, Received
from arvis.ports.store import Store, Transaction
from arvis.routing import Refused, Router
from arvis.services import allowances
from arvis.services.allowances import Allowed
from arvis.turns import cancellation
from arvis.turns.cancellation import CancelledTurn, stop_turns

#: A bot has a feed for each channel that it reads; more are not looked at after a gap.
_MOST_FEEDS = 1_000
_UNREACHABLE = "unreachable"
#: Topics that a text command, or an answer in a message, may have changed.
_COMMANDED = (ChangeTopic.CONVERSATIONS, ChangeTopic.MEMORY, ChangeTopic.QUESTIONS)


class InboxService:
    """`admit` raises, without disk access, while no new messages are accepted; `new_code` makes a pairing code for an
    unknown person. `fence` is called in every commit: it raises when another process brings these events now."""

    def __init__(
        self,
        *,
        admit: Callable[[], None],
        store: Store,
        router: Router,
        bus: Bus,
        clock: Clock,
        rules: InboxRules,
        new_code: Callable[[], str],
        fence: Fence = unfenced,
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

    def fenced_by(self, fence: Fence) -> InboxService:
        """Return the inbox of a bot that only one process may run."""
        return InboxService(
            admit=self._admit,
            store=self._store,
            router=self._router,
            bus=self._bus,
            clock=self._clock,
            rules=self._rules,
            new_code=self._new_code,
            fence=fence,
        )

    # -- messages ------------------------------------------------------------------------------------------

    async def receive(self, message: IncomingMessage) -> Received:
        """Steps 1 to 4 and 8 of a message. They take milliseconds and call no model."""
        self._admit()
        message = replace(message, sender=replace(message.sender, name=presentable(message.sender.name)))
        uploads = await self._keep_uploads(message)  # bytes first, rows second
        handled = await self._store.write(
            handle_message,
            self._source(message.address, message.position),
            message,
            uploads,
            router=self._router,
            rules=self._rules,
            code=self._new_code(),
            now=self._clock.now(),
        )
        self._publish_received(message, handled)  # 3
        return handled.received

    async def edit(self, edit: MessageEdit) -> None:
        source = self._source(edit.address, edit.position)
        await self._store.write(edit_message, source, edit, self._clock.now())

    async def delete(self, deletion: MessageDeletion) -> None:
        source = self._source(deletion.address, deletion.position)
        cancelled = await self._store.write(delete_message, source, deletion, self._clock.now())
        self._publish_cancelled([cancelled] if cancelled is not None else [])

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
        await self._store.write(store_position, self._source(Address(platform, connector, ""), position))

    async def position(self, platform: str, connector: str, feed: str) -> int | None:
        return await self._store.read(lambda tx: tx.events.position(platform, connector, feed))

    async def feeds(self, platform: str, connector: str) -> dict[str, int]:
        return await self._store.read(lambda tx: dict(tx.events.feeds(platform, connector, _MOST_FEEDS)))

    # -- helpers -------------------------------------------------------------------------------------------

    def _source(self, address: Address, position: FeedPosition | None) -> EventSource:
        return EventSource(self._fence, address, position)

    async def _keep_uploads(self, message: IncomingMessage) -> list[Attachment]:
        """Store files only of people who may ask, and only within their limits, so that no sender can fill the disk."""
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

    def _publish_cancelled(self, cancelled: Iterable[CancelledTurn]) -> None:
        for turn in cancelled:
            cancellation.announce_cancelled(self._bus, turn)


# -- scripts -----------------------------------------------------------------------------------------------


def move_channel(tx: Transaction, source: EventSource, old: Address, new_channel: str, now: int) -> None:
    """Move the rows of a channel to its new id. Only the owner can change an id in the configuration file."""
    source.advance(tx)
    tx.channel_status.move(old, new_channel, now)
    tell_owner(
        tx,
        f"moved:{old.lane}",
        f"{old.platform.title()} has given the group {old.channel} the new id {new_channel}. Its conversations and "
        "bindings are there now; replace its old id in `allowed_channels`.",
        now,
    )


def mark_reachable(tx: Transaction, source: EventSource, place: Address) -> None:
    source.advance(tx)
    tx.channel_status.clear(place)


def mark_unreachable(tx: Transaction, source: EventSource, place: ChannelStatus) -> None:
    source.advance(tx)
    tx.channel_status.put(place)


def store_position(tx: Transaction, source: EventSource) -> None:
    """Store the position of events that need no other row."""
    source.advance(tx)


def _use_bytes(tx: Transaction, message: IncomingMessage, role: PrincipalRole, allowed: Allowed, now: int) -> None:
    """Raise `TooMany` when the sender has used up the bytes of this day. A repeated event counts once."""
    if tx.messages.by_event(message.address, message.event_id) is not None:
        return
    sender, size = message.sender, sum(len(file.data) for file in message.uploads)
    person = tx.principals.seen(message.address.platform, sender.user_id, sender.name, role, now)
    used = allowances.use_bytes(tx, person, role, allowed, now, size=size)
    if used is not None:
        raise allowances.too_many_bytes(used)
