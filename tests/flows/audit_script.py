"""Insights with an empty audit, for tests that need none."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.effects import AuditEntry
from arvis.ports.changes import Delegation
from arvis.ports.pages import Page


class NoChanges:
    async def audit(
        self, *, agent: str | None, kind: str | None, outcome: str | None, limit: int, cursor: str | None
    ) -> Page[AuditEntry]:
        return Page((), None)

    async def delegations(self, root_id: str) -> Sequence[Delegation]:
        return ()
