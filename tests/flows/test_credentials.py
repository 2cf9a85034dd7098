"""Credentials: the daemon inserts them into requests, and no model, row or log sees the secret."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import structlog

from arvis.domain.accounts import Variable
from arvis.domain.agents import Agent
from arvis.domain.credentials import Credential, flaws_of, insertion_of
from arvis.domain.dataclass import replace
from arvis.domain.errors import ToolError, Unprocessable
from arvis.domain.messages import MessageStatus
from arvis.domain.taint import Label
from arvis.domain.tools import ToolCall, ToolOutput
from arvis.extensions import is_risky
from arvis.graphs.agent.outgoing import found_in
from arvis.media import WebFileReader
from arvis.net.client import open_http_client
from arvis.net.fetcher import open_fetcher
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import Caller, ToolServices
from arvis.process.sandbox import Bubblewrap
from arvis.process.secrets import SealedBox
from arvis.process.subprocesses import GuardedPrograms
from arvis.prompt import Round
from arvis.services import credentials
from arvis.services.credentials import StoredCredentials
from arvis.store.open import Database
from arvis.testing.clock import SteppedClock
from arvis.tools import get_variable, http_fetch
from arvis.tools.code.tool import ScriptCalls, named
from tests.flows.app_harness import open_app
from tests.flows.scripted import asking
from tests.wings.listening import listening

SECRET = "s3cr3t/token+value"
AGENT = Agent("agent-helper", "helper", "Helper", tools=("http_fetch", "get_variable"), credentials=("shop",))
OTHER = replace(AGENT, credentials=())


class Server:
    """A server that records the heads of requests and repeats them, as servers that report errors do."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self.redirects: dict[str, str] = {}
        self.port = 0

    @property
    def authorizations(self) -> list[str | None]:
        lines = [dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line) for head in self.heads]
        return [each.get("Authorization") for each in lines]

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.heads.append(head)
        target = self.redirects.get(head.split(" ")[1])
        data = head.encode() + base64.b64encode(SECRET.encode())
        start = "200 OK" if target is None else f"302 Found\r\nLocation: {target}"
        head = (
            f"HTTP/1.1 {start}\r\nContent-Type: text/plain\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode() + data)


@asynccontextmanager
async def opened_services(store: Store, folder: Path, *servers: Server) -> AsyncIterator[ToolServices]:
    box = SealedBox(file=folder / "key", given=None, tell=lambda _: None)
    async with AsyncExitStack() as stack:
        for server in servers:
            server.port = await stack.enter_async_context(listening(server.talk))
        hosts = [f"127.0.0.1:{server.port}" for server in servers]
        await store.write(_stored, box.seal(SECRET), hosts[0])
        yield ToolServices(
            store=store,
            clock=SteppedClock(),
            fetcher=await stack.enter_async_context(open_fetcher(allow=hosts)),
            http=await stack.enter_async_context(open_http_client()),
            sandbox=Bubblewrap(hidden=[folder]),
            secrets=box,
            search=cast("Any", None),
            reader=WebFileReader(programs=GuardedPrograms()),
            credentials=StoredCredentials(store=store, secrets=box),
        )


def _stored(tx: Transaction, sealed: str, host: str) -> None:
    tx.variables.put(Variable("shop.token", sealed, secret=True), 1)
    credentials.put(tx, Credential("shop", "shop.token", (host,)), by="ann", now=1)


def caller(agent: Agent, folder: Path) -> Caller:
    return Caller(agent, None, "c", "e", None, "e-1-1", folder, "UTC")


async def test_the_header_arrives_and_the_secret_does_not_come_back(store: Store, tmp_path: Path) -> None:
    server, elsewhere = Server(), Server()
    async with opened_services(store, tmp_path, server, elsewhere) as services:
        fetch = http_fetch.create(services)
        url = f"http://127.0.0.1:{server.port}/orders"
        text = await fetch.call({"url": url}, caller(AGENT, tmp_path))
        assert server.authorizations == [f"Bearer {SECRET}"]
        assert text.startswith(f"{url} (with the credential shop)\n")
        assert "Authorization: Bearer ••••••••" in text
        assert SECRET not in text
        assert base64.b64encode(SECRET.encode()).decode() not in text

        # Another agent sends no header, and does not get the kept page.
        plain = await fetch.call({"url": url, "offset": 1}, caller(OTHER, tmp_path))
        assert server.authorizations[1:] == [None]
        assert "with the credential" not in plain
        await fetch.call({"url": f"http://127.0.0.1:{elsewhere.port}/"}, caller(AGENT, tmp_path))
        assert elsewhere.authorizations == [None]

        # A redirect to another port does not carry it; a script's function does.
        server.redirects["/away"] = f"http://127.0.0.1:{elsewhere.port}/there"
        await fetch.call({"url": f"http://127.0.0.1:{server.port}/away"}, caller(AGENT, tmp_path))
        assert (server.authorizations[-1], elsewhere.authorizations[-1]) == (f"Bearer {SECRET}", None)
        script = ScriptCalls(functions=named({"http_fetch": fetch}), caller=caller(AGENT, tmp_path))
        answer = await script.answer(b'{"function": "http_fetch", "arguments": {"url": "%s"}}' % url.encode())
        assert server.authorizations[-1] == f"Bearer {SECRET}"
        assert SECRET.encode() not in (answer or b"")


async def test_a_request_is_not_made_without_its_secret(store: Store, tmp_path: Path) -> None:
    server = Server()
    async with opened_services(store, tmp_path, server) as services:
        fetch, url = http_fetch.create(services), f"http://127.0.0.1:{server.port}/"
        for variable in (
            Variable("shop.token", "plain", secret=False),
            Variable("shop.token", services.secrets.seal("two\nlines"), secret=True),
            Variable("shop.token", "v1.00.AA", secret=True),
        ):
            await store.write(lambda tx, one: tx.variables.put(one, 2), variable)
            with pytest.raises(ToolError, match="The credential shop cannot be") as refused:
                await fetch.call({"url": url}, caller(AGENT, tmp_path))
            assert "two" not in refused.value.what
        assert server.heads == []
        with pytest.raises(ToolError, match="the secret of the credential shop"):
            await get_variable.create(services).call({"key": "shop.token"}, caller(AGENT, tmp_path))


async def test_no_row_prompt_or_log_contains_the_secret(database: Database, tmp_path: Path) -> None:
    server = Server()
    async with open_app(database) as app, opened_services(app.store, tmp_path, server) as services:
        app.tools.more.append(http_fetch.create(services))
        await app.store.write(lambda tx: tx.agents.update(replace(AGENT, allow_users=("ann",)), 1))
        app.known_hosts.add("127.0.0.1")
        call = ToolCall("call-1", "http_fetch", {"url": f"http://127.0.0.1:{server.port}/orders"})
        app.provider.script.extend([asking(call), "Done."])
        with structlog.testing.capture_logs() as logs:
            timeline = await app.ask("Look at my orders")
        assert timeline.status is MessageStatus.ANSWERED
        assert server.authorizations == [f"Bearer {SECRET}"]
        shown = "\n".join(map(repr, app.provider.asked))
        assert "with the credential shop" in shown
        assert SECRET not in shown + repr(logs)
        assert any(line["event"] == "credential_used" for line in logs)
    with contextlib.closing(sqlite3.connect(database.file)) as connection:
        dump = "\n".join(connection.iterdump())
    assert "with the credential shop" in dump
    assert SECRET not in dump
    assert "credential_changed" in dump


# -- rules -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hosts", "url", "applies"),
    [
        (("api.example.com",), "https://api.example.com/x", True),
        (("api.example.com",), "https://API.example.com./x", True),
        (("api.example.com",), "http://api.example.com/x", False),
        (("api.example.com",), "https://api.example.com:8443/x", False),
        (("api.example.com:8443",), "https://api.example.com:8443/x", True),
        (("api.example.com",), "https://api.example.com.evil.net/", False),
        (("api.example.com",), "https://api.example.com@evil.net/", False),
        (("api.example.com",), "https://evil.net/?api.example.com", False),
        (("*.example.com",), "https://a.b.example.com/", True),
        (("*.example.com",), "https://example.com/", False),
        (("*.example.com",), "https://evilexample.com/", False),
        (("localhost:8080",), "http://localhost:8080/", True),
        (("[::1]:8080",), "http://[::1]:8080/", True),
        (("10.0.0.1",), "http://10.0.0.1/", False),
        (("api.example.com",), "https://[", False),
        (("api.example.com",), "ftp://api.example.com/", False),
    ],
)
def test_the_requests_that_carry_a_credential(hosts: tuple[str, ...], url: str, applies: bool) -> None:
    assert Credential("shop", "k", hosts).applies_to(url) is applies


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "A"}, {"hosts": ()}, {"hosts": ("*",)}, {"hosts": ("*.com",)}, {"hosts": ("https://a.b",)},
        {"hosts": ("a.b/c",)}, {"hosts": ("a.b:0",)}, {"hosts": ("a.b:99999",)}, {"header": "Host"},
        {"header": "X Y"}, {"header": "Content-Length"}, {"template": "Bearer"}, {"template": "{value}{value}"},
        {"template": "a\r\nb {value}"},
    ],
)  # fmt: skip
async def test_what_is_no_credential(store: Store, changes: dict[str, Any]) -> None:
    wrong = replace(Credential("shop", "k", ("api.example.com",)), **changes)
    assert list(flaws_of(wrong))
    with pytest.raises(Unprocessable):
        await store.write(credentials.put, wrong, by="ann", now=1)
    right = Credential("shop", "k", ("api.example.com",))
    assert not list(flaws_of(right))
    with pytest.raises(Unprocessable, match="no secret variable"):
        await store.write(credentials.put, right, by="ann", now=1)


