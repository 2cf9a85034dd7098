"""People, their rights, limits, pairing requests, logins and API keys, over SQL."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.dataclass import replace
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.domain.ids import first_id_at
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.platforms import Pairing, PairingStatus
from arvis.domain.users import StoredKey, User, UserRole
from arvis.ports.people import Allowance, LoginSession
from arvis.store.repositories.changes import SqlAudit
from arvis.store.sql.session import LAST, Row, Session, dump, first
from arvis.store.sql.unreadable import lenient, texts_of


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
        settled_at=row["settled_at"],
    )


class SqlPairings:
    """Implements the port `Pairings` with the session of a transaction."""

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
    """Implements the port `Allowances` with the session of a transaction."""

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

    def use(self, principal_id: str, kind: str, size: int, *, most: int, after: int, now: int) -> int | None:
        given = {"principal_id": principal_id, "kind": kind, "size": size}
        row = self._session.one("use_allowance", **given, most=most, after=after, now=now)
        return None if row is None else row["used"]

    def prune(self, before: int) -> None:
        self._session.execute("prune_allowances", before=before)


_ROLES = {role.value: role for role in PrincipalRole}


def principal_of(row: Row) -> Principal:
    """Return the person of a row. If the stored role is unreadable, the person is blocked."""
    return Principal(
        id=row["id"],
        platform=row["platform"],
        user_id=row["user_id"],
        name=row["name"],
        role=_ROLES.get(row["role"], PrincipalRole.BLOCKED),
        paired=row["paired_at"] is not None,
        timezone=row["timezone"],
        language=row["language"],
        identity=row["identity_id"],
    )


_PRINCIPAL = first(principal_of)


class SqlPrincipals:
    """Implements the port `Principals` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def find(self, platform: str, user_id: str) -> Principal | None:
        return self._session.held("find_principal", _PRINCIPAL, platform=platform, user_id=user_id)

    def get(self, principal_id: str) -> Principal | None:
        return self._session.held("get_principal", _PRINCIPAL, id=principal_id)

    def with_rights(self) -> list[Principal]:
        return [principal_of(row) for row in self._session.rows("people_with_rights")]

    def has_others(self, principal_id: str) -> bool:
        return self._session.one("other_person", id=principal_id) is not None

    def seen(self, platform: str, user_id: str, name: str, role: PrincipalRole | None, now: int) -> Principal:
        known = self.find(platform, user_id)
        if known is None:
            new_id = self._session.new_id()
            made = Principal(new_id, platform, user_id, name, role or PrincipalRole.MEMBER, identity=new_id)
            self._session.execute(
                "add_principal", id=made.id, platform=platform, user_id=user_id, name=name, role=made.role, now=now
            )
            return made
        blocked = known.role is PrincipalRole.BLOCKED
        if known.linked and not blocked and role not in {None, known.role}:
            # Linked identities always have the same rights, so end the link before the role changes.
            self._session.execute("unlink_identity", id=known.identity, role=role, paired_at=None, now=now)
            self._note_unlink(known, known.id, now)
            known = self.find(platform, user_id) or known
        current = replace(known, name=name, role=known.role if blocked or role is None else role)
        if current.role is not known.role:
            if not known.linked:
                # The new role applies to this identity only, so end the links of the other identities.
                former = PrincipalRole.MEMBER if known.role is PrincipalRole.OWNER else known.role
                identities = [principal_of(row) for row in self._session.rows("identities_of", person_id=known.id)]
                self._session.execute("unlink_identities_of", id=known.id, role=former, now=now)
                for other in identities:
                    if other.id != known.id:
                        self._note_unlink(other, known.id, now)
            self.set_role(current.id, current.role, now)
        if name != known.name:
            self._session.execute("rename_identity", id=known.identity, name=name, now=now)
        return current

    def _note_unlink(self, identity: Principal, person_id: str, now: int) -> None:
        """Add an audit entry: a change of roles ended the link of this identity to a person. The entry names no
        author."""
        access = Access(AccessKind.UNLINK, f"{identity.platform}:{identity.user_id}", {"person": person_id})
        SqlAudit(self._session).add(access_entry(self._session.new_id(), access, now))

    def set_role(self, principal_id: str, role: PrincipalRole, now: int) -> None:
        self._session.execute("set_role_of_principal", id=principal_id, role=role, now=now)

    def pair(self, principal_id: str, now: int) -> None:
        self._session.execute("pair_principal", id=principal_id, now=now)

    def unpair(self, principal_id: str, now: int) -> None:
        self._session.execute("unpair_principal", id=principal_id, now=now)

    def prefer(self, principal_id: str, *, timezone: str | None, language: str | None, now: int) -> None:
        self._session.execute("prefer_of_principal", id=principal_id, timezone=timezone, language=language, now=now)


#: A character that sorts after every hexadecimal digit.
_END = "g"


