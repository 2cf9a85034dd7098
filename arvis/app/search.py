"""Finds the search providers by their entry points, and reads their keys. A provider is loaded when a search first
needs it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from arvis.config.search import VARIABLES, Search, order, variable_of
from arvis.domain.accounts import Variable
from arvis.domain.errors import SecretLost
from arvis.domain.web_search import SearchFailed, SearchProblem
from arvis.extensions import SEARCH_PROVIDERS, installed
from arvis.ports.clock import Clock
from arvis.ports.http import HttpClient
from arvis.ports.search import SearchProvider, SearchServices
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction


class SearchPool:
    """The loaded search providers; implements `SearchProviders`. `settings` returns the current section `search`. A key
    comes from the configuration, or else from a secret variable of the store."""

    def __init__(
        self, *, settings: Callable[[], Search], store: Store, secrets: SecretBox, http: HttpClient, clock: Clock
    ) -> None:
        self._settings = settings
        self._store = store
        self._secrets = secrets
        self._http = http
        self._clock = clock
        self._points = installed(SEARCH_PROVIDERS)
        self._loaded: dict[str, SearchProvider] = {}
        self._loading = asyncio.Lock()

    async def get(self) -> Sequence[tuple[str, SearchProvider | str]]:
        stored = await self._store.read(_stored_keys)
        return [(name, await self._provider(name)) for name in order(self._settings(), stored)]

    async def _provider(self, name: str) -> SearchProvider | str:
        async with self._loading:
            if name not in self._loaded:
                if name not in self._points:
                    return f"there is no such provider (use {', '.join(sorted(self._points))})"
                try:
                    create: Any = await asyncio.to_thread(self._points[name].load)
                except ImportError as missing:
                    return f"its package cannot be imported ({missing})"
                self._loaded[name] = create(self._services(name))
            return self._loaded[name]

    def _services(self, name: str) -> SearchServices:
        async def key() -> str | None:
            given = self._settings().key(name)
            if given is not None:
                return given
            variable = await self._store.read(_variable, variable_of(name))
            try:
                return None if variable is None else self._secrets.open(variable.value)
            except SecretLost:
                text = f"its key in the variable {variable_of(name)} can no longer be decrypted"
                raise SearchFailed(SearchProblem.NOT_SET_UP, text) from None

        return SearchServices(self._http, self._clock, key, self._settings().address(name))


def _variable(tx: Transaction, key: str) -> Variable | None:
    """Return a secret variable; None if no secret variable has this name. A variable that is not secret is not used as
    a key, because pages show its value."""
    found = tx.variables.get(key)
    return found if found is not None and found.secret else None


def _stored_keys(tx: Transaction) -> frozenset[str]:
    """Return the providers whose keys are stored as secret variables."""
    return frozenset(name for name, (key, _) in VARIABLES.items() if _variable(tx, key) is not None)
