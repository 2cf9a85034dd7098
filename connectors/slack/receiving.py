"""Receives Slack's events through Bolt, from HTTP requests or Socket Mode, and acknowledges each event after its
commit."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import aiohttp
from slack_bolt.adapter.socket_mode.async_internals import send_async_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from arvis.domain.errors import Unavailable
from arvis.ports.clock import Clock
from connectors import answers
from connectors.slack.api import ApiFailed, SlackApi
from connectors.slack.handling import Handler
from connectors.slack.incoming import BotIdentity

log = logging.getLogger(__name__)


BUSY = 503
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Dispatching:
    """Passes events to the handler through Bolt, one after the other, to keep their order."""

    def __init__(self, *, handler: Handler, me: BotIdentity, secret: str) -> None:
        self._turn = asyncio.Lock()
        # Bolt reads tokens from the environment, and warns if it also gets a token as an argument. Arvis therefore logs
        # only Bolt's errors.
        remarks = logging.getLogger(f"{__name__}.bolt")
        remarks.setLevel(logging.ERROR)
        self._app = AsyncApp(
            # Bolt sets the level of the logger with this name, so no other code may use that logger.
            name=remarks.name,
            client=AsyncWebClient(retry_handlers=[]),
            authorize=_authorize_as(me),
            signing_secret=secret,
            process_before_response=True,
            # The reader drops the bot's own messages; Bolt would also drop events about them that other people cause.
            ignoring_self_events_enabled=False,
            logger=remarks,
        )
        self._app.use(_hand_to(handler))

    async def dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        """Dispatch a request. The response has status 200 if the event was committed, 401 if the signature is wrong, and
        503 if the event could not be stored."""
        async with self._turn:
            return await self._app.async_dispatch(request)

    async def insist(self, request: AsyncBoltRequest, sleep: Callable[[float], Awaitable[None]]) -> BoltResponse:
        """Dispatch an event, and retry while it cannot be stored; all later events wait. Without these retries the event
        could be lost, because Slack repeats it only a few times, and later events would overtake it."""
        pause = _FIRST_PAUSE
        async with self._turn:
            while (response := await self._app.async_dispatch(request)).status == BUSY:
                await sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            return response


# These functions are not methods, because Bolt passes arguments by the names of parameters and would also pass an
# argument for `self`.


def _authorize_as(me: BotIdentity) -> Callable[[], Awaitable[AuthorizeResult]]:
    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id=me.team, bot_user_id=me.user, bot_id=me.bot)

    return authorize


def _hand_to(handler: Handler) -> Callable[[Mapping[str, object]], Awaitable[BoltResponse]]:
    async def take(body: Mapping[str, object]) -> BoltResponse:
        try:
            await handler.take(body)
        except Unavailable:
            return BoltResponse(status=BUSY, body="")
        return BoltResponse(status=200, body="")

    return take


# Socket Mode. Slack's client reconnects by itself, each time with a new address. `Socket` limits how often the client
# reconnects, and ends if Slack refuses the token.


#: `run` fails after this many seconds without a greeting from Slack, so that the failure is reported.
PATIENCE = 120.0
#: The seconds to wait for the closing handshake, which Slack does not always answer.
_FAREWELL_SECONDS = 1.0
#: The timeout in seconds for opening a connection.
_DIAL_SECONDS = 15.0
#: A logger only for Slack's client, because the client writes notes about each connection that do not help an operator.
_client_log = logging.getLogger(f"{__name__}.client")


class Socket(SocketModeClient):
    """Slack's client for one socket. It requests a new address for the socket at most once a second, and less often
    while Slack sends no greeting. `refused` gets the error if Slack rejects the token or sends no greeting for
    `patience` seconds."""

    def __init__(
        self,
        *,
        app_token: str,
        web_client: AsyncWebClient,
        api: SlackApi,
        clock: Clock,
        ping_seconds: float,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(app_token, logger=_client_log, web_client=web_client, ping_interval=ping_seconds)
        self._api = api
        self._clock = clock
        self._patience = patience
        self._failures = 0
        self._lost_at: float | None = None
        self._asked_at: float | None = None
        self._connecting = asyncio.Lock()
        self._handling: set[asyncio.Task[Any]] = set()
        self.refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def greeted(self) -> None:
        self._failures = 0
        self._lost_at = None

    async def issue_new_wss_url(self) -> str:
        await self._pause()
        self._failures += 1
        try:
            answer = await self._api.ask(
                "apps.connections.open", lambda web: web.apps_connections_open(app_token=self.app_token)
            )
        except ApiFailed as error:
            if error.token_refused and not self.refused.done():
                self.refused.set_exception(error)
            if error.retry_after is not None:
                await self._clock.sleep(error.retry_after)
            raise
        url = answers.text(answer.data, "url")
        if not url.startswith(("ws://", "wss://")):
            raise answer.lacks("the address of its socket")
        return url

    async def _pause(self) -> None:
        now = self._clock.monotonic()
        if self._asked_at is not None:
            pause = min(_FIRST_PAUSE * 2 ** min(self._failures, 5), _LONGEST_PAUSE) if self._failures else _FIRST_PAUSE
            pause *= 1 + secrets.randbelow(256) / 1024
            await self._clock.sleep(max(0.0, self._asked_at + pause - now))
        self._asked_at = self._clock.monotonic()

    async def connect(self) -> None:
        """Connect once per address. An address is valid for one connection only, but Slack's client would use it again.
        The client could also open two connections at the same time; the events of the first connection would then never
        be acknowledged."""
        async with self._connecting:
            if self._lost_at is None:
                self._lost_at = self._clock.monotonic()
            await self._abandon()
            session = await self._open()
            if session is None:
                return
            self.current_session = session
            self.auto_reconnect_enabled, self.stale, self.last_ping_pong_time = True, False, None
            for task in (self.current_session_monitor, self.message_receiver):
                if task is not None:
                    task.cancel()
            self.current_session_monitor = asyncio.ensure_future(self.monitor_current_session())
            self.message_receiver = asyncio.ensure_future(self.receive_messages())

    async def _open(self) -> aiohttp.ClientWebSocketResponse | None:
        """Open a connection, and retry until this succeeds. Return None if the client was closed, if Slack refused the
        token, or if there was no greeting for `patience` seconds."""
        while not (self.closed or self.refused.done() or self._out_of_reach()):
            url, self.wss_uri = self.wss_uri, None
            try:
                return await self._dial(url or await self.issue_new_wss_url())
            except (ApiFailed, aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
                log.info("No connection to Slack's socket: %s.", type(error).__name__)
        return None

    def _out_of_reach(self) -> bool:
        """Return True if there was no greeting for `patience` seconds. If so, set the error of `refused`. Without this
        error, the client would retry without limit, and the bot would seem to be connected."""
        lost_for = 0.0 if self._lost_at is None else self._clock.monotonic() - self._lost_at
        if lost_for < self._patience:
            return False
        self.refused.set_exception(ConnectionError("Slack's socket is unreachable"))
        return True

    async def _abandon(self) -> None:
        self.auto_reconnect_enabled = False
        if self.current_session is not None:
            with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError):
                await asyncio.wait_for(self.current_session.close(), _FAREWELL_SECONDS)

    async def _dial(self, url: str) -> aiohttp.ClientWebSocketResponse:
        async with asyncio.timeout(_DIAL_SECONDS):
            return await self.aiohttp_client_session.ws_connect(
                url, autoping=False, heartbeat=self.ping_interval, proxy=self.proxy
            )

    async def run_message_listeners(self, message: dict[str, Any], raw_message: str) -> None:
        """Run the listeners, and record the client's task for this message, so that `close` can cancel the task."""
        task = asyncio.current_task()
        if task is not None:
            self._handling.add(task)
            task.add_done_callback(self._handling.discard)
        await super().run_message_listeners(message, raw_message)

    async def close(self) -> None:
        """Close the client, and cancel the tasks that Slack's own client would leave running."""
        self.closed = True
        own = (self.message_processor, self.current_session_monitor, self.message_receiver)
        tasks = [*self._handling, *(task for task in own if task is not None)]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._abandon()
        await self.aiohttp_client_session.close()
        if not self.refused.cancel() and not self.refused.cancelled():
            self.refused.exception()  # marks the error as retrieved: `run` has raised it already


