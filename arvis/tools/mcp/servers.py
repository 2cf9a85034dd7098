"""The configured servers as a source of tools. Each tool is named `server.tool`: because of the dot its name never
equals a built-in name."""

from __future__ import annotations

import asyncio
import importlib
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from functools import partial
from typing import Any

import structlog

from arvis.config.servers import McpServer
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Conflict, NotFound
from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.domain.tools import Need, Risk, ToolDeclaration, ToolSpec
from arvis.ports.clock import Clock
from arvis.ports.store import Store
from arvis.ports.tool import Caller, Tool
from arvis.tools.mcp.pins import MOST_NAMES, Pin, Pins, change_for_question, change_of
from arvis.tools.mcp.remote import Offer, RemoteServer

# -- the tools of servers, with their states ---------------------------------------------------------------------------


class Acceptance(StrEnum):
    """The acceptance of a tool's description. `changed`: the server offers another description than the accepted one.
    `new`: the server added the tool after its first list, and no person has accepted it; models get its description."""

    ACCEPTED = "accepted"
    CHANGED = "changed"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """A tool of a server, with the acceptance of its description."""

    #: The server's name for the tool.
    name: str
    #: The description that models get.
    description: str
    acceptance: Acceptance
    #: The differences between the accepted and the present description, as lines; "" if there are none.
    change: str
    #: The digest of the present description.
    digest: str


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """A configured server with its tools; none while the server is not connected. `trouble` is the reason."""

    name: str
    connected: bool
    trouble: str
    tools: Sequence[ToolStatus]


# -- a tool of a server, with the interface of the port `Tool` ---------------------------------------------------------


class McpTool:
    """A `Tool` of a server. `name` is the server's name for the tool. `check` raises `ToolError` for invalid
    arguments."""

    def __init__(
        self,
        *,
        name: str,
        spec: ToolSpec,
        risk: Risk,
        repeatable: bool,
        local: bool,
        check: Callable[[Mapping[str, Any]], None],
        server: RemoteServer,
        status: ToolStatus,
        accept: Callable[[str], Awaitable[None]],
    ) -> None:
        self.spec = spec
        self.status = status
        self.change = change_for_question(status.change, server.settings.name, status.digest)
        self._accept = accept
        self.risk = risk
        self.repeatable = repeatable
        self.sensitive = False
        #: A server gets the arguments, unless it is a program that keeps them on this machine.
        self.declaration = ToolDeclaration(risk=risk, repeatable=repeatable, needs=() if local else (Need.NETWORK,))
        self._name = name
        self._check = check
        self._server = server

    def check(self, arguments: Mapping[str, Any]) -> None:
        self._check(arguments)

    async def accept(self, by: str) -> None:
        if self.change:
            await self._accept(by)

    async def confirm(self, by: str) -> None:
        """Accept the present description, also if it has not changed."""
        await self._accept(by)

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str:  # noqa: ARG002 - the port's signature
        self._check(arguments)
        return await self._server.call(self._name, arguments)


log = structlog.get_logger(__name__)

_MAX_DESCRIPTION = 2_000
_TOOL_NAME = regex(r"[A-Za-z0-9_./-]{1,128}", re.ASCII)
_ALL = "*"


@asynccontextmanager
async def open_servers(settings: Sequence[McpServer], *, clock: Clock, store: Store) -> AsyncIterator[McpServers]:
    """Provide the servers during the context. A server is connected when one of its tools is first needed. At the end
    all connections are closed and all programs ended. `store` holds the accepted descriptions of tools."""
    offers = _Offers(pins=Pins(store, clock))
    servers = [RemoteServer(settings=each, clock=clock, make=offers.tools) for each in settings]
    try:
        yield McpServers(servers)
    finally:
        await asyncio.gather(*(server.close() for server in servers))


class McpServers:
    """The `ToolSource` of the configured servers."""

    def __init__(self, servers: Sequence[RemoteServer]) -> None:
        self._servers = {server.settings.name: server for server in servers}

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        wanted = {server: {tool for each, _, tool in map(_parts, names) if each == server} for server in self._servers}
        asked = [server for server, tools in wanted.items() if tools]
        return [
            tool
            for server, found in zip(asked, await self._ask(asked), strict=True)
            for tool in found
            if _ALL in wanted[server] or _parts(tool.spec.name)[2] in wanted[server]
        ]

    async def all(self) -> Sequence[Tool]:
        return [tool for found in await self._ask(list(self._servers)) for tool in found]

    async def statuses(self) -> Sequence[ServerStatus]:
        """Return all servers in the order of the configuration. Connect those that were not used yet."""
        return await asyncio.gather(*(self.status(name) for name in self._servers))

    async def status(self, name: str) -> ServerStatus:
        """Return a server. Connect it if it was not used yet. Raises `NotFound`."""
        server = self._server(name)
        tools = [tool.status for tool in await server.tools() if isinstance(tool, McpTool)]
        return ServerStatus(name, server.connected, server.trouble, tools)

    async def accept(self, name: str, digests: Mapping[str, str], by: str) -> None:
        """Accept the present descriptions of these tools. `digests` are those of the descriptions that the person has
        seen, by tool. Raises `NotFound`, or `Conflict` if a description has changed since; then nothing is accepted."""
        server = self._server(name)
        tools = {tool.status.name: tool for tool in await server.tools() if isinstance(tool, McpTool)}
        for each, digest in digests.items():
            if each not in tools:
                why = "" if server.connected else f"The server cannot be reached: {server.trouble}."
                fix = f"List its tools with `arvis mcp tools {name}`."
                raise NotFound(f"The server {name} has no tool {each[:128]} now.", why=why, fix=fix)
            if tools[each].status.digest != digest:
                fix = "Read the change again, then accept it."
                raise Conflict(f"The description of {name}.{each} has changed since you read it.", fix=fix)
        for each in digests:
            await tools[each].confirm(by)
        await server.remake()

    def _server(self, name: str) -> RemoteServer:
        if name not in self._servers:
            raise NotFound("There is no such tool server.", fix="List the servers of `mcp.servers`: `arvis mcp list`.")
        return self._servers[name]

    async def _ask(self, names: Sequence[str]) -> Sequence[Sequence[Tool]]:
        """Ask all servers concurrently, so that a slow one does not delay the others."""
        return await asyncio.gather(*(self._servers[name].tools() for name in names))


