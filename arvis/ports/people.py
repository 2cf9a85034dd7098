"""Repositories of people: their rights, limits, logins and API keys. Tokens, codes and keys are stored as hashes only.
All times are integer milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.messages import Principal, PrincipalRole
from arvis.domain.platforms import Pairing
from arvis.domain.users import StoredKey, User
from arvis.ports.pages import Page


@dataclass(frozen=True, slots=True)
class Allowance:
    """The usage of one person for one kind of limit: `used` in the window that began at `since`; `notified_at` is
    when the person was last notified that the limit is used up. Times in ms."""

    since: int
    used: int
    notified_at: int | None = None


class Allowances(Protocol):
    def get(self, principal_id: str, kind: str) -> Allowance | None: ...

    def put(self, principal_id: str, kind: str, allowance: Allowance) -> None: ...

    def prune(self, before: int) -> None: ...


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A login of the dashboard. `user` is None if no user has this id; `device` describes the browser, by its own
    report."""

    token_hash: str
    principal: Principal
    user: User | None
    device: str
    created_at: int
    seen_at: int


class Logins(Protocol):
    def add_code(self, code_hash: str, user_id: str, expires_at: int, now: int) -> None: ...

    def use_code(self, code_hash: str, now: int) -> str | None:
        """Spend a one-time code; return its user, or None if the code is unknown, spent or expired."""
        ...

    def drop_codes(self, user_id: str) -> None:
        """Invalidate the unused codes of a user."""
        ...

    def open_session(self, token_hash: str, principal_id: str, device: str, now: int) -> None: ...

    def session(self, token_hash: str) -> LoginSession | None: ...

    def session_like(self, start: str) -> LoginSession | None:
        """Return the first login whose hash starts with these hexadecimal digits."""
        ...

    def touch(self, token_hash: str, now: int) -> None: ...

    def close_session(self, token_hash: str) -> bool:
        """End a login; return False if it has ended already."""
        ...

    def drop_over(self, *, seen_before: int, created_before: int) -> None:
        """Delete logins that were not used since, or began before."""
        ...

    def sessions_of(
        self, principal_id: str, *, seen_from: int, created_from: int, before: tuple[int, str], limit: int
    ) -> Sequence[LoginSession]:
        """Return logins that were used and began since, newest first; `before` is start and hash of the last one
        seen."""
        ...

    def close_sessions_of(self, principal_id: str, but: str | None = None) -> Sequence[str]:
        """End the logins of a person, except one; return the hashes of the ended ones."""
        ...


class Users(Protocol):
    def get(self, user_id: str) -> User | None: ...

    def after(self, user_id: str, limit: int) -> Sequence[User]:
        """Return users after this id ("": from the first one), in the order of their ids."""
        ...

    def any_password(self) -> bool:
        """Return whether any user has a stored password."""
        ...

    def add(self, user: User) -> bool:
        """Add a user; return False if the id exists."""
        ...

    def update(self, user: User) -> None:
        """Update everything except the creation time."""
        ...

    def remove(self, user_id: str) -> bool:
        """Delete a user; return False if there is none with this id."""
        ...


class ApiKeys(Protocol):
    def get(self, key_id: str) -> StoredKey | None: ...

    def by_hash(self, key_hash: str) -> StoredKey | None: ...

    def before(self, key_id: str | None, limit: int) -> Sequence[StoredKey]:
        """Return keys created before this one (None: all), newest first."""
        ...

    def add(self, key: StoredKey) -> None: ...

    def used(self, key_id: str, now: int) -> None: ...

    def remove(self, key_id: str) -> bool:
        """Delete a key; return False if there is none with this id."""
        ...


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
