"""A fixed set of providers, and the services with which providers are created."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from arvis.domain.errors import ConfigError, ToolError
from arvis.domain.runs import CallTimeouts
from arvis.ports.clock import Clock
from arvis.ports.http import HttpClient
from arvis.ports.provider import Provider, ProviderServices
from arvis.ports.sandbox import Finished, Programs, Task


class GivenProviders:
    """Implements `Providers` with a fixed set of providers, by name."""

    def __init__(self, providers: Mapping[str, Provider]) -> None:
        self._providers = dict(providers)

    async def get(self, name: str) -> Provider:
        if name not in self._providers:
            raise ConfigError(f"There is no provider {name}")
        return self._providers[name]


class NoPrograms:
    """Implements `Programs` for a machine on which no program is installed."""

    async def run(self, task: Task, *, on_stdout: Callable[[bytes], None] | None = None) -> Finished:
        raise ToolError(f"The program {task.argv[0]} is not installed.")


def provider_services(
    http: HttpClient,
    clock: Clock,
    *,
    timeouts: CallTimeouts | None = None,
    programs: Programs | None = None,
    folder: Path = Path("no-folder"),
    environ: Mapping[str, str] | None = None,
) -> ProviderServices:
    """Return the services for a provider's `create(name, services)`. A service that is not given gets a default that
    suffices if the provider does not use it."""
    return ProviderServices(
        http=http,
        clock=clock,
        timeouts=timeouts or CallTimeouts(),
        programs=programs or NoPrograms(),
        folder=folder,
        environ=environ or {},
    )
