"""The parts of the connector cases: an inbox that remembers, and deliveries to send."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

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
from arvis.ports.connector import BotUp, Connector, FindsParts, Guarantee, Receipt, Reserves, SendError
from arvis.ports.inbox import Clicked, Received

#: Timeout in seconds for everything; a longer wait is a failure.
PATIENCE = 20


class RememberingInbox:
    """An `Inbox` that keeps all events, and may refuse them first: `Unavailable` is raised `refusals` times."""

    def __init__(self, *, refusals: int = 0) -> None:
        self.messages: list[IncomingMessage] = []
        self.edits: list[MessageEdit] = []
        self.deletions: list[MessageDeletion] = []
        self.clicks: list[Click] = []
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
        """Wait until an event makes this true."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: bool(holds()))

    async def message(self, content: str) -> IncomingMessage:
        """Return the first message with this text, once it has arrived."""
        await self.until(lambda: self.named(content))
        return self.named(content)[0]

    @property
    def distinct(self) -> list[IncomingMessage]:
        """Return the messages without repetitions: a platform may report one in several ways."""
        return list({message.event_id: message for message in reversed(self.messages)}.values())[::-1]

    def named(self, content: str) -> list[IncomingMessage]:
        return [message for message in self.messages if message.content == content]

    async def _take(self, event: str, position: FeedPosition | None) -> None:
        if self._refusals:
            self._refusals -= 1
            await self._keep(self.refused, event)
            raise Unavailable("nothing was kept")
        if position is not None:
            self._positions[position.feed] = max(position.position, self._positions.get(position.feed, 0))

    async def _keep(self, things: list[Any], thing: Any) -> None:
        async with self._changed:
            things.append(thing)
            self._changed.notify_all()


@asynccontextmanager
async def running(connector: Connector, inbox: RememberingInbox) -> AsyncIterator[BotUp]:
    """Run the connector, and yield once its platform's events arrive."""
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
    """Return the error of a send; None when it succeeded."""
    try:
        await connector.send(part)
    except SendError as error:
        return error
    return None


async def send_as_promised(connector: Connector, part: Part) -> Receipt:
    """Send as the deliver job does: search for a part that may have arrived before sending it again."""
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
