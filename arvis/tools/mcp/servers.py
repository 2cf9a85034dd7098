"""The configured servers as a source of tools. Each tool is named `server.tool`: because of the dot its name never
equals a built-in name."""

from __future__ import annotations

import asyncio
import importlib
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from enum import StrEnum
from functools import partial
from typing import Any

import structlog

from arvis.config.servers import McpServer
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Conflict, MissingPackage, NotFound
from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.domain.tools import Need, Risk, ToolDeclaration, ToolSpec
from arvis.ports.clock import Clock
from arvis.ports.extras import install_command
from arvis.ports.store import Store
from arvis.ports.tool import Caller, Tool
from arvis.tools.mcp.logins import Access
from arvis.tools.mcp.lookups import lookups
from arvis.tools.mcp.pins import MOST_NAMES, Pin, Pins, change_for_question, change_of
from arvis.tools.mcp.remote import Offer, RemoteServer
from arvis.tools.mcp.stored import ServerChanges, StoredServers
from arvis.tools.result_files import Services, text_with_files

# -- the tools of servers, with their states ---------------------------------------------------------------------------


class Acceptance(StrEnum):
    """The acceptance of a tool's description. `changed`: the server offers another description than the accepted one.
    `new`: the server added the tool after its first list, and no person has accepted it; models get its description."""

    ACCEPTED = "accepted"
    CHANGED = "changed"
    NEW = "new"


class ServerSource(StrEnum):
    """The place where a server is defined: the configuration file, or the database (`product`)."""

    CONFIGURATION = "configuration"
    PRODUCT = "product"


class LoginState(StrEnum):
    """The state of the login of a server. `none`: the server has not demanded a login."""

    NONE = "none"
    NEEDED = "needed"
    DONE = "done"


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
    """A server with its tools. While the server is not connected, it may have no tools, and `trouble` is the reason."""

    settings: McpServer
    source: ServerSource
    connected: bool
    trouble: str
    tools: Sequence[ToolStatus]
    login: LoginState
    #: True if a person can log in to the server.
    may_log_in: bool


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
        services: Services | None,
    ) -> None:
        self.spec = spec
        self.status = status
        self.change = change_for_question(status.change, server.settings.name, status.digest)
        self._accept = accept
        self.risk = risk
        self.repeatable = repeatable
        self.sensitive = False
        #: A call sends its arguments to the network, unless the server is a program that does not send them to other
        #: machines.
        self.declaration = ToolDeclaration(risk=risk, repeatable=repeatable, needs=() if local else (Need.NETWORK,))
        self._name = name
        self._check = check
        self._server = server
        self._services = services

    def check(self, arguments: Mapping[str, Any]) -> None:
        self._check(arguments)

    async def accept(self, by: str) -> None:
        if self.change:
            await self._accept(by)

    async def confirm(self, by: str) -> None:
        """Accept the present description, even if it has not changed."""
        await self._accept(by)

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str:
        self._check(arguments)
        parts = await self._server.call(self._name, arguments, caller)
        send = self._server.settings.send_files
        return await text_with_files(parts, tool=self._name, services=self._services, send=send, caller=caller)


log = structlog.get_logger(__name__)

_MAX_DESCRIPTION = 2_000
_TOOL_NAME = regex(r"[A-Za-z0-9_./-]{1,128}", re.ASCII)
_ALL = "*"


#: The seconds after which the stored servers are read again, because another process may have changed them.
_FRESH = 5.0


@asynccontextmanager
async def open_servers(settings: Sequence[McpServer], **parts: Any) -> AsyncIterator[McpServers]:
    """Provide the servers during the context. At the end all connections are closed and all programs ended."""
    servers = McpServers(settings, **parts)
    try:
        yield servers
    finally:
        await servers.close()


