"""Repositories for changes by models and for delegation: audit, versions, delegations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from arvis.domain.effects import AuditEntry, EffectKind
from arvis.domain.versions import Version, Versioned
from arvis.ports.pages import Page


class Audit(Protocol):
    """Append-only."""

    def add(self, entry: AuditEntry) -> None: ...

    def of_execution(self, execution_id: str) -> list[AuditEntry]: ...

    def count(self, principal_id: str, kind: EffectKind, since: int) -> int:
        """Count the actions of this kind that were carried out for this person since a time."""
        ...


class Versions(Protocol):
    def keep(
        self,
        kind: Versioned,
        row_id: str,
        data: Mapping[str, Any] | None,
        by_id: str | None,
        now: int,
        *,
        before: Mapping[str, Any] | None,
    ) -> None:
        """Store the current state of a row, and its state `before` if no version is stored yet. None: the row does
        not exist."""
        ...

    def newest(self, kind: Versioned, row_id: str, limit: int) -> Sequence[Version]:
        """Return the versions, newest first; empty if the row was never changed."""
        ...


@dataclass(frozen=True, slots=True)
class Delegation:
    """A turn that an agent delegated to another one (`kind` task), that reports the answer to it (`report`), or a
    workflow run that it started (`run`). `path` are the ids of the agents from the root on, this one's own last;
    times in ms."""

    execution_id: str
    root_id: str
    parent_id: str
    agent_id: str
    depth: int
    path: tuple[str, ...]
    kind: str
    created_at: int


class Delegations(Protocol):
    def add(self, delegation: Delegation) -> None: ...

    def get(self, execution_id: str) -> Delegation | None: ...

    def count_of_root(self, root_id: str) -> int:
        """Count the tasks and reports below a root."""
        ...

    def runs_of_root(self, root_id: str) -> int:
        """Count the workflow runs below a root."""
        ...


class ChangeInsights(Protocol):
    async def audit(
        self, *, agent: str | None, kind: str | None, outcome: str | None, limit: int, cursor: str | None
    ) -> Page[AuditEntry]:
        """Return audit entries, newest first. `agent` is an id or a slug."""
        ...

    async def delegations(self, root_id: str) -> Sequence[Delegation]: ...
