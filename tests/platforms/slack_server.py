"""Slack on 127.0.0.1 by its public documentation: Web API, Socket Mode, files and response URLs.

An envelope that is not acknowledged within `ack_seconds` is sent again, up to three times, with `retry_attempt` and
`retry_reason`. The server keeps its state while clients connect and disconnect.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import WSMsgType, web

from tests.platforms.faults.wire import SlackDialect, Wire
from tests.platforms.slack_server_api import WebApi, public
from tests.platforms.slack_server_world import (
    APP_ID,
    APP_TOKEN,
    BOT_TOKEN,
    BOT_USER,
    SIGNING_SECRET,
    TEAM,
    Channel,
    Json,
    Refused,
    World,
)

SENDS = frozenset({"chat.postMessage", "chat.update", "files.completeUploadExternal"})


@dataclass(frozen=True)
class Asked:
    """A request of the app. `at` is `time.monotonic()`."""

    method: str
    values: Json
    at: float


@dataclass
class Fault:
    """The fate of the next sends: refused, or cut off before or after their effect."""

    count: int
    status: int = 200
    error: str = ""
    retry_after: float | None = None
    reset: str = ""
    methods: frozenset[str] = SENDS


@dataclass
class Envelope:
    id: str
    kind: str
    payload: Json
    attempts: int = 0
    acknowledged: asyncio.Event = field(default_factory=asyncio.Event)


class SlackServer:
    """`lag` returns the seconds between the effect of a send and its answer."""

    def __init__(self, *, ack_seconds: float = 3.0, retry_pauses: Sequence[float] = (0.0, 60.0, 300.0)) -> None:
        self.world = World()
        self.api = WebApi(self.world, self.emit)
        self.ack_seconds = ack_seconds
        self.retry_pauses = retry_pauses
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        self.envelopes: list[Envelope] = []
        self.given_up: list[Envelope] = []
        self.responses: list[Json] = []
        self.files: dict[str, tuple[str, bytes]] = {}
        self.takes_markdown = True
        self.lag: Callable[[], float] = lambda: 0.0
        self.wire = Wire(SlackDialect())
        self.broken_links = 0
        self.refused_token: str | None = None
        self.refused_app_token: str | None = None
        self.connected = asyncio.Event()
        self._sockets: list[web.WebSocketResponse] = []
        self._tickets: set[str] = set()
        self._numbers = itertools.count(1)
        self._response_urls: dict[str, tuple[int, str, str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def root(self) -> str:
        return self.api.root

    # --- Life ---

    @asynccontextmanager
    async def serve(self, port: int = 0) -> AsyncIterator[SlackServer]:
        app = web.Application(client_max_size=64 * 1024 * 1024, middlewares=[self.wire.middleware])
        app.router.add_route("*", "/api/{method}", self._take_call)
        app.router.add_get("/link", self._take_socket)
        app.router.add_post("/upload/v1/{file}", self._take_upload)
        app.router.add_get("/files-pri/{file}", self._give_file)
        app.router.add_get("/login", self._give_login)
        app.router.add_post("/respond/{id}", self._take_response)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        await site.start()
        self.api.root = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            handles: list[asyncio.TimerHandle | asyncio.Task[None]] = [*self._timers, *self._tasks]
            for handle in handles:
                handle.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self.drop_connections()
            await runner.cleanup()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- The Web API ---

    async def _take_call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        values: Json = dict(request.query)
        if request.content_type == "application/json":
            values |= await request.json()
        else:
            values |= {key: value for key, value in (await request.post()).items() if isinstance(value, str)}
        self.asked.append(Asked(method, values, time.monotonic()))
        fault = self._next_fault(method)
        if fault is not None and fault.reset == "before":
            return _cut(request)
        if fault is not None and not fault.reset:
            return _refusal(fault)
        response = self._answer(method, values, request.headers.get("Authorization", "").removeprefix("Bearer "))
        await asyncio.sleep(self.lag() if method in SENDS else 0)
        return _cut(request) if fault is not None else response

    def _answer(self, method: str, values: Json, token: str) -> web.Response:
        try:
            self._check_token(method, token)
            if not self.takes_markdown and '"markdown"' in json.dumps(values.get("blocks")):
                raise Refused("invalid_blocks")
            body = self._open_connection() if method == "apps.connections.open" else self.api.call(method, values)
        except Refused as refused:
            body = refused.body
        headers = {"x-oauth-scopes": ",".join(sorted(self.world.scopes))}
        return web.json_response(body, headers=headers)

    def _check_token(self, method: str, token: str) -> None:
        wants_app = method == "apps.connections.open"
        refused = self.refused_app_token if wants_app else self.refused_token
        if refused is not None:
            raise Refused(refused)
        if not token:
            raise Refused("not_authed")
        if token not in {BOT_TOKEN, APP_TOKEN}:
            raise Refused("invalid_auth")
        if token != (APP_TOKEN if wants_app else BOT_TOKEN):
            raise Refused("not_allowed_token_type")

    def _next_fault(self, method: str) -> Fault | None:
        fault = next((each for each in self.faults if each.count > 0 and method in each.methods), None)
        if fault is not None:
            fault.count -= 1
        return fault

    # --- Socket Mode ---

    def _open_connection(self) -> Json:
        ticket = f"ticket-{next(self._numbers)}"
        self._tickets.add(ticket)
        return {"ok": True, "url": f"{self.root.replace('http', 'ws', 1)}/link?ticket={ticket}&app_id={APP_ID}"}

    async def _take_socket(self, request: web.Request) -> web.StreamResponse:
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=404)
        self._tickets.discard(ticket)
        if self.broken_links > 0:
            self.broken_links -= 1
            return web.Response(status=503)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        info = {"host": "applink-1", "approximate_connection_time": 18060}
        hello = {"type": "hello", "num_connections": len(self._sockets) + 1, "debug_info": info}
        await socket.send_json({**hello, "connection_info": {"app_id": APP_ID}})
        self._sockets.append(socket)
        self.connected.set()
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self._acknowledge(json.loads(message.data))
        finally:
            self._sockets = [each for each in self._sockets if each is not socket]
            if not self._sockets:
                self.connected.clear()
        return socket

    def _acknowledge(self, message: Json) -> None:
        for envelope in self.envelopes:
            if envelope.id == message.get("envelope_id"):
                envelope.acknowledged.set()

    async def refresh(self) -> None:
        """Ask the clients to reconnect, and close the current connections soon afterwards."""
        for socket in list(self._sockets):
            await socket.send_json({"type": "disconnect", "reason": "refresh_requested", "debug_info": {}})

    async def drop_connections(self) -> None:
        """Cut all sockets, as a broken network does."""
        for socket in list(self._sockets):
            transport = socket._req.transport if socket._req is not None else None
            if transport is not None:
                transport.abort()
        self._sockets.clear()
        self.connected.clear()
        await asyncio.sleep(0)

    def emit(self, event: Json) -> Envelope:
        """Send an event to the app, and repeat it until it is acknowledged or Slack gives up."""
        number = next(self._numbers)
        payload = {
            "type": "event_callback",
            "team_id": TEAM,
            "api_app_id": APP_ID,
            "event_id": f"Ev{number:08}",
            "event_time": int(time.time()),
            "authorizations": [{"team_id": TEAM, "user_id": BOT_USER, "is_bot": True, "is_enterprise_install": False}],
            "event": event,
        }
        return self.send("events_api", payload)

    def send(self, kind: str, payload: Json) -> Envelope:
        envelope = Envelope(f"envelope-{next(self._numbers)}", kind, payload)
        self.envelopes.append(envelope)
        self._start(self._offer(envelope))
        return envelope

    async def _offer(self, envelope: Envelope) -> None:
        message: Json = {"envelope_id": envelope.id, "type": envelope.kind, "payload": envelope.payload}
        message |= {"accepts_response_payload": envelope.kind != "events_api"}
        if envelope.kind == "events_api":
            message |= {"retry_attempt": envelope.attempts, "retry_reason": "timeout" if envelope.attempts else ""}
        envelope.attempts += 1
        if self._sockets:
            with contextlib.suppress(ConnectionError):
                await self._sockets[-1].send_json(message)
        self._later(self.ack_seconds, lambda: self._look_after(envelope))

    def _look_after(self, envelope: Envelope) -> None:
        if envelope.acknowledged.is_set():
            return
        # Only events are repeated. A user whose button or command failed sees an error.
        pauses = self.retry_pauses if envelope.kind == "events_api" else ()
        if envelope.attempts > len(pauses):
            self.given_up.append(envelope)
        else:
            self._later(pauses[envelope.attempts - 1], lambda: self._start(self._offer(envelope)))

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._timers = [timer for timer in self._timers if not timer.cancelled() and timer.when() > loop.time()]
        self._timers.append(loop.call_later(seconds, work))

    # --- Files and response addresses ---

    async def _take_upload(self, request: web.Request) -> web.StreamResponse:
        upload = self.api.uploads.get(request.match_info["file"])
        data = await request.read()
        if upload is None or len(data) != upload["length"]:
            return web.Response(status=400, text="bad upload")
        upload["data"] = data
        return web.Response(text=f"OK - {len(data)}")

    async def _give_file(self, request: web.Request) -> web.StreamResponse:
        allowed = request.headers.get("Authorization") == f"Bearer {BOT_TOKEN}" and "files:read" in self.world.scopes
        if not allowed:
            raise web.HTTPFound(f"/login?redir={request.path}")
        kind, data = self.files[request.match_info["file"]]
        return web.Response(body=data, content_type=kind)

    async def _give_login(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Sign in to Slack</html>", content_type="text/html")

    def response_url(self, channel: str, ts: str) -> str:
        number = f"r{next(self._numbers)}"
        self._response_urls[number] = (5, channel, ts)
        return f"{self.root}/respond/{number}"

    async def _take_response(self, request: web.Request) -> web.StreamResponse:
        left, channel, ts = self._response_urls[request.match_info["id"]]
        if left == 0:
            return web.json_response({"ok": False, "error": "used_url"}, status=404)
        self._response_urls[request.match_info["id"]] = (left - 1, channel, ts)
        body = await request.json()
        message = self.world.channels[channel].find(ts)
        if body.get("replace_original") and message is not None:
            before = public(message)
            message.update(text=body.get("text", ""), blocks=body.get("blocks", []))
            self.api.changed(self.world.channels[channel], message, before)
        self.responses.append(body)
        return web.json_response({"ok": True})


def signed(body: str, *, at: float | None = None, secret: str = SIGNING_SECRET) -> dict[str, str]:
    """Return the headers of a request from Slack."""
    stamp = str(int(time.time() if at is None else at))
    digest = hmac.new(secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
    return {
        "content-type": "application/json",
        "x-slack-request-timestamp": stamp,
        "x-slack-signature": f"v0={digest}",
    }


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _refusal(fault: Fault) -> web.Response:
    headers = {} if fault.retry_after is None else {"Retry-After": f"{fault.retry_after:g}"}
    if fault.status == 429:
        return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)
    if fault.status >= 500:
        return web.Response(status=fault.status, text="<html>trouble</html>", content_type="text/html")
    return web.json_response({"ok": False, "error": fault.error or "invalid_arguments"})


__all__ = ["APP_TOKEN", "BOT_TOKEN", "SIGNING_SECRET", "Channel", "Fault", "SlackServer", "signed"]
