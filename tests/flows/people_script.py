"""Insights without people, for tests that need none."""

from __future__ import annotations

from arvis.domain.messages import PrincipalRole
from arvis.domain.platforms import Pairing
from arvis.ports.pages import Page
from arvis.ports.people import Person


class NoPeople:
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
        return Page((), None)

    async def person(self, principal_id: str) -> Person | None:
        return None

    async def pairings(self, *, pending_at: int | None, limit: int, cursor: str | None) -> Page[Pairing]:
        return Page((), None)
