"""Facts and state keys that an agent remembers about people and channels (behaviour.md 1.7, reliability.md T8)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from arvis.domain.messages import Address, PrincipalRole
from arvis.domain.taint import CLEAN, Label, Taint

#: The scope of facts that an agent may use in every conversation. Only the API and the command line write there.
EVERYWHERE = "agent"

_OF_A_PERSON = "principal:"


class Category(StrEnum):
    USER_PREFERENCE = "user_preference"
    PROJECT_CONTEXT = "project_context"
    LEARNED_PATTERN = "learned_pattern"
    IMPORTANT_EVENT = "important_event"
    STICKY = "sticky"


class FactStatus(StrEnum):
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    DELETED = "deleted"
    FADED = "faded"


@dataclass(frozen=True, slots=True)
class Fact:
    """One entry of an agent's memory. Only a fact without taint may be among the instructions of a prompt. Times
    in ms."""

    id: str
    #: Counts the facts of this installation.
    number: int
    agent_id: str
    scope: str
    category: Category
    content: str
    taint: Taint
    author_id: str | None
    message_id: str | None
    execution_id: str | None
    #: In thousandths.
    confidence: int
    status: FactStatus
    superseded_by: str | None
    accessed_at: int
    access_count: int
    expires_at: int | None
    created_at: int
    updated_at: int
    #: The principal who confirmed it.
    confirmed_by: str | None = None


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to store. `expires_at` is in ms; None: by its category."""

    agent_id: str
    scope: str
    category: Category
    content: str
    taint: Taint = CLEAN
    author_id: str | None = None
    message_id: str | None = None
    execution_id: str | None = None
    expires_at: int | None = None


@dataclass(frozen=True, slots=True)
class State:
    """A value under a key, of one scope; `updated_at` in ms."""

    agent_id: str
    scope: str
    key: str
    value: str
    taint: Taint
    author_id: str | None
    message_id: str | None
    updated_at: int


def taint_for_others(taint: Taint, speakers: Iterable[PrincipalRole | None]) -> Taint:
    """Return the taint of a text from these speakers for other people who will read it (a fact of a room, a summary).
    It gets the label for people unless all speakers are owners or operators; None is an unknown or deleted person."""
    trusted = all(role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR} for role in speakers)
    return taint if trusted else taint | {Label.PEOPLE}


def room_scope(address: Address) -> str:
    return f"room:{address.platform}:{address.connector}:{address.channel}:{address.thread}"


def principal_scope(principal_id: str) -> str:
    return f"{_OF_A_PERSON}{principal_id}"


def is_personal(scope: str) -> bool:
    """Return whether the scope is about one person."""
    return scope.startswith(_OF_A_PERSON)


def scope_for(category: Category | None, address: Address, principal_id: str | None, *, direct: bool) -> str:
    """Return the scope of something learnt in a turn: a preference belongs to the person, everything else to the
    room; in a direct chat everything belongs to the person. `category` None: a state key."""
    personal = direct or category is Category.USER_PREFERENCE
    return principal_scope(principal_id) if personal and principal_id else room_scope(address)


def scopes_of(address: Address, principal_id: str | None) -> tuple[str, ...]:
    """Return the scopes that a turn may recall, the narrowest first: this person, this room, every conversation of
    the agent."""
    personal = (principal_scope(principal_id),) if principal_id else ()
    return (*personal, room_scope(address), EVERYWHERE)
