"""Providers that are there already."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.errors import ConfigError
from arvis.ports.provider import Provider


class GivenProviders:
    """`Providers` by name."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._providers = dict(providers)

    async def get(self, name: str) -> Provider:
        if name not in self._providers:
            raise ConfigError(f"There is no provider {name}")
        return self._providers[name]
