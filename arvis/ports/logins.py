"""The repositories of who may come in: logins of the dashboard, its users, and keys that were made in the product.

Tokens, codes and keys are stored as hashes only. All times are integer milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from arvis.domain.messages import Principal
from arvis.domain.users import StoredKey, User


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
        """Make the unused codes of a user worthless."""
        ...

    def open_session(self, token_hash: str, principal_id: str, device: str, now: int) -> None: ...

    def session(self, token_hash: str) -> LoginSession | None: ...

    def session_like(self, start: str) -> LoginSession | None:
        """The first login whose hash starts with these hexadecimal digits."""
        ...

    def touch(self, token_hash: str, now: int) -> None: ...

    def close_session(self, token_hash: str) -> bool:
        """False when it has ended already."""
        ...

    def drop_over(self, *, seen_before: int, created_before: int) -> None:
        """Forget logins that were not used since, or began before."""
        ...

    def sessions_of(
        self, principal_id: str, *, seen_from: int, created_from: int, before: tuple[int, str], limit: int
    ) -> Sequence[LoginSession]:
        """Those that were used and began since, the newest first; `before` is begin and hash of the last one seen."""
        ...

    def close_sessions_of(self, principal_id: str, but: str | None = None) -> Sequence[str]:
        """End the logins of a person, except one; the hashes of those that ended."""
        ...


class Users(Protocol):
    def get(self, user_id: str) -> User | None: ...

    def after(self, user_id: str, limit: int) -> Sequence[User]:
        """Those behind this id ("": from the first one), in the order of their ids."""
        ...

    def any_password(self) -> bool:
        """Return whether any user has a stored password."""
        ...

    def add(self, user: User) -> bool:
        """False when there is one of this id."""
        ...

    def update(self, user: User) -> None:
        """Write back all but the time of making."""
        ...

    def remove(self, user_id: str) -> bool:
        """False when there is none of this id."""
        ...


class ApiKeys(Protocol):
    def get(self, key_id: str) -> StoredKey | None: ...

    def by_hash(self, key_hash: str) -> StoredKey | None: ...

    def before(self, key_id: str | None, limit: int) -> Sequence[StoredKey]:
        """Those made before this one (None: all), the newest first."""
        ...

    def add(self, key: StoredKey) -> None: ...

    def used(self, key_id: str, now: int) -> None: ...

    def remove(self, key_id: str) -> bool:
        """False when there is none of this id."""
        ...
