"""The interface of model vendors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Protocol, runtime_checkable

from arvis.domain.dataclass import dataclass
from arvis.domain.embeddings import EmbeddingRequest, EmbeddingResult
from arvis.domain.runs import Account, CallTimeouts, RunRequest, RunResult
from arvis.ports.clock import Clock
from arvis.ports.http import HttpClient
from arvis.ports.sandbox import Programs


class Provider(Protocol):
    """A model vendor. It stores no state between calls. Besides cancellation, it raises only `ProviderError`."""

    @property
    def name(self) -> str: ...

    async def complete(self, request: RunRequest, account: Account) -> RunResult: ...


@runtime_checkable
class StreamingProvider(Provider, Protocol):
    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        """Do the same as `complete`, and call `on_text` with each piece of text as it arrives. If the stream ends too
        early, raise an error of the kind `timeout` instead of returning an incomplete answer."""
        ...


@runtime_checkable
class EmbeddingProvider(Protocol):
    """A provider whose vendor computes the vectors of texts."""

    async def embed(self, request: EmbeddingRequest, account: Account) -> EmbeddingResult:
        """Return a vector for each text. Raise only `ProviderError`, besides cancellation."""
        ...


@runtime_checkable
class KeepsConnections(Protocol):
    """A provider with resources that `aclose` releases when the daemon stops."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ProviderServices:
    """The services that an entry point `create(name, services) -> Provider` gets."""

    http: HttpClient
    clock: Clock
    timeouts: CallTimeouts
    programs: Programs
    #: A folder for providers that run programs. Only providers write to it.
    folder: Path
    #: The environment of this process. A provider passes only selected variables on to its programs.
    environ: Mapping[str, str] = field(repr=False)


class Providers(Protocol):
    """The model vendors by name; each is loaded at its first use."""

    async def get(self, name: str) -> Provider:
        """Return the provider with this name. Raise `ConfigError` if there is none, or if its package is missing."""
        ...
