"""The socket on which Discord reports events: discord.py's client reduced to the connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, cast

import discord

from connectors.discord.http import LOGIN_SECONDS, BotHttp


def intents() -> discord.Intents:
    """Return the intents: messages of guilds and direct messages, with their text, and the guilds' channels."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    wanted.guild_messages = True
    wanted.dm_messages = True
    wanted.message_content = True
    return wanted


class _OnceConnected:
    """A flag that becomes true as soon as a client has connected once."""

    def __init__(self, client: discord.Client) -> None:
        self._client = client

    def __bool__(self) -> bool:
        return cast(object, self._client.ws) is not None


class Gateway(discord.Client):
    """Passes every event on unchanged and in order, so the library's own caches and omissions do not matter."""

    def __init__(
        self,
        *,
        http: BotHttp,
        jitter: Callable[[], float],
        received: Callable[[Mapping[str, Any]], None],
        lost: Callable[[], None],
    ) -> None:
        # Without this, a client warns about missing packages for voice calls, which Arvis never uses.
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
        # The library would keep a copy of each event, which Arvis does not need, and an event that it cannot read
        # would end it.
        self._connection.parsers = {}
        self._jitter = jitter
        self._received = received
        self._lost = lost

    async def login(self, token: str) -> None:
        """Skip the library's requests for the bot's user and application: the gateway reports both."""
        await self._async_setup_hook()
        async with asyncio.timeout(LOGIN_SECONDS):
            await self.http.static_login(token)

    async def connect(self, *, reconnect: bool = True) -> None:  # noqa: ARG002  (always, once connected)
        """Connect. The library reconnects only after a first connection has existed; a first one that fails ends this
        call."""
        await super().connect(reconnect=cast(bool, _OnceConnected(self)))

    async def before_identify_hook(self, _shard_id: int | None, *, initial: bool = False) -> None:
        """Wait one to five seconds before a new session after a lost one, as Discord requires."""
        if not initial:
            await asyncio.sleep(1 + 4 * self._jitter())

    async def on_socket_raw_receive(self, text: str) -> None:
        self._received(json.loads(text))

    async def on_disconnect(self) -> None:
        self._lost()
