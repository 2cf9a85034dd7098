"""Users of the dashboard and the API: people who can log in, and API keys that are stored in the database."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum

from arvis.domain.dataclass import dataclass

#: The id of the first user: the person with access to the data folder. This user is always an owner.
FIRST_USER = "owner"

#: The minimum and maximum length of a password, in characters.
SHORTEST_PASSWORD = 8
LONGEST_PASSWORD = 256


class UserRole(StrEnum):
    """The rights of a user or an API key."""

    #: May only chat.
    CHAT = "chat"
    #: May only read.
    VIEWER = "viewer"
    #: May read, and may also act on existing items, for example retry a job.
    OPERATOR = "operator"
    #: May do everything.
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class User:
    """A person who can log in. Times in ms."""

    #: The id of the user, which is also the user id of this person on the platform `web`.
    id: str
    name: str
    role: UserRole
    #: The hash of the password. If None, the person can log in only by a link.
    password_hash: str | None = field(repr=False)
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class StoredKey:
    """An API key, of which only the hash is stored. Times in ms."""

    id: str
    name: str
    role: UserRole
    #: The slugs of the agents that a key with the role `chat` may use. If empty, it may use all agents.
    agents: tuple[str, ...]
    key_hash: str = field(repr=False)
    #: The id of the user who created the key.
    created_by: str
    created_at: int
    #: The time of the last use. It is updated at most once an hour.
    used_at: int | None = None
