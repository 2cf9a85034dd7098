"""The interface of plugins, which take part in the turns of the agents that name them (behaviour.md 5.3). A plugin is
found by its entry point in the group `arvis.plugins`, which names a function `create(services) -> Plugin`.

A hook may take one second, and its results are limited (`arvis/plugins/bounds.py`). A failing hook is skipped, and
the operator is notified once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from arvis.domain.agents import Agent
from arvis.domain.messages import Address, StoredMessage
from arvis.domain.plugins import Addition, AttributeSpec, Heard, NextMessage, PluginBlock, PluginCommand, Say, Tell
from arvis.ports.clock import Clock
from arvis.ports.store import Store
from arvis.ports.tool import ToolServices


@dataclass(frozen=True, slots=True)
class PluginServices:
    """Services for plugins. `tools` opens the services of tools at its first call."""

    store: Store
    clock: Clock
    tools: Callable[[], Awaitable[ToolServices]]


@dataclass(frozen=True, slots=True)
class PluginPlace:
    """The place where an agent works. `workspace` is the conversation's own folder (created by the first program that
    writes a file); `zone` is the name of the agent's time zone, else of the daemon's."""

    agent: Agent
    conversation_id: str
    address: Address
    workspace: Path
    zone: str


@dataclass(frozen=True, slots=True)
class PluginTurn(PluginPlace):
    """Information about a turn for plugins. `agents` are all agents; `working` describes in one line each what the
    other agents are doing now; `direct`: only one person writes here; `now` in ms."""

    execution_id: str
    principal_id: str | None
    agents: Sequence[Agent]
    working: Callable[[], Awaitable[Sequence[str]]]
    direct: bool
    next_message: NextMessage
    now: int


class Plugin(Protocol):
    """`arvis.plugins.QuietPlugin` implements every hook with no effect: subclasses override the hooks that they need."""

    async def init(self) -> None:
        """Called once, before anything else."""
        ...

    async def ready(self, turn: PluginTurn) -> None:
        """Prepare for a call of the model; called before each one."""
        ...

    async def blocks(self, turn: PluginTurn) -> Sequence[PluginBlock]:
        """Return parts of the instructions."""
        ...

    async def addition(self, turn: PluginTurn, message: StoredMessage) -> Addition | None:
        """Return the addition to a person's message; called once for each message."""
        ...

    async def attributes(self, turn: PluginTurn) -> Sequence[AttributeSpec]:
        """Return the metadata that replies must contain besides their text."""
        ...

    async def read_response(self, place: PluginPlace, attributes: Mapping[str, str], visible: str) -> Heard:
        """Process the metadata of a reply; `visible` is the text of the reply that people see."""
        ...

    async def tools(self) -> Sequence[str]:
        """Return the names of the plugin's tools."""
        ...

    async def commands(self) -> Sequence[PluginCommand]: ...

    async def command(self, turn: PluginTurn, name: str, argument: str) -> Say | Tell:
        """Run one of these commands."""
        ...

    async def reset(self, place: PluginPlace) -> None:
        """Delete what the plugin stores for this conversation. May be called again for the same conversation."""
        ...
