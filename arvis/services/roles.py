"""The roles of people that the configuration, logins and keys grant. Transaction scripts and parts of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from arvis.domain.messages import RANKS, Principal, PrincipalRole
from arvis.domain.users import FIRST_USER, UserRole
from arvis.ports.store import Transaction

#: The user ids of the owners, by platform. They come from the configuration. The ids of the platform `web` also come
#: from the logins and API keys of owners.
Owners = Mapping[str, Collection[str]]

WEB = "web"
#: The prefix of the user ids of API keys.
_KEY = "key-"
_ROLES = {UserRole.OWNER: PrincipalRole.OWNER, UserRole.OPERATOR: PrincipalRole.OPERATOR}


def role_of(person: Principal, owners: Owners) -> PrincipalRole:
    """Return the present role of a person. A person with the stored role `owner` is a member if the configuration no
    longer names that person."""
    if person.user_id in owners.get(person.platform, ()):
        return PrincipalRole.OWNER
    return PrincipalRole.MEMBER if person.role is PrincipalRole.OWNER else person.role


def settle_roles(tx: Transaction, owners: Owners, keys: Mapping[str, PrincipalRole], now: int) -> Sequence[Principal]:
    """Lower each stored role that the configuration, a login or a key no longer grants, and end the pairing of that
    person. The stored role must be lowered, because running work for a person reads its rights from the person's row.
    `keys` contains the roles of the configured API keys, by user id. Return the changed people with their old roles."""
    changed = []
    for person in tx.principals.with_rights():
        role = _role_now(tx, person, owners, keys)
        if RANKS.index(role) < RANKS.index(person.role):
            tx.principals.set_role(person.id, role, now)
            tx.principals.unpair(person.id, now)
            changed.append(person)
    return changed


def _role_now(tx: Transaction, person: Principal, owners: Owners, keys: Mapping[str, PrincipalRole]) -> PrincipalRole:
    if person.platform != WEB:
        return role_of(person, owners)
    if person.user_id == FIRST_USER or person.user_id in owners.get(WEB, ()):
        return PrincipalRole.OWNER
    if person.user_id in keys:
        return keys[person.user_id]
    known = tx.users.get(person.user_id) or tx.api_keys.get(person.user_id.removeprefix(_KEY))
    return _ROLES.get(known.role, PrincipalRole.MEMBER) if known is not None else PrincipalRole.MEMBER
