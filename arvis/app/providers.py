"""The providers of models by name: found by their entry points, loaded when the first account needs them."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import structlog

from arvis.domain.errors import ConfigError
from arvis.domain.runs import CallTimeouts
from arvis.ports.clock import Clock
from arvis.ports.http import HttpClient
from arvis.ports.provider import Provider

log = structlog.get_logger(__name__)


@asynccontextmanager
async def open_shelf(*, clock: Clock, timeouts: CallTimeouts) -> AsyncIterator[ProviderShelf]:
    """Opened before the roles, and so closed after their drain, with all that it opened meanwhile."""
    async with AsyncExitStack() as stack:
        yield ProviderShelf(stack=stack, clock=clock, timeouts=timeouts)


class ProviderShelf:
    """`Providers`: each is imported off the event loop, once. What is opened for them is closed with `stack`."""

    def __init__(self, *, stack: AsyncExitStack, clock: Clock, timeouts: CallTimeouts) -> None:
        self._stack = stack
        self._clock = clock
        self._timeouts = timeouts
        self._points: Mapping[str, EntryPoint] = {point.name: point for point in entry_points(group="arvis.providers")}
        self._loaded: dict[str, Provider] = {}
        self._loading = asyncio.Lock()
        self._http: HttpClient | None = None

    def require(self, names: Iterable[str]) -> None:
        """Raises `ConfigError` for a name that nobody provides; loads nothing."""
        for name in names:
            self._point(name)

    async def get(self, name: str) -> Provider:
        if (known := self._loaded.get(name)) is not None:
            return known
        async with self._loading:
            if name not in self._loaded:
                self._loaded[name] = await self._load(name)
        return self._loaded[name]

    async def warm(self, names: Iterable[str]) -> None:
        """Load these before anybody waits for them. One that cannot be loaded is told of; its accounts are passed
        over."""
        for name in names:
            try:
                await self.get(name)
            except ConfigError as missing:
                log.warning("provider_unavailable", provider=name, why=missing.what, fix=missing.fix)

    async def http(self) -> HttpClient:
        """The client that all of them share."""
        if self._http is not None:
            return self._http
        net = await asyncio.to_thread(importlib.import_module, "arvis.net.client")
        self._http = opened = await self._stack.enter_async_context(net.open_http_client())
        client: HttpClient = opened
        return client

    async def _load(self, name: str) -> Provider:
        try:
            create: Any = await asyncio.to_thread(self._point(name).load)
        except ImportError as missing:
            fix = f"install it with `pip install 'arvis[{name}]'`, then start again"
            raise ConfigError(f"the provider {name} needs a package that is missing: {missing.name}", fix=fix) from None
        http = None if name == "demo" else await self.http()
        provider: Provider = create(name=name, http=http, clock=self._clock, timeouts=self._timeouts)
        return provider

    def _point(self, name: str) -> EntryPoint:
        if name not in self._points:
            raise ConfigError(f"There is no provider {name}", fix=f"use one of {', '.join(sorted(self._points))}")
        return self._points[name]
