"""The HTTP client and the gateway of one bot, based on discord.py. Refusals of Discord are converted to errors.

The library stores the addresses of the API and the gateway in class attributes, which all bots of a process would
share. This client uses its own bot's addresses instead, and pauses between connections to the gateway.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast

import aiohttp
import discord
import yarl
from discord.errors import RateLimited
from discord.file import File
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient, Route

from arvis.domain.dataclass import dataclass
from arvis.ports.connector import SendError
from connectors import answers
from connectors.answers import Done, Failure, PlatformError, PlatformResponse, Refused, RetryLater, Uncertain

_log = logging.getLogger(__name__)

#: The longest rate limit in seconds for which the library waits. For a longer rate limit, it raises an error. The
#: library accepts no value below 30.
_LONGEST_WAIT = 30.0
#: The minimum number of seconds between two connections to the gateway.
_BETWEEN_CONNECTIONS = 1.0
#: Timeouts in seconds for opening a connection to the gateway, and for a login.
_DIAL_SECONDS = 15.0
LOGIN_SECONDS = 15.0


class DiscordDialect:
    name = "Discord"

    def platform_error(self, document: Any) -> PlatformError | None:
        if not isinstance(document, dict) or "message" not in document or "id" in document:
            return None
        code = answers.text(document, "code") or "0"
        text = answers.shortened(answers.text(document, "message") or "it gives no reason")
        return PlatformError(code, f"{text} (code {code})", answers.seconds(document.get("retry_after")))

    def accepts(self, document: Any) -> bool:
        return isinstance(document, dict | list)

    def result(self, document: Any) -> Any:
        return document


_DIALECT = DiscordDialect()


class CallFailed(Exception):
    """A failed request. This error replaces the library's errors, which distinguish fewer outcomes."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure
        self.status, code = (failure.status, failure.code) if isinstance(failure, Refused) else (0, "")
        #: Discord's number for the reason; 0 if Discord gave no number.
        self.code = int(code) if code.isdecimal() else 0

    @property
    def rejects_token(self) -> bool:
        return self.status == HTTPStatus.UNAUTHORIZED

    @property
    def forbidden(self) -> bool:
        return self.status == HTTPStatus.FORBIDDEN

    @property
    def missing(self) -> bool:
        return self.status == HTTPStatus.NOT_FOUND

    @property
    def delay(self) -> float | None:
        return self.failure.delay if isinstance(self.failure, RetryLater) else None


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The addresses of Discord that a bot uses."""

    api: str
    gateway: str

    @classmethod
    def of(cls, api_url: str | None, gateway_url: str | None) -> Endpoints:
        return cls(api_url or Route.BASE, gateway_url or str(DiscordWebSocket.DEFAULT_GATEWAY))


class BotHttp(HTTPClient):
    """The HTTP client of one bot. `jitter` returns numbers from 0 to 1."""

    def __init__(self, endpoints: Endpoints, jitter: Callable[[], float]) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_request_end.append(self._look_at)
        super().__init__(asyncio.get_running_loop(), http_trace=trace, max_ratelimit_timeout=_LONGEST_WAIT)
        self._endpoints = endpoints
        self._jitter = jitter
        self._connect_at = 0.0
        self._paused_until = 0.0

    async def request(
        self,
        route: Route,
        *,
        files: Sequence[File] | None = None,
        form: Iterable[dict[str, Any]] | None = None,
        **options: Any,
    ) -> Any:
        if (rest := self._paused_until - self.loop.time()) > 0:
            raise CallFailed(RetryLater("Discord asks for a pause.", rest, "ratelimited"))
        route.url = self._endpoints.api + route.url.removeprefix(Route.BASE)
        try:
            return await super().request(route, files=files, form=form, **options)
        except RateLimited as error:
            # The library knows the rate limit from an earlier answer, so it has not sent this request.
            raise CallFailed(RetryLater("Discord asks for a pause.", error.retry_after, "ratelimited")) from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            # The library raises this for headers that differ from the documentation. The request may or may not have
            # been carried out.
            _log.warning("Discord's answer to %s %s cannot be read: %r", route.method, route.path, error)
            raise CallFailed(Uncertain("Discord sent an answer in an unexpected format.")) from None

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        await self._pace()
        asked = yarl.URL(url)
        if asked.host == DiscordWebSocket.DEFAULT_GATEWAY.host:
            asked = yarl.URL(self._endpoints.gateway).with_query(asked.query)
        async with asyncio.timeout(_DIAL_SECONDS):
            return await super().ws_connect(str(asked), compress=compress)

    async def _look_at(
        self, _session: aiohttp.ClientSession, _context: object, end: aiohttp.TraceRequestEndParams
    ) -> None:
        """Read the answer before the library does, and raise `CallFailed` for a failure, so that the caller decides
        about retries. Without this, the library would retry by itself, wait for rate limits, and fail on answers that
        it cannot read."""
        response = end.response
        if not str(end.url).startswith(self._endpoints.api):
            return  # the answer opens a connection to the gateway
        headers = {name.lower(): text for name, text in response.headers.items()}
        outcome = answers.read(_DIALECT, PlatformResponse(response.status, headers, await response.read()))
        if isinstance(outcome, Done):
            return
        response.close()
        if isinstance(outcome, RetryLater) and "x-ratelimit-global" in headers:
            self._paused_until = self.loop.time() + (outcome.delay or 0.0)
        raise CallFailed(outcome)

    async def _pace(self) -> None:
        # The library resumes immediately after each lost connection. Without a pause, it would flood a gateway that
        # closes every connection.
        now = self.loop.time()
        wait = self._connect_at - now
        self._connect_at = max(now, self._connect_at) + _BETWEEN_CONNECTIONS
        if wait > 0:
            await asyncio.sleep(wait + self._jitter())


# The gateway: discord.py's client reduced to the connection.


def intents() -> discord.Intents:
    """Return the intents that the bot requests: guilds with their channels, messages and reactions in guilds and in
    direct chats, and the text of messages."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    wanted.guild_messages = True
    wanted.dm_messages = True
    wanted.guild_reactions = True
    wanted.dm_reactions = True
    wanted.message_content = True
    return wanted


