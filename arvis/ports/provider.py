"""A model vendor: one method, and one more if it can stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from arvis.domain.runs import Account, RunRequest, RunResult


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


class Providers(Protocol):
    """The vendors by name, each loaded when it is first asked for."""

    async def get(self, name: str) -> Provider:
        """Raises `ConfigError` when there is none of this name, or when a package that it needs is missing."""
        ...
