"""A model vendor: one method, and one more if it can stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from arvis.domain.runs import Account, CallTimeouts, RunRequest, RunResult
from arvis.ports.clock import Clock
from arvis.ports.http import HttpClient
from arvis.ports.sandbox import Programs


class Provider(Protocol):
    """Stateless between calls. Raises `ProviderError` and nothing else (cancellation apart)."""

    @property
    def name(self) -> str: ...

    async def complete(self, request: RunRequest, account: Account) -> RunResult: ...


@runtime_checkable
class StreamingProvider(Provider, Protocol):
    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        """Like `complete`; `on_text` receives each piece of text as it arrives. A stream that ends early is
        an error of kind `timeout`, never a short answer."""
        ...


@runtime_checkable
class KeepsConnections(Protocol):
    """A provider with resources to release at the end."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ProviderServices:
    """Services for an entry point `create(name, services) -> Provider`. `folder` is for providers that run programs:
    no other component writes there, in particular no tool. Of `environ`, the environment of this process, providers
    pass on only the variables that they name."""

    http: HttpClient
    clock: Clock
    timeouts: CallTimeouts
    programs: Programs
    folder: Path
    environ: Mapping[str, str] = field(repr=False)


class Providers(Protocol):
    """The vendors by name, each loaded at its first use."""

    async def get(self, name: str) -> Provider:
        """Return a provider. Raises `ConfigError` if none has this name, or if a package that it needs is missing."""
        ...
