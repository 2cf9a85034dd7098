"""A Discord server on this machine, written from the public documentation.

It has a gateway, the REST interface, the file server, and the people who write there. It outlives its clients and fails
on demand.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.platforms.discord_server_gateway import GatewaySide
from tests.platforms.discord_server_rest import Handler, RestSide, answer
from tests.platforms.discord_server_world import DIRECT, TOKEN, Json, World
from tests.platforms.faults.wire import DiscordDialect, Wire


@dataclass(frozen=True)
class Asked:
    """A request and its time (`time.monotonic`)."""

    at: float
    method: str
    path: str

    @property
    def sends(self) -> bool:
        return self.method == "POST" and self.path.endswith("/messages")


class DiscordServer:
    """`asked` are all requests to the REST interface. `lag` returns the seconds between the effect of a send and its
    answer."""

    def __init__(self) -> None:
        self.world = World()
        self.gateway = GatewaySide(self.world)
        self.rest = RestSide(self.world, self.gateway)
        self.asked: list[Asked] = []
        self.token = TOKEN
        self.wire = Wire(DiscordDialect())
        self.lag: Callable[[], float] = lambda: 0.0
        self._refusals: list[tuple[int, float | None, bool, int]] = []
        self._resets: list[bool] = []
        self._asked = asyncio.Event()
        self._history = asyncio.Event()
        self._history.set()
        self._events: dict[str, tuple[str, Json]] = {}

    @property
    def api_url(self) -> str:
        return f"{self.rest.base}/api/v10"

    @property
    def gateway_url(self) -> str:
        return self.gateway.url

    @property
    def sends(self) -> list[float]:
        return [one.at for one in self.asked if one.sends]

    def refuse_sends(
        self,
        count: int,
        *,
        status: int = 429,
        retry_after: float | None = None,
        everywhere: bool = False,
        code: int = 0,
    ) -> None:
        """Refuse the next sends without an effect; 0 ends the refusals. `everywhere` marks a global rate limit."""
        self._refusals = [(status, retry_after, everywhere, code)] * count

    def reset_sends(self, count: int, *, after: bool) -> None:
        """Cut the connection of the next sends, before or after their effect."""
        self._resets = [after] * count

    def hold_history(self) -> None:
        """Delay the answers to requests for the history until `release_history`."""
        self._history.clear()

    def release_history(self) -> None:
        self._history.set()

    async def until_asked(self, method: str, end: str) -> None:
        """Wait for a request whose path has this end."""
        async with asyncio.timeout(20):
            while not any(one.method == method and one.path.endswith(end) for one in self.asked):
                self._asked.clear()
                await self._asked.wait()

    async def say(
        self, text: str, *, channel: Json, user: str = "ann", reply_to: str = "", at: float | None = None, **more: Any
    ) -> Json:
        """Write a message. `at` (seconds since 1970) is for messages of the past."""
        if reply_to:
            replied = self.world.messages[channel["id"]][reply_to]
            more |= {"type": 19, "referenced_message": dict(replied), "message_reference": _reference(replied)}
        message = self.world.add_message(channel, self.world.person(user), text, at, **more)
        event = self.rest.as_event(message)
        self._events[message["id"]] = ("MESSAGE_CREATE", event)
        await self.gateway.dispatch("MESSAGE_CREATE", event)
        return message

    def file(self, name: str, content_type: str, data: bytes) -> Json:
        return self.world.add_file(name, content_type, data, self.rest.base)

    async def edit(self, ref: str, text: str) -> None:
        message = self._find(ref)
        message |= {
            "content": text,
            "edited_timestamp": f"2026-01-01T00:00:00.{int(self.world.new_id()) % 10**6:06}+00:00",
        }
        await self.gateway.dispatch("MESSAGE_UPDATE", self.rest.as_event(message))

    async def delete(self, ref: str) -> None:
        await self.rest.delete(self._find(ref)["channel_id"], ref)

    async def redeliver(self, ref: str) -> None:
        await self.gateway.dispatch(*self._events[ref])

    async def press(self, ref: str, button: str, user: str = "ann") -> str:
        """Press a button and return the id of the interaction."""
        message = self._find(ref)
        data = {"custom_id": button, "component_type": 2}
        return await self._interact(3, message["channel_id"], user, data, message=message)

    async def command(self, name: str, text: str, *, channel: Json, user: str = "ann") -> str:
        options = [{"type": 3, "name": "text", "value": text}] if text else []
        data = {"id": "1", "name": name, "type": 1, "options": options}
        return await self._interact(2, channel["id"], user, data)

    async def _interact(self, kind: int, channel: str, user: str, data: Json, **more: Any) -> str:
        id_, place, person = self.world.new_id(), self.world.channels[channel], self.world.person(user)
        event: Json = {
            "id": id_,
            "application_id": self.world.application,
            "type": kind,
            "data": data,
            "version": 1,
        } | more
        event |= {"channel_id": channel, "channel": place, "token": f"token-{id_}", "entitlements": [], "context": 0}
        event |= {"authorizing_integration_owners": {}, "attachment_size_limit": 10_000_000}
        if place["type"] == DIRECT:
            event["user"] = person
        else:
            member: Json = {"user": person, "nick": None, "roles": [], "permissions": "0", "deaf": False, "mute": False}
            event |= {"guild_id": self.world.guild, "member": member | {"joined_at": None, "flags": 0}}
        self.rest.tokens[event["token"]] = event
        await self.gateway.dispatch("INTERACTION_CREATE", event)
        return id_

    def _find(self, ref: str) -> Json:
        return next(known[ref] for known in self.world.messages.values() if ref in known)

    @web.middleware
    async def watch(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        asked = Asked(time.monotonic(), request.method, request.path)
        if not request.path.startswith("/gateway"):
            self.asked.append(asked)
            self._asked.set()
        if asked.method == "GET" and asked.path.endswith("/messages"):
            await self._history.wait()
        if not asked.sends:
            return await self.rest.errors(request, handler)
        if self._refusals:
            await request.read()
            return _refusal(*self._refusals.pop())
        cut = self._resets.pop() if self._resets else None
        response = None if cut is False else await self.rest.errors(request, handler)
        await asyncio.sleep(self.lag())
        if cut is not None or response is None:
            assert request.transport is not None
            request.transport.abort()
        return response or web.Response()


def _reference(message: Json) -> Json:
    return {"type": 0, "message_id": message["id"], "channel_id": message["channel_id"]}


def _refusal(status: int, retry_after: float | None, everywhere: bool, code: int) -> web.Response:
    if status != 429:
        return answer({"message": "refused", "code": code}, status)
    wait = retry_after or 0.0
    headers = {"Via": "1.1 google", "Retry-After": str(wait), "X-RateLimit-Scope": "global" if everywhere else "user"}
    if everywhere:
        headers["X-RateLimit-Global"] = "true"
    else:
        headers |= {"X-RateLimit-Limit": "5", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": str(wait)}
    return answer({"message": "You are being rate limited.", "retry_after": wait, "global": everywhere}, 429, headers)


@asynccontextmanager
async def discord_server() -> AsyncIterator[DiscordServer]:
    discord = DiscordServer()
    application = web.Application(middlewares=[discord.wire.middleware, discord.watch], client_max_size=30_000_000)
    application.add_routes([*discord.rest.routes(), web.get("/gateway", discord.gateway.handle)])
    server = TestServer(application, host="127.0.0.1")
    await server.start_server()
    discord.rest.base = f"http://127.0.0.1:{server.port}"
    discord.gateway.url = f"ws://127.0.0.1:{server.port}/gateway"
    try:
        yield discord
    finally:
        await discord.gateway.drop()
        await server.close()
