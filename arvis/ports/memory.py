"""Repositories of memory, and the queries of its pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.memory import Category, Fact, FactStatus, NewFact, State
from arvis.domain.taint import Taint
from arvis.ports.pages import Page


@dataclass(frozen=True, slots=True)
class FactChange:
    """A change of a fact. `change` is added, refreshed, superseded, confirmed, deleted, restored or faded; `other_id`
    is the fact that replaced it, `undoes` the change that this one undid, `taint` the taint of the fact before,
    `by_id` a principal, `api` or `arvis`."""

    id: str
    number: int
    fact_id: str
    agent_id: str
    scope: str
    change: str
    other_id: str | None
    undoes: str | None
    taint: Taint
    by_id: str
    at: int


class Facts(Protocol):
    def add(self, new: NewFact, now: int) -> Fact:
        """Add an active fact with confidence 1; the search finds it from now on."""
        ...

    def get(self, fact_id: str) -> Fact | None: ...

    def of(self, agent_id: str, scopes: Sequence[str], *, category: Category | None = None, limit: int) -> list[Fact]:
        """Return the active facts of these scopes, highest confidence first, of equal ones the last used first."""
        ...

    def search(self, agent_id: str, scopes: Sequence[str], words: Sequence[str], limit: int) -> list[Fact]:
        """Return active facts that contain any of these words (as split by `domain.memory.asked_words`), best match
        first."""
        ...

    def same(self, agent_id: str, scope: str, content: str) -> list[Fact]:
        """Return the active facts of this scope with exactly this text, oldest first."""
        ...

    def weakest(self, agent_id: str, scope: str, *, tainted: bool, limit: int) -> list[Fact]:
        """Return the active facts of this scope that are not sticky: least confidence first, of those the longest
        unused. `tainted`: only unconfirmed facts from untrusted sources."""
        ...

    def update(self, fact: Fact, now: int) -> None:
        """Update all mutable columns; the content never changes."""
        ...

    def touch(self, fact_ids: Sequence[str], now: int) -> None:
        """Note that a prompt used these facts."""
        ...

    def idle(self, category: Category, before: int, limit: int) -> list[Fact]:
        """Return active facts of a category that were neither used nor changed since, longest unused first."""
        ...

    def expired(self, now: int, limit: int) -> list[Fact]: ...

    def count(self, agent_id: str, scope: str) -> int:
        """Count the active facts."""
        ...

    def note(
        self,
        fact: Fact,
        change: str,
        *,
        by_id: str,
        now: int,
        other_id: str | None = None,
        undoes: str | None = None,
    ) -> None:
        """Record a change of a fact; `fact` is its state before."""
        ...

    def last_change(self, agent_id: str, scopes: Sequence[str]) -> FactChange | None:
        """Return the newest change of these scopes that can be undone (added, superseded, confirmed, deleted), was
        not undone, and is no undo itself."""
        ...

    def changes(self, fact_id: str, limit: int) -> list[FactChange]:
        """Return the changes of one fact, oldest first."""
        ...

    def erase(self, before: int, limit: int) -> int:
        """Delete up to `limit` facts that were marked deleted before this time, with their changes; return their
        number."""
        ...

    def by_number(self, number: int) -> Fact | None: ...


class States(Protocol):
    def get(self, agent_id: str, scope: str, key: str) -> State | None: ...

    def of(self, agent_id: str, scopes: Sequence[str], limit: int) -> list[State]:
        """Return state keys, ordered by key."""
        ...

    def count(self, agent_id: str, scope: str) -> int: ...

    def put(self, state: State) -> None: ...

    def remove(self, agent_id: str, scope: str, key: str) -> bool: ...


class MemoryInsights(Protocol):
    async def fact(self, fact_id: str) -> Fact | None: ...

    async def facts(
        self,
        *,
        agent: str | None,
        scope: str | None,
        category: Category | None,
        status: FactStatus | None,
        words: Sequence[str],
        limit: int,
        cursor: str | None,
    ) -> Page[Fact]:
        """Return facts, newest first. With `words` (as split by `domain.memory.asked_words`) best match first, active
        facts on one page only. `agent` is an id or a slug."""
        ...

    async def fact_changes(self, fact_id: str) -> Sequence[FactChange]:
        """Return the changes of one fact, oldest first."""
        ...

    async def states(self, *, agent: str | None, scope: str | None, limit: int, cursor: str | None) -> Page[State]:
        """Return state keys by agent, scope and key."""
        ...
