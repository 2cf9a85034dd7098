"""Requests to Discord that need no gateway: a session that opens with the first one and stays until it is closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from discord.http import Route

from connectors.discord.http import BotHttp, Endpoints

#: Seconds after which nobody knows any more what became of a request. Waiting for rate limits counts.
_PATIENCE = 90.0


class Rest:
    """One bot's requests. They raise what discord.py raises, `TimeoutError`, and what aiohttp raises."""

    page_size = 100

    def __init__(self, *, token: str, endpoints: Endpoints, jitter: Callable[[], float]) -> None:
        self._token = token
        self._endpoints = endpoints
        self._jitter = jitter
        self._http: BotHttp | None = None
        self._opening = asyncio.Lock()
        self.user_id = ""

    async def request(
        self, method: str, path: str, *, form: Sequence[dict[str, Any]] | None = None, **options: Any
    ) -> Any:
        """`path` may name `{channel_id}`, `{webhook_id}` and `{webhook_token}`, by which Discord counts requests; they
        are taken from the options, as is `json` or `params`."""
        majors = {name: options.pop(name) for name in ("channel_id", "webhook_id", "webhook_token") if name in options}
        route = Route(method, path, **majors)
        async with self._opened() as http, asyncio.timeout(_PATIENCE):
            return await http.request(route, form=form, **options)

    async def whoami(self) -> str:
        """The bot's own id."""
        async with self._opened():
            return self.user_id

    async def history(self, channel: str, after: int) -> list[Mapping[str, Any]]:
        """The first messages of a channel behind an id, oldest first, `page_size` at most."""
        params = {"limit": self.page_size, "after": after}
        newest_first = await self.request("GET", "/channels/{channel_id}/messages", channel_id=channel, params=params)
        return sorted(newest_first, key=lambda message: int(message["id"]))

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[BotHttp]:
        async with self._opening:
            if self._http is None:
                self._http = await self._login()
        yield self._http

    async def _login(self) -> BotHttp:
        http = BotHttp(self._endpoints, self._jitter)
        try:
            async with asyncio.timeout(_PATIENCE):
                self.user_id = str((await http.static_login(self._token))["id"])
        except BaseException:
            await http.close()
            raise
        return http
