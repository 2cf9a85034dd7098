"""Discord as a stage for the conformance suite of connectors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from arvis.domain.messages import Address
from arvis.ports.connector import BotSettings, CommandHint, ConnectorServices
from arvis.testing.conformance.connector import Shown
from arvis.testing.conformance.connector_stage import ABILITIES
from connectors.discord.connector import DiscordConnector
from connectors.discord.settings import DiscordConfig
from connectors.formatting.units import utf16_length
from connectors.settings import read_settings
from tests.platforms.discord_server import DiscordServer, discord_server
from tests.platforms.discord_server_world import Json

COMMANDS = (CommandHint("help", "What I can do"), CommandHint("new", "Begin anew"))
_VOICE = 1 << 13
_CLOSED = 50007


class WallClock:
    """The time of this machine, so that server and connector agree. Pauses are a hundred times shorter."""

    def __init__(self) -> None:
        self.ahead = 0

    def now(self) -> int:
        return round(time.time() * 1000) + self.ahead

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / 100)


class DiscordStage:
    text_limit = 2_000
    can = frozenset(ABILITIES)

    def __init__(self, server: DiscordServer) -> None:
        self.server = server
        self.clock = WallClock()
        self._made: list[DiscordConnector] = []

    def length(self, text: str) -> int:
        return utf16_length(text)

    @property
    def sends(self) -> Sequence[float]:
        return self.server.sends

    async def connector(self, *, patience: float = 20, longest_hold: float = 3_000, **values: Any) -> DiscordConnector:
        base = {"token": self.server.token, "api_url": self.server.api_url, "gateway_url": self.server.gateway_url}
        services = ConnectorServices(clock=self.clock, commands=COMMANDS)
        config = read_settings(DiscordConfig, BotSettings("main", base | values))
        made = DiscordConnector(
            name="main",
            config=config,
            services=services,
            jitter=lambda: 0.0,
            patience=patience,
            longest_hold=longest_hold,
        )
        self._made.append(made)
        return made

    def address(self, channel: str = "room", *, direct: bool = False, thread: str = "", user: str = "ann") -> Address:
        place = self.place(channel, direct=direct, thread=thread, user=user)
        if thread:
            return Address("discord", "main", place["parent_id"], place["id"])
        return Address("discord", "main", place["id"])

    def place(self, channel: str = "room", *, direct: bool = False, thread: str = "", user: str = "ann") -> Json:
        world = self.server.world
        if direct:
            return world.direct(user)
        room = world.channel(channel)
        return world.thread(thread, room) if thread else room

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
        place = self.place(channel, direct=direct, thread=thread, user=user)
        if addressed and not direct:
            text = f"<@{self.server.world.bot['id']}> {text}"
        return str((await self.server.say(text, channel=place, user=user))["id"])

    async def say_file(
        self, name: str, content_type: str, data: bytes, *, voice: bool = False, user: str = "ann", text: str = ""
    ) -> str:
        file = self.server.file(name, content_type, data)
        place = self.place(direct=True, user=user)
        more: Json = {"attachments": [file], "flags": _VOICE if voice else 0}
        return str((await self.server.say(text, channel=place, user=user, **more))["id"])

    async def say_as_bot(self, text: str, *, own: bool) -> None:
        world = self.server.world
        name = "arvis" if own else "other"
        world.person(name, bot=True)
        await self.server.say(text, channel=self.place(), user=name)

    async def edit(self, ref: str, text: str) -> None:
        await self.server.edit(ref, text)

    async def delete(self, ref: str) -> None:
        await self.server.delete(ref)

    async def click(self, platform_id: str, button_id: str, *, user: str = "ann") -> None:
        await self.server.press(platform_id, button_id, user)

    async def redeliver(self, ref: str) -> None:
        await self.server.redeliver(ref)

    async def drop_connections(self) -> None:
        await self.server.gateway.drop()

    def refuse_sends(self, count: int, *, status: int = 429, retry_after: float | None = None) -> None:
        self.server.refuse_sends(count, status=status, retry_after=retry_after)

    def reset_sends(self, count: int, *, after: bool) -> None:
        self.server.reset_sends(count, after=after)

    def close_channel(self, *, user: str = "ann") -> None:
        self.server.world.closed[self.place(direct=True, user=user)["id"]] = _CLOSED

    def shown(self, address: Address) -> Sequence[Shown]:
        world = self.server.world
        messages = world.messages.get(address.thread or address.channel, {}).values()
        return [_shown(each, world.pings.get(each["id"], ())) for each in messages if each["author"] is world.bot]

    async def close(self) -> None:
        for connector in self._made:
            await connector.close()


def _button_ids(message: Json) -> list[str]:
    rows = message.get("components") or ()
    return [str(button.get("custom_id", "")) for row in rows for button in row.get("components", ())]


def _shown(message: Json, pings: tuple[str, ...]) -> Shown:
    return Shown(
        platform_id=message["id"],
        text=message["content"],
        reply_ref=message.get("message_reference", {}).get("message_id"),
        buttons=tuple(_button_ids(message)),
        files=tuple(file["filename"] for file in message["attachments"]),
        pings=pings,
    )


@asynccontextmanager
async def discord_stage() -> AsyncIterator[DiscordStage]:
    async with discord_server() as server:
        stage = DiscordStage(server)
        try:
            yield stage
        finally:
            await stage.close()
