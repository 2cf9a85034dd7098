"""Settings, key-values and leases of roles. All processes that use the same database share them."""

from __future__ import annotations

import json
from collections.abc import Collection

from arvis.ports.repositories import RoleLease
from arvis.store.sql.session import Row, Session, first


class SqlRoleLeases:
    """Implements the port `RoleLeases` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, name: str) -> RoleLease | None:
        row = self._session.one("get_role_lease", name=name)
        return _lease_of(row) if row else None

    def take(self, name: str, owner: str, node: str, seen: RoleLease | None) -> RoleLease | None:
        if seen is None:
            row = self._session.one("add_role_lease", name=name, owner=owner, node=node)
        else:
            row = self._session.one(
                "take_role_lease", name=name, owner=owner, node=node, claim=seen.claim, beat=seen.beat
            )
        return _lease_of(row) if row else None

    def renew(self, lease: RoleLease) -> bool:
        return self._session.execute("renew_role_lease", name=lease.name, owner=lease.owner, claim=lease.claim) == 1

    def release(self, lease: RoleLease) -> None:
        self._session.execute("release_role_lease", name=lease.name, owner=lease.owner, claim=lease.claim)

    def held(self, lease: RoleLease) -> bool:
        found = self.find(lease.name)
        return found is not None and (found.owner, found.claim) == (lease.owner, lease.claim)


def _lease_of(row: Row) -> RoleLease:
    return RoleLease(row["name"], row["owner"], row["node"], row["claim"], row["beat"])


class SqlSettings:
    """Implements the port `Settings` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key: str) -> str | None:
        row = self._session.one("get_setting", key=key)
        return row["value"] if row else None

    def put(self, key: str, value: str, now: int) -> None:
        self._session.execute("put_setting", key=key, value=value, now=now)


def _value_of(row: Row) -> str:
    value: str = row["value"]
    return value


_VALUE = first(_value_of)


class SqlKeyValues:
    """Implements the port `KeyValues` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key: str) -> str | None:
        return self._session.held("get_key_value", _VALUE, key=key)

    def put(self, key: str, value: str, now: int) -> None:
        self._session.execute("put_key_value", key=key, value=value, now=now)

    def delete(self, key: str) -> None:
        self._session.execute("delete_key_value", key=key)

    def delete_others(self, prefix: str, names: Collection[str]) -> None:
        keys = json.dumps([f"{prefix}{name}" for name in names])
        self._session.execute("delete_other_key_values", prefix=prefix, keys=keys)

    def swap(self, key: str, before: str, value: str, now: int) -> bool:
        return self._session.execute("swap_key_value", key=key, before=before, value=value, now=now) == 1
