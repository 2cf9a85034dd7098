"""A real web server on a free port, over the real store and bus."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
from pydantic import SecretStr
from websockets.asyncio.client import ClientConnection, connect

from arvis.bus import EventBus
from arvis.config.sections import ApiKey, Limits, Web
from arvis.domain.events import StatusChanged
from arvis.domain.messages import MessageStatus, Principal
from arvis.ports.store import Transaction
from arvis.store.blobs import Blobs
from arvis.store.migrations import available, migrate
from arvis.store.sqlite import SqliteStore
from arvis.store.sqlite_migration import SqliteTarget
from arvis.store.sqlite_session import connect as open_database
from arvis.web.patience import Patience
from arvis.web.server import WebServer
from tests.flows.web_script import ScriptedInbox, ScriptedInsights, ScriptedOperations

DAEMON_KEY = "daemon-key-of-the-data-folder"
OWNER_KEY = "owner-key-of-the-configuration"
OPERATOR_KEY = "operator-key"
VIEWER_KEY = "viewer-key"
CHAT_KEY = "chat-key"
AGENT_KEY = "chat-key-for-helper"
KEYS = (
    ApiKey(key=SecretStr(OWNER_KEY)),
    ApiKey(key=SecretStr(OPERATOR_KEY), role="operator"),
    ApiKey(key=SecretStr(VIEWER_KEY), role="viewer"),
    ApiKey(key=SecretStr(CHAT_KEY), role="chat"),
    ApiKey(key=SecretStr(AGENT_KEY), role="chat", agents=("helper",)),
)


class MovableClock:
    """The real clock, put forward by `shift_ms`."""

    def __init__(self) -> None:
        self.shift_ms = 0

    def now(self) -> int:
        return int(time.time() * 1000) + self.shift_ms

    def monotonic(self) -> float:
        return time.monotonic() + self.shift_ms / 1000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass
class Site:
    """The running server with everything a test wants to reach."""

    server: WebServer
    http: aiohttp.ClientSession
    store: SqliteStore
    bus: EventBus
    clock: MovableClock
    inbox: ScriptedInbox
    insights: ScriptedInsights
    operations: ScriptedOperations
    roles: dict[str, bool] = field(default_factory=lambda: {"web": True})

    @property
    def url(self) -> str:
        return self.server.url

    async def call(
        self,
        method: str,
        path: str,
        *,
        key: str | None = DAEMON_KEY,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Answer:
        sent = {**({"Authorization": f"Bearer {key}"} if key is not None else {}), **(headers or {})}
        async with self.http.request(method, self.url + path, headers=sent, **more) as response:
            text = await response.text()
            return Answer(response.status, dict(response.headers), text, response.cookies.output())

    def rest(self, message_id: str, status: MessageStatus, **changes: Any) -> None:
        """Let a message come to rest: the row first, the event second."""
        timeline = self.insights.timelines[message_id]
        self.insights.timelines[message_id] = replace(timeline, status=status, **changes)
        self.bus.publish(StatusChanged(timeline.message.address, message_id, status))

    @contextlib.asynccontextmanager
    async def socket(self, **auth: Any) -> AsyncIterator[Socket]:
        """A socket that has said who it is (by default with the daemon's key)."""
        headers = auth.pop("headers", None)
        async with connect(self.url.replace("http", "ws") + "/ws", additional_headers=headers) as connection:
            socket = Socket(connection)
            await socket.send(type="auth", **{"apiKey": DAEMON_KEY, **auth})
            socket.greeting = await socket.receive()
            assert socket.greeting["type"] == "auth_ok", socket.greeting
            yield socket

    async def log_in(self) -> str:
        """The value of a fresh session's cookie."""
        code = (await self.call("POST", "/api/auth/codes")).json()["code"]
        answer = await self.call("POST", "/api/auth/login", key=None, json={"code": code})
        assert answer.status == 200, answer.text
        return answer.cookies.partition("arvis_session=")[2].partition(";")[0]


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str
    cookies: str

    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """The code of the error form; fails when it is not that form."""
        error = self.json()["error"]
        assert set(error) == {"code", "message", "fix"}
        assert error["message"]
        assert error["fix"]
        return str(error["code"])


class Socket:
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.greeting: dict[str, Any] = {}

    async def send(self, **frame: Any) -> None:
        await self.connection.send(json.dumps(frame))

    async def receive(self) -> dict[str, Any]:
        async with asyncio.timeout(5):
            found = json.loads(await self.connection.recv())
        assert isinstance(found, dict)
        return found

    async def until(self, kind: str) -> dict[str, Any]:
        while (found := await self.receive())["type"] != kind:
            pass
        return found

    async def close_code(self) -> int | None:
        """What the server hung up with."""
        async with asyncio.timeout(5):
            await self.connection.wait_closed()
        return self.connection.close_code


@contextlib.asynccontextmanager
async def running_site(
    folder: Path, *, web: Web | None = None, limits: Limits | None = None, patience: Patience | None = None
) -> AsyncIterator[Site]:
    path = folder / "arvis.db"
    with contextlib.closing(open_database(path, writing=True)) as database:
        migrate(SqliteTarget(connection=database, backups=folder / "backups", now=0), available())
    store = SqliteStore(path=path, blobs=Blobs(folder / "blobs"), new_id=lambda: secrets.token_hex(13).upper())
    store.start()
    bus, clock, insights = EventBus(), MovableClock(), ScriptedInsights()
    inbox, operations = ScriptedInbox(insights, bus), ScriptedOperations(insights)
    roles = {"web": True}
    server = WebServer(
        config=web or Web(port=0, api_keys=KEYS), limits=limits or Limits(), owners=("ann",), daemon_key=DAEMON_KEY,
        inbox=inbox, insights=insights, operations=operations, store=store, bus=bus, clock=clock,
        new_token=lambda: secrets.token_urlsafe(16), roles=lambda: roles, patience=patience or Patience(),
    )  # fmt: skip
    await server.start()
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(cookie_jar=jar, timeout=aiohttp.ClientTimeout(total=20)) as http:
        yield Site(server, http, store, bus, clock, inbox, insights, operations, roles)
    await server.stop()
    await store.stop()


def principal_of(tx: Transaction, user_id: str) -> Principal | None:
    return tx.principals.find("web", user_id)
