"""A real web server on a free port, over the real store and bus."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
from pydantic import SecretStr
from websockets.asyncio.client import ClientConnection, connect

from arvis.bots.connectors import ConnectorFactory, ConnectorPool
from arvis.bots.registry import BotRegistry
from arvis.bots.service import BotService
from arvis.bus import EventBus
from arvis.config.schema import BotEntry
from arvis.config.sections import ApiKey, Limits, Web
from arvis.domain.events import StatusChanged
from arvis.domain.messages import MessageStatus, Principal
from arvis.domain.runs import Account
from arvis.llm.accounts import AccountRegistry, AccountService
from arvis.operations import StoreOperations
from arvis.ports.clock import Clock
from arvis.ports.connector import ConnectorServices
from arvis.ports.http import Fetcher
from arvis.ports.operations import Operations
from arvis.ports.provider import Provider
from arvis.ports.store import Store, Transaction
from arvis.process.clock import IdMaker
from arvis.process.logging import Redactor
from arvis.process.on_demand import OnDemand
from arvis.process.sandbox import Bubblewrap
from arvis.process.secrets import Argon2Passwords, SealedBox, secrets_key_file
from arvis.skills.files import StoredSkillFiles
from arvis.skills.importing import Importer
from arvis.skills.registry import SkillRegistry
from arvis.skills.sources import Sources
from arvis.speech import UtteranceRules
from arvis.store.backups.service import BackupService
from arvis.store.open import Database, open_store
from arvis.testing.providers import GivenProviders
from arvis.tools.mcp.servers import McpServers
from arvis.web.auth.sessions import LoginCodes
from arvis.web.dependencies import PAGE_FOLDER, AdminServices, WebDependencies
from arvis.web.event_counts import EventCounts
from arvis.web.http.limits import Timeouts, message_limit
from arvis.web.http.models import schema_of
from arvis.web.http.schema import ERROR
from arvis.web.latency import LatencySeries, Observers
from arvis.web.realtime.connector import WebConnector
from arvis.web.server import WebServer
from arvis.web.wiring import Assembly
from tests.conformance.databases import migrated
from tests.files.backup_kit import WatchedBackups
from tests.flows import app_harness as flow
from tests.flows.web_admin import admin_services
from tests.flows.web_script import ScriptedInbox, ScriptedInsights, ScriptedOperations

DAY_MS = 86_400_000
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
    """The real clock, advanced by `shift_ms`; `monotonic_ms` advances only the clock of rate limits, so that no
    login, key or code expires meanwhile."""

    def __init__(self) -> None:
        self.shift_ms = 0
        self.monotonic_ms = 0

    def now(self) -> int:
        return int(time.time() * 1000) + self.shift_ms

    def monotonic(self) -> float:
        return time.monotonic() + (self.shift_ms + self.monotonic_ms) / 1000

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass
class Site:
    """The running server with all parts that a test needs."""

    server: WebServer
    handling: OnDemand[Assembly]
    http: aiohttp.ClientSession
    store: Store
    bus: EventBus
    clock: MovableClock
    inbox: ScriptedInbox
    insights: ScriptedInsights
    operations: ScriptedOperations
    connector: WebConnector
    book: AccountRegistry
    redact: Redactor
    fleet: ConnectorPool
    roles: dict[str, bool] = field(default_factory=lambda: {"web": True})

    @property
    def parts(self) -> Assembly:
        return self.handling.now()

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
            text = await response.text(errors="replace")
            lowered = {name.lower(): value for name, value in response.headers.items()}
            answer = Answer(response.status, lowered, text)
        self._check_shape(method, path, answer)
        return answer

    def _check_shape(self, method: str, path: str, answer: Answer) -> None:
        """Check a response against its route in /openapi.json."""
        for endpoint in self.parts.endpoints:
            pattern = re.sub(r"\{\w+\}", "[^/]+", endpoint.path)
            if endpoint.method == method and re.fullmatch(pattern, path.partition("?")[0]):
                own = endpoint.errors is not None and answer.own_form
                refused = endpoint.errors.schema if own and endpoint.errors else ERROR
                schema = endpoint.answers.get(answer.status, None if answer.status < 400 else refused)
                assert schema is not None, f"{method} {path} answers {answer.status}, which is not described"
                if answer.headers["content-type"] == "application/json":
                    check_shape(answer.json(), schema_of(schema), f"{method} {path}")
                return  # if two routes match, the first one serves the request

    def rest(self, message_id: str, status: MessageStatus, **changes: Any) -> None:
        """Settle a message: write the row first, then publish the event."""
        timeline = self.insights.timelines[message_id]
        self.insights.timelines[message_id] = replace(timeline, status=status, **changes)
        self.bus.publish(StatusChanged(timeline.message.address, message_id, status))

    @contextlib.asynccontextmanager
    async def socket(self, **auth: Any) -> AsyncIterator[Socket]:
        """Open an authenticated socket (by default with the daemon's key)."""
        headers = auth.pop("headers", None)
        async with connect(self.url.replace("http", "ws") + "/ws", additional_headers=headers) as connection:
            socket = Socket(connection)
            await socket.send(type="auth", **{"apiKey": DAEMON_KEY, **auth})
            socket.greeting = await socket.receive()
            assert socket.greeting["type"] == "auth_ok", socket.greeting
            yield socket

    async def log_in(self) -> str:
        """Return the cookie value of a new session."""
        code = (await self.call("POST", "/api/auth/codes")).json()["code"]
        answer = await self.call("POST", "/api/auth/login", key=None, json={"code": code})
        assert answer.status == 200, answer.text
        return answer.headers["set-cookie"].partition("arvis_session=")[2].partition(";")[0]


@dataclass
class Answer:
    """A response, with header names in lower case."""

    status: int
    headers: dict[str, str]
    text: str

    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def own_form(self) -> bool:
        """Return true for an error in OpenAI's format, which `/v1` uses after routing."""
        return self.status >= 400 and "param" in self.json()["error"]

    @property
    def code(self) -> str:
        """Return the code of an error; fails when the error has neither our format nor OpenAI's."""
        error = self.json()["error"]
        if self.own_form:
            return str(error["code"])
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
        """Return the code with which the server closed the socket."""
        async with asyncio.timeout(5):
            await self.connection.wait_closed()
        return self.connection.close_code


@contextlib.asynccontextmanager
async def running_site(
    folder: Path,
    *,
    web: Web | None = None,
    limits: Limits | None = None,
    patience: Timeouts | None = None,
    page_folder: Path = PAGE_FOLDER,
    real_insights: bool = False,
    real_operations: bool = False,
    behind: flow.AppHarness | None = None,
    through: bool = False,
    accounts: Sequence[Account] = (),
    providers: Mapping[str, Provider] | None = None,
    fetcher: Fetcher | None = None,
    configured: Sequence[BotEntry] = (),
    maker: ConnectorFactory | None = None,
    speech: UtteranceRules | None = None,
    admin: AdminServices | None = None,
) -> AsyncIterator[Site]:
    database = Database(file=folder / "arvis.db", url=None, folder=folder)
    migrated(database, 0)
    bus, clock, insights, connector, redact = EventBus(), MovableClock(), ScriptedInsights(), WebConnector(), Redactor()
    inbox, operations = ScriptedInbox(insights, bus), ScriptedOperations(insights)
    roles, bot_health = {"web": True}, {"plain/main": False}
    new_id = IdMaker(clock=clock, random_bits=secrets.randbits)
    async with contextlib.AsyncExitStack() as stack:
        store, reading = await stack.enter_async_context(open_store(database, boot="test", new_id=new_id))
        acts: Operations = StoreOperations(store=store, bus=bus, clock=clock) if real_operations else operations
        if behind is not None:  # the whole path of a message behind the server
            store, reading, acts, real_insights = behind.store, behind.insights, behind.operations, True
        if behind is not None and through:  # messages to the server go the whole path, too
            inbox, bus, clock = behind.inbox, behind.bus, behind.clock  # type: ignore[assignment]
            behind.connectors["web", "web"] = connector
        box = SealedBox(file=secrets_key_file(folder), given=None, tell=redact.learn)
        book = AccountRegistry(configured=accounts, store=store, secrets=box)
        registry = SkillRegistry(store=store, clock=clock, folder=folder / "skills")
        await (bot_book := BotRegistry(configured=configured, store=store, secrets=box)).learn()
        maker = maker or ConnectorFactory(services=ConnectorServices(clock=clock, commands=()))
        fleet = ConnectorPool(registry=bot_book, maker=maker)
        deps = WebDependencies(
            config=web or Web(port=0, api_keys=KEYS), limits=limits or Limits(), owners=("ann",), daemon_key=DAEMON_KEY, inbox=inbox, insights=reading if real_insights else insights,
            bots=BotService(registry=bot_book, maker=maker, store=store, secrets=box, bus=bus, clock=clock),
            bot_connector=fleet.connector, bot_health=lambda: bot_health, operations=acts, backups=BackupService(database=database, every=DAY_MS, clock=clock, watch=WatchedBackups(), restart=lambda: None),
            accounts=AccountService(book=book, store=store, secrets=box, providers=GivenProviders(providers or {}), bus=bus, clock=clock),
            secrets=box, passwords=Argon2Passwords(), store=store, connector=connector, bus=bus, clock=clock, roles=lambda: roles,
            new_token=lambda: secrets.token_urlsafe(16), room=lambda: not inbox.full, timeouts=patience or Timeouts(), page_folder=page_folder,
            admin=admin or await admin_services(folder, store, bus, clock), tool_servers=McpServers((), clock=clock, store=store), addresses=_fetcher_of(fetcher), skills=_importer(fetcher, store, registry, clock, folder), all_owners={"chat": ("boss",)}, speech=speech or UtteranceRules(),
        )  # fmt: skip
        handling: dict[Any, OnDemand[Assembly]] = {}
        server = _server(deps, handling)
        await server.start()
        stack.push_async_callback(server.stop)
        http = await stack.enter_async_context(a_client())
        [parts] = handling.values()
        yield Site(
            server, parts, http, store, bus, clock, inbox, insights, operations, connector, book, redact, fleet, roles
        )


def _server(deps: WebDependencies, handling: dict[Any, OnDemand[Assembly]]) -> WebServer:
    """Return the server. At its start it adds its parts to `handling`."""
    store, clock, connector = deps.store, deps.clock, deps.connector
    observers = Observers(LatencySeries(insights=deps.insights, store=store, clock=clock, zone=deps.zone), EventCounts(since=clock.now()))  # fmt: skip
    return WebServer(
        config=deps.config, bus=deps.bus, timeouts=deps.timeouts, max_frame=message_limit(deps.limits).size,
        new_code=LoginCodes(store=store, clock=clock, new_token=deps.new_token).new_code,
        listeners=(connector, observers.latency, observers.counts), handling=lambda link: handling.setdefault(link, OnDemand("arvis.web.wiring:Assembly", deps=deps, observers=observers, login_link=link)),
    )  # fmt: skip


def a_client() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(total=20))


