"""A plugin: something that takes part in the turns of the agents that name it (behaviour.md 5.3). Found by its entry point
in the group `arvis.plugins`, which names a function `create(services) -> Plugin`.

A hook has a second, and what it gives is bounded (`arvis/plugins/bounds.py`). One that fails is left out, and the operator
is told once.
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
    """What plugins are made with. `tools` opens what tools are made with, when it is first asked for."""

    store: Store
    clock: Clock
    tools: Callable[[], Awaitable[ToolServices]]


@dataclass(frozen=True, slots=True)
class PluginPlace:
    """Where an agent is at work. `workspace` is the conversation's own folder (made by whoever writes the first file);
    `zone` is the name of the agent's time zone, else of the daemon's."""

    agent: Agent
    conversation_id: str
    address: Address
    workspace: Path
    zone: str


@dataclass(frozen=True, slots=True)
class PluginTurn(PluginPlace):
    """What plugins know of a turn. `agents` are all that there are; `working` gives a line about each of the others and what
    it is at just now; `direct`: only one person talks here; `now` in ms."""

    execution_id: str
    principal_id: str | None
    agents: Sequence[Agent]
    working: Callable[[], Awaitable[Sequence[str]]]
    direct: bool
    next_message: NextMessage
    now: int


class Plugin(Protocol):
    """`arvis.plugins.QuietPlugin` has every hook and does nothing: what is derived from it has only those that it needs."""

    async def init(self) -> None:
        """Once, before anything else."""
        ...

    async def ready(self, turn: PluginTurn) -> None:
        """Before each call of the model."""
        ...

    async def blocks(self, turn: PluginTurn) -> Sequence[PluginBlock]:
        """Parts of the instructions."""
        ...

    async def addition(self, turn: PluginTurn, message: StoredMessage) -> Addition | None:
        """What is added to a message of a person; asked for once."""
        ...

    async def attributes(self, turn: PluginTurn) -> Sequence[AttributeSpec]:
        """What replies are to carry besides their text."""
        ...

    async def read_response(self, place: PluginPlace, attributes: Mapping[str, str], visible: str) -> Heard:
        """What became of them; `visible` is what people see of the reply."""
        ...

    async def tools(self) -> Sequence[str]:
        """Names of tools that come with it."""
        ...

    async def commands(self) -> Sequence[PluginCommand]: ...

    async def command(self, turn: PluginTurn, name: str, argument: str) -> Say | Tell:
        """Do one of these."""
        ...

    async def reset(self, place: PluginPlace) -> None:
        """Forget what it keeps of this conversation. May be asked again for the same one."""
        ...
