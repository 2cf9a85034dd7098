"""Builds the tool servers (Model Context Protocol). The daemon imports this module at its start only if there are
servers, and otherwise at the first use of a tool of a server, or the first request to the API."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from arvis.app.foundation import Base
from arvis.domain.errors import Conflict, MissingPackage, NotFound, sentences
from arvis.messaging import notices
from arvis.messaging.owner_alerts import alert_login, resolve_login
from arvis.ports.http import GuardedClient
from arvis.process.data_folder import address_file
from arvis.queue.outages import RetryingStore
from arvis.tools.mcp.logins import CALLBACK, Access, Logins
from arvis.tools.mcp.servers import McpServers
from arvis.tools.mcp.stored import StoredServers
from arvis.tools.result_files import Services


def build_servers(*, base: Base, services: Services, stack: AsyncExitStack) -> McpServers:
    """Return the servers of the configuration and the servers that were added at run time. `stack` closes the servers,
    and `services` returns the services of tools."""
    # With this store, a running call waits while the database is unavailable.
    store = RetryingStore(store=base.store, clock=base.clock)

    @asynccontextmanager
    async def open_client(hosts: Sequence[str]) -> AsyncIterator[GuardedClient]:
        net = await asyncio.to_thread(importlib.import_module, "arvis.net.fetcher")
        async with net.open_fetcher(allow=[*base.config.tools.allow_hosts, *hosts]) as fetcher:
            yield fetcher

    async def report(server: str, needed: bool) -> None:
        await store.write(alert_login if needed else resolve_login, server, base.clock.now())

    servers = McpServers(
        base.config.mcp.servers,
        clock=base.clock,
        store=store,
        services=services,
        access=Access(Logins(store, base.secrets, base.clock), open_client, report),
        stored=StoredServers(store, base.secrets, base.clock),
    )
    stack.push_async_callback(servers.close)
    return servers


async def login_text(base: Base, servers: McpServers, server: str) -> str | None:
    """Begin a login at a server. Return a text with the link for a person, or with the reason why the login could not
    begin. Return None if the daemon does not know the address of a web server to which the browser could return after
    the login."""
    address = await asyncio.to_thread(_web_address, base)
    if address is None:
        return None
    try:
        link = await servers.begin_login(server, f"{address.rstrip('/')}{CALLBACK}")
    except (Conflict, NotFound, MissingPackage) as failed:
        return sentences(failed.what, failed.why, failed.fix)
    return notices.login(server, link.url, max(1, round((link.expires_at - base.clock.now()) / 60_000)))


def _web_address(base: Base) -> str | None:
    if base.config.web.public_url is not None:
        return base.config.web.public_url
    try:
        return address_file(base.folder.path).read_text("utf-8")
    except OSError:
        return None
