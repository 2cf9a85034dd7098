"""The available plugins. An agent names its plugins, and each plugin is loaded when an agent first uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Protocol

import structlog

from arvis.domain.plugins import PluginCommand
from arvis.extensions import PLUGINS, installed, risky_plugins
from arvis.plugins.guard import Guarded
from arvis.ports.plugin import Plugin, PluginServices

log = structlog.get_logger(__name__)

#: The methods that a plugin must have.
_HOOKS = (
    "init", "ready", "blocks", "addition", "attributes", "read_response", "tools", "commands", "command", "reset",
)  # fmt: skip


class Plugins(Protocol):
    async def find(self, names: Sequence[str]) -> Sequence[Guarded]:
        """Return the available plugins among `names`, in the order of that list."""
        ...

    def hints(self, names: Sequence[str]) -> Sequence[PluginCommand]:
        """Return the commands of the plugins among `names` that `find` has already loaded."""
        ...


class NoPlugins:
    """`Plugins` without any plugin."""

    async def find(self, _names: Sequence[str]) -> Sequence[Guarded]:
        return ()

    def hints(self, _names: Sequence[str]) -> Sequence[PluginCommand]:
        return ()


class InstalledPlugins:
    """`Plugins` from the entry points `arvis.plugins` of Arvis and of other packages. Each plugin is imported outside
    the event loop. An unknown plugin, or a plugin that cannot be created, is left out, and a warning is logged once."""

    def __init__(self, *, services: PluginServices) -> None:
        self._services = services
        self._points = installed(PLUGINS)
        self._made: dict[str, Guarded | None] = {}
        self._commands: dict[str, Sequence[PluginCommand]] = {}
        self._making = asyncio.Lock()

    async def find(self, names: Sequence[str]) -> Sequence[Guarded]:
        made = [self._made[name] if name in self._made else await self._make(name) for name in dict.fromkeys(names)]
        return [plugin for plugin in made if plugin is not None]

    def hints(self, names: Sequence[str]) -> Sequence[PluginCommand]:
        return [command for name in names for command in self._commands.get(name, ())]

    async def _make(self, name: str) -> Guarded | None:
        """Return the plugin. Create it if this is its first use. If the creation fails, log the error and return
        None."""
        async with self._making:
            if name not in self._made:
                self._made[name] = await self._begun(name)
            return self._made[name]

    async def _begun(self, name: str) -> Guarded | None:
        point = self._points.get(name)
        if point is None:
            fix = f"install its package, or remove it from the agents; available plugins: {', '.join(self._points)}"
            log.warning("plugin_unavailable", plugin=name, why="no installed package provides it", fix=fix)
            return None
        plugin = await _loaded(point, self._services)
        if plugin is None:
            return None
        guarded = Guarded(name=name, plugin=plugin, harmless=not risky_plugins([name]))
        if not await guarded.init():
            return None
        self._commands[name] = await guarded.commands()
        return guarded


async def _loaded(point: EntryPoint, services: PluginServices) -> Plugin | None:
    try:
        create = await asyncio.to_thread(point.load)
        plugin: Plugin = create(services)
        for hook in _HOOKS:
            getattr(plugin, hook)
    except ImportError as missing:
        log.warning("plugin_unavailable", plugin=point.name, why=str(missing), fix="install the missing package")
        return None
    except (Exception, SystemExit) as defect:  # third-party code: its errors must not break the agent (ADR 0016)
        why = type(defect).__name__
        log.exception(
            "plugin_unavailable", plugin=point.name, why=why, fix="repair the package, or remove it from the agents"
        )
        return None
    return plugin
