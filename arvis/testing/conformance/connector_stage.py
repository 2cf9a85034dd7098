"""The test environment of `ConnectorConformance`: the interface of a test platform (`Stage`), an inbox that records
events, and deliveries to send.

Each connector's tests provide a `Stage`: a server on this machine that behaves as the platform's documentation says,
and the connector with the platform's real client library.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import pytest

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Unavailable
from arvis.domain.messages import (
    Address,
    Button,
    Delivery,
    DeliveryState,
    FeedPosition,
    IncomingMessage,
    MessageStatus,
    OutgoingFile,
)
from arvis.domain.platforms import Click, MessageDeletion, MessageEdit, Part, Piece
from arvis.domain.reactions import ReactionChange
from arvis.ports.connector import BotUp, Connector, FindsParts, Guarantee, Receipt, Reserves, SendError
from arvis.ports.inbox import Clicked, Received

#: The optional features of platforms, as `Stage.can` names them.
ABILITIES = {
    "buttons": "buttons below a message",
    "changes": "the bot can change its messages",
    "connections": "connections that the stage can close",
    "deletions": "events about messages that people delete",
    "edits": "events about messages that people edit",
    "failures": "sends that are refused or interrupted",
    "files": "files from people and from the bot",
    "gone": "chats that accept no more messages",
    "groups": "chats of several people",
    "own threads": "a thread can be opened for a reply",
    "redelivery": "the platform can report the same event again",
    "replies": "messages that reply to another message",
    "threads": "threads inside groups",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A message of the bot as people see it."""

    platform_id: str
    #: The displayed text. If the platform renders Markdown itself, this is the Markdown source of the text.
    text: str
    #: The platform's id of the message to which this message replies.
    reply_ref: str | None = None
    #: The ids that clicks on the buttons return.
    buttons: tuple[str, ...] = ()
    #: The names of the files.
    files: tuple[str, ...] = ()
    #: The people whom the message notifies.
    pings: tuple[str, ...] = ()


class Stage(Protocol):
    """A test platform, opened as an asynchronous context by `ConnectorConformance.stage`. People and channels have
    plain names (`ann`). `direct` is the direct chat of a person with the bot. `ref` is the platform's id of a message,
    as in `IncomingMessage.platform_ref`. An implementation may omit the features that its platform lacks."""

    @property
    def can(self) -> frozenset[str]:
        """Return the features that the platform supports, as names from `ABILITIES`."""
        ...

    @property
    def text_limit(self) -> int:
        """Return the maximum length of a text, measured with `length`; 0 if the platform has no limit."""
        ...

    def length(self, text: str) -> int:
        """Return the length of a text in the unit in which the platform measures texts."""
        ...

    async def connector(self, **values: Any) -> Connector:
        """Return a connector with these settings in addition to the required ones. The connector is closed at the end
        of the stage."""
        ...

    def address(self, channel: str = "room", *, direct: bool = False, thread: str = "", user: str = "ann") -> Address:
        """Return the address of the messages in this channel, thread or direct chat."""
        ...

    async def say(
        self,
        text: str,
        *,
        user: str = "ann",
        direct: bool = True,
        addressed: bool = True,
        channel: str = "room",
        thread: str = "",
    ) -> str:
        """Let a person write a message, and return its `ref`. In a group, `addressed` puts a mention of the bot at the
        beginning of the message."""
        ...

    async def say_file(
        self, name: str, content_type: str, data: bytes, *, voice: bool = False, user: str = "ann", text: str = ""
    ) -> str:
        """Let a person send a file in their direct chat with the bot. Return the `ref` of the message."""
        raise NotImplementedError

    async def say_as_bot(self, text: str, *, own: bool) -> None:
        """Let a program write in the group `room`. `own`: the program is this bot; otherwise it is another program."""
        raise NotImplementedError

    async def edit(self, ref: str, text: str) -> None:
        raise NotImplementedError

    async def delete(self, ref: str) -> None:
        """Delete a message of a person or of the bot."""
        raise NotImplementedError

    async def click(self, platform_id: str, button_id: str, *, user: str = "ann") -> None:
        """Press a button of a visible message."""
        raise NotImplementedError

    async def redeliver(self, ref: str) -> None:
        """Report this message to the connector once more, with the same event."""
        raise NotImplementedError

    async def drop_connections(self) -> None:
        """Close every open connection. New connections are accepted."""
        raise NotImplementedError

    def refuse_sends(self, count: int, *, status: int = 429, retry_after: float | None = None) -> None:
        """Refuse the next `count` sends with this status, without any effect; 0 ends the refusals."""
        raise NotImplementedError

    def reset_sends(self, count: int, *, after: bool) -> None:
        """Close the connection of each of the next `count` sends. `after`: the platform carries out the send first;
        otherwise the send has no effect."""
        raise NotImplementedError

    def close_channel(self, *, user: str = "ann") -> None:
        """Refuse all messages of the bot in the direct chat of a person, as if the person had blocked or removed the
        bot."""
        raise NotImplementedError

    def shown(self, address: Address) -> Sequence[Shown]:
        """Return the bot's messages at this address, in order."""
        ...

    @property
    def sends(self) -> Sequence[float]:
        """Return the times (`time.monotonic`) of requests that send something."""
        ...


