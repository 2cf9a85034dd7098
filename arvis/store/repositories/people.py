"""Principals and settings over SQL."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.ids import first_id_at
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.platforms import Pairing, PairingStatus
from arvis.ports.allowances import Allowance
from arvis.store.sql.session import Row, Session

# `Pairings` over SQL: pairing requests of unpaired users, and the people who decided.


# Usage of personal limits, over SQL.


def pairing_of(row: Row) -> Pairing:
    return Pairing(
        id=row["id"],
        code_hash=row["code_hash"],
        address=Address(row["platform"], row["connector"], row["channel"]),
        user_id=row["user_id"],
        user_name=row["user_name"],
        status=PairingStatus(row["status"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )


class SqlPairings:
    """`Pairings` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, pairing: Pairing) -> None:
        self._session.execute(
            "add_pairing",
            id=pairing.id,
            code_hash=pairing.code_hash,
            platform=pairing.address.platform,
            connector=pairing.address.connector,
            channel=pairing.address.channel,
            user_id=pairing.user_id,
            user_name=pairing.user_name,
            status=pairing.status,
            created_at=pairing.created_at,
            expires_at=pairing.expires_at,
        )

    def get(self, pairing_id: str) -> Pairing | None:
        return _found(self._session.one("get_pairing", id=pairing_id))

    def by_code(self, code_hash: str) -> Pairing | None:
        return _found(self._session.one("pairing_by_code", code_hash=code_hash))

    def newest_of(self, platform: str, user_id: str) -> Pairing | None:
        return _found(self._session.one("newest_pairing", platform=platform, user_id=user_id))

    def pending(self, platform: str, connector: str, now: int) -> int:
        row = self._session.one("count_pending_pairings", platform=platform, connector=connector, now=now)
        return int(row["number"]) if row else 0

    def settle(self, pairing_id: str, status: PairingStatus, by_id: str, now: int) -> bool:
        return self._session.execute("settle_pairing", id=pairing_id, status=status, by_id=by_id, now=now) == 1

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_pairings", oldest=first_id_at(before), limit=limit)


def _found(row: Row | None) -> Pairing | None:
    return pairing_of(row) if row else None


class SqlAllowances:
    """`Allowances` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, principal_id: str, kind: str) -> Allowance | None:
        row = self._session.one("allowance", principal_id=principal_id, kind=kind)
        return None if row is None else Allowance(row["since"], row["used"], row["notified_at"])

    def put(self, principal_id: str, kind: str, allowance: Allowance) -> None:
        self._session.execute(
            "put_allowance",
            principal_id=principal_id,
            kind=kind,
            since=allowance.since,
            used=allowance.used,
            notified_at=allowance.notified_at,
        )

    def prune(self, before: int) -> None:
        self._session.execute("prune_allowances", before=before)


_ROLES = {role.value: role for role in PrincipalRole}


def principal_of(row: Row) -> Principal:
    """Return a person; one with an unreadable role is blocked."""
    return Principal(
        id=row["id"],
        platform=row["platform"],
        user_id=row["user_id"],
        name=row["name"],
        role=_ROLES.get(row["role"], PrincipalRole.BLOCKED),
        paired=row["paired_at"] is not None,
    )


class SqlPrincipals:
    """`Principals` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, platform: str, user_id: str) -> Principal | None:
        row = self._session.one("find_principal", platform=platform, user_id=user_id)
        return principal_of(row) if row else None

    def get(self, principal_id: str) -> Principal | None:
        row = self._session.one("get_principal", id=principal_id)
        return principal_of(row) if row else None

    def with_rights(self) -> list[Principal]:
        return [principal_of(row) for row in self._session.rows("people_with_rights")]

    def has_others(self, principal_id: str) -> bool:
        return self._session.one("other_person", id=principal_id) is not None

    def seen(self, platform: str, user_id: str, name: str, role: PrincipalRole | None, now: int) -> Principal:
        known = self.find(platform, user_id)
        if known is None:
            made = Principal(self._session.new_id(), platform, user_id, name, role or PrincipalRole.MEMBER)
            self._session.execute(
                "add_principal", id=made.id, platform=platform, user_id=user_id, name=name, role=made.role, now=now
            )
            return made
        blocked = known.role is PrincipalRole.BLOCKED
        current = replace(known, name=name, role=known.role if blocked or role is None else role)
        if current != known:
            self._update(current, now)
        return current

    def set_role(self, principal_id: str, role: PrincipalRole, now: int) -> None:
        if (known := self.get(principal_id)) is not None:
            self._update(replace(known, role=role), now)

    def pair(self, principal_id: str, now: int) -> None:
        self._session.execute("pair_principal", id=principal_id, now=now)

    def unpair(self, principal_id: str, now: int) -> None:
        self._session.execute("unpair_principal", id=principal_id, now=now)

    def _update(self, principal: Principal, now: int) -> None:
        self._session.execute("update_principal", id=principal.id, name=principal.name, role=principal.role, now=now)


class SqlSettings:
    """`Settings` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key: str) -> str | None:
        row = self._session.one("get_setting", key=key)
        return row["value"] if row else None

    def put(self, key: str, value: str, now: int) -> None:
        self._session.execute("put_setting", key=key, value=value, now=now)


class SqlKeyValues:
    """`KeyValues` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key: str) -> str | None:
        row = self._session.one("get_key_value", key=key)
        return row["value"] if row else None

    def put(self, key: str, value: str, now: int) -> None:
        self._session.execute("put_key_value", key=key, value=value, now=now)
