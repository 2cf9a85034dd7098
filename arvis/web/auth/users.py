"""Transaction scripts that change dashboard users. A change of a user's role ends their logins in the same commit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from arvis.domain.dataclass import replace
from arvis.domain.errors import Conflict, NotFound, Unauthorised, Unprocessable
from arvis.domain.messages import Principal, PrincipalRole
from arvis.domain.regex import regex
from arvis.domain.users import FIRST_USER, LONGEST_PASSWORD, SHORTEST_PASSWORD, User, UserRole
from arvis.ports.store import Transaction
from arvis.web.http.identity import PLATFORM, PRINCIPAL_ROLES, Role

#: The form of user ids. Hyphens are not allowed, because `web-ann-notes` is a channel of `ann` and must not be the
#: default channel of a user `ann-notes`.
USER_ID = regex(r"[a-z][a-z0-9_]{0,39}", re.ASCII)

#: User ids that are not allowed. The users of API keys are named `key-…`, so a user `key` would own their channels.
_TAKEN = {"key"}


def implied(user_id: str, created_at: int) -> User | None:
    """Return the first user if `user_id` is their id, else None. The first user exists even without a row, so the
    database is not read."""
    if user_id != FIRST_USER:
        return None
    return User(FIRST_USER, "Owner", UserRole.OWNER, None, created_at, created_at)


def first_user(tx: Transaction, now: int) -> User:
    """Return the first user; create the row if it is missing."""
    if (known := tx.users.get(FIRST_USER)) is not None:
        return known
    user = User(FIRST_USER, "Owner", UserRole.OWNER, None, now, now)
    tx.users.add(user)
    return user


def principal_of(tx: Transaction, user: User, now: int) -> Principal:
    """Return the person on the platform `web` for a user, with the role of the user. Create the row if it is
    missing."""
    return tx.principals.seen(PLATFORM, user.id, user.name, PRINCIPAL_ROLES[Role(user.role)], now)


def find(tx: Transaction, user_id: str) -> User | None:
    """Return the user with this id, or None if no such user exists. The first user always exists."""
    return tx.users.get(user_id) or implied(user_id, 0)


def known(tx: Transaction, user_id: str, now: int) -> User:
    """Return a user. Raise `NotFound` if the user does not exist."""
    user = first_user(tx, now) if user_id == FIRST_USER else tx.users.get(user_id)
    if user is None:
        raise NotFound("There is no such user.", fix="GET /api/users lists the users.")
    return user


def add(tx: Transaction, user_id: str, name: str, role: UserRole, now: int) -> User:
    first_user(tx, now)
    if not USER_ID.fullmatch(user_id) or user_id in _TAKEN:
        raise Unprocessable(
            "`id` cannot be used.",
            why="An id has at most 40 lower-case letters, digits and _, starts with a letter, and is not `key`.",
            fix="Choose another id, such as ann.",
        )
    user = User(user_id, name, role, None, now, now)
    if not tx.users.add(user):
        raise Conflict("A user with this id exists.", fix="Choose another `id`.", code="user_exists")
    principal_of(tx, user, now)
    return user


def change(
    tx: Transaction, user_id: str, name: str | None, role: UserRole | None, now: int
) -> tuple[User, Sequence[str]]:
    """Change the name or role of a user. Return the user, and the logins that ended because the role changed."""
    user = known(tx, user_id, now)
    changed = replace(user, name=name or user.name, role=role or user.role, updated_at=now)
    if changed.role is not user.role:
        _check_stays(user)
    tx.users.update(changed)
    principal = principal_of(tx, changed, now)
    ended = tx.logins.close_sessions_of(principal.id) if changed.role is not user.role else ()
    return changed, ended


def remove(tx: Transaction, user_id: str, now: int) -> Sequence[str]:
    """Remove a user. Return the logins that ended."""
    user = known(tx, user_id, now)
    _check_stays(user)
    tx.users.remove(user.id)
    tx.logins.drop_codes(user.id)
    principal = tx.principals.find(PLATFORM, user.id)
    if principal is None:
        return ()
    if principal.role is not PrincipalRole.BLOCKED:
        tx.principals.set_role(principal.id, PrincipalRole.MEMBER, now)
    return tx.logins.close_sessions_of(principal.id)


def set_password(tx: Transaction, user_id: str, kept: str, now: int, but: str | None = None) -> Sequence[str]:
    """Store `kept`, the hash of a new password. Delete the unused login links of the user, and end all their logins
    except the login `but`. Return the logins that ended."""
    user = replace(known(tx, user_id, now), password_hash=kept, updated_at=now)
    tx.users.update(user)
    tx.logins.drop_codes(user.id)
    return tx.logins.close_sessions_of(principal_of(tx, user, now).id, but)


def change_password(tx: Transaction, shown: User | None, kept: str, now: int, session: str) -> Sequence[str]:
    """Change the password of the logged-in user. `shown` is the user whose password was verified before. Raise
    `Unauthorised` if the password has changed or this login has ended since then, so that an ended login cannot lock
    the user out."""
    holder, user = tx.logins.session(session), None if shown is None else find(tx, shown.id)
    if holder is None or user is None or shown is None or user.password_hash != shown.password_hash:
        raise Unauthorised(
            "The password was changed in the meantime.", fix="Log in with the new password.", code="session_ended"
        )
    return set_password(tx, user.id, kept, now, session)


def check_password(password: str) -> None:
    """Raise `Unprocessable` if the password is not allowed."""
    if len(password) < SHORTEST_PASSWORD:
        raise Unprocessable(
            f"The password has fewer than {SHORTEST_PASSWORD} characters.",
            fix="Choose a longer password, such as three or four words that only you would combine.",
            code="short_password",
        )
    if len(password) > LONGEST_PASSWORD:
        raise Unprocessable(
            f"The password has more than {LONGEST_PASSWORD} characters.", fix="Shorten it.", code="long_password"
        )


def _check_stays(user: User) -> None:
    if user.id == FIRST_USER:
        raise Conflict(
            "The first user must stay an owner.",
            why="There must always be an owner. The first user represents the person with access to the data folder.",
            fix="Create another user for a person with fewer rights.",
            code="last_owner",
        )