def need(stage: Stage, *abilities: str) -> None:
    """Skip the calling test case if the platform lacks one of these features."""
    assert set(stage.can) <= set(ABILITIES)
    missing = [ability for ability in abilities if ability not in stage.can]
    if missing:
        pytest.skip(f"this platform has no {', '.join(missing)}")


def need_limit(stage: Stage) -> None:
    if not stage.text_limit:
        pytest.skip("this platform has no limit for texts")


class StageCases:
    """Test cases, each of which opens a separate stage."""

    def stage(self) -> AbstractAsyncContextManager[Stage]:
        raise NotImplementedError("a subclass must define `stage`")


# -- the inbox and the deliveries --------------------------------------------------------------------------------------


#: The timeout in seconds of every wait; a longer wait is a failure.
PATIENCE = 20


class RememberingInbox:
    """An `Inbox` that records all events. For each of the first `refusals` events, it raises `Unavailable` and records
    only the name of the method in `refused`."""

    def __init__(self, *, refusals: int = 0) -> None:
        self.messages: list[IncomingMessage] = []
        self.edits: list[MessageEdit] = []
        self.deletions: list[MessageDeletion] = []
        self.clicks: list[Click] = []
        self.reactions: list[ReactionChange] = []
        self.refused: list[str] = []
        self.out_of_reach: list[Address] = []
        self._refusals = refusals
        self._positions: dict[str, int] = {}
        self._changed = asyncio.Condition()

    async def receive(self, message: IncomingMessage) -> Received:
        await self._take(message.event_id, message.position)
        before = [one for one in self.messages if one.event_id == message.event_id]
        await self._keep(self.messages, message)
        return Received(message.event_id, MessageStatus.QUEUED, "test", duplicate=bool(before))

    async def edit(self, edit: MessageEdit) -> None:
        await self._take(edit.event_id, edit.position)
        await self._keep(self.edits, edit)

    async def delete(self, deletion: MessageDeletion) -> None:
        await self._take(deletion.event_id, deletion.position)
        await self._keep(self.deletions, deletion)

    async def click(self, click: Click) -> Clicked:
        await self._take(click.event_id, click.position)
        await self._keep(self.clicks, click)
        return Clicked("Noted.", done=True)

    async def react(self, change: ReactionChange) -> None:
        await self._take("reaction", change.position)
        await self._keep(self.reactions, change)

    async def move(self, old: Address, new_channel: str, position: FeedPosition | None = None) -> None:
        await self._take(f"move {old.channel} {new_channel}", position)

    async def reachable(self, place: Address, position: FeedPosition | None = None) -> None:
        await self._take(f"reachable {place.channel}", position)

    async def unreachable(self, place: Address, reason: str, position: FeedPosition | None = None) -> None:
        await self._take(f"unreachable {place.channel}", position)
        await self._keep(self.out_of_reach, place)

    async def passed(self, platform: str, connector: str, position: FeedPosition) -> None:
        await self._take("passed", position)

    async def position(self, platform: str, connector: str, feed: str) -> int | None:
        return self._positions.get(feed)

    async def feeds(self, platform: str, connector: str) -> dict[str, int]:
        return dict(self._positions)

    async def stop(self, address: Address, by: str) -> int:
        return 0

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until `holds` returns a true value. `holds` is called at the start and after every event."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: bool(holds()))

    async def message(self, content: str) -> IncomingMessage:
        """Return the first message with this text, once it has arrived."""
        await self.until(lambda: self.named(content))
        return self.named(content)[0]

    @property
    def distinct(self) -> list[IncomingMessage]:
        """Return the messages without repetitions, because a platform may report the same message several times."""
        return list({message.event_id: message for message in reversed(self.messages)}.values())[::-1]

    def named(self, content: str) -> list[IncomingMessage]:
        return [message for message in self.messages if message.content == content]

    async def _take(self, event: str, position: FeedPosition | None) -> None:
        if self._refusals:
            self._refusals -= 1
            await self._keep(self.refused, event)
            raise Unavailable("nothing was stored")
        if position is not None:
            self._positions[position.feed] = max(position.position, self._positions.get(position.feed, 0))

    async def _keep(self, things: list[Any], thing: Any) -> None:
        async with self._changed:
            things.append(thing)
            self._changed.notify_all()


