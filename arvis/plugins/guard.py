"""Calls plugins, which may be third-party code. If a call fails, takes too long or returns an invalid result, the
result is left out and a warning is logged once. ADR 0016 contains the same rule for tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import structlog

from arvis.domain.messages import StoredMessage
from arvis.domain.plugins import (
    Addition,
    AgentInput,
    AttributeSpec,
    CommandReply,
    PluginBlock,
    PluginCommand,
    ResponseResult,
)
from arvis.plugins import bounds
from arvis.ports.plugin import Plugin, PluginPlace, PluginTurn

log = structlog.get_logger(__name__)

_Given = TypeVar("_Given")
_Kept = TypeVar("_Kept")

#: The time limit of a hook, in seconds.
HOOK_SECONDS = 1.0


class Guarded:
    """A plugin with its name. It has the hooks of `Plugin`, but none of them raises an error. A `harmless` plugin can
    add only harmless tools."""

    def __init__(self, *, name: str, plugin: Plugin, harmless: bool = False, seconds: float = HOOK_SECONDS) -> None:
        self.name = name
        self._harmless = harmless
        self._plugin = plugin
        self._seconds = seconds
        self._logged: set[str] = set()

    async def init(self) -> bool:
        """Initialize the plugin. Return True if it can be used."""

        async def begin() -> bool:
            await self._plugin.init()
            return True

        return await self._ask("init", begin, bool, otherwise=False)

    async def ready(self, turn: PluginTurn) -> None:
        await self._ask("ready", lambda: self._plugin.ready(turn), bool, otherwise=False)

    async def blocks(self, turn: PluginTurn) -> tuple[PluginBlock, ...]:
        return await self._ask("blocks", lambda: self._plugin.blocks(turn), bounds.blocks, otherwise=())

    async def addition(self, turn: PluginTurn, message: StoredMessage) -> Addition | None:
        return await self._ask(
            "addition", lambda: self._plugin.addition(turn, message), bounds.addition, otherwise=None
        )

    async def attributes(self, turn: PluginTurn) -> tuple[AttributeSpec, ...]:
        return await self._ask("attributes", lambda: self._plugin.attributes(turn), bounds.attributes, otherwise=())

    async def read_response(self, place: PluginPlace, attributes: Mapping[str, str], visible: str) -> ResponseResult:
        return await self._ask(
            "read_response",
            lambda: self._plugin.read_response(place, attributes, visible),
            bounds.response,
            otherwise=ResponseResult(),
        )

    async def tools(self) -> Sequence[str]:
        def bounded(found: Sequence[str]) -> Sequence[str]:
            return bounds.tools(found, harmless=self._harmless)

        return await self._ask("tools", self._plugin.tools, bounded, otherwise=())

    async def commands(self) -> Sequence[PluginCommand]:
        return await self._ask("commands", self._plugin.commands, bounds.commands, otherwise=())

    async def command(self, turn: PluginTurn, name: str, argument: str) -> AgentInput | CommandReply:
        failed = CommandReply(f"/{name} did not work. Try it again later, or ask the person who runs this bot.")
        return await self._ask(
            "command", lambda: self._plugin.command(turn, name, argument), bounds.outcome, otherwise=failed
        )

    async def reset(self, place: PluginPlace) -> None:
        await self._ask("reset", lambda: self._plugin.reset(place), bool, otherwise=False)

    async def _ask(
        self,
        hook: str,
        call: Callable[[], Awaitable[_Given]],
        bounded: Callable[[_Given], _Kept],
        *,
        otherwise: _Kept,
    ) -> _Kept:
        try:
            async with asyncio.timeout(self._seconds):
                return bounded(await call())
        except TimeoutError:
            self._tell(hook, f"it took more than {self._seconds:g} s")
        # A plugin may be third-party code, and its errors must not break the agent (ADR 0016).
        except (Exception, SystemExit) as defect:  # noqa: BLE001 (reported below, once)
            self._tell(hook, type(defect).__name__, defect)
        return otherwise

    def _tell(self, hook: str, why: str, defect: BaseException | None = None) -> None:
        """Log only the first failure of each hook, because hooks are called in every turn."""
        if hook not in self._logged:
            self._logged.add(hook)
            fix = "repair the package, or remove it from the agents"
            log.warning("plugin_failed", plugin=self.name, hook=hook, why=why, fix=fix, exc_info=defect)
