"""Principals and settings over SQL."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.messages import Principal, PrincipalRole
from arvis.store.session import Row, Session

_ROLES = {role.value: role for role in PrincipalRole}


def principal_of(row: Row) -> Principal:
    """A person whose role cannot be read is blocked."""
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
