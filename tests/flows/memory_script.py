"""The memory part of scripted insights: nothing is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arvis.domain.memory import Fact, State
from arvis.ports.memory import FactChange
from arvis.ports.pages import Page


class NoMemory:
    async def fact(self, fact_id: str) -> Fact | None:
        return None

    async def facts(self, **wanted: Any) -> Page[Fact]:
        return Page((), None)

    async def fact_changes(self, fact_id: str) -> Sequence[FactChange]:
        return ()

    async def replaced_facts(self, fact_id: str) -> Sequence[Fact]:
        return ()

    async def states(self, *, agent: str | None, scope: str | None, limit: int, cursor: str | None) -> Page[State]:
        return Page((), None)
