"""A scripted plugin, and small values for tests of plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.messages import Address, StoredMessage
from arvis.domain.plugins import (
    Addition,
    AgentInput,
    AttributeSpec,
    CommandReply,
    NextMessage,
    PluginBlock,
    PluginCommand,
    ResponseResult,
)
from arvis.plugins import Guarded, QuietPlugin
from arvis.ports.plugin import PluginPlace, PluginTurn
from tests.context_kit import AGENT, NOW

PLACE = Address("chat", "main", "room")


async def nobody() -> Sequence[str]:
    return ()


def turn_in(workspace: Path, **changes: Any) -> PluginTurn:
    given: dict[str, Any] = {
        "agent": AGENT, "conversation_id": "c", "address": PLACE, "workspace": workspace, "zone": "Europe/Berlin",
        "execution_id": "e", "principal_id": "ann", "agents": [AGENT], "working": nobody, "direct": True,
        "next_message": NextMessage.USER_MESSAGE, "now": NOW,
    }  # fmt: skip
    return PluginTurn(**{**given, **changes})


def agent(slug: str, **changes: Any) -> Agent:
    return Agent(id=f"agent-{slug}", slug=slug, name=slug.title(), **changes)


class Scripted(QuietPlugin):
    """A plugin that returns the given values.

    `asked` lists the called hooks, and `resets` the reset conversations.
    """

    def __init__(self) -> None:
        self.its_blocks: Sequence[PluginBlock] = ()
        self.its_addition: Addition | None = None
        self.its_attributes: Sequence[AttributeSpec] = ()
        self.its_tools: Sequence[str] = ()
        self.its_commands: Sequence[PluginCommand] = ()
        self.answer: AgentInput | CommandReply = CommandReply("done")
        self.files: tuple[str, ...] = ()
        self.asked: list[str] = []
        self.read: list[Mapping[str, str]] = []
        self.kinds: list[NextMessage] = []
        self.resets: list[str] = []

    async def ready(self, turn: PluginTurn) -> None:
        self.kinds.append(turn.next_message)

    async def blocks(self, _turn: PluginTurn) -> Sequence[PluginBlock]:
        return self.its_blocks

    async def addition(self, _turn: PluginTurn, message: StoredMessage) -> Addition | None:
        self.asked.append(message.content)
        return self.its_addition

    async def attributes(self, _turn: PluginTurn) -> Sequence[AttributeSpec]:
        return self.its_attributes

    async def read_response(self, _place: PluginPlace, attributes: Mapping[str, str], _visible: str) -> ResponseResult:
        self.read.append(dict(attributes))
        return ResponseResult(self.files)

    async def tools(self) -> Sequence[str]:
        return self.its_tools

    async def commands(self) -> Sequence[PluginCommand]:
        return self.its_commands

    async def command(self, _turn: PluginTurn, name: str, argument: str) -> AgentInput | CommandReply:
        self.asked.append(f"/{name} {argument}")
        return self.answer

    async def reset(self, place: PluginPlace) -> None:
        self.resets.append(place.conversation_id)


class GivenPlugins:
    """A `Plugins` of the given plugins."""

    def __init__(self, **plugins: QuietPlugin) -> None:
        self.plugins = plugins
        self._guarded = {name: Guarded(name=name, plugin=plugin) for name, plugin in plugins.items()}

    async def find(self, names: Sequence[str]) -> Sequence[Guarded]:
        return [self._guarded[name] for name in names if name in self._guarded]

    def hints(self, names: Sequence[str]) -> Sequence[PluginCommand]:
        found = [self.plugins[name] for name in names if name in self.plugins]
        return [command for plugin in found if isinstance(plugin, Scripted) for command in plugin.its_commands]
