"""What differs between graphs that let one agent work with a model and tools: how the tools are told of, and how a reply asks
for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arvis.domain.runs import RunResult, Turn
from arvis.domain.tools import ToolSpec
from arvis.tools.registry import Offer, Registry


class Manner(Protocol):
    @property
    def graph(self) -> str:
        """The name of the graph that works so."""
        ...

    async def offer(self, names: Sequence[str]) -> Offer:
        """What may be called, of an agent that has the tools of these names."""
        ...

    async def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        """What the model is told of as tools."""
        ...

    async def rules(self, names: Sequence[str]) -> str:
        """What it is told besides, as a part of the instructions."""
        ...

    def read(self, result: RunResult) -> RunResult:
        """A reply, with the calls that it asks for."""
        ...

    def shown(self, turns: Sequence[Turn], *, off: bool = False) -> tuple[Turn, ...]:
        """Rounds as the model reads them again; `off`: no more calls are made."""
        ...


class ToolCalling:
    """`Manner` of graph `agent`: tools are called the way the vendors have it."""

    graph = "agent"

    def __init__(self, *, registry: Registry) -> None:
        self._registry = registry

    async def offer(self, names: Sequence[str]) -> Offer:
        return await self._registry.offer(names)

    async def specs(self, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return (await self._registry.offer(names)).specs

    async def rules(self, _names: Sequence[str]) -> str:
        return ""

    def read(self, result: RunResult) -> RunResult:
        return result

    def shown(self, turns: Sequence[Turn], *, off: bool = False) -> tuple[Turn, ...]:
        del off  # vendors are told by the request itself
        return tuple(turns)
