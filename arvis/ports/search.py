"""The interface of search providers. An entry point in the group `arvis.search_providers` names a function
`create(services) -> SearchProvider`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.web_search import Findings, SearchQuery
from arvis.ports.clock import Clock
from arvis.ports.http import HttpClient


class SearchProvider(Protocol):
    """A search service. It stores no state between searches. Besides cancellation, it raises only `SearchFailed`."""

    async def search(self, query: SearchQuery) -> Findings: ...


@dataclass(frozen=True, slots=True)
class SearchServices:
    """The services that `create` passes to a search provider."""

    http: HttpClient
    clock: Clock
    #: A function that returns the key of the provider; None if there is no key. It is called for each search, so that a
    #: new key takes effect at once.
    key: Callable[[], Awaitable[str | None]]
    #: The address in the configuration; None means the provider's own address.
    address: str | None = None


class SearchProviders(Protocol):
    """The search providers in use."""

    async def get(self) -> Sequence[tuple[str, SearchProvider | str]]:
        """Return the names of the providers with the providers, in the order in which they are asked. For a provider
        that cannot be loaded, return the reason as a text."""
        ...