class _OnceConnected:
    """A flag that is true from the client's first connection on. It stays true after a lost connection."""

    def __init__(self, client: discord.Client) -> None:
        self._client = client

    def __bool__(self) -> bool:
        return cast(object, self._client.ws) is not None


class Gateway(discord.Client):
    """A client that passes every frame to `received`, unchanged and in order, and uses no caches of the library."""

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
        # The library's parsers would keep a copy of each event, which Arvis does not need, and an event that they cannot
        # read would end the client.
        self._connection.parsers = {}
        self._jitter = jitter
        self._received = received
        self._lost = lost

    async def login(self, token: str) -> None:
        """Log in. Skip the library's request for the bot's application, because the gateway reports the application."""
        await self._async_setup_hook()
        async with asyncio.timeout(LOGIN_SECONDS):
            await self.http.static_login(token)

    async def connect(self, *, reconnect: bool = True) -> None:  # noqa: ARG002  (always, once connected)
        """Connect, and reconnect after each lost connection. If the first connection fails, this call ends with its
        error."""
        await super().connect(reconnect=cast(bool, _OnceConnected(self)))

    async def before_identify_hook(self, _shard_id: int | None, *, initial: bool = False) -> None:
        """Before a session that replaces a lost session, wait one to five seconds, as Discord requires."""
        if not initial:
            await asyncio.sleep(1 + 4 * self._jitter())

    async def on_socket_raw_receive(self, text: str) -> None:
        self._received(json.loads(text))

    async def on_disconnect(self) -> None:
        self._lost()


# The conversion of Discord's refusals of messages to `SendError`.

#: Every error that a request may raise.
REQUEST_ERRORS = (CallFailed, aiohttp.ClientError, OSError, TimeoutError)

UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
MISSING_PERMISSION = 50013
TOO_LARGE = 40005
#: Codes by which Discord reports that a channel no longer accepts messages of this bot: no such channel or guild, no
#: access or permission, no direct messages (closed, or no guild in common). The code for a locked or archived thread is
#: not included, because other threads of its channel are open.
_GONE = frozenset({UNKNOWN_CHANNEL, 10004, 50001, 50007, MISSING_PERMISSION, 50278})
#: The seconds until the next attempt if Discord rejects the token.
_REJECTED = 15.0
#: The seconds until the next attempt if Discord is unreachable. Such a failure does not count as an attempt.
_AWAY = 30.0


def failure_of(error: Exception) -> Failure:
    """Return the outcome of a request that raised `error`. The error is one of `REQUEST_ERRORS`."""
    match error:
        case CallFailed():
            return error.failure
        case aiohttp.ClientConnectorError():
            return RetryLater("Discord cannot be reached.", _AWAY, "network")
        case _:
            return Uncertain("The connection to Discord was lost.")


def send_error(error: Exception) -> SendError:
    """Return the `SendError` for a send that failed with `error`. The error is one of `REQUEST_ERRORS`."""
    if isinstance(error, CallFailed):
        if error.rejects_token:
            return SendError("Discord does not accept the bot's token.", retry_after=_REJECTED)
        return answers.send_error(error.failure, gone=error.code in _GONE)
    return answers.send_error(failure_of(error))
