"""Finds the providers of models by their entry points. A provider is loaded when an account first needs it."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import structlog

from arvis.domain.errors import ConfigError
from arvis.domain.runs import CallTimeouts
from arvis.extensions import PROVIDERS, installed
from arvis.ports.clock import Clock
from arvis.ports.extras import missing_package
from arvis.ports.http import HttpClient, HttpResponse
from arvis.ports.provider import KeepsConnections, Provider, ProviderServices
from arvis.process.subprocesses import GuardedPrograms

log = structlog.get_logger(__name__)


class LateHttp:
    """An `HttpClient` that imports and opens the real client at its first request. A daemon without requests does not
    import the real client."""

    def __init__(self, *, stack: AsyncExitStack) -> None:
        self._stack = stack
        self._opening = asyncio.Lock()
        self._client: HttpClient | None = None

    async def open(self) -> HttpClient:
        async with self._opening:
            if self._client is not None:
                return self._client
            net = await asyncio.to_thread(importlib.import_module, "arvis.net.client")
            client: HttpClient = await self._stack.enter_async_context(net.open_http_client())
            self._client = client
            return client

    @asynccontextmanager
    async def post(self, url: str, **how: Any) -> AsyncIterator[HttpResponse]:
        async with (self._client or await self.open()).post(url, **how) as response:
            yield response

    @asynccontextmanager
    async def post_form(self, url: str, **how: Any) -> AsyncIterator[HttpResponse]:
        async with (self._client or await self.open()).post_form(url, **how) as response:
            yield response

    @asynccontextmanager
    async def get(self, url: str, **how: Any) -> AsyncIterator[HttpResponse]:
        async with (self._client or await self.open()).get(url, **how) as response:
            yield response


@asynccontextmanager
async def open_providers(*, clock: Clock, timeouts: CallTimeouts, folder: Path) -> AsyncIterator[ProviderPool]:
    """Yield the providers, and at the end close everything that the providers opened. The daemon opens the providers
    before the roles, so that the providers stay open until the roles have drained. `folder` is the data folder."""
    async with AsyncExitStack() as stack:
        services = ProviderServices(
            http=LateHttp(stack=stack),
            clock=clock,
            timeouts=timeouts,
            programs=GuardedPrograms(),
            folder=folder,
            environ=os.environ,
        )
        yield ProviderPool(stack=stack, services=services)


class ProviderPool:
    """The loaded providers; implements `Providers`. A thread imports each provider once. `stack` closes the resources
    of the providers."""

    def __init__(self, *, stack: AsyncExitStack, services: ProviderServices) -> None:
        self._stack = stack
        self._services = services
        self._points: Mapping[str, EntryPoint] = installed(PROVIDERS)
        self._loaded: dict[str, Provider] = {}
        self._loading = asyncio.Lock()

    @property
    def http(self) -> HttpClient:
        """The HTTP client that all providers share."""
        return self._services.http

    def require(self, names: Iterable[str]) -> None:
        """Raise `ConfigError` if one of these providers does not exist. No provider is loaded."""
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
        """Load these providers before the first request. If a provider cannot be loaded, log a warning; model calls
        then skip the accounts of this provider."""
        for name in names:
            try:
                await self.get(name)
            except ConfigError as missing:
                log.warning("provider_unavailable", provider=name, why=missing.what, fix=missing.fix)

    async def _load(self, name: str) -> Provider:
        try:
            create: Any = await asyncio.to_thread(self._point(name).load)
        except ModuleNotFoundError as missing:
            raise missing_package(f"The provider {name}", missing.name or str(missing), name) from None
        provider: Provider = create(name, self._services)
        if isinstance(provider, KeepsConnections):
            self._stack.push_async_callback(provider.aclose)
        return provider

    def _point(self, name: str) -> EntryPoint:
        if name not in self._points:
            raise ConfigError(f"There is no provider {name}", fix=f"Use one of {', '.join(sorted(self._points))}.")
        return self._points[name]
