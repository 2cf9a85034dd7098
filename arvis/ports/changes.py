"""Repositories of the audit log, of versions of rows, and of delegations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.effects import AuditEntry, EffectKind
from arvis.domain.versions import Version, Versioned
from arvis.ports.pages import Page


class Audit(Protocol):
    """The audit log. Entries are added, but never changed."""

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` entries from before this time; return their number."""
        ...

    def add(self, entry: AuditEntry) -> None: ...

    def of_execution(self, execution_id: str) -> list[AuditEntry]: ...

    def count(self, principal_id: str, kind: EffectKind, since: int) -> int:
        """Count the actions of this kind that were carried out for this person since the time `since` (ms)."""
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
        """Store `data`, the state of a row after a change, as the newest version of the row. If the row has no version
        yet, first store `before`, the state of the row before the change. None as a state means that the row does not
        exist."""
        ...

    def newest(self, kind: Versioned, row_id: str, limit: int) -> Sequence[Version]:
        """Return the versions of a row, newest first; an empty list if no change was stored."""
        ...

    def forget_old(self, kind: Versioned, row_id: str) -> None:
        """Delete all versions of a row except the two that an undo needs."""
        ...


@dataclass(frozen=True, slots=True)
class Delegation:
    """Work that another turn caused. Times in ms."""

    execution_id: str
    root_id: str
    parent_id: str
    agent_id: str
    depth: int
    #: The ids of the agents from the root turn to this work. The last one is the agent of this work.
    path: tuple[str, ...]
    #: `task`: an agent delegated a task; `report`: the answer to a task is reported to the agent that gave the task;
    #: `run`: an agent started a workflow run.
    kind: str
    created_at: int


class Delegations(Protocol):
    def add(self, delegation: Delegation) -> None: ...

    def get(self, execution_id: str) -> Delegation | None: ...

    def count_of_root(self, root_id: str) -> int:
        """Count the tasks and reports that this root turn caused, directly or indirectly."""
        ...

    def runs_of_root(self, root_id: str) -> int:
        """Count the workflow runs that this root turn caused, directly or indirectly."""
        ...


class ChangeInsights(Protocol):
    async def audit(
        self, *, agent: str | None, kind: str | None, outcome: str | None, limit: int, cursor: str | None
    ) -> Page[AuditEntry]:
        """Return audit entries, newest first. `agent` is an id or a slug."""
        ...

    async def delegations(self, root_id: str) -> Sequence[Delegation]: ...
