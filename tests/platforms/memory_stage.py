"""A platform that is only a list in memory, with a connector, to test `ConnectorConformance` itself.

`flaw` names a fault of the connector.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from arvis.domain.errors import Unavailable
from arvis.domain.messages import Address, Button, Delivery, FileRef, IncomingMessage, Respond, Sender
from arvis.domain.platforms import Click, MessageDeletion, MessageEdit, Part, Piece
from arvis.ports.connector import BotUp, Capabilities, FetchError, Receipt, SendError
from arvis.ports.inbox import Inbox
from arvis.testing.conformance.connector_stage import ABILITIES, Shown, Stage
from connectors.formatting.planning import pieces
from connectors.formatting.splitting import split

BOT = "bot"
LIMIT = 200

Event = IncomingMessage | MessageEdit | MessageDeletion | Click


@dataclass(slots=True)
class World:
    """The data of the platform: events in order, the number of acknowledged ones, and messages by address."""

    events: list[Event] = field(default_factory=list)
    taken: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    messages: dict[Address, list[Shown]] = field(default_factory=dict)
    keys: dict[str, Receipt] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    sends: list[float] = field(default_factory=list)
    refusals: list[SendError] = field(default_factory=list)
    is_closed: bool = False

    def bring(self, event: Event) -> None:
        self.events.append(event)
        self.changed.set()

    def found(self, platform_id: str | None) -> tuple[list[Shown], int] | None:
        for shown in self.messages.values():
            for number, one in enumerate(shown):
                if one.platform_id == platform_id:
                    return shown, number
        return None


class MemoryConnector:
    platform = "memory"
    name = "main"
    typing_seconds = 5.0
    draft_seconds = 1.0
    capabilities = Capabilities()

    def __init__(self, *, world: World, flaw: str, values: dict[str, Any]) -> None:
        self._world = world
        self._flaw = flaw
        self._values = values

    async def run(self, inbox: Inbox, up: Callable[[BotUp], None]) -> None:
        up(BotUp(BOT, "Bot"))
        while True:
            while self._world.taken < len(self._world.events):
                await self._bring(inbox, self._world.events[self._world.taken])
            self._world.changed.clear()
            await self._world.changed.wait()

    async def _bring(self, inbox: Inbox, event: Event) -> None:
        if self._flaw == "tells too early":
            self._world.taken += 1
        try:
            await self._hand_on(inbox, event)
        except Unavailable:
            return
        if self._flaw != "tells too early":
            self._world.taken += 1

    async def _hand_on(self, inbox: Inbox, event: Event) -> None:
        match event:
            case IncomingMessage(sender=Sender(user_id=user, bot=is_bot)) if user == BOT or is_bot:
                if self._flaw == "hears itself":
                    await inbox.receive(event)
            case IncomingMessage():
                await inbox.receive(self._read(event))
            case MessageEdit():
                await inbox.edit(event)
            case MessageDeletion():
                await inbox.delete(event)
            case Click():
                await inbox.click(event)

    def _read(self, message: IncomingMessage) -> IncomingMessage:
        mention = "" if self._flaw == "leaves the mention" else "@bot "
        address = message.address
        if self._values.get("reply_in") == "thread" and not message.is_direct:
            address = replace(address, thread=message.platform_ref or "")
        return replace(
            message,
            address=address,
            content=message.content.removeprefix(mention),
            event_id=f"{time.monotonic_ns()}" if self._flaw == "new ids" else message.event_id,
            addressed=message.is_direct or message.content.startswith("@bot ") or self._flaw == "always addressed",
            respond=Respond(self._values.get("respond", "mention")),
            observe=self._values.get("observe", 20),
            assigned_agent=self._values.get("agent"),
        )

    def plan(self, delivery: Delivery) -> Sequence[Piece]:
        limit = LIMIT * 2 if self._flaw == "too long" else LIMIT
        return pieces(delivery, partial(split, limit=limit), 5)

    async def send(self, part: Part) -> Receipt:
        world = self._world
        world.sends.append(time.monotonic())
        if world.is_closed:
            raise SendError("blocked", permanent=True, gone=self._flaw != "never gone")
        refusal = world.refusals.pop(0) if world.refusals else None
        if refusal and not refusal.uncertain:
            if self._flaw != "impatient" or refusal.retry_after is None:
                raise refusal
            world.sends.append(time.monotonic())
            refusal = None
        receipt = self._place(part)
        if refusal:
            raise refusal
        return receipt

    def _place(self, part: Part) -> Receipt:
        world, address, piece = self._world, part.delivery.address, part.piece
        filled = world.found(part.platform_id)
        if part.key in world.keys and not filled and part.platform_id is None and self._flaw != "sends twice":
            return world.keys[part.key]
        reply_ref = None if self._flaw == "no reply" else part.delivery.reply_ref
        files, buttons = tuple(file.filename for file in piece.files), tuple(button.id for button in piece.buttons)
        shown = Shown(f"m{time.monotonic_ns()}", piece.content, reply_ref, buttons, files)
        if self._flaw == "calls people" and "@" in piece.content:
            shown = replace(shown, pings=("everyone",))
        if filled and self._flaw != "fills nothing":
            messages, number = filled
            messages[number] = replace(shown, platform_id=messages[number].platform_id)
            return Receipt(messages[number].platform_id)
        world.messages.setdefault(address, []).append(shown)
        world.keys[part.key] = Receipt(shown.platform_id)
        return world.keys[part.key]

    async def typing(self, address: Address) -> None:
        if self._flaw == "types words":
            self._world.messages.setdefault(address, []).append(Shown("t", "…"))

    async def show_draft(self, address: Address, key: str, text: str, buttons: Sequence[Button]) -> str | None:
        self._world.messages.setdefault(address, []).append(Shown(key, text))
        return key

    async def change_draft(self, address: Address, platform_id: str, text: str, buttons: Sequence[Button]) -> None:
        if found := self._world.found(platform_id):
            found[0][found[1]] = Shown(platform_id, text)

    async def remove_draft(self, address: Address, platform_id: str) -> None:
        if (found := self._world.found(platform_id)) and self._flaw != "leaves drafts":
            found[0].pop(found[1])

    async def fetch(self, source: str, max_bytes: int) -> bytes:
        data = self._world.files.get(source, b"")
        if not data or (len(data) > max_bytes and self._flaw != "takes any size"):
            raise FetchError("gone, or too large", permanent=True)
        return data

    async def close(self) -> None:
        if self._flaw == "stays open":
            self._task = asyncio.create_task(asyncio.Event().wait())


class MemoryStage(Stage):
    can = frozenset(ABILITIES)
    text_limit = LIMIT

    def __init__(self, flaw: str) -> None:
        self._flaw = flaw
        self._world = World()

    @classmethod
    @asynccontextmanager
    async def open(cls, flaw: str = "") -> AsyncIterator[MemoryStage]:
        yield cls(flaw)

    @property
    def sends(self) -> Sequence[float]:
        return self._world.sends

    def length(self, text: str) -> int:
        return len(text)

    async def connector(self, **values: Any) -> MemoryConnector:
        return MemoryConnector(world=self._world, flaw=self._flaw, values=values)

    def address(self, channel: str = "room", *, direct: bool = False, thread: str = "", user: str = "ann") -> Address:
        return Address("memory", "main", f"with {user}" if direct else channel, thread)

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
        address = self.address(channel, direct=direct, thread=thread, user=user)
        text = text if direct or not addressed else f"@bot {text}"
        return self._write(address, Sender(user, user.title()), text, is_direct=direct)

    def _write(self, address: Address, sender: Sender, text: str, *, is_direct: bool, **more: Any) -> str:
        ref, now = f"r{len(self._world.events)}", round(time.time() * 1000)
        message = IncomingMessage(
            address, ref, sender, text, is_direct=is_direct, platform_ref=ref, sent_at=now, **more
        )
        self._world.bring(message)
        return ref

    async def say_file(
        self, name: str, content_type: str, data: bytes, *, voice: bool = False, user: str = "ann", text: str = ""
    ) -> str:
        self._world.files[name] = data
        file = FileRef(name, content_type, len(data), name, voice)
        return self._write(
            self.address(direct=True, user=user), Sender(user, user), text, is_direct=True, files=(file,)
        )

    async def say_as_bot(self, text: str, *, own: bool) -> None:
        self._write(self.address(), Sender(BOT if own else "other", "Bot", bot=True), text, is_direct=False)

    def _said(self, ref: str) -> IncomingMessage | None:
        found = [event for event in self._world.events if isinstance(event, IncomingMessage)]
        return next((event for event in found if event.platform_ref == ref), None)

    async def edit(self, ref: str, text: str) -> None:
        if said := self._said(ref):
            self._world.bring(MessageEdit(said.address, f"{ref} edited", ref, said.sender, text))

    async def delete(self, ref: str) -> None:
        if said := self._said(ref):
            self._world.bring(MessageDeletion(said.address, f"{ref} deleted", ref))
        elif found := self._world.found(ref):
            found[0].pop(found[1])

    async def click(self, platform_id: str, button_id: str, *, user: str = "ann") -> None:
        event_id, address = f"c{len(self._world.events)}", self.address(direct=True, user=user)
        self._world.bring(Click(address, event_id, Sender(user, user.title()), button_id, platform_id))

    async def redeliver(self, ref: str) -> None:
        if said := self._said(ref):
            self._world.bring(said)

    async def drop_connections(self) -> None:
        if self._flaw == "loses events":
            self._world.taken += 1

    def refuse_sends(self, count: int, *, status: int = 429, retry_after: float | None = None) -> None:
        permanent = status == 400 or self._flaw == "gives up"
        refusals = [SendError(f"status {status}", permanent=permanent, retry_after=retry_after) for _ in range(count)]
        self._world.refusals = refusals

    def reset_sends(self, count: int, *, after: bool) -> None:
        self._world.refusals = [SendError("cut off", uncertain=after) for _ in range(count)]

    def close_channel(self, *, user: str = "ann") -> None:
        self._world.is_closed = True

    def shown(self, address: Address) -> Sequence[Shown]:
        return tuple(self._world.messages.get(address, ()))
