"""Everything that agents may be given as tools, and what tools are made with: opened when the first agent needs it."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from arvis.agents.tool_node import ToolRules
from arvis.app.base import Base
from arvis.app.providers import ProviderShelf
from arvis.ports.fetcher import Fetcher
from arvis.ports.tool import ToolServices, ToolSource
from arvis.process.sandbox import Bubblewrap
from arvis.tools.policy import Policy
from arvis.tools.registry import InstalledTools, Registry


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What agents may use, the sources that are slow to answer the first time, and the door to addresses that people
    give, opened when first asked for."""

    rules: ToolRules
    slow: Sequence[ToolSource]
    fetcher: Callable[[], Awaitable[Fetcher]]

    async def warm(self) -> None:
        """Ask them before anybody waits for them."""
        for source in self.slow:
            await source.all()


@asynccontextmanager
async def open_tools(base: Base, shelf: ProviderShelf) -> AsyncIterator[Toolbox]:
    """Opened before the roles, and so closed after their drain, with all that it opened meanwhile."""
    async with AsyncExitStack() as stack:
        services = _Services(stack=stack, base=base, shelf=shelf)
        sources: list[ToolSource] = [InstalledTools(services=services.get)]
        config = base.config
        if config.tools.allow_hosts:
            # Said at the start, not to the first model that asks.
            guard = await asyncio.to_thread(importlib.import_module, "arvis.net.guard")
            guard.read_rules(allow=config.tools.allow_hosts)
        if config.mcp.servers:
            mcp = await asyncio.to_thread(importlib.import_module, "arvis.tools.mcp.servers")
            sources.append(await stack.enter_async_context(mcp.open_servers(config.mcp.servers, clock=base.clock)))
        rules = ToolRules(
            registry=Registry(sources=sources),
            permit=Policy(rules=config.approvals.policy).permit,
            sessions=base.folder.path / "sessions",
            secrets=base.secrets,
            timezone=config.scheduler.timezone,
            rounds=config.limits.tool_rounds,
            approval_ms=config.approvals.deadline,
            on_expiry=config.approvals.on_expiry,
        )
        yield Toolbox(rules, sources[1:], services.fetcher)


class _Services:
    """Made once, with the first tool."""

    def __init__(self, *, stack: AsyncExitStack, base: Base, shelf: ProviderShelf) -> None:
        self._stack = stack
        self._base = base
        self._shelf = shelf
        self._made: ToolServices | None = None

    async def fetcher(self) -> Fetcher:
        return (await self.get()).fetcher

    async def get(self) -> ToolServices:
        if self._made is None:
            base, settings = self._base, self._base.config.tools
            net = await asyncio.to_thread(importlib.import_module, "arvis.net.fetcher")
            fetcher = await self._stack.enter_async_context(net.open_fetcher(allow=settings.allow_hosts))
            self._made = ToolServices(
                store=base.store,
                clock=base.clock,
                fetcher=fetcher,
                http=self._shelf.http,
                sandbox=Bubblewrap(hidden=[base.folder.path]),
                secrets=base.secrets,
                search_url=settings.search_url,
            )
        return self._made
