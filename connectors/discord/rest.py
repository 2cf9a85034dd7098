"""Requests to Discord that need no gateway, and the ids by which Discord's history is read. The session opens with the
first request and stays open until `close`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from discord.http import Route

from arvis.domain.dataclass import dataclass
from connectors import answers
from connectors.answers import Uncertain
from connectors.discord.client import LOGIN_SECONDS, BotHttp, CallFailed, Endpoints

# Discord's ids contain the time at which they were made.

#: The beginning of the year 2015 (ms), from which Discord counts the time in its ids.
EPOCH = 1_420_070_400_000
_TIME_SHIFT = 22


def made_at(snowflake: str) -> int:
    """Return the time (ms) at which the object with this id was made. Raise `ValueError` for a text that is not an
    id."""
    return (int(snowflake) >> _TIME_SHIFT) + EPOCH


def first_at(at: int) -> int:
    """Return the smallest id that an object made at this time (ms) can have."""
    return max(0, at - EPOCH) << _TIME_SHIFT


#: The maximum seconds of a request, including the time that it waits for rate limits. After this time it is unknown
#: whether Discord carried out the request.
_PATIENCE = 90.0
#: The maximum seconds of a request that is not important, such as showing that the bot is typing.
COSMETIC_SECONDS = 5.0
_PAGE_SIZE = 100


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a channel's history, oldest first; each message has an id. `more`: later messages may follow."""

    messages: Sequence[Mapping[str, Any]]
    more: bool


class Rest:
    """One bot's requests. They raise `REQUEST_ERRORS`: `CallFailed`, `TimeoutError`, `OSError` or an error of aiohttp."""

    def __init__(self, *, token: str, endpoints: Endpoints, jitter: Callable[[], float]) -> None:
        self._token = token
        self._endpoints = endpoints
        self._jitter = jitter
        self._http: BotHttp | None = None
        self._opening = asyncio.Lock()
        self.user_id = ""

    async def request(
        self,
        method: str,
        path: str,
        *,
        form: Sequence[dict[str, Any]] | None = None,
        within: float = _PATIENCE,
        **options: Any,
    ) -> Any:
        """Send a request. `path` may contain `{channel_id}`, `{webhook_id}` and `{webhook_token}`, by which Discord
        limits requests; their values are in `options`. The other options, such as `json` and `params`, are passed to
        the library. `within`: the timeout in seconds."""
        majors = {name: options.pop(name) for name in ("channel_id", "webhook_id", "webhook_token") if name in options}
        route = Route(method, path, **majors)
        async with asyncio.timeout(within), self._opened() as http:
            return await http.request(route, form=form, **options)

    async def whoami(self) -> str:
        """Return the bot's own id."""
        async with self._opened():
            return self.user_id

    async def history(self, channel: str, after: int) -> Page:
        """Return the first messages of a channel after an id, oldest first; messages without an id are left out."""
        params = {"limit": _PAGE_SIZE, "after": after}
        newest_first = answers.mappings(
            await self.request("GET", "/channels/{channel_id}/messages", channel_id=channel, params=params)
        )
        found = [message for message in newest_first or () if answers.text(message, "id").isdecimal()]
        if newest_first is None or (newest_first and not found):
            raise CallFailed(Uncertain("Discord sent the history of a channel in an unexpected format."))
        in_order = sorted(found, key=lambda message: int(message["id"]))
        return Page(in_order, more=len(newest_first) >= _PAGE_SIZE)

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
            async with asyncio.timeout(LOGIN_SECONDS):
                self.user_id = _id_of(await http.static_login(self._token))
        except BaseException:
            await http.close()
            raise
        return http


def _id_of(user: Any) -> str:
    if not (id_ := answers.text(user, "id")):
        raise CallFailed(Uncertain("Discord did not name the bot's user."))
    return id_