class McpServers:
    """The `ToolSource` of the configured servers, and of the servers that an owner has added at run time (`stored`). A
    server is connected when one of its tools is first needed. `store` contains the accepted descriptions of tools,
    `services` store the files in results, and `access` provides logins to servers. A stored server with the name of a
    configured one is ignored."""

    def __init__(
        self,
        settings: Sequence[McpServer],
        *,
        clock: Clock,
        store: Store,
        services: Services | None = None,
        access: Access | None = None,
        stored: StoredServers | None = None,
    ) -> None:
        self._clock = clock
        self._access = access
        self._stored = stored
        self._pins = Pins(store, clock)
        self._offers = _Offers(pins=self._pins, services=services)
        self._configured = frozenset(each.name for each in settings)
        self._servers = {each.name: self._made(each) for each in settings}
        self._refreshing = asyncio.Lock()
        self._fresh_until = float("-inf")

    def _made(self, settings: McpServer) -> RemoteServer:
        return RemoteServer(
            settings=settings,
            clock=self._clock,
            make=self._offers.tools,
            known=self._offers.known,
            access=self._access,
        )

    @property
    def names(self) -> Sequence[str]:
        """The names of the servers that are known to this process."""
        return list(self._servers)

    async def close(self) -> None:
        await asyncio.gather(*(server.close() for server in self._servers.values()))

    async def _refresh(self, *, now: bool = False) -> None:
        """Read the stored servers, unless they were read less than `_FRESH` seconds ago. Close the servers that were
        removed or changed, and add the new and the changed servers."""
        if self._stored is None or (not now and self._clock.monotonic() < self._fresh_until):
            return
        async with self._refreshing:
            found = {each.name: each for each in await self._stored.all() if each.name not in self._configured}
            present = {name: each for name, each in self._servers.items() if name not in self._configured}
            old = [each for name, each in present.items() if found.get(name) != each.settings]
            kept = {name: each for name, each in self._servers.items() if each not in old}
            self._servers = kept | {name: self._made(each) for name, each in found.items() if name not in kept}
            self._fresh_until = self._clock.monotonic() + _FRESH
            await asyncio.gather(*(each.close() for each in old))

    # -- servers that were added at run time -------------------------------------------------------------------

    async def add(self, name: str, given: ServerChanges) -> None:
        """Add a server. Raise `Unprocessable` or `Conflict` if the server cannot be added."""
        self._refuse_configured(name)
        await self._changeable().add(name, given)
        await self._refresh(now=True)

    async def change(self, name: str, changes: ServerChanges) -> None:
        """Change a server, and connect to it again. Raise `Unprocessable`, `NotFound` or `Conflict` if the changes are
        refused."""
        self._refuse_configured(name)
        await self._changeable().change(name, changes)
        await self._refresh(now=True)

    async def remove(self, name: str) -> None:
        """Remove a server with its login and the accepted descriptions of its tools. Raise `NotFound` or `Conflict` if
        it cannot be removed."""
        self._refuse_configured(name)
        await self._refresh(now=True)
        server = self._servers.get(name)
        await self._changeable().remove(name)
        # The connection is closed first. Otherwise it could store the descriptions again, or report a missing login.
        await self._refresh(now=True)
        await self._pins.forget(name)
        if self._access is None:
            return
        logins = self._access.logins
        if server is not None and await logins.get(name, server.settings.url or "") is not None:
            with suppress(MissingPackage):
                await _oauth().end_login(server.settings, logins=logins, open_client=self._access.open_client)
        await logins.remove(name)
        await self._access.report(name, False)

    def _changeable(self) -> StoredServers:
        if self._stored is None:
            raise Conflict("Servers cannot be changed here.", fix="Change `mcp.servers` in config.yaml.")
        return self._stored

    def _refuse_configured(self, name: str) -> None:
        if name in self._configured:
            fix = "Change `mcp.servers` in config.yaml, and restart Arvis."
            raise Conflict(f"The server {name} comes from the configuration.", fix=fix, code="configured")

    # -- tools -------------------------------------------------------------------------------------------------

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        if not any("." in name for name in names):
            return ()
        await self._refresh()
        wanted = {server: {tool for each, _, tool in map(_parts, names) if each == server} for server in self._servers}
        asked = [server for server, tools in wanted.items() if tools]
        return [
            tool
            for server, found in zip(asked, await self._ask(asked), strict=True)
            for tool in found
            if _ALL in wanted[server] or _parts(tool.spec.name)[2] in wanted[server]
        ]

    async def all(self) -> Sequence[Tool]:
        await self._refresh()
        return [tool for found in await self._ask(list(self._servers)) for tool in found]

    async def statuses(self) -> Sequence[ServerStatus]:
        """Return all servers: first the servers of the configuration, in their order, then the others. Connect the
        servers that were not used yet."""
        await self._refresh(now=True)
        return await asyncio.gather(*(self.status(name) for name in self._servers))

    async def status(self, name: str) -> ServerStatus:
        """Return a server. Connect it if it was not used yet. Raise `NotFound` if there is no such server."""
        server = await self._server(name)
        tools = [tool.status for tool in await server.tools() if isinstance(tool, McpTool)]
        may_log_in = self._access is not None and server.settings.may_log_in
        return ServerStatus(
            server.settings,
            ServerSource.CONFIGURATION if name in self._configured else ServerSource.PRODUCT,
            server.connected,
            server.trouble,
            tools,
            await self._login_state(server),
            may_log_in=may_log_in,
        )

    async def _login_state(self, server: RemoteServer) -> LoginState:
        if server.challenge is not None:
            return LoginState.NEEDED
        if self._access is None or not server.settings.may_log_in:
            return LoginState.NONE
        login = await self._access.logins.get(server.settings.name, server.settings.url or "")
        return LoginState.DONE if login is not None and login.access else LoginState.NONE

    # -- logins ------------------------------------------------------------------------------------------------

    async def begin_login(self, name: str, redirect: str) -> Any:
        """Return the address (a `LoginLink`) at which a person logs in to a server. The browser then returns to
        `redirect`. Raise `NotFound`, `Conflict` or `MissingPackage` if no login can begin."""
        server = await self._server(name)
        access = self._access
        if access is None or not server.settings.may_log_in:
            why = "It is a program, or its configuration contains the header `Authorization`."
            fix = "Remove this header, or configure the server with `url`."
            raise Conflict(f"Arvis cannot log in to the server {name}.", why=why, fix=fix)
        await server.tools()
        return await _oauth().begin_login(
            server.settings, server.challenge or "", redirect, logins=access.logins, open_client=access.open_client
        )

    async def finish_login(self, answer: Mapping[str, str]) -> str:
        """Finish a login with the parameters with which the browser has returned. Return the name of the server. Raise
        `Conflict` if the login fails."""
        if self._access is None:
            raise Conflict(
                "Arvis cannot log in to tool servers here.", fix="Start the login in the daemon that runs the agents."
            )
        name: str = await _oauth().finish_login(
            answer, logins=self._access.logins, open_client=self._access.open_client
        )
        with suppress(NotFound):  # the server was removed meanwhile
            await (await self._server(name)).retry()
        return name

    async def end_login(self, name: str) -> None:
        """Delete the login of a server, and connect again without it."""
        server = await self._server(name)
        if self._access is not None and server.settings.may_log_in:
            await _oauth().end_login(server.settings, logins=self._access.logins, open_client=self._access.open_client)
            server.reconnect()

    async def accept(self, name: str, digests: Mapping[str, str], by: str) -> None:
        """Accept the present descriptions of these tools. `digests` contains, by tool, the digest of the description
        that the person has seen. Raise `NotFound`, or `Conflict` if a description has changed since; then nothing is
        accepted."""
        server = await self._server(name)
        tools = {tool.status.name: tool for tool in await server.tools() if isinstance(tool, McpTool)}
        for each, digest in digests.items():
            if each not in tools:
                why = "" if server.connected else f"The server cannot be reached: {server.trouble}."
                fix = f"List its tools with `arvis mcp tools {name}`."
                raise NotFound(f"The server {name} does not offer a tool {each[:128]}.", why=why, fix=fix)
            if tools[each].status.digest != digest:
                fix = "Read the change again, then accept it."
                raise Conflict(f"The description of {name}.{each} has changed since you read it.", fix=fix)
        for each in digests:
            await tools[each].confirm(by)
        await server.remake()

    async def _server(self, name: str) -> RemoteServer:
        """Return a server. If it is unknown, read the stored servers: another process may have added it."""
        await self._refresh(now=name not in self._servers)
        if name not in self._servers:
            raise NotFound("There is no such tool server.", fix="List the servers: `arvis mcp list`.")
        return self._servers[name]

    async def _ask(self, names: Sequence[str]) -> Sequence[Sequence[Tool]]:
        """Ask all servers concurrently, so that a slow one does not delay the others."""
        return await asyncio.gather(*(self._servers[name].tools() for name in names))


