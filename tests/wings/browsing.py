"""A public web of one local server for tests of the browser, and a browser of an agent.

Every public name resolves to one public address, whose connections lead to the server of the test. Addresses of this machine
stay refused, as for users.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from arvis.config.sections import Browser
from arvis.domain.agents import Agent
from arvis.net.fetcher import GuardedFetcher
from arvis.net.guard import read_rules
from arvis.ports.tool import Caller
from arvis.process.clock import SystemClock
from arvis.process.sandbox import Bubblewrap
from arvis.tools.browser.browsers import Browsers
from tests.parts import refused, require
from tests.wings.dialling import Dialled
from tests.wings.listening import listening

PUBLIC = "93.184.216.34"


class Site:
    """Pages by path. An answer is HTML, or whole bytes with a head. `requests` are the heads of all requests."""

    def __init__(self, pages: Mapping[str, str | bytes]) -> None:
        self.pages = dict(pages)
        self.requests: list[str] = []
        self.never = asyncio.Event()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(head)
        path = head.split(" ")[1].partition("?")[0]
        answer = self.pages.get(path)
        if path == "/hangs":
            await self.never.wait()
        if answer is None:
            answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        writer.write(answer if isinstance(answer, bytes) else html(answer))
        await writer.drain()

    def asked(self, text: str) -> bool:
        return any(text in head for head in self.requests)


def html(body: str, *headers: str) -> bytes:
    content = f"<!doctype html><meta charset=utf-8>{body}".encode()
    lines = [
        "HTTP/1.1 200 OK",
        "Content-Type: text/html",
        f"Content-Length: {len(content)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + content


def file(content: bytes, name: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename={name}\r\n"
    return head.encode() + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(content) + content


class Names:
    """A resolver. `special` are the addresses of names in the order of their lookups; all other names are public."""

    def __init__(self) -> None:
        self.special: dict[str, list[str]] = {}
        self.looked_up: list[str] = []

    async def resolve(self, host: str, _port: int) -> Sequence[str]:
        self.looked_up.append(host)
        answers = self.special.get(host)
        return [PUBLIC] if not answers else [answers.pop(0) if len(answers) > 1 else answers[0]]


class Surfing:
    """An agent's browser, the site of its web, and the connections that were made."""

    def __init__(
        self, *, browsers: Browsers, site: Site, port: int, names: Names, dialled: Dialled, folder: Path
    ) -> None:
        self.browsers = browsers
        self.port = port
        self.site = site
        self.names = names
        self.dialled = dialled
        self.folder = folder
        self.page = ""
        #: For each of the next requests for the dialer, the event for which it waits; None: it does not wait.
        self.gates: list[asyncio.Event | None] = []

    def caller(self, conversation: str = "talk", agent: str = "agent-1") -> Caller:
        return Caller(
            agent=Agent(id=agent, slug="surfer", name="Surfer", model="demo/demo"),
            principal_id=None,
            conversation_id=conversation,
            execution_id="execution",
            address=None,
            call_id="call",
            workspace=self.folder / conversation,
            timezone="UTC",
        )

    async def open(self, path: str = "/", **who: str) -> str:
        url = path if "://" in path else f"http://shop.example{path}"
        text = await self.browsers.open(self.caller(**who), url)
        self.page = page_in(text)
        return text

    async def click(self, name: str, text: str) -> str:
        after = await self.browsers.click(self.caller(), self.page, ref_of(name, text))
        self.page = page_in(after) or self.page
        return after


def page_in(text: str) -> str:
    return next((line.removeprefix("Page: ") for line in text.splitlines() if line.startswith("Page: ")), "")


def ref_of(name: str, text: str) -> str:
    line = next(line for line in text.splitlines() if name in line and "[ref=" in line)
    return line.partition("[ref=")[2].partition("]")[0]


@asynccontextmanager
async def surfing(
    folder: Path, pages: Mapping[str, str | bytes], *, allow: Sequence[str] = (), **settings: Any
) -> AsyncIterator[Surfing]:
    program = require("chromium")
    sandbox = Bubblewrap(files=None)
    if (reason := await sandbox.refusal()) is not None:
        refused(reason)
    site, names = Site(pages), Names()
    async with listening(site.talk) as port:
        dialled = Dialled(port=port)
        fetcher = GuardedFetcher(rules=read_rules(allow=allow), resolve=names.resolve, dial=dialled)

        async def dialer() -> GuardedFetcher:
            if surf.gates and (gate := surf.gates.pop(0)) is not None:
                await gate.wait()
            return fetcher

        browsers = Browsers(
            settings=Browser.defaults().model_copy(update={"executable": str(program), **settings}),
            folder=folder / "browser",
            sandbox=sandbox,
            dialer=dialer,
            clock=SystemClock(),
        )
        surf = Surfing(browsers=browsers, site=site, port=port, names=names, dialled=dialled, folder=folder)
        try:
            yield surf
        finally:
            site.never.set()
            await browsers.close()