def _parts(name: str) -> tuple[str, str, str]:
    return name.partition(".")


class _Offers:
    """The conversion of offers into tools. It leaves out unusable offers and logs each of them once."""

    def __init__(self, *, pins: Pins) -> None:
        self._logged: dict[str, set[str]] = defaultdict(set)
        self._pins = pins

    async def tools(self, server: RemoteServer, offers: Sequence[Offer]) -> Sequence[Tool]:
        """Return the tools. The descriptions of tools that were never seen before are accepted."""
        settings = server.settings
        named = {offer.name: offer for offer in offers if not settings.tools or offer.name in settings.tools}
        usable = {name: offer for name, offer in named.items() if _TOOL_NAME.fullmatch(name)}
        accepted = await self._pins.settle(settings.name, usable, {offer.name for offer in offers})
        made = (self._tool(server, offer, accepted.get(name)) for name, offer in sorted(named.items()))
        return [tool for tool in made if tool is not None]

    def _tool(self, server: RemoteServer, present: Offer, pin: Pin | None) -> Tool | None:
        settings, accepted = server.settings, pin.offer(present.name) if pin is not None else None
        change = change_of(accepted, present) if accepted is not None else ""
        if change and self._is_new(settings, f"{present.name} changed"):
            log.warning("mcp_tool_changed", server=settings.name, tool=present.name)
        offer = accepted if accepted is not None and change else present
        if not _TOOL_NAME.fullmatch(offer.name):
            self._leave_out(settings, offer, "its name cannot be used")
            return None
        # The module that made the offers has already imported `schemas`.
        schemas: Any = importlib.import_module("arvis.tools.mcp.schemas")
        try:
            check = schemas.ArgumentCheck(offer.schema)
        except schemas.UnusableSchema as unusable:
            self._leave_out(settings, offer, f"its schema {unusable}")
            return None
        description = storable(offer.description).strip()
        if len(description) > _MAX_DESCRIPTION:
            description = f"{description[: _MAX_DESCRIPTION - 1]}…"
        return McpTool(
            name=offer.name,
            spec=ToolSpec(f"{settings.name}.{offer.name}", description, offer.schema),
            risk=Risk.READ if _is_harmless(settings, present, accepted, change) else settings.risk,
            repeatable=settings.repeatable,
            local=settings.local,
            check=check,
            server=server,
            status=ToolStatus(
                offer.name, description, _acceptance(change, pin), change=change, digest=Pin.of(present).digest
            ),
            accept=partial(self._accept, server, present),
        )

    async def _accept(self, server: RemoteServer, offer: Offer, by: str) -> None:
        await self._pins.accept(server.settings.name, offer, by)
        log.info("mcp_tool_accepted", server=server.settings.name, tool=offer.name)
        await server.remake()

    def _leave_out(self, settings: McpServer, offer: Offer, why: str) -> None:
        name = offer.name[:128]
        if self._is_new(settings, name):
            log.warning("mcp_tool_left_out", server=settings.name, tool=name, why=why)

    def _is_new(self, settings: McpServer, what: str) -> bool:
        """Return True if `what` was not logged before and the maximum number of log entries for this server is not
        reached. Remember that it is logged now."""
        logged = self._logged[settings.name]
        if what in logged or len(logged) >= 2 * MOST_NAMES:
            return False
        logged.add(what)
        return True


def _acceptance(change: str, pin: Pin | None) -> Acceptance:
    if change:
        return Acceptance.CHANGED
    return Acceptance.NEW if pin is None or pin.new else Acceptance.ACCEPTED


def _is_harmless(settings: McpServer, present: Offer, accepted: Offer | None, change: str) -> bool:
    """Return whether to trust the server's claim that a tool only reads. The claim is trusted only while the tool has the
    accepted description."""
    return settings.trust_annotations and present.read_only and accepted is not None and not change
