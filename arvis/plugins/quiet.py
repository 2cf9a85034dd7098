"""The base class of plugins, in which every hook does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from arvis.ports.plugin import PluginPlace, PluginTurn


class QuietPlugin:
    """A `Plugin` whose hooks do nothing. Subclasses override some of them."""

    async def init(self) -> None:
        pass

    async def ready(self, turn: PluginTurn) -> None:
        pass

    async def blocks(self, _turn: PluginTurn) -> Sequence[PluginBlock]:
        return ()

    async def addition(self, _turn: PluginTurn, _message: StoredMessage) -> Addition | None:
        return None

    async def attributes(self, _turn: PluginTurn) -> Sequence[AttributeSpec]:
        return ()

    async def read_response(self, _place: PluginPlace, _attributes: Mapping[str, str], _visible: str) -> ResponseResult:
        return ResponseResult()

    async def tools(self) -> Sequence[str]:
        return ()

    async def commands(self) -> Sequence[PluginCommand]:
        return ()

    async def command(self, _turn: PluginTurn, name: str, _argument: str) -> AgentInput | CommandReply:
        return CommandReply(f"There is no command /{name}.")

    async def reset(self, place: PluginPlace) -> None:
        pass
