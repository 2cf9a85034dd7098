"""Collects the choices that the dashboard's forms offer, such as tools and models, and runs `arvis doctor` for the
dashboard."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from arvis.config import Config
from arvis.domain.errors import ToolError
from arvis.domain.runs import Account
from arvis.domain.tools import Permit
from arvis.extensions import (
    CONNECTORS,
    PLUGINS,
    PROVIDERS,
    TOOLS,
    file_of,
    installed,
    risky_plugins,
    risky_tools,
    words_in,
)
from arvis.llm.model_limits import sees, window_of
from arvis.llm.prices import Prices
from arvis.llm.selection import names_served
from arvis.ports.choices import BotField, ModelPrice, Offered, OfferedModel, OfferedPlatform, Origin
from arvis.ports.extras import install_command, is_installed
from arvis.ports.sandbox import Programs, Task
from arvis.ports.tool import Tool
from arvis.tools.registry import Registry

_OWN = ("arvis", "connectors")
#: A file in a connector's package. It explains how to create a bot, and describes the settings of a bot.
_GUIDE = "guide.json"
_VENDORS = (("claude", "anthropic"), ("gpt", "openai"), ("gemini", "google"))


class InstalledChoices:
    """The choices of this installation; implements `Choices`. `accounts` returns the current model accounts, and
    `servers` the names of the tool servers."""

    def __init__(
        self,
        *,
        registry: Registry,
        permit: Callable[[Tool], Permit],
        prices: Prices,
        accounts: Callable[[], Sequence[Account]],
        config: Callable[[], Config],
        servers: Callable[[], Sequence[str]],
    ) -> None:
        self._servers = servers
        self._registry = registry
        self._permit = permit
        self._prices = prices
        self._accounts = accounts
        self._config = config
        self._tools = installed(TOOLS)

    async def tools(self) -> Sequence[Tool]:
        return await self._registry.all()

    def origin_of(self, tool: Tool) -> tuple[Origin, str]:
        name = tool.spec.name
        if name not in self._tools:
            return Origin.MCP, name.partition(".")[0]
        return _origin(self._tools[name])

    def asks(self, tool: Tool) -> str:
        return self._permit(tool)

    def is_harmless(self, tool: Tool) -> bool:
        return not risky_tools([tool.spec.name])

    def servers(self) -> Sequence[str]:
        return self._servers()

    def served(self) -> Collection[str] | None:
        return names_served(self._accounts())

    async def models(self) -> Sequence[OfferedModel]:
        """Return the models of the accounts, followed by all other models that have a known price."""
        accounts = self._accounts()
        own = [(each.provider, model) for each in accounts for model in (each.model, *each.models)]
        listed = [(_vendor_of(model), model) for model in self._prices.listed]
        return [self._model(provider, model, accounts) for provider, model in dict.fromkeys([*own, *listed])]

    def price(self, provider: str, model: str) -> ModelPrice | None:
        known = self._prices.of(provider, model)
        return None if known is None else ModelPrice(known.input, known.output, known.cached, known.written)

    async def plugins(self) -> Sequence[Offered]:
        points = [point for _, point in sorted(installed(PLUGINS).items())]
        words = await asyncio.gather(*(asyncio.to_thread(words_in, point) for point in points))
        risky = risky_plugins(point.name for point in points)
        return [
            Offered(point.name, said, _origin(point)[0], harmless=point.name not in risky)
            for point, said in zip(points, words, strict=True)
        ]

    def providers(self) -> Sequence[str]:
        return sorted(installed(PROVIDERS))

    async def platforms(self) -> Sequence[OfferedPlatform]:
        points = [point for _, point in sorted(installed(CONNECTORS).items())]
        return await asyncio.to_thread(lambda: [_platform(point) for point in points])

    def _model(self, provider: str, model: str, accounts: Sequence[Account]) -> OfferedModel:
        config = self._config()
        return OfferedModel(
            provider=provider,
            model=model,
            price=self.price(provider, model),
            window=window_of(provider, model, config.context_windows, None),
            sees=sees(provider, model, config.vision_models),
            accounts=[
                each.name
                for each in accounts
                if each.provider == provider and (not each.models or model in {each.model, *each.models})
            ],
        )


def _vendor_of(model: str) -> str:
    return next((vendor for beginning, vendor in _VENDORS if model.startswith(beginning)), "openai")


def _origin(point: EntryPoint) -> tuple[Origin, str]:
    package = point.module.partition(".")[0]
    return (Origin.BUILT_IN, "") if package in _OWN else (Origin.PACKAGE, package)


def _platform(point: EntryPoint) -> OfferedPlatform:
    file = file_of(point)
    guide = _guide(file.parent / _GUIDE) if file is not None and file.name == "__init__.py" else {}
    return OfferedPlatform(
        name=point.name,
        title=str(guide.get("title", point.name)),
        words=str(guide.get("words", "")),
        steps=tuple(guide.get("steps", ())),
        needs=dict(guide.get("needs", {})),
        fields=tuple(BotField(**each) for each in guide.get("fields", ())),
        manifest="\n".join(guide.get("manifest", ())),
        install="" if is_installed(point.name) else install_command(point.name),
    )


def _guide(file: Path) -> Mapping[str, Any]:
    """Return the guide of a connector. If the file is missing or unreadable, return an empty mapping, because a bot can
    be created without a guide."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


# `arvis doctor` runs as a separate program for two reasons: its checks are in a higher layer, and its errors cannot
# harm the daemon.

#: The time limit in seconds. The program queries bots and accounts over the network.
_TIMEOUT = 60.0
_MOST_OUTPUT = 1_048_576
#: The exit codes with which `arvis doctor` reports that it has made all checks.
_DONE = (0, 1)
_BY_HAND = "Run `arvis doctor` in a terminal on the machine of Arvis."


class Doctor:
    """A runner of `arvis doctor` for the configuration and the data folder of this process. A call returns the JSON
    output of the command, and raises `ToolError` if the command does not complete its checks."""

    def __init__(self, *, config: Config, folder: Path, programs: Programs) -> None:
        self._config = config
        self._folder = folder
        self._programs = programs

    async def __call__(self, security: bool) -> str:
        file = self._config.config_file
        argv = [sys.executable, "-m", "arvis", "doctor", "--json", "--data", str(self._folder)]
        argv += ["--config", str(file)] if file is not None else []
        argv += ["--security"] if security else []
        # The program runs in the daemon's working folder, because the path of the default configuration file and
        # relative paths in the file start there.
        environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        task = Task(argv, Path.cwd(), environment=environment, timeout=_TIMEOUT, max_output=_MOST_OUTPUT)
        done = await self._programs.run(task)
        if done.timed_out:
            raise ToolError(f"`arvis doctor` took longer than {_TIMEOUT:g} seconds.", fix=_BY_HAND)
        if done.exit_code not in _DONE:
            raise ToolError(f"`arvis doctor` ended with exit code {done.exit_code}.", fix=_BY_HAND)
        return done.stdout.decode("utf-8", "replace")