def _oauth() -> Any:
    """Return the module that logs in. It uses the protocol's package, so it is imported at its first use."""
    try:
        return importlib.import_module("arvis.tools.mcp.oauth")
    except ImportError:
        fix = f"Run `{install_command('mcp')}`, then start Arvis again."
        raise MissingPackage("The package for the Model Context Protocol is missing.", fix=fix) from None


def _parts(name: str) -> tuple[str, str, str]:
    return name.partition(".")


class _Offers:
    """The conversion of offers into tools. It leaves out unusable offers and logs each of them once."""

    def __init__(self, *, pins: Pins, services: Services | None = None) -> None:
        self._services = services
        self._logged: dict[str, set[str]] = defaultdict(set)
        self._pins = pins

    async def tools(self, server: RemoteServer, offers: Sequence[Offer], *, keep: bool = False) -> Sequence[Tool]:
        """Return the tools. The descriptions of new tools are accepted. If `keep` is True, the offers come from an
        earlier list of the server, so the accepted descriptions stay unchanged."""
        settings = server.settings
        named = {offer.name: offer for offer in offers if not settings.tools or offer.name in settings.tools}
        usable = {name: offer for name, offer in named.items() if _TOOL_NAME.fullmatch(name)}
        if keep:
            accepted = await self._pins.read(settings.name)
        else:
            accepted = await self._pins.settle(settings.name, usable, {offer.name for offer in offers})
        made = (self._tool(server, offer, accepted.get(name)) for name, offer in sorted(named.items()))
        return [*(tool for tool in made if tool is not None), *lookups(server, self._services)]

    async def known(self, server: RemoteServer) -> Sequence[Tool]:
        """Return the tools with the accepted descriptions, while the server cannot be asked."""
        pins = await self._pins.read(server.settings.name)
        return await self.tools(server, [pin.offer(name) for name, pin in pins.items() if not pin.removed], keep=True)

    def _tool(self, server: RemoteServer, present: Offer, pin: Pin | None) -> Tool | None:
        settings, accepted = server.settings, pin.offer(present.name) if pin is not None else None
        change = change_of(accepted, present) if accepted is not None else ""
        if change and self._is_new(settings, f"{present.name} changed"):
            log.warning("mcp_tool_changed", server=settings.name, tool=present.name)
        offer = accepted if accepted is not None and change else present
        if not _TOOL_NAME.fullmatch(offer.name):
            self._leave_out(settings, offer, "its name cannot be used")
            return None
        # This import is fast, because `remote` imports `schemas` before it connects.
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
            services=self._services,
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
