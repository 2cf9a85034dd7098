"""People: who has written, what they may do, and who asks to be let in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arvis.domain.messages import Principal, PrincipalRole
from arvis.domain.platforms import Pairing
from arvis.ports.pages import Page


@dataclass(frozen=True, slots=True)
class Person:
    """A principal with the times (ms) at which it was first seen, last changed, and vouched for (None: by nobody)."""

    principal: Principal
    created_at: int
    updated_at: int
    paired_at: int | None


class Principals(Protocol):
    def find(self, platform: str, user_id: str) -> Principal | None: ...

    def get(self, principal_id: str) -> Principal | None: ...

    def seen(self, platform: str, user_id: str, name: str, role: PrincipalRole | None, now: int) -> Principal:
        """The principal of this platform id, made as a member if unknown; a given `role` is taken over
        unless the principal is blocked."""
        ...

    def with_rights(self) -> list[Principal]:
        """Those whose rows say owner or operator."""
        ...

    def has_others(self, principal_id: str) -> bool:
        """Whether somebody besides this person may ask and is no owner."""
        ...

    def set_role(self, principal_id: str, role: PrincipalRole, now: int) -> None: ...

    def pair(self, principal_id: str, now: int) -> None:
        """From now on somebody vouches for this person."""
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
        """The newest first. `text` is part of the name or of the platform's id, whatever its case. With `role` member
        also those whose row says owner: whether the configuration still names them is known elsewhere."""
        ...

    async def person(self, principal_id: str) -> Person | None: ...

    async def pairings(self, *, pending_at: int | None, limit: int, cursor: str | None) -> Page[Pairing]:
        """The newest first; with a time (ms) only those that can still be approved then."""
        ...
