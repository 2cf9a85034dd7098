"""discord.py's HTTP client for one bot: with addresses of its own, and patient with the gateway.

The library keeps both addresses in class attributes, which all bots of a process would share. Here every request is sent
to the bot's own instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import aiohttp
import yarl
from discord.errors import RateLimited
from discord.file import File
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient, Route

#: A rate limit that lasts longer (seconds) is not waited for here: the job rests. The library allows nothing below 30.
_LONGEST_WAIT = 30.0
#: Seconds between two connections to the gateway, at least.
_BETWEEN_CONNECTIONS = 1.0


class ServerTrouble(Exception):
    """Discord answered with a status of 500 or more."""

    def __init__(self, status: int) -> None:
        super().__init__(f"Discord answered with status {status}.")


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a bot finds Discord."""

    api: str
    gateway: str

    @classmethod
    def of(cls, api_url: str | None, gateway_url: str | None) -> Endpoints:
        return cls(api_url or Route.BASE, gateway_url or str(DiscordWebSocket.DEFAULT_GATEWAY))


class BotHttp(HTTPClient):
    """`jitter` gives numbers from 0 to 1."""

    def __init__(self, endpoints: Endpoints, jitter: Callable[[], float]) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_request_end.append(self._look_at)
        super().__init__(asyncio.get_running_loop(), http_trace=trace, max_ratelimit_timeout=_LONGEST_WAIT)
        self._endpoints = endpoints
        self._jitter = jitter
        self._connect_at = 0.0
        self._rests_until = 0.0

    async def request(
        self,
        route: Route,
        *,
        files: Sequence[File] | None = None,
        form: Iterable[dict[str, Any]] | None = None,
        **options: Any,
    ) -> Any:
        if (rest := self._rests_until - self.loop.time()) > 0:
            raise RateLimited(rest)
        route.url = self._endpoints.api + route.url.removeprefix(Route.BASE)
        return await super().request(route, files=files, form=form, **options)

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        await self._pace()
        asked = yarl.URL(url)
        if asked.host == DiscordWebSocket.DEFAULT_GATEWAY.host:
            asked = yarl.URL(self._endpoints.gateway).with_query(asked.query)
        return await super().ws_connect(str(asked), compress=compress)

    async def _look_at(
        self, _session: aiohttp.ClientSession, _context: object, end: aiohttp.TraceRequestEndParams
    ) -> None:
        response = end.response
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            # The library would try five times within half a minute. Whether and when to try again the queue says.
            response.close()
            raise ServerTrouble(response.status)
        if response.status == HTTPStatus.TOO_MANY_REQUESTS and "X-RateLimit-Global" in response.headers:
            # The library would wait, and never let anybody send again if that were cancelled.
            response.close()
            wait = float(response.headers.get("Retry-After", _LONGEST_WAIT))
            self._rests_until = self.loop.time() + wait
            raise RateLimited(wait)

    async def _pace(self) -> None:
        # The library resumes at once after each lost connection: a gateway that hangs up every time would see a storm.
        now = self.loop.time()
        wait = self._connect_at - now
        self._connect_at = max(now, self._connect_at) + _BETWEEN_CONNECTIONS
        if wait > 0:
            await asyncio.sleep(wait + self._jitter())
