"""Builds the tool servers (Model Context Protocol). The daemon imports this module at its start only if there are
servers."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from arvis.app.foundation import Base
from arvis.messaging.owner_alerts import alert_login, resolve_login
from arvis.ports.http import GuardedClient
from arvis.queue.outages import RetryingStore
from arvis.tools.mcp.logins import Access, Logins
from arvis.tools.mcp.servers import McpServers
from arvis.tools.mcp.stored import StoredServers
from arvis.tools.result_files import Services


def build_servers(base: Base, services: Services) -> McpServers:
    """Return the servers of the configuration and those that were added at run time. The caller closes them. `services`
    returns the services of tools."""
    # With this store, a running call waits while the database is unavailable.
    store = RetryingStore(store=base.store, clock=base.clock)

    @asynccontextmanager
    async def open_client(hosts: Sequence[str]) -> AsyncIterator[GuardedClient]:
        net = await asyncio.to_thread(importlib.import_module, "arvis.net.fetcher")
        async with net.open_fetcher(allow=[*base.config.tools.allow_hosts, *hosts]) as fetcher:
            yield fetcher

    async def report(server: str, needed: bool) -> None:
        await store.write(alert_login if needed else resolve_login, server, base.clock.now())

    return McpServers(
        base.config.mcp.servers,
        clock=base.clock,
        store=store,
        services=services,
        access=Access(Logins(store, base.secrets, base.clock), open_client, report),
        stored=StoredServers(store, base.secrets, base.clock),
    )
