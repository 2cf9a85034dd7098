"""Repositories of people: rights, limits, logins and API keys. Tokens, codes and keys are stored only as hashes. All
times are integer milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Principal, PrincipalRole
from arvis.domain.platforms import LinkRequest, LinkStatus, Pairing
from arvis.domain.users import StoredKey, User
from arvis.ports.pages import Page


@dataclass(frozen=True, slots=True)
class Allowance:
    """The part of a personal limit that is used up. Times in ms."""

    #: The start of the current period.
    since: int
    #: The amount that was used since the start of the period.
    used: int
    #: The time of the last notice to the person that the limit is reached.
    notified_at: int | None = None


class Allowances(Protocol):
    def get(self, principal_id: str, kind: str) -> Allowance | None: ...

    def put(self, principal_id: str, kind: str, allowance: Allowance) -> None: ...

    def use(self, principal_id: str, kind: str, size: int, *, most: int, after: int, now: int) -> int | None:
        """Add `size` to the use of a limit whose window began after `after` and not after `now` (ms), and return the
        use. Return None and add nothing if there is no such window or the use would exceed `most`."""

    def prune(self, before: int) -> None: ...


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A login of the dashboard. Times in ms."""

    token_hash: str
    principal: Principal
    #: The user with the principal's id; None if there is no such user.
    user: User | None
    #: The browser and its system, such as `Chrome on Linux`, from the header `User-Agent`; it may be empty.
    device: str
    created_at: int
    seen_at: int


class Logins(Protocol):
    def add_code(self, code_hash: str, user_id: str, expires_at: int, now: int) -> None: ...

    def use_code(self, code_hash: str, now: int) -> str | None:
        """Use a one-time code and return its user id; None if the code is unknown, used or expired."""
        ...

    def drop_codes(self, user_id: str) -> None:
        """Delete all one-time codes of a user."""
        ...

    def open_session(self, token_hash: str, principal_id: str, device: str, now: int) -> None: ...

    def session(self, token_hash: str) -> LoginSession | None: ...

    def session_like(self, start: str) -> LoginSession | None:
        """Return the first login whose hash starts with these hexadecimal digits."""
        ...

    def touch(self, token_hash: str, now: int) -> None: ...

    def close_session(self, token_hash: str) -> bool:
        """End a login; return False if there is no such login."""
        ...

    def drop_over(self, *, seen_before: int, created_before: int) -> None:
        """Delete the logins that were last used at `seen_before` or earlier, or began at `created_before` or
        earlier."""
        ...

    def sessions_of(
        self, principal_id: str, *, seen_from: int, created_from: int, before: tuple[int, str], limit: int
    ) -> Sequence[LoginSession]:
        """Return the logins of a person that were used after `seen_from` and began after `created_from`, newest first.
        `before` is (start, hash) of the last login of the previous page."""
        ...

    def close_sessions_of(self, principal_id: str, but: str | None = None) -> Sequence[str]:
        """End all logins of a person except the login with the hash `but`. Return the hashes of the ended logins."""
        ...


class Users(Protocol):
    def get(self, user_id: str) -> User | None: ...

    def after(self, user_id: str, limit: int) -> Sequence[User]:
        """Return up to `limit` users whose ids follow `user_id`, in the order of their ids. If `user_id` is empty,
        begin with the first user."""
        ...

    def any_password(self) -> bool:
        """Return whether any user has a password."""
        ...

    def add(self, user: User) -> bool:
        """Add a user; return False if the id exists."""
        ...

    def update(self, user: User) -> None:
        """Store the changed values of a user, but not the creation time."""
        ...

    def remove(self, user_id: str) -> bool:
        """Delete a user; return False if no user has this id."""
        ...


class ApiKeys(Protocol):
    def get(self, key_id: str) -> StoredKey | None: ...

    def by_hash(self, key_hash: str) -> StoredKey | None: ...

    def before(self, key_id: str | None, limit: int) -> Sequence[StoredKey]:
        """Return up to `limit` keys that were created before the key `key_id`, newest first. If `key_id` is None, begin
        with the newest key."""
        ...

    def add(self, key: StoredKey) -> None: ...

    def used(self, key_id: str, now: int) -> None: ...

    def remove(self, key_id: str) -> bool:
        """Delete a key; return False if no key has this id."""
        ...


@dataclass(frozen=True, slots=True)
class Person:
    """An identity, with the times (ms) of its creation, its last change and its pairing (None: not paired)."""

    principal: Principal
    created_at: int
    updated_at: int
    paired_at: int | None


class Principals(Protocol):
    def find(self, platform: str, user_id: str) -> Principal | None: ...

    def get(self, principal_id: str) -> Principal | None: ...

    def seen(self, platform: str, user_id: str, name: str, role: PrincipalRole | None, now: int) -> Principal:
        """Return the principal with this id on the platform, and store its name. Create an unknown principal with this
        `role`, or as a member if `role` is None. For a known principal, a `role` replaces the stored one unless the
        principal is blocked."""
        ...

    def with_rights(self) -> list[Principal]:
        """Return the principals whose stored role is owner or operator."""
        ...

    def has_others(self, principal_id: str) -> bool:
        """Return whether there is any member or operator besides this person."""
        ...

    def set_role(self, principal_id: str, role: PrincipalRole, now: int) -> None: ...

    def pair(self, principal_id: str, now: int) -> None:
        """Mark this person as paired. If the person is already paired, keep the time of the pairing."""
        ...

    def unpair(self, principal_id: str, now: int) -> None: ...

    def prefer(self, principal_id: str, *, timezone: str | None, language: str | None, now: int) -> None:
        """Store the time zone and the language of this person; None: the default."""
        ...


class Identities(Protocol):
    """The links between the identities of one person, and the requests for links."""

    def of(self, person_id: str) -> Sequence[Principal]:
        """Return all identities of a person, each with its own id. The first one is the person's own row."""
        ...

    def link(self, identity_id: str, person_id: str, now: int) -> None:
        """Link an identity without links to a person. The memory, spending, messages and work of the identity then
        belong to the person."""
        ...

    def unlink(self, identity_id: str, role: PrincipalRole, paired_at: int | None, now: int) -> bool:
        """End the link of an identity, which gets this role. Return False if it has no link."""
        ...

    def add(self, request: LinkRequest, code_hash: str) -> None: ...

    def by_code(self, code_hash: str) -> LinkRequest | None: ...

    def newest_of(self, identity_id: str) -> LinkRequest | None: ...

    def claim(self, request_id: str, identity_id: str) -> bool:
        """Store which identity has sent the code of an open request; return False if the request is not open."""
        ...

    def settle(self, request_id: str, status: LinkStatus) -> bool:
        """Store the decision about a request; return False if the request is already decided."""
        ...

    def prune(self, before: int, limit: int) -> int: ...


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
        """Return people, newest first. `text` is a part of the name or of the platform's id; case is ignored. With the
        role `member`, people whose stored role is owner are also returned, because the caller checks whether the
        configuration still names them as owners."""
        ...

    async def person(self, principal_id: str) -> Person | None: ...

    async def pairings(self, *, pending_at: int | None, limit: int, cursor: str | None) -> Page[Pairing]:
        """Return pairing requests, newest first. With `pending_at` (ms), return only requests that can be approved at
        that time."""
        ...
