"""A daemon without processes whose model obeys every instruction, and the systems around it.

Store, queue, engine, fetcher, and the tools `http_fetch` and `web_search` are real. Every host name leads to one listening server,
which records the bytes of all requests. The tools of servers record their arguments.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from arvis.config.servers import McpServer
from arvis.domain.agents import Agent
from arvis.domain.events import Delta
from arvis.domain.knowledge import READ_KNOWLEDGE, SEARCH_KNOWLEDGE, Collection
from arvis.domain.messages import MessageStatus, PrincipalRole, Sender
from arvis.domain.tools import Need, Risk, ToolCall, ToolDeclaration, ToolSpec
from arvis.knowledge.indexer import KnowledgeIndexer
from arvis.media import WebFileReader
from arvis.media.structure import StructureReader
from arvis.net.client import open_http_client
from arvis.net.fetcher import GuardedFetcher
from arvis.net.guard import read_rules
from arvis.ports.embeddings import no_meaning
from arvis.ports.operations import WaitAnswer
from arvis.ports.search import SearchServices
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.process.clock import SystemClock
from arvis.process.leases import Holding
from arvis.process.subprocesses import GuardedPrograms
from arvis.services import knowledge
from arvis.services.knowledge import Author, File
from arvis.store.open import Database
from arvis.tools import http_fetch, web_search
from arvis.tools.knowledge import KnowledgeTools
from arvis.tools.mcp.servers import open_servers
from arvis.web_search.searxng import Searxng
from tests.flows.app_harness import AppHarness, open_app
from tests.flows.scripted import asking
from tests.flows.test_mcp_client import until
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
    tools=("http_fetch", "web_search", FILES, *SERVER_TOOLS, "asking.guide"),
    allow_users=("ann", "mallory"),
    knowledge=("handbook",),
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
    """`guide` is the file with the question of the server `asking`."""

    def __init__(self, *, app: AppHarness, net: Net, tools: Mapping[str, ServerTool], guide: Path) -> None:
        self.app = app
        self.net = net
        self.tools = tools
        self.guide = guide
        self._channel = 0
        self._indexer = KnowledgeIndexer(
            store=app.store, bus=app.bus, clock=app.clock, reader=StructureReader(programs=GuardedPrograms()),
            fetcher=_no_fetcher, folders=(), rest=0,
        )  # fmt: skip

    def begin(self) -> None:
        """Start a new conversation, in which nothing has been said, and forget what has arrived."""
        self._channel += 1
        self.net.arrived.clear()
        self.net.pages.clear()
        self.net.results.clear()
        self.app.provider.script.clear()
        self.app.connector.sent.clear()
        self.app.events.clear()
        self.guide.write_text("Which password?")
        for tool in self.tools.values():
            tool.outputs.clear()

    @property
    def place(self) -> dict[str, Any]:
        return {"channel": f"room-{self._channel}"}

    async def hear(self, text: str, user: str, *, direct: bool = True, **more: Any) -> str:
        """Let a person say something, to which the model answers without tools. Return the id of the message."""
        self.app.provider.script.append("I see.")
        heard = await self.app.ask(text, user=user, is_direct=direct, addressed=True, **self.place, **more)
        return heard.message.id

    async def know(self, text: str) -> None:
        """Replace the only document of the knowledge base."""
        data = text.encode()
        blob = await self.app.store.put_blob(zlib.compress(data))
        file = File("guide.md", hashlib.sha256(data).hexdigest(), blob, len(data))
        now = self.app.clock.now()
        await self.app.store.write(knowledge.put_file, "handbook", file, by=Author("owner", owner=True), now=now)
        await self._indexer.work(Holding(clock=self.app.clock, lease=None, until=float("inf")))

    async def mark(self) -> str:
        """Return the mark of a part of the document."""
        [found, *_] = await self.app.insights.search_knowledge("guide", ["handbook"], 1)
        return found.mark

    def shown(self) -> list[str]:
        """Return all texts that people have got since the start of the conversation, also while they were written."""
        streamed: dict[str, str] = {}
        for event in self.app.events:
            if isinstance(event, Delta):
                before = streamed.get(event.message_id, "")
                streamed[event.message_id] = before[: event.offset] + event.text
        return [*self.app.connector.texts, *streamed.values()]

    async def run(
        self,
        text: str,
        rounds: Sequence[Sequence[ToolCall]],
        answer: str,
        *,
        direct: bool = True,
        reply: str = "Done.",
        edits: str | None = None,
        **more: Any,
    ) -> int:
        """Let Ann ask, let the model make these calls, answer every question in the same way, and return the number of
        questions. The turn is complete afterwards. With `edits`, Ann replaces her message of this id by the text."""
        self.app.provider.script += [*(asking(*calls) for calls in rounds), reply]
        if edits is None:
            said = await self.app.say(text, user="ann", is_direct=direct, addressed=True, **self.place, **more)
            message_id = said.message_id
        else:
            ann = await self.app.store.read(lambda tx: tx.principals.find("chat", "ann"))
            assert ann is not None
            made = await self.app.operations.answer_again(edits, ann, Sender("ann", "Ann"), content=text)
            message_id = made.version.message_id
        asked: set[str] = set()
        by = await self.app.store.read(lambda tx: tx.principals.find("chat", "owner"))
        assert by is not None

        async def settled() -> bool | None:
            timeline = await self.app.timeline(message_id)
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
        await app.store.write(
            knowledge.create,
            Collection("", "handbook", "Handbook", "Guides."),
            by=Author("owner", owner=True),
            now=clock.now(),
        )
        app.tools.more += await KnowledgeTools(insights=app.insights, meaning=no_meaning).find(
            [SEARCH_KNOWLEDGE, READ_KNOWLEDGE]
        )
        guide = folder / "guide.txt"
        guide.write_text("Which password?")
        command = (sys.executable, str(Path(__file__).parents[1] / "fixtures" / "mcp_injecting.py"), str(guide))
        server = McpServer(name="asking", command=command, trust_annotations=True)
        servers = await stack.enter_async_context(open_servers([server], clock=clock, store=app.store))
        await until(servers.all)
        app.tools.more += await servers.all()
        yield Stage(app=app, net=net, tools=made, guide=guide)


async def _no_fetcher() -> Any:
    raise AssertionError("no page is fetched for the knowledge base")


def _declared(risk: Risk, local: bool) -> ToolDeclaration:
    return ToolDeclaration(risk=risk, needs=() if local else (Need.NETWORK,))
