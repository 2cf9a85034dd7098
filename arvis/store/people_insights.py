"""Pages about people and pairings. A base of `SqlInsights`."""

from __future__ import annotations

from arvis.domain.messages import PrincipalRole
from arvis.domain.platforms import Pairing
from arvis.ports.pages import Page
from arvis.ports.people import Person
from arvis.store.pairings import pairing_of
from arvis.store.people import principal_of
from arvis.store.session import Row
from arvis.store.snapshots import LAST, Snapshots, page


class SqlPeopleInsights:
    """`PeopleInsights` on either database."""

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
        return page(rows, _person, limit)

    async def person(self, principal_id: str) -> Person | None:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("get_principal", id=principal_id)
        return _person(rows[0]) if rows else None

    async def pairings(self, *, pending_at: int | None, limit: int, cursor: str | None) -> Page[Pairing]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("list_pairings", before=cursor or LAST, now=pending_at, limit=limit + 1)
        return page(rows, pairing_of, limit)


def _part(text: str) -> str:
    """Anything with this text in it, as `LIKE … ESCAPE '!'` reads it."""
    return f"%{text.replace('!', '!!').replace('%', '!%').replace('_', '!_')}%"


def _person(row: Row) -> Person:
    return Person(principal_of(row), row["created_at"], row["updated_at"], row["paired_at"])
