"""Repositories of facts and values, and the queries for the pages that show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.embeddings import Meaning
from arvis.domain.memory import Category, Fact, FactStatus, FoundFact, NewFact, State
from arvis.domain.taint import Taint
from arvis.ports.pages import Page


@dataclass(frozen=True, slots=True)
class FactChange:
    """One change in the history of a fact. `at` is the time of the change in ms."""

    id: str
    number: int
    fact_id: str
    agent_id: str
    scope: str
    #: The kind of the change: added, refreshed, superseded, merged, confirmed, deleted, restored, faded or ended.
    change: str
    #: The id of the fact that replaced this fact.
    other_id: str | None
    #: The id of the change that this change undid.
    undoes: str | None
    #: The taint of the fact before the change.
    taint: Taint
    #: The end of the fact's validity before the change (ms).
    valid_until: int | None
    #: The principal who made the change, or `api`, or `arvis` for the daemon itself.
    by_id: str
    at: int


class Facts(Protocol):
    def add(self, new: NewFact, now: int) -> Fact:
        """Add an active fact with full confidence, and index its words."""
        ...

    def get(self, fact_id: str) -> Fact | None: ...

    def of(self, agent_id: str, scopes: Sequence[str], *, category: Category | None = None, limit: int) -> list[Fact]:
        """Return active facts of these scopes, ordered by confidence, highest first, then by last use, latest first."""
        ...

    def search(
        self, agent_id: str, scopes: Sequence[str], words: Sequence[str], limit: int, *, corrects: bool = False
    ) -> list[Fact]:
        """Return active facts that contain any of these words (as split by `domain.memory.asked_words`), best match
        first. With `corrects`, typing errors in a few words are corrected."""
        ...

    def search_meaning(
        self, agent_id: str, scopes: Sequence[str], words: Sequence[str], meaning: Meaning, limit: int
    ) -> list[FoundFact]:
        """Return active facts that contain any of these words or have a similar meaning, best match first."""
        ...

    def same(self, agent_id: str, scope: str, content: str) -> list[Fact]:
        """Return the active facts of this scope with exactly this text, oldest first."""
        ...

    def weakest(self, agent_id: str, scope: str, *, tainted: bool, limit: int) -> list[Fact]:
        """Return active facts of this scope that are not sticky, ordered by confidence, lowest first, then by last use,
        oldest first. With `tainted`, return only facts with taint."""
        ...

    def update(self, fact: Fact, now: int) -> None:
        """Store the changed values of a fact. The content of a fact never changes."""
        ...

    def touch(self, fact_ids: Sequence[str], now: int) -> None:
        """Store that a prompt used these facts now."""
        ...

    def idle(self, category: Category, before: int, limit: int) -> list[Fact]:
        """Return active facts of a category that were last used and last changed before `before`, longest unused
        first."""
        ...

    def expired(self, now: int, limit: int) -> list[Fact]: ...

    def over(self, now: int, limit: int) -> list[Fact]:
        """Return active facts whose validity has ended, in the order of the ends of their validity."""
        ...

    def past(self, agent_id: str, scopes: Sequence[str], words: Sequence[str], now: int, limit: int) -> list[Fact]:
        """Return facts that were true before and contain any of these words, best match first."""
        ...

    def replaced_by(self, fact_id: str, limit: int) -> list[Fact]:
        """Return the facts that this fact has replaced, newest first."""
        ...

    def count(self, agent_id: str, scope: str) -> int:
        """Count the active facts of a scope."""
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
        """Add a change to the history of a fact. `fact` is the fact before the change."""
        ...

    def last_change(self, agent_id: str, scopes: Sequence[str]) -> FactChange | None:
        """Return the newest change in these scopes that can still be undone: its kind is added, superseded, merged,
        confirmed or deleted, it was not undone, and it did not itself undo another change."""
        ...

    def next_changed_scope(self, agent_id: str, after: int) -> tuple[str, int] | None:
        """Return a scope to which a model has added facts after the change with this number, and the number of the newest of
        these changes. Of several scopes, return the scope whose newest change is the oldest."""
        ...

    def changes(self, fact_id: str, limit: int) -> list[FactChange]:
        """Return the changes of one fact, oldest first."""
        ...

    def erase(self, before: int, limit: int) -> int:
        """Delete up to `limit` facts that were marked deleted before this time, with their changes; return their
        number."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` changes of facts from before this time, and up to `limit` facts that were replaced,
        faded or ended before this time. Return the larger number."""
        ...

    def by_number(self, number: int) -> Fact | None: ...


class States(Protocol):
    def get(self, agent_id: str, scope: str, key: str) -> State | None: ...

    def of(self, agent_id: str, scopes: Sequence[str], limit: int) -> list[State]:
        """Return the values of these scopes, ordered by key."""
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
        meaning: Meaning | None = None,
    ) -> Page[Fact]:
        """Return facts, newest first. With `words` (from `domain.memory.asked_words`), return only active facts with
        these words, best match first, on a single page. With `meaning`, the vector of these words, also return active facts
        with a similar meaning. `agent` is an id or a slug."""
        ...

    async def fact_changes(self, fact_id: str) -> Sequence[FactChange]:
        """Return the changes of one fact, oldest first."""
        ...

    async def replaced_facts(self, fact_id: str) -> Sequence[Fact]:
        """Return the facts that this fact has replaced, newest first."""
        ...

    async def states(self, *, agent: str | None, scope: str | None, limit: int, cursor: str | None) -> Page[State]:
        """Return values, ordered by agent, scope and key."""
        ...
