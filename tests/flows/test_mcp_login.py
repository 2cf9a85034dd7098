"""Logins to tool servers (OAuth 2.1) against a real authorization server, on both databases."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arvis.app.foundation import Base
from arvis.app.tool_servers import login_text
from arvis.config.servers import McpServer
from arvis.domain.errors import Conflict, LoginRequired, ToolError
from arvis.net.fetcher import open_fetcher
from arvis.ports.store import Store
from arvis.process.clock import SystemClock
from arvis.process.secrets import SealedBox
from arvis.store.open import Database
from arvis.testing.clock import SteppedClock
from arvis.tools.mcp.logins import Access, Logins
from arvis.tools.mcp.servers import LoginState, McpServers, open_servers
from tests.fixtures.oauth_server import Faults, ProtectedServer, parameters
from tests.flows.app_harness import agent_with, open_app
from tests.flows.scripted import asking, call
from tests.flows.test_mcp_client import CALLER, serving, until

REDIRECT = "http://127.0.0.1:8080/oauth/callback"


@pytest.fixture
async def outside() -> AsyncIterator[ProtectedServer]:
    server = ProtectedServer()
    async with serving(server) as url:
        server.url = url
        yield server


class Process:
    """The servers of one process, which shares the store with others."""

    def __init__(self, servers: McpServers, logins: Logins, reports: list[bool]) -> None:
        self.servers = servers
        self.logins = logins
        self.reports = reports

    async def begin(self) -> str:
        return str((await self.servers.begin_login("net", REDIRECT)).url)

    async def log_in(self) -> None:
        await self.servers.finish_login(parameters(await browse(await self.begin())))

    async def call(self) -> str:
        await until(lambda: self.servers.find(["net.add"]))
        (add,) = await self.servers.find(["net.add"])
        return await add.call({"a": 2, "b": 3}, CALLER)

    async def state(self) -> LoginState:
        return (await self.servers.status("net")).login


@asynccontextmanager
async def a_process(store: Store, folder: Path, url: str, **settings: Any) -> AsyncIterator[Process]:
    logins = Logins(store, SealedBox(file=folder / "key", given=None, tell=print), SystemClock())
    reports: list[bool] = []

    @asynccontextmanager
    async def open_client(hosts: Sequence[str]) -> AsyncIterator[Any]:
        async with open_fetcher(allow=hosts) as fetcher:
            yield fetcher

    async def report(_: str, needed: bool) -> None:
        reports.append(needed)

    server = McpServer(name="net", url=f"{url}/mcp", **settings)
    access = Access(logins, open_client, report)
    async with open_servers([server], clock=SystemClock(), store=store, access=access) as servers:
        yield Process(servers, logins, reports)


async def browse(url: str) -> str:
    """Open an address as a browser does, and return the address to which it is sent."""

    def visit() -> str:
        parts = urlsplit(url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        connection.request("GET", f"{parts.path}?{parts.query}")
        answer = connection.getresponse()
        connection.close()
        assert answer.status == 302
        return answer.headers["Location"]

    return await asyncio.to_thread(visit)


async def test_a_person_logs_in_and_every_process_uses_the_login(
    either_store: Store, tmp_path: Path, outside: ProtectedServer
) -> None:
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(a_process(either_store, tmp_path, outside.url)) for _ in range(2)]
        assert await one.servers.all() == []
        await until(lambda: reported(one))
        assert await one.state() is LoginState.NEEDED
        address = await browse(await one.begin())
        # The browser comes back to another process.
        assert await other.servers.finish_login(parameters(address)) == "net"
        await one.servers._servers["net"].retry()
        assert (await one.call(), await other.call()) == ("5", "5")
        assert (await one.state(), one.reports) == (LoginState.DONE, [True, False])
        with pytest.raises(Conflict, match="not known"):
            await one.servers.finish_login(parameters(address))
        kept = await either_store.read(lambda tx: tx.kv.get("mcp login net") or "")
        [grant] = outside.grants
        assert not {token for token in (*grant.access, grant.refresh) if token in kept}
        assert grant.scope == "tools"


async def test_a_login_is_demanded_although_the_server_refuses_older_versions_in_another_way(
    store: Store, tmp_path: Path
) -> None:
    """After the refusal, the package tries an older version of the protocol."""

    async def post(request: Request) -> Response:
        asks = b"server/discover" in await request.body()
        return Response(status_code=401 if asks else 400, headers={"WWW-Authenticate": "Bearer"} if asks else {})

    refusing = Starlette(routes=[Route("/mcp", post, methods=["POST"])])
    async with serving(refusing) as url, a_process(store, tmp_path, url) as one:
        await one.servers.all()
        assert await one.state() is LoginState.NEEDED


async def reported(process: Process) -> bool:
    return bool(process.reports)


async def test_tokens_are_refreshed_once_by_all_processes(
    either_store: Store, tmp_path: Path, outside: ProtectedServer
) -> None:
    async with AsyncExitStack() as stack:
        one, other = [await stack.enter_async_context(a_process(either_store, tmp_path, outside.url)) for _ in range(2)]
        await one.log_in()
        assert (await one.call(), await other.call()) == ("5", "5")
        for _ in range(2):
            outside.expire()
            assert set(await asyncio.gather(one.call(), other.call(), one.call())) == {"5"}
        refreshes = [fields for fields in outside.token_requests if fields["grant_type"] == "refresh_token"]
        assert (len(refreshes), outside.reused) == (2, 0)


async def test_a_lost_login_is_named_by_calls_and_reported(
    store: Store, tmp_path: Path, outside: ProtectedServer
) -> None:
    async with a_process(store, tmp_path, outside.url) as one:
        await one.log_in()
        assert await one.call() == "5"
        outside.grants.clear()
        for _ in range(2):  # the call that notices it, and the next one
            with pytest.raises(ToolError, match="arvis mcp login net"):
                await one.call()
        await until(lambda: lost(one))
        assert await one.state() is LoginState.NEEDED
        await one.log_in()
        assert await one.call() == "5"
        await one.servers.end_login("net")
        assert len(outside.revoked) == 1
        await until(lambda: needed(one))


async def lost(process: Process) -> bool:
    return process.reports[-1]


async def needed(process: Process) -> bool:
    return await process.state() is LoginState.NEEDED


async def test_an_authorization_server_that_fails_for_a_moment_loses_no_login(
    store: Store, tmp_path: Path, outside: ProtectedServer
) -> None:
    async with a_process(store, tmp_path, outside.url) as one:
        await one.log_in()
        assert await one.call() == "5"
        outside.expire()
        outside.faults = Faults(token_status=503)
        with pytest.raises(ToolError):
            await one.call()
        outside.faults = Faults()
        await one.servers._servers["net"].retry()
        await until(lambda: connected(one))
        assert await one.call() == "5"


async def test_a_registration_that_the_authorization_server_has_forgotten_is_made_again(
    store: Store, tmp_path: Path, outside: ProtectedServer
) -> None:
    async with a_process(store, tmp_path, outside.url) as one:
        await one.log_in()
        await one.log_in()
        assert await one.call() == "5"
        assert len(outside.clients) == 1
        outside.clients.clear()
        outside.expire()
        with pytest.raises(ToolError, match="arvis mcp login net"):
            await one.call()
        await one.log_in()
        assert (await one.call(), len(outside.clients)) == ("5", 1)

        # The client is known to the page for people, but not to the token endpoint.
        (client,) = outside.clients.values()
        client["client_secret"] = "changed"
        with pytest.raises(Conflict, match="failed"):
            await one.log_in()
        await one.log_in()
        assert (await one.call(), len(outside.clients)) == ("5", 2)


@pytest.mark.parametrize(("lives", "registrations"), [(-1, 2), (3600, 1)])
async def test_an_expired_registration_is_made_again(
    store: Store, tmp_path: Path, outside: ProtectedServer, lives: int, registrations: int
) -> None:
    outside.faults = Faults(registration={"client_secret_expires_at": SystemClock().now() // 1000 + lives})
    async with a_process(store, tmp_path, outside.url) as one:
        await one.log_in()
        await one.log_in()
        assert await one.call() == "5"
        assert len(outside.clients) == registrations


async def connected(process: Process) -> bool:
    return (await process.servers.status("net")).connected


@pytest.mark.parametrize(
    ("faults", "why"),
    [
        (Faults(metadata={"issuer": "https://other.example"}), "another issuer"),
        (Faults(metadata={"code_challenge_methods_supported": None}), "PKCE"),
        (Faults(metadata={"token_endpoint": "http://other.example/token"}), "without TLS"),
        (Faults(metadata={"registration_endpoint": None}), "client_id"),
        (Faults(about={"resource": "https://other.example/mcp"}), "another resource"),
        (Faults(metadata_address="http://other.example/about"), "without TLS"),
        (Faults(about={"authorization_servers": ["http://other.example"]}), "without TLS: http://other.example"),
        (Faults(about={"authorization_servers": ["https://169.254.169.254"]}), "169.254.169.254"),
        (Faults(about={"authorization_servers": ["http://127.0.0.1:1"]}), "port 1"),
    ],
)
async def test_an_unsafe_authorization_server_is_refused(
    store: Store, tmp_path: Path, outside: ProtectedServer, faults: Faults, why: str
) -> None:
    outside.faults = faults
    async with a_process(store, tmp_path, outside.url) as one:
        with pytest.raises(Conflict) as caught:
            await one.begin()
        assert why in caught.value.why


async def test_an_answer_that_does_not_belong_to_the_attempt_is_refused(
    store: Store, tmp_path: Path, outside: ProtectedServer
) -> None:
    async with a_process(store, tmp_path, outside.url) as one:
        for stated in ("https://other.example", ""):
            outside.faults = Faults(stated_issuer=stated)
            with pytest.raises(Conflict, match="failed"):
                await one.log_in()
        outside.faults = Faults()
        old, new = await one.begin(), await one.begin()
        with pytest.raises(Conflict, match="not known"):
            await one.servers.finish_login(parameters(await browse(old)))
        given = parameters(await browse(new))
        with pytest.raises(Conflict, match="not known"):
            await one.servers.finish_login({**given, "state": "net.guessed"})
        with pytest.raises(Conflict) as caught:
            await one.servers.finish_login({"state": given["state"], "iss": outside.url, "error": "access_denied"})
        assert "access_denied" in caught.value.why
        assert len(outside.grants) == 0
        assert len(outside.clients) == 4, "a registration is only kept with a login"


async def test_an_attempt_expires(store: Store, tmp_path: Path, outside: ProtectedServer) -> None:
    async with a_process(store, tmp_path, outside.url) as one:
        given = parameters(await browse(await one.begin()))
        late = Logins(store, one.logins.box, SteppedClock(now=SystemClock().now() + 601_000))
        assert await late.take(given["state"]) is None
        assert await one.servers.finish_login(given) == "net"


NEEDED = LoginRequired("A person must log in at the server net.", server="net")


async def test_only_an_owner_in_a_direct_chat_gets_the_link(
    database: Database, tmp_path: Path, outside: ProtectedServer
) -> None:
    parts = SimpleNamespace(
        config=SimpleNamespace(web=SimpleNamespace(public_url="http://127.0.0.1:8080/")), clock=SystemClock()
    )
    async with (
        open_app(database, agents=[agent_with(tools=("look",), allow_users=("ann",))]) as app,
        a_process(app.store, tmp_path, outside.url) as one,
    ):
        app.begin_login = partial(login_text, cast("Base", parts), one.servers)

        async def notices(**more: Any) -> list[str]:
            """Ask, let two calls fail in the turn, and return the texts before the reply."""
            app.tools.look.script += [NEEDED, NEEDED]
            app.provider.script += [asking(call(1, "look")), asking(call(2, "look", words="x")), "It needs a login."]
            await app.ask("Look.", **more)
            *before, reply = [each.content for each in await app.deliveries(more["channel"])]
            assert reply == "It needs a login."
            return before

        assert await notices(user="ann", channel="ann") == []
        assert await notices(user="owner", channel="group", is_direct=False, addressed=True) == []
        [text] = await notices(user="owner", channel="owner")
        assert re.search(r"within \d+ minutes", text)
        [link] = [line for line in text.splitlines() if line.startswith("http")]
        assert "state=" in link
        assert "state=" not in repr(app.provider.asked), "the model does not get the link"
        assert await one.servers.finish_login(parameters(await browse(link))) == "net"
        assert await one.call() == "5"
