"""People: users who have written, their rights, and pairing requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arvis.domain.messages import Principal, PrincipalRole
from arvis.domain.platforms import Pairing
from arvis.ports.pages import Page


@dataclass(frozen=True, slots=True)
class Person:
    """A principal with the times (ms) at which it was first seen, last changed, and paired (None: not paired)."""

    principal: Principal
    created_at: int
    updated_at: int
    paired_at: int | None


class Principals(Protocol):
    def find(self, platform: str, user_id: str) -> Principal | None: ...

    def get(self, principal_id: str) -> Principal | None: ...

    def seen(self, platform: str, user_id: str, name: str, role: PrincipalRole | None, now: int) -> Principal:
        """Return the principal of this platform id, created as a member if unknown. A given `role` replaces the
        stored one unless the principal is blocked."""
        ...

    def with_rights(self) -> list[Principal]:
        """Return the principals whose rows say owner or operator."""
        ...

    def has_others(self, principal_id: str) -> bool:
        """Return whether another person may ask who is no owner."""
        ...

    def set_role(self, principal_id: str, role: PrincipalRole, now: int) -> None: ...

    def pair(self, principal_id: str, now: int) -> None:
        """Mark this person as paired from now on."""
        ...

    def unpair(self, principal_id: str, now: int) -> None: ...


class PeopleInsights(Protocol):
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
        """Return people, newest first. `text` is part of the name or of the platform's id, ignoring case. Role
        `member` includes people whose row says owner: the caller knows whether the configuration still names them."""
        ...

    async def person(self, principal_id: str) -> Person | None: ...

    async def pairings(self, *, pending_at: int | None, limit: int, cursor: str | None) -> Page[Pairing]:
        """Return pairing requests, newest first; with a time (ms) only those that can still be approved then."""
        ...
