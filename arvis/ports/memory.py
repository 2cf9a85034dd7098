"""The repositories of memory in a transaction, and its pages."""

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
        """A new active fact with confidence 1, found by the search from now on."""
        ...

    def get(self, fact_id: str) -> Fact | None: ...

    def of(self, agent_id: str, scopes: Sequence[str], *, category: Category | None = None, limit: int) -> list[Fact]:
        """The active facts of these scopes: the most trusted first, of those the last used."""
        ...

    def search(self, agent_id: str, scopes: Sequence[str], words: Sequence[str], limit: int) -> list[Fact]:
        """Return active facts that contain any of these words (as split by `domain.words.asked_words`), best match
        first."""
        ...

    def same(self, agent_id: str, scope: str, content: str) -> list[Fact]:
        """The active facts of this scope with exactly this text, the oldest first."""
        ...

    def weakest(self, agent_id: str, scope: str, *, tainted: bool, limit: int) -> list[Fact]:
        """Return the active facts of this scope that are not sticky: least confidence first, of those the longest
        unused. `tainted`: only unconfirmed facts from untrusted sources."""
        ...

    def update(self, fact: Fact, now: int) -> None:
        """Write back all that may change: content never does."""
        ...

    def touch(self, fact_ids: Sequence[str], now: int) -> None:
        """They were used in a prompt."""
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
        """Put down what happens to a fact; `fact` is how it was before."""
        ...

    def last_change(self, agent_id: str, scopes: Sequence[str]) -> FactChange | None:
        """The newest change of these scopes that can be taken back (added, superseded, confirmed, deleted), was not, and
        takes nothing back itself."""
        ...

    def changes(self, fact_id: str, limit: int) -> list[FactChange]:
        """Of one fact, the oldest first."""
        ...

    def erase(self, before: int, limit: int) -> int:
        """Remove up to `limit` facts that were deleted before this time, with their changes; how many."""
        ...

    def by_number(self, number: int) -> Fact | None: ...


class States(Protocol):
    def get(self, agent_id: str, scope: str, key: str) -> State | None: ...

    def of(self, agent_id: str, scopes: Sequence[str], limit: int) -> list[State]:
        """By key."""
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
        """Return facts, newest first. With `words` (as split by `domain.words.asked_words`) best match first, active
        facts on one page only. `agent` is an id or a slug."""
        ...

    async def fact_changes(self, fact_id: str) -> Sequence[FactChange]:
        """Of one fact, the oldest first."""
        ...

    async def states(self, *, agent: str | None, scope: str | None, limit: int, cursor: str | None) -> Page[State]:
        """By agent, scope and key."""
        ...
