"""Queries for the pages about people, pairing requests, notifications, the audit log and delegations.
`SqlInsights` inherits from the classes of this module."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.effects import AuditEntry
from arvis.domain.messages import PrincipalRole
from arvis.domain.notifications import Notification, NotificationState
from arvis.domain.platforms import Pairing
from arvis.ports.changes import Delegation
from arvis.ports.pages import Page
from arvis.ports.people import Person
from arvis.store.repositories.changes import delegation_of, entry_of
from arvis.store.repositories.notifications import notification_of
from arvis.store.repositories.people import pairing_of, principal_of
from arvis.store.sql.session import LAST, Row, Snapshots, page


class SqlAuditInsights:
    """Implements the port `ChangeInsights` on both databases."""

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


class SqlNotificationInsights:
    """Implements the port `NotificationInsights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def notifications(
        self, *, state: NotificationState | None, limit: int, cursor: str | None
    ) -> Page[Notification]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("list_notifications", before=cursor or LAST, state=state, limit=limit + 1)
        return page(rows, notification_of, limit)


class SqlPeopleInsights:
    """Implements the port `PeopleInsights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def people(
        self,
        *,
        platform: str | None,
        role: PrincipalRole | None,
        paired: bool | None,
        text: str | None,
        limit: int,
        cursor: str | None,
    ) -> Page[Person]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "list_people",
                before=cursor or LAST,
                platform=platform,
                role=role,
                paired=None if paired is None else int(paired),
                pattern=None if text is None else _part(text),
                limit=limit + 1,
            )
        shown = rows[:limit]
        return Page([_person(row) for row in shown], shown[-1]["identity_id"] if len(rows) > limit else None)

    async def person(self, principal_id: str) -> Person | None:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("get_principal", id=principal_id)
        return _person(rows[0]) if rows else None

    async def pairings(self, *, pending_at: int | None, limit: int, cursor: str | None) -> Page[Pairing]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("list_pairings", before=cursor or LAST, now=pending_at, limit=limit + 1)
        return page(rows, pairing_of, limit)


def _part(text: str) -> str:
    """Return a pattern for `LIKE … ESCAPE '!'` that matches every text that contains `text`."""
    return f"%{text.replace('!', '!!').replace('%', '!%').replace('_', '!_')}%"


def _person(row: Row) -> Person:
    return Person(principal_of(row), row["created_at"], row["updated_at"], row["paired_at"])
