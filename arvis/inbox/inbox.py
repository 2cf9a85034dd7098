"""`Inbox`: the door that connectors knock at. Every event is one commit, and is told to the rest of the house after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Concatenate, ParamSpec, TypeVar

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
from arvis.inbox import accept, clicks, edits
from arvis.inbox.accept import InboxRules, Taken
from arvis.inbox.clicks import Pressed
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

P = ParamSpec("P")
R = TypeVar("R")

Fence = Callable[[Transaction], None]

#: A bot has a feed for each channel that it reads; more are not looked at after a gap.
_MOST_FEEDS = 1_000
_UNREACHABLE = "unreachable"
#: What a text command, or an answer in words, may have changed.
_COMMANDED = (ChangeTopic.CONVERSATIONS, ChangeTopic.MEMORY, ChangeTopic.QUESTIONS)


def unfenced(_tx: Transaction) -> None:
    """Where no other process could bring the same events."""


class InboxService:
    """`admit` raises, without touching the disk, while nothing new may be taken on; `new_code` makes a code for a stranger
    who may ask to be paired. `fence` is asked in every commit: it raises when another process brings these events now."""

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

    def behind(self, fence: Fence) -> InboxService:
        """The same door for a bot that only one process may run."""
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
        """Steps 1–4 and 8: milliseconds, no model."""
        self._admit()
        message = replace(message, sender=replace(message.sender, name=presentable(message.sender.name)))
        uploads = await self._keep_uploads(message)  # bytes first, rows second
        taken = await self._commit(
            message.address,
            message.position,
            accept.take,
            message,
            uploads,
            router=self._router,
            rules=self._rules,
            code=self._new_code(),
            now=self._clock.now(),
        )
        self._tell(message, taken)
        return taken.received

    async def edit(self, edit: MessageEdit) -> None:
        await self._commit(edit.address, edit.position, edits.edit, edit, self._clock.now())

    async def delete(self, deletion: MessageDeletion) -> None:
        cancelled = await self._commit(deletion.address, deletion.position, edits.delete, deletion, self._clock.now())
        self._announce([cancelled] if cancelled is not None else [])

    async def click(self, click: Click) -> Clicked:
        pressed = await self._commit(click.address, click.position, self._press, click)
        self._announce(pressed.cancelled)
        self._bus.publish(Changed(ChangeTopic.QUESTIONS))
        return pressed.clicked

    async def stop(self, address: Address, by: str) -> int:
        stopped = await self._store.write(stop_turns, address, by, self._clock.now(), shown=self._rules.shown)
        self._announce(stopped)
        return len(stopped)

    # -- places and feeds ----------------------------------------------------------------------------------

    async def move(self, old: Address, new_channel: str, position: FeedPosition | None = None) -> None:
        await self._commit(old, position, _move, old, new_channel, self._clock.now())

    async def reachable(self, place: Address, position: FeedPosition | None = None) -> None:
        await self._commit(place, position, _clear, place)

    async def unreachable(self, place: Address, reason: str, position: FeedPosition | None = None) -> None:
        gone = ChannelStatus(place, _UNREACHABLE, reason, None, self._clock.now())
        await self._commit(place, position, _put, gone)

    async def passed(self, platform: str, connector: str, position: FeedPosition) -> None:
        await self._commit(Address(platform, connector, ""), position, _nothing)

    async def position(self, platform: str, connector: str, feed: str) -> int | None:
        return await self._store.read(lambda tx: tx.events.position(platform, connector, feed))

    async def feeds(self, platform: str, connector: str) -> dict[str, int]:
        return await self._store.read(lambda tx: dict(tx.events.feeds(platform, connector, _MOST_FEEDS)))

    # -- the rest ------------------------------------------------------------------------------------------

    async def _commit(
        self,
        address: Address,
        position: FeedPosition | None,
        script: Callable[Concatenate[Transaction, P], R],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        """What the script does, and how far the bot has read with it, or neither."""
        return await self._store.write(
            _one_event, self._fence, address, position, lambda tx: script(tx, *args, **kwargs)
        )

    async def _keep_uploads(self, message: IncomingMessage) -> list[Attachment]:
        """Only for who may ask, and only as much as each may send: nobody fills the disk."""
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

    def _press(self, tx: Transaction, click: Click) -> Pressed:
        known = tx.principals.find(click.address.platform, click.sender.user_id)
        role = self._router.role_of(click.address.platform, click.sender, known)
        return clicks.click(tx, click, role, self._rules, self._clock.now())

    def _tell(self, message: IncomingMessage, taken: Taken) -> None:
        match taken.received:
            case Received(duplicate=True):
                pass
            case Received(status=MessageStatus.ACCEPTED) as received:
                self._bus.publish(MessageReceived(received.message_id, message.address))
                self._bus.publish(TypingRequested(message.address))  # 3
            case Received(status=MessageStatus.ANSWERED) as received:
                self._bus.publish(StatusChanged(message.address, received.message_id, received.status))
                for topic in _COMMANDED:
                    self._bus.publish(Changed(topic))
        self._announce(taken.cancelled)

    def _announce(self, cancelled: Iterable[CancelledTurn]) -> None:
        for turn in cancelled:
            cancellation.announce_cancelled(self._bus, turn)


# -- scripts -----------------------------------------------------------------------------------------------


def _one_event(
    tx: Transaction,
    fence: Fence,
    address: Address,
    position: FeedPosition | None,
    script: Callable[[Transaction], R],
) -> R:
    fence(tx)
    if position is not None:
        tx.events.advance(address.platform, address.connector, position)
    return script(tx)


def _move(tx: Transaction, old: Address, new_channel: str, now: int) -> None:
    """What Arvis itself keeps goes along; what stands in a file, only its owner can change."""
    tx.channel_status.move(old, new_channel, now)
    tell_owner(
        tx,
        f"moved:{old.lane}",
        f"{old.platform.title()} has given the group {old.channel} the new id {new_channel}. Its conversations and "
        "bindings are there now; where its id stands in `allowed_channels`, please change it.",
        now,
    )


def _clear(tx: Transaction, place: Address) -> None:
    tx.channel_status.clear(place)


def _put(tx: Transaction, place: ChannelStatus) -> None:
    tx.channel_status.put(place)


def _use_bytes(tx: Transaction, message: IncomingMessage, role: PrincipalRole, allowed: Allowed, now: int) -> None:
    """Raise `TooMany` when the sender may send no more today. What came before counts once."""
    if tx.messages.by_event(message.address, message.event_id) is not None:
        return
    sender, size = message.sender, sum(len(file.data) for file in message.uploads)
    person = tx.principals.seen(message.address.platform, sender.user_id, sender.name, role, now)
    used = allowances.use_bytes(tx, person, role, allowed, now, size=size)
    if used is not None:
        raise allowances.too_many_bytes(used)


def _nothing(_tx: Transaction) -> None:
    """The position is all there is to keep."""
