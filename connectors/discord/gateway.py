"""The socket on which Discord tells what happens: discord.py's client with nothing in it but the connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import discord

from connectors.discord.http import LOGIN_SECONDS, BotHttp


def intents() -> discord.Intents:
    """Messages of guilds and direct ones, with their text, and the guilds' channels."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    wanted.guild_messages = True
    wanted.dm_messages = True
    wanted.message_content = True
    return wanted


class _OnceConnected:
    """True as soon as a client has had a connection."""

    def __init__(self, client: discord.Client) -> None:
        self._client = client

    def __bool__(self) -> bool:
        return cast(object, self._client.ws) is not None


class Gateway(discord.Client):
    """Hands every event on as Discord wrote it, in order: what the library keeps or leaves out does not matter."""

    def __init__(
        self,
        *,
        http: BotHttp,
        jitter: Callable[[], float],
        received: Callable[[Mapping[str, Any]], None],
        lost: Callable[[], None],
    ) -> None:
        # A client warns of what voice calls need, whether anybody calls or not.
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False
        super().__init__(
            intents=intents(),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            enable_debug_events=True,
        )
        self.http = http
        self._connection.http = http
        # What the library would keep of each event is nobody's business here, and an event it cannot read would end it.
        self._connection.parsers = {}
        self._jitter = jitter
        self._received = received
        self._lost = lost

    async def login(self, token: str) -> None:
        """The library would also read who the bot and its application are, which the gateway tells."""
        await self._async_setup_hook()
        async with asyncio.timeout(LOGIN_SECONDS):
            await self.http.static_login(token)

    async def connect(self, *, reconnect: bool = True) -> None:  # noqa: ARG002  (always, once connected)
        """The library's way to connect again needs a connection that was there: a first one that fails ends this."""
        await super().connect(reconnect=cast(bool, _OnceConnected(self)))

    async def before_identify_hook(self, _shard_id: int | None, *, initial: bool = False) -> None:
        """Discord wants one to five seconds before a new session after a lost one."""
        if not initial:
            await asyncio.sleep(1 + 4 * self._jitter())

    async def on_socket_raw_receive(self, text: str) -> None:
        self._received(json.loads(text))

    async def on_disconnect(self) -> None:
        self._lost()