def _fetcher_of(fetcher: Fetcher | None) -> Any:
    async def given() -> Any:
        assert fetcher is not None
        return fetcher

    return given


def _importer(fetcher: Fetcher | None, store: Store, registry: SkillRegistry, clock: Clock, folder: Path) -> Importer:
    given = _fetcher_of(fetcher)
    sources = Sources(network=given, sandbox=Bubblewrap(hidden=[folder]))
    files = StoredSkillFiles(skills=registry.current, store=store, folder=folder / "skill-files", clock=clock)
    return Importer(sources=sources, files=files, store=store, registry=registry, clock=clock)


def check_shape(value: Any, schema: Mapping[str, Any], where: str) -> None:
    """Check the part of JSON Schema that `arvis.web.http.schema` uses."""
    if "anyOf" in schema:
        fitting = [one for one in schema["anyOf"] if KINDS[one["type"]](value)]
        assert fitting, f"{where} is {value!r}"
        schema = fitting[0]
    assert KINDS[schema.get("type", "anything")](value), f"{where} is {value!r}, not {schema}"
    assert "enum" not in schema or value in schema["enum"], f"{where} is {value!r}, not one of {schema['enum']}"
    for name in schema.get("required", ()):
        assert name in value, f"{where} lacks {name}"
    for name, part in schema.get("properties", {}).items():
        if name in value:
            check_shape(value[name], part, f"{where}.{name}")
    if "items" in schema:
        for item in value:
            check_shape(item, schema["items"], f"{where}[]")


KINDS: Mapping[str, Callable[[Any], bool]] = {
    "anything": lambda _: True,
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def files_with(text: str, folder: Path) -> list[Path]:
    """Return the files below a folder that contain a text unencrypted."""
    return [file for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


async def eventually(true: Callable[[], object]) -> None:
    """Poll until a condition of the server holds that has no event of its own."""
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def principal_of(tx: Transaction, user_id: str) -> Principal | None:
    return tx.principals.find("web", user_id)
