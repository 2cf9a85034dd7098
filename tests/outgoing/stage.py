"""A daemon without processes whose model obeys every instruction, and the systems around it.

Store, queue, engine, fetcher, and the tools `http_fetch` and `web_search` are real. Every host name leads to one listening server,
which records the bytes of all requests. The tools of servers record their arguments.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from arvis.domain.agents import Agent
from arvis.domain.messages import MessageStatus, PrincipalRole
from arvis.domain.tools import Need, Risk, ToolCall, ToolDeclaration, ToolSpec
from arvis.media import WebFileReader
from arvis.net.client import open_http_client
from arvis.net.fetcher import GuardedFetcher
from arvis.net.guard import read_rules
from arvis.ports.operations import WaitAnswer
from arvis.ports.search import SearchServices
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.process.clock import SystemClock
from arvis.process.subprocesses import GuardedPrograms
from arvis.store.open import Database
from arvis.tools import http_fetch, web_search
from arvis.web_search.searxng import Searxng
from tests.flows.app_harness import AppHarness, open_app
from tests.flows.scripted import asking
from tests.wings.dialling import Dialled
from tests.wings.listening import listening

#: The tools of servers, by name, with their risk. Programs with `local` pass nothing on.
SERVER_TOOLS: Mapping[str, tuple[Risk, bool]] = {
    "mail.search": (Risk.READ, False),
    "mail.read": (Risk.READ, False),
    "cal.list": (Risk.READ, False),
    "crm.find": (Risk.READ, False),
    "feed.post": (Risk.EGRESS, False),
    "notes.find": (Risk.READ, True),
}
FILES = "read_file"
AGENT = Agent(
    id="agent-helper",
    slug="helper",
    name="Helper",
    tools=("http_fetch", "web_search", FILES, *SERVER_TOOLS),
    allow_users=("ann", "mallory"),
)


@dataclass
class Net:
    """Everything outside: pages by host and path, results of searches, and the records of what arrived."""

    pages: dict[str, str] = field(default_factory=dict)
    results: list[tuple[str, str]] = field(default_factory=list)
    arrived: list[str] = field(default_factory=list)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        target = head.split(" ")[1]
        host = next(line[6:] for line in head.split("\r\n") if line.lower().startswith("host: "))
        if target.startswith("/search?") and host.startswith("127.0.0.1"):
            self.arrived.append(f"search {target}")
            found = [{"title": title, "url": url, "content": title} for title, url in self.results]
            body, kind = json.dumps({"results": found}), "application/json"
        else:
            self.arrived.append(f"fetch {host}{target}")
            body, kind = self.pages.get(f"{host}{urlsplit(target).path}", "Nothing is here."), "text/plain"
        data = body.encode()
        writer.write(
            f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n\r\n".encode()
            + data
        )
        await writer.drain()

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        del port
        self.arrived.append(f"name {host}")
        return ["93.184.216.34"]


class ServerTool:
    """A tool of a server, or of this machine. It records its arguments and returns the texts of `outputs`."""

    repeatable, sensitive = True, False

    def __init__(self, name: str, declaration: ToolDeclaration, net: Net) -> None:
        properties = {"words": {"type": "string"}, "since": {"type": "string"}, "count": {"type": "integer"}}
        self.spec = ToolSpec(name, "Finds entries.", {"type": "object", "properties": properties})
        self.risk, self.declaration = declaration.risk, declaration
        self.outputs: list[str] = []
        self._net = net

    def check(self, arguments: Mapping[str, Any]) -> None:
        del arguments

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str:
        del caller
        self._net.arrived.append(f"{self.spec.name} {json.dumps(arguments, sort_keys=True, ensure_ascii=False)}")
        return self.outputs.pop(0) if self.outputs else "Nothing was found."


class OneProvider:
    def __init__(self, provider: Searxng) -> None:
        self._provider = provider

    async def get(self) -> Sequence[tuple[str, Any]]:
        return [("searxng", self._provider)]


class Stage:
    def __init__(self, *, app: AppHarness, net: Net, tools: Mapping[str, ServerTool]) -> None:
        self.app = app
        self.net = net
        self.tools = tools
        self._channel = 0

    def begin(self) -> None:
        """Start a new conversation, in which nothing has been said, and forget what has arrived."""
        self._channel += 1
        self.net.arrived.clear()
        self.net.pages.clear()
        self.net.results.clear()
        self.app.provider.script.clear()
        for tool in self.tools.values():
            tool.outputs.clear()

    @property
    def place(self) -> dict[str, Any]:
        return {"channel": f"room-{self._channel}"}

    async def hear(self, text: str, user: str, *, direct: bool = True) -> None:
        """Let a person say something, to which the model answers without tools."""
        self.app.provider.script.append("I see.")
        await self.app.ask(text, user=user, is_direct=direct, addressed=True, **self.place)

    async def run(self, text: str, rounds: Sequence[Sequence[ToolCall]], answer: str, *, direct: bool = True) -> int:
        """Let Ann ask, let the model make these calls, answer every question in the same way, and return the number of
        questions. The turn is complete afterwards."""
        self.app.provider.script += [*(asking(*calls) for calls in rounds), "Done."]
        said = await self.app.say(text, user="ann", is_direct=direct, addressed=True, **self.place)
        asked: set[str] = set()
        by = await self.app.store.read(lambda tx: tx.principals.find("chat", "owner"))
        assert by is not None

        async def settled() -> bool | None:
            timeline = await self.app.timeline(said.message_id)
            if timeline.status is MessageStatus.ANSWERED:
                return True
            if timeline.status is MessageStatus.FAILED:
                raise AssertionError(f"the turn has failed: {timeline}")
            page = await self.app.insights.waits(open_only=True, limit=100, cursor=None)
            for wait in page.items:
                if wait.id not in asked:
                    asked.add(wait.id)
                    await self.app.operations.answer_wait(wait.id, WaitAnswer(answer), by)
            return None

        await self.app.until(settled)
        self.app.provider.script.clear()
        return len(asked)


@asynccontextmanager
async def open_stage(folder: Path) -> AsyncIterator[Stage]:
    net = Net()
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(listening(net.talk))
        http = await stack.enter_async_context(open_http_client())
        app = await stack.enter_async_context(open_app(Database(folder / "arvis.db", None, folder), agents=[AGENT]))
        clock = SystemClock()

        async def no_key() -> None:
            return None

        provider = Searxng(SearchServices(http, clock, no_key, f"http://127.0.0.1:{port}"))
        services = ToolServices(
            store=app.store,
            clock=clock,
            fetcher=GuardedFetcher(rules=read_rules(), resolve=net.resolve, dial=Dialled(port=port)),
            http=http,
            sandbox=cast("Any", None),
            secrets=cast("Any", None),
            search=OneProvider(provider),
            reader=WebFileReader(programs=GuardedPrograms()),
        )
        made = {name: ServerTool(name, _declared(*kind), net) for name, kind in SERVER_TOOLS.items()}
        made[FILES] = ServerTool(FILES, ToolDeclaration(risk=Risk.READ), net)
        more: list[Tool] = [http_fetch.create(services), web_search.create(services), *made.values()]
        app.tools.more = more
        await app.store.write(lambda tx: tx.principals.seen("chat", "owner", "Owner", PrincipalRole.OWNER, clock.now()))
        yield Stage(app=app, net=net, tools=made)


def _declared(risk: Risk, local: bool) -> ToolDeclaration:
    return ToolDeclaration(risk=risk, needs=() if local else (Need.NETWORK,))
