"""The client of Arvis as the program that the conformance suite starts: `python -m tests.mcp_conformance.client ADDRESS`.

It connects to the server of a scenario with the client of the daemon, logs in if the server demands it, and calls the
tools. The suite checks the requests.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urljoin, urlsplit

import httpx2

from arvis.config.servers import McpServer
from arvis.domain.agents import Agent
from arvis.domain.dataclass import replace
from arvis.domain.errors import ArvisError, ToolError
from arvis.domain.tools import PendingInput
from arvis.net.fetcher import open_fetcher
from arvis.ports.tool import Caller, InputNeeded, Tool
from arvis.process.clock import SystemClock
from arvis.process.secrets import SealedBox
from arvis.store.open import Database
from arvis.tools.mcp.logins import Access, Logins
from arvis.tools.mcp.servers import LoginState, McpServers, open_servers
from tests.conformance.databases import opened

REDIRECT = "http://127.0.0.1:8080/oauth/callback"
_CALLER = Caller(Agent(id="a", slug="helper", name="Helper"), "p", "c", "e", None, "call", Path(), "UTC", may_ask=True)
#: The number of times that a person logs in before giving up. Arvis itself never begins a login.
_MOST_LOGINS = 3


async def main(url: str) -> None:
    context: Mapping[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    async with _servers(_settings(url, context)) as servers:
        await servers.all()
        await _log_in(servers)
        for name, arguments in _calls(await servers.all(), context):
            await _use(servers, name, arguments)


def _settings(url: str, context: Mapping[str, Any]) -> McpServer:
    """Return the server. A scenario with a client that is already registered names it in its context."""
    registered = {key: context[key] for key in ("client_id", "client_secret") if key in context}
    return McpServer(name="net", url=url, timeout_seconds=15, **registered)


@asynccontextmanager
async def _servers(settings: McpServer) -> AsyncIterator[McpServers]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with opened(Database(folder / "arvis.db", None, folder)) as store:
            logins = Logins(store, SealedBox(file=folder / "key", given=None, tell=print), SystemClock())
            access = Access(logins, _open_client, _ignore)
            async with open_servers([settings], clock=SystemClock(), store=store, access=access) as servers:
                yield servers


@asynccontextmanager
async def _open_client(hosts: Sequence[str]) -> AsyncIterator[Any]:
    # The servers of the suite use ports that the system chooses.
    async with open_fetcher(allow=[*hosts, "localhost", "127.0.0.1"], ports=range(1, 65_536)) as fetcher:
        yield fetcher


async def _ignore(_server: str, _needed: bool) -> None:
    """Ignore a report about a login."""


async def _log_in(servers: McpServers) -> None:
    """Log in as often as the server demands it."""
    for _ in range(_MOST_LOGINS):
        if (await servers.status("net")).login is not LoginState.NEEDED:
            return
        link = await servers.begin_login("net", REDIRECT)
        await servers.finish_login(await _browse(link.url))


async def _browse(url: str) -> dict[str, str]:
    """Follow the redirects of an authorization server as a browser does. Return the parameters of the callback."""
    async with httpx2.AsyncClient(follow_redirects=False) as browser:
        for _ in range(5):
            answer = await browser.get(url)
            url = urljoin(url, answer.headers.get("location", ""))
            if url.startswith(REDIRECT):
                break
    return dict(parse_qsl(urlsplit(url).query))


def _calls(tools: Sequence[Tool], context: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls that the scenario names, without arguments that are null, or one call of each tool."""
    if (named := context.get("toolCalls")) is None:
        return [(tool.spec.name, _arguments(tool)) for tool in tools]
    return [
        (f"net.{each['name']}", {name: value for name, value in each["arguments"].items() if value is not None})
        for each in named
    ]


async def _use(servers: McpServers, name: str, arguments: Mapping[str, Any]) -> None:
    """Call a tool. If the server demands more rights for it, log in again and call it once more."""
    for _ in range(_MOST_LOGINS):
        (tool,) = await servers.find([name])
        try:
            print(name, await _answered(tool, arguments))
        except ToolError as failed:
            print(name, "failed:", failed.what)
            if (await servers.status("net")).login is not LoginState.NEEDED:
                return
            await _log_in(servers)
        else:
            return


async def _answered(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Call a tool, and accept all questions of the server."""
    answers: PendingInput | None = None
    while True:
        try:
            return await tool.call(arguments, replace(_CALLER, answers=answers))
        except InputNeeded as needed:
            pending = needed.pending
            given = {key: {"action": "accept", "content": each.start} for key, each in pending.questions.items()}
            answers = PendingInput(
                pending.questions, {**pending.responses, **given}, pending.state, pending.held, pending.notes
            )


def _arguments(tool: Tool) -> dict[str, Any]:
    """Return arguments that fit the schema of the tool."""
    properties: Mapping[str, Any] = tool.spec.parameters.get("properties", {})
    values = {"number": 2, "integer": 2, "boolean": True, "array": [], "object": {}, "null": None}
    return {
        name: values.get(str(each.get("type")), "value") for name, each in properties.items() if isinstance(each, dict)
    }


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1]))
    except ArvisError as failed:
        print(failed.what, failed.why, file=sys.stderr)
        raise SystemExit(1) from None
