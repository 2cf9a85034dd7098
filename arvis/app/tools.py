"""Opens the tools and plugins that agents can have. The toolbox itself is built at the first message or request."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import structlog

from arvis.app.foundation import Base
from arvis.app.providers import ProviderPool
from arvis.config.servers import STORED_SERVERS
from arvis.domain.agents import AgentStatus
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import StoreError
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import ToolServices, ToolSource
from arvis.process.on_demand import OnDemand

log = structlog.get_logger(__name__)

#: The seconds between two removals of unused browser profiles.
PROFILE_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools and plugins of agents. `box` is the `Toolbox`. `embedder` embeds texts, and `slow` are the tool sources
    whose first use takes long."""

    box: OnDemand[Any]
    embedder: OnDemand[Any]
    slow: Sequence[ToolSource]
    store: Store
    #: The parent of the browser profiles of agents.
    profiles: Path

    async def warm(self) -> None:
        """Query the slow sources before their first use, and load the plugins that agents use, so that `/help` lists
        their commands."""
        if names := await self.store.read(_plugins_of_agents):
            await (await self.box.get()).plugins.find(names)
        for source in self.slow:
            await source.all()

    async def keep_profiles(self, clock: Clock) -> None:
        """Remove unused browser profiles of this process now and every hour. Each process has its own profiles."""
        while True:
            try:
                await self.remove_unused_profiles()
            except (StoreError, OSError) as error:
                log.warning("duty_failed", duty="browser_profiles", error=str(error))
            await clock.sleep(PROFILE_SECONDS)

    async def remove_unused_profiles(self) -> None:
        """Remove the browser profiles of agents that no longer exist. Raise `StoreError` or `OSError`."""
        if found := await asyncio.to_thread(_names_in, self.profiles):
            await self.remove_profiles(found - await self.store.read(_living_agents))

    async def remove_profiles(self, agent_ids: Collection[str]) -> None:
        """Remove the browser profiles of these agents. The toolbox is built only if one of them has a profile."""
        if found := await asyncio.to_thread(_names_in, self.profiles) & set(agent_ids):
            await (await self.box.get()).browsers.forget(found)


def _names_in(folder: Path) -> frozenset[str]:
    try:
        return frozenset(each.name for each in folder.iterdir())
    except FileNotFoundError:
        return frozenset()


def _living_agents(tx: Transaction) -> frozenset[str]:
    return frozenset(agent.id for agent in tx.agents.all() if agent.status is not AgentStatus.ARCHIVED)


@asynccontextmanager
async def open_tools(base: Base, providers: ProviderPool) -> AsyncIterator[Tools]:
    """Yield the tools, and at the end close everything that the tools opened. The daemon opens the tools before the
    roles, so that the tools stay open until the roles have drained."""
    async with AsyncExitStack() as stack:
        config = base.config

        async def services() -> ToolServices:
            made: ToolServices = await (await box.get()).services()
            return made

        servers: OnDemand[Any] = OnDemand(
            "arvis.app.tool_servers:build_servers", base=base, services=services, stack=stack
        )
        embedder: OnDemand[Any] = OnDemand("arvis.app.embedding:build_embedder", base=base, providers=providers)
        box: OnDemand[Any] = OnDemand(
            "arvis.app.toolbox:build_toolbox",
            base=base,
            providers=providers,
            embedder=embedder,
            stack=stack,
            servers=servers,
        )
        if config.tools.allow_hosts:
            # The rules are read at the start, so that an invalid rule is reported now and not at the first fetch of a
            # model.
            guard = await asyncio.to_thread(importlib.import_module, "arvis.net.guard")
            guard.read_rules(allow=config.tools.allow_hosts)
        present = bool(config.mcp.servers) or await base.store.read(_has_stored_servers)
        yield Tools(box, embedder, [await servers.get()] if present else [], base.store, base.folder.browser)


def _has_stored_servers(tx: Transaction) -> bool:
    return tx.kv.get(STORED_SERVERS) is not None


def _plugins_of_agents(tx: Transaction) -> list[str]:
    return sorted({name for agent in tx.agents.all() for name in agent.plugins})
