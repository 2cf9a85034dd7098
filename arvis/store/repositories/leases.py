"""Leases on roles in SQL."""

from __future__ import annotations

from arvis.ports.idempotency import KeyedRequest
from arvis.ports.repositories import RoleLease
from arvis.store.sql.session import Row, Session

# Writes that named an `Idempotency-Key`, over SQL.


class SqlIdempotencyKeys:
    """`IdempotencyKeys` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def reserve(self, asker: str, key: str, request: str, *, before: int, now: int) -> KeyedRequest | None:
        self._session.execute("expire_idempotency_key", asker=asker, key=key, before=before)
        if self._session.execute("reserve_idempotency_key", asker=asker, key=key, request=request, now=now):
            return None
        row = self._session.one("idempotency_key", asker=asker, key=key)
        return _request_of(row) if row else None

    def take_over(self, asker: str, key: str, begun_at: int, now: int) -> bool:
        return self._session.execute("take_over_idempotency_key", asker=asker, key=key, begun_at=begun_at, now=now) == 1

    def finish(self, asker: str, key: str, status: int, content: str) -> None:
        self._session.execute("finish_idempotency_key", asker=asker, key=key, status=status, content=content)

    def release(self, asker: str, key: str) -> None:
        self._session.execute("release_idempotency_key", asker=asker, key=key)

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_idempotency_keys", before=before, limit=limit)


def _request_of(row: Row) -> KeyedRequest:
    return KeyedRequest(
        request=row["request_hash"], status=row["status"], content=row["content"], created_at=row["created_at"]
    )


class SqlRoleLeases:
    """`RoleLeases` in one transaction."""

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