class SqlLogins:
    """Implements the port `Logins` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._principals = SqlPrincipals(session)
        self._users = SqlUsers(session)

    def add_code(self, code_hash: str, user_id: str, expires_at: int, now: int) -> None:
        self._session.execute("drop_old_login_codes", now=now)
        self._session.execute("add_login_code", code_hash=code_hash, user_id=user_id, expires_at=expires_at)

    def use_code(self, code_hash: str, now: int) -> str | None:
        row = self._session.one("use_login_code", code_hash=code_hash, now=now)
        return str(row["user_id"]) if row else None

    def drop_codes(self, user_id: str) -> None:
        self._session.execute("drop_codes_of_user", user_id=user_id)

    def open_session(self, token_hash: str, principal_id: str, device: str, now: int) -> None:
        self._session.execute("add_session", token_hash=token_hash, principal_id=principal_id, device=device, now=now)

    def session(self, token_hash: str) -> LoginSession | None:
        return self._found(self._session.one("get_session", token_hash=token_hash))

    def session_like(self, start: str) -> LoginSession | None:
        return self._found(self._session.one("session_like", first=start, end=start + _END))

    def touch(self, token_hash: str, now: int) -> None:
        self._session.execute("touch_session", token_hash=token_hash, now=now)

    def close_session(self, token_hash: str) -> bool:
        return self._session.execute("delete_session", token_hash=token_hash) == 1

    def drop_over(self, *, seen_before: int, created_before: int) -> None:
        self._session.execute("drop_over_sessions", seen_before=seen_before, created_before=created_before)

    def sessions_of(
        self, principal_id: str, *, seen_from: int, created_from: int, before: tuple[int, str], limit: int
    ) -> Sequence[LoginSession]:
        rows = self._session.rows(
            "sessions_of",
            principal_id=principal_id,
            seen_from=seen_from,
            created_from=created_from,
            created_before=before[0],
            hash_before=before[1],
            limit=limit,
        )
        return [found for row in rows if (found := self._found(row)) is not None]

    def close_sessions_of(self, principal_id: str, but: str | None = None) -> Sequence[str]:
        rows = self._session.rows("delete_sessions_of", principal_id=principal_id, but=but or "")
        return [str(row["token_hash"]) for row in rows]

    def _found(self, row: Row | None) -> LoginSession | None:
        principal = None if row is None else self._principals.get(row["principal_id"])
        if row is None or principal is None:
            return None
        return LoginSession(
            token_hash=row["token_hash"],
            principal=principal,
            user=self._users.get(principal.user_id),
            device=row["device"],
            created_at=row["created_at"],
            seen_at=row["seen_at"],
        )


class SqlUsers:
    """Implements the port `Users` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, user_id: str) -> User | None:
        row = self._session.one("get_user", id=user_id)
        return _user(row) if row else None

    def after(self, user_id: str, limit: int) -> Sequence[User]:
        return [_user(row) for row in self._session.rows("users_after", after=user_id, limit=limit)]

    def any_password(self) -> bool:
        return self._session.one("any_password") is not None

    def add(self, user: User) -> bool:
        fields = {name: getattr(user, name) for name in User.__slots__}
        return self._session.execute("add_user", **fields) == 1

    def update(self, user: User) -> None:
        names = set(User.__slots__) - {"created_at"}
        self._session.execute("update_user", **{name: getattr(user, name) for name in names})

    def remove(self, user_id: str) -> bool:
        return self._session.execute("remove_user", id=user_id) == 1


class SqlApiKeys:
    """Implements the port `ApiKeys` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, key_id: str) -> StoredKey | None:
        row = self._session.one("get_api_key", id=key_id)
        return _key(row) if row else None

    def by_hash(self, key_hash: str) -> StoredKey | None:
        row = self._session.one("api_key_by_hash", key_hash=key_hash)
        return _key(row) if row else None

    def before(self, key_id: str | None, limit: int) -> Sequence[StoredKey]:
        return [_key(row) for row in self._session.rows("api_keys_before", before=key_id or LAST, limit=limit)]

    def add(self, key: StoredKey) -> None:
        names = set(StoredKey.__slots__) - {"agents", "used_at"}
        fields = {name: getattr(key, name) for name in names}
        self._session.execute("add_api_key", **fields, agents=dump(key.agents))

    def used(self, key_id: str, now: int) -> None:
        self._session.execute("touch_api_key", id=key_id, now=now)

    def remove(self, key_id: str) -> bool:
        return self._session.execute("remove_api_key", id=key_id) == 1


def _user(row: Row) -> User:
    fields = {name: row[name] for name in User.__slots__}
    return User(**{**fields, "role": _role(row)})


def _key(row: Row) -> StoredKey:
    fields = {name: row[name] for name in StoredKey.__slots__}
    # An empty list would allow all agents. So an unreadable list is replaced by a list with a slug that no agent has:
    # the key then allows no agent.
    agents = lenient("api_keys", "id", row, lambda row: texts_of(row["agents"]), lambda _: ("",))
    return StoredKey(**{**fields, "role": _role(row), "agents": agents})


def _role(row: Row) -> UserRole:
    """Return the role of a row. If the stored role is unreadable, return the role with the fewest rights."""
    return UserRole(row["role"]) if row["role"] in {role.value for role in UserRole} else UserRole.CHAT