def test_templates_and_powers() -> None:
    basic = Credential("shop", "k", ("a.b",), header="X-Key", template="Basic {base64}")
    made = insertion_of(basic, "ann:pass\n")
    assert made is not None
    assert (made.header, made.value) == ("X-Key", f"Basic {base64.b64encode(b'ann:pass').decode()}")
    assert "pass" not in repr(made)
    assert made.hidden_in("a ann%3Apass b ann:pass c") == "a •••••••• b •••••••• c"
    assert insertion_of(basic, "a\nb") is None
    reader = Agent("a", "a", "A", tools=("http_fetch",))
    assert (is_risky(reader), is_risky(replace(reader, credentials=("shop",)))) == (False, True)


def test_a_page_that_was_read_with_a_credential_is_not_public() -> None:
    call = ToolCall("1", "http_fetch", {"url": "https://api.example.com/x"})
    tools = {"http_fetch": http_fetch.create(cast("ToolServices", _Nothing()))}
    for head, number in (("https://api.example.com/x", 1), ("https://api.example.com/x (with the credential shop)", 0)):
        rounds = [Round("", (call,), (ToolOutput("1", f"{head}\n\nprivate", taint=frozenset({Label.TOOLS})),))]
        assert len(found_in(rounds, tools, ())) == number


class _Nothing:
    fetcher = reader = clock = credentials = None
