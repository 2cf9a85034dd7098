"""The interface of plugins, which extend the turns of the agents that list them. An entry point in the group
`arvis.plugins` names a function `create(services) -> Plugin`.

Each method of a plugin is a hook. A hook may take one second, and the size of its results is limited
(`arvis/plugins/bounds.py`). A hook that fails is skipped. A warning about it is logged once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass
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
from arvis.ports.clock import Clock
from arvis.ports.store import Store
from arvis.ports.tool import ToolServices


@dataclass(frozen=True, slots=True)
class PluginServices:
    """The services that `create` passes to a plugin."""

    store: Store
    clock: Clock
    #: A function that returns the services of tools. Its first call creates them.
    tools: Callable[[], Awaitable[ToolServices]]


@dataclass(frozen=True, slots=True)
class PluginPlace:
    """The agent and the conversation for which a plugin works."""

    agent: Agent
    conversation_id: str
    address: Address
    #: The folder of the conversation; it may not exist yet.
    workspace: Path
    #: The name of the agent's time zone or, if the agent has no time zone, of the daemon's time zone.
    zone: str


@dataclass(frozen=True, slots=True)
class PluginTurn(PluginPlace):
    """A turn for which a plugin works. `now` in ms."""

    execution_id: str
    principal_id: str | None
    #: All agents.
    agents: Sequence[Agent]
    #: A function that returns one line about the current work of each other agent.
    working: Callable[[], Awaitable[Sequence[str]]]
    #: True if only one person writes in the conversation.
    direct: bool
    next_message: NextMessage
    now: int


class Plugin(Protocol):
    """An extension of turns. `arvis.plugins.QuietPlugin` implements every hook without effect, so that a subclass
    overrides only the hooks that it needs."""

    async def init(self) -> None:
        """Prepare the plugin; called once, before all other hooks."""
        ...

    async def ready(self, turn: PluginTurn) -> None:
        """Prepare for a model call. This hook is called before each model call."""
        ...

    async def blocks(self, turn: PluginTurn) -> Sequence[PluginBlock]:
        """Return the parts that the plugin adds to the agent's instructions."""
        ...

    async def addition(self, turn: PluginTurn, message: StoredMessage) -> Addition | None:
        """Return the text that the plugin adds to a person's message, or None; called once for each message."""
        ...

    async def attributes(self, turn: PluginTurn) -> Sequence[AttributeSpec]:
        """Return the descriptions of the values that replies must contain besides their text."""
        ...

    async def read_response(self, place: PluginPlace, attributes: Mapping[str, str], visible: str) -> ResponseResult:
        """Process the values that a reply contains (`attributes`). `visible` is the reply's text for people."""
        ...

    async def tools(self) -> Sequence[str]:
        """Return the names of the plugin's tools."""
        ...

    async def commands(self) -> Sequence[PluginCommand]: ...

    async def command(self, turn: PluginTurn, name: str, argument: str) -> AgentInput | CommandReply:
        """Run one of the plugin's commands."""
        ...

    async def reset(self, place: PluginPlace) -> None:
        """Delete all data that the plugin stores for this conversation. May be called several times."""
        ...
