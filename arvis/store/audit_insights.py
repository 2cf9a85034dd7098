"""Pages about what models wanted to change, and which turns they gave to one another. A base of `SqlInsights`."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.effects import AuditEntry
from arvis.ports.changes import Delegation
from arvis.ports.pages import Page
from arvis.store.audit import delegation_of, entry_of
from arvis.store.snapshots import LAST, Snapshots, page


class SqlAuditInsights:
    """`ChangeInsights` on either database."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def audit(
        self, *, agent: str | None, kind: str | None, outcome: str | None, limit: int, cursor: str | None
    ) -> Page[AuditEntry]:
        async with self._snapshots.snapshot() as snapshot:
            agents = await snapshot.rows("agent_by_slug", slug=agent) if agent else []
            rows = await snapshot.rows(
                "list_audit",
                before=cursor or LAST,
                agent_id=agents[0]["id"] if agents else agent,
                kind=kind,
                outcome=outcome,
                limit=limit + 1,
            )
        return page(rows, entry_of, limit)

    async def delegations(self, root_id: str) -> Sequence[Delegation]:
        async with self._snapshots.snapshot() as snapshot:
            return [delegation_of(row) for row in await snapshot.rows("delegations_of_root", root_id=root_id)]