@asynccontextmanager
async def running(connector: Connector, inbox: RememberingInbox) -> AsyncIterator[BotUp]:
    """Run the connector during the context, which begins when the connector reports that events arrive."""
    ups: asyncio.Queue[BotUp] = asyncio.Queue()
    run = asyncio.create_task(connector.run(inbox, ups.put_nowait))
    is_up = asyncio.create_task(ups.get())
    try:
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([run, is_up], return_when=asyncio.FIRST_COMPLETED)
        if not is_up.done():
            run.result()
        yield await is_up
    finally:
        run.cancel()
        is_up.cancel()
        await asyncio.wait([run, is_up])


def delivery(
    address: Address,
    content: str,
    *,
    number: int = 1,
    buttons: Sequence[Button] = (),
    files: Sequence[OutgoingFile] = (),
    reply_ref: str | None = None,
) -> Delivery:
    return Delivery(
        id=f"01JD0000000000000000000{number:03d}",
        message_id="01JM0000000000000000000001",
        part=0,
        address=address,
        seq=number,
        content=content,
        reply_to=None,
        answers=(),
        agent="helper",
        state=DeliveryState.SENDING,
        created_at=1_800_000_000_000,
        reply_ref=reply_ref,
        buttons=tuple(buttons),
        files=tuple(files),
    )


def parts_of(connector: Connector, planned: Delivery) -> list[Part]:
    pieces: Sequence[Piece] = connector.plan(planned)
    assert pieces, "a delivery has at least one piece"
    return [Part(planned, number, piece) for number, piece in enumerate(pieces)]


async def send_all(connector: Connector, planned: Delivery) -> list[Receipt]:
    return [await connector.send(part) for part in parts_of(connector, planned)]


async def failure_of(connector: Connector, part: Part) -> SendError | None:
    """Return the error of a send; None if it succeeded."""
    try:
        await connector.send(part)
    except SendError as error:
        return error
    return None


async def send_as_promised(connector: Connector, part: Part) -> Receipt:
    """Send a part as `arvis.delivery` does. If the first attempt fails, search for the part on the platform. Send the
    part again only if the platform does not have it."""
    if connector.capabilities.guarantee is Guarantee.RESERVE_THEN_FILL and isinstance(connector, Reserves):
        part = replace(part, platform_id=(await connector.reserve(part)).platform_id)
    try:
        return await connector.send(part)
    except SendError as error:
        if error.permanent:
            raise
    part = replace(part, tried_at=part.delivery.created_at)
    found = await connector.find(part) if isinstance(connector, FindsParts) else None
    return found or await connector.send(part)