class Listening:
    """The loop that passes envelopes to the dispatcher until it is cancelled. Before the loop passes an event, it
    awaits `ready` with the event's channel. It calls `greeted` when a connection is established."""

    def __init__(
        self,
        *,
        dispatching: Dispatching,
        ready: Callable[[str], Awaitable[None]],
        greeted: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._dispatching = dispatching
        self._ready = ready
        self._greeted = greeted
        self._clock = clock

    async def run(self, socket: Socket) -> None:
        """Run until cancelled. Raise `ApiFailed` if Slack gives no first address or later refuses the token, and
        `ConnectionError` if Slack becomes unreachable."""
        socket.message_listeners.append(self._hear)
        socket.socket_mode_request_listeners.append(self._take)
        try:
            socket.wss_uri = await socket.issue_new_wss_url()
            await socket.connect()
            await socket.refused
        finally:
            await socket.close()

    async def _hear(self, client: AsyncBaseSocketModeClient, message: dict[str, Any], _raw: str | None) -> None:
        if message.get("type") == "hello" and isinstance(client, Socket):
            client.greeted()
            self._greeted()

    async def _take(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        try:
            if channel := answers.text(request.payload, "event", "channel"):
                await self._ready(channel)
            bolt = AsyncBoltRequest(mode="socket_mode", body=request.payload)
            response = await self._dispatching.insist(bolt, self._clock.sleep)
            await send_async_response(client, request, response, time.time())
        except ConnectionError:
            # The event is committed, but the connection is gone: Slack sends the event again, and the inbox ignores it.
            log.debug("An envelope was committed after its connection had ended.")
