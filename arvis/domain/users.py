"""Users of the dashboard and the API: people who can log in, and API keys that were created in the product."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

#: The id of the first user: the person with access to the data folder. This user is always an owner.
FIRST_USER = "owner"

#: The minimum and maximum length of a password, in characters.
SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 256


class UserRole(StrEnum):
    """The rights of a user or an API key. `chat`: only chat; `viewer`: only read; `operator`: also act on
    existing things, for example retry a job; `owner`: everything."""

    CHAT = "chat"
    VIEWER = "viewer"
    OPERATOR = "operator"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class User:
    """A person who can log in. `id` is also the person's user id on the platform `web`. Without `password_hash` the
    person can only log in by a link. Times in ms."""

    id: str
    name: str
    role: UserRole
    password_hash: str | None = field(repr=False)
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A stored API key; only its hash is stored. `agents` are the slugs of the agents that a key with the role `chat`
    may use (empty: all). `created_by` is a user id. Times in ms; `used_at` is exact to the hour."""

    id: str
    name: str
    role: UserRole
    agents: tuple[str, ...]
    key_hash: str = field(repr=False)
    created_by: str
    created_at: int
    used_at: int | None = None
