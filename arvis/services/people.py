"""Roles of people, and their changes. Only the configuration names owners. Scripts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.messages import RANKS, Principal, PrincipalRole
from arvis.domain.platforms import PairingStatus
from arvis.domain.users import FIRST_USER, UserRole
from arvis.domain.versions import Version, Versioned
from arvis.ports.store import Transaction

#: User ids by platform, as configured; for the web also those with an owner's login or key.
Owners = Mapping[str, Collection[str]]

#: The roles that can be given; only the configuration makes an owner.
GIVEN_ROLES = (PrincipalRole.OPERATOR, PrincipalRole.MEMBER, PrincipalRole.BLOCKED)

WEB = "web"
#: The prefix of the user ids of API keys.
_KEY = "key-"
_ROLES = {UserRole.OWNER: PrincipalRole.OWNER, UserRole.OPERATOR: PrincipalRole.OPERATOR}


def role_of(person: Principal, owners: Owners) -> PrincipalRole:
    """Return the present role: a row may still say owner after the configuration stopped naming the person."""
    if person.user_id in owners.get(person.platform, ()):
        return PrincipalRole.OWNER
    return PrincipalRole.MEMBER if person.role is PrincipalRole.OWNER else person.role


def change(
    tx: Transaction,
    person_id: str,
    *,
    role: PrincipalRole | None,
    paired: bool | None,
    owners: Owners,
    by: str,
    now: int,
) -> Principal:
    """Change the role or pairing of a person (None: unchanged). An operator counts as paired; the end of that role
    ends the pairing, and a blocked person also loses a pending code."""
    person = tx.principals.get(person_id)
    if person is None:
        raise NotFound("There is no such person.", fix="`arvis people list` shows those who have written.")
    _check(person, role, paired, owners)
    if role is not None:
        tx.principals.set_role(person.id, role, now)
    if role is PrincipalRole.BLOCKED:
        _void_code(tx, person, by, now)
    if _vouched_for(person, role, paired):
        tx.principals.pair(person.id, now)
    else:
        tx.principals.unpair(person.id, now)
    return keep_change(tx, person, by, now)


def _vouched_for(person: Principal, role: PrincipalRole | None, paired: bool | None) -> bool:
    if paired is not None:
        return paired
    return person.paired if role in {None, person.role} else role is PrincipalRole.OPERATOR


def _check(person: Principal, role: PrincipalRole | None, paired: bool | None, owners: Owners) -> None:
    if role_of(person, owners) is PrincipalRole.OWNER:
        raise Conflict(
            f"{person.name} is an owner.",
            fix="Owners are changed under `owners` in config.yaml, users of the dashboard by their role.",
            code="is_owner",
        )
    if role is not None and role not in GIVEN_ROLES:
        raise Unprocessable(
            "Owners can only be set in config.yaml.", fix="Name the person under `owners` in config.yaml."
        )
    if role is PrincipalRole.OPERATOR and person.platform == WEB:
        raise Unprocessable(
            "On the web, the login or key determines the role.",
            fix="Make them a user of the dashboard, or give them a key, of the role operator.",
        )
    if paired and (role or person.role) is PrincipalRole.BLOCKED:
        raise Unprocessable("A blocked user cannot be paired.", fix="Make them a member first.")


def _void_code(tx: Transaction, person: Principal, by: str, now: int) -> None:
    asked = tx.pairings.newest_of(person.platform, person.user_id)
    if asked is not None:
        tx.pairings.settle(asked.id, PairingStatus.REJECTED, by, now)


def keep_change(tx: Transaction, before: Principal, by: str, now: int) -> Principal:
    """The person as they are now; what was changed, and by whom, is on record."""
    after = tx.principals.get(before.id) or before
    if (after.role, after.paired) != (before.role, before.paired):
        tx.versions.keep(Versioned.PERSON, before.id, _standing(after), by, now, before=_standing(before))
    return after


def settle_roles(tx: Transaction, owners: Owners, keys: Mapping[str, PrincipalRole], now: int) -> Sequence[Principal]:
    """Remove roles from rows that the configuration no longer grants; work for these people, or by them, is judged by
    these rows. `keys` are the roles of the configured API keys, by user id. Return the people whose rows changed."""
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


def changes(tx: Transaction, person_id: str, limit: int) -> list[Version]:
    """Return the earlier states of this person, the newest first."""
    return list(tx.versions.newest(Versioned.PERSON, person_id, limit))


def _standing(person: Principal) -> dict[str, Any]:
    return {"role": str(person.role), "paired": person.paired}
