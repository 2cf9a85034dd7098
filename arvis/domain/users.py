"""Users of the dashboard and the API: people with logins, and keys that were created in the product."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

#: The first user, who has the data folder and its key. This user is always an owner.
FIRST_USER = "owner"

#: Limits of the length of a password, in characters.
SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 256


class UserRole(StrEnum):
    """The rights of a user or a key: chat only; read only; operate existing things; everything."""

    CHAT = "chat"
    VIEWER = "viewer"
    OPERATOR = "operator"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class User:
    """`id` is also the user id of platform `web`. A user without `password_hash` logs in by a link. Times in ms."""

    id: str
    name: str
    role: UserRole
    password_hash: str | None = field(repr=False)
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key of the API, stored as a hash only. `agents` (slugs) limits a key of role chat; empty: no limit. `used_at`
    is exact to the hour; `created_by` is a user id."""

    id: str
    name: str
    role: UserRole
    agents: tuple[str, ...]
    key_hash: str = field(repr=False)
    created_by: str
    created_at: int
    used_at: int | None = None
