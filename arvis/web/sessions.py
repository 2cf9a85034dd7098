"""Logins of the dashboard: one-time codes and cookie sessions. The database holds hashes only.

A session ends 12 hours after its last use (an open socket counts as use), 30 days after its begin, or at logout.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from arvis.domain.errors import Unauthorised
from arvis.domain.messages import Principal, PrincipalRole
from arvis.ports.clock import Clock
from arvis.ports.repositories import LoginSession
from arvis.ports.store import Store, Transaction
from arvis.web.identity import OWNER_ID, PLATFORM, Identity, Role

CODE_LIFE_MS = 10 * 60_000
IDLE_MS = 12 * 3_600_000
LIFE_MS = 30 * 24 * 3_600_000
TOUCH_MS = 60_000

_ROLES = {
    PrincipalRole.OWNER: Role.OWNER,
    PrincipalRole.OPERATOR: Role.OPERATOR,
    PrincipalRole.MEMBER: Role.CHAT,
}


@dataclass(frozen=True, slots=True)
class Login:
    """A session that has just begun; `token` goes into the cookie and nowhere else."""

    token: str
    identity: Identity


class Sessions:
    """`new_token` makes URL-safe texts of at least 128 random bits."""

    def __init__(self, *, store: Store, clock: Clock, new_token: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_token = new_token

    async def new_code(self) -> str:
        """A login code: good once, for ten minutes."""
        code, now = self._new_token(), self._clock.now()
        await self._store.write(_add_code, _hash(code), now + CODE_LIFE_MS, now)
        return code

    async def log_in(self, code: str, old_token: str | None) -> Login:
        """Spend a code for a new session; the one that came with the request ends."""
        token = self._new_token()
        old = None if old_token is None else _hash(old_token)
        principal = await self._store.write(_log_in, _hash(code), _hash(token), old, self._clock.now())
        identity = None if principal is None else _identity(principal, _hash(token))
        if identity is None:
            raise Unauthorised(
                "This login link is not valid.",
                why="It was used before, or is older than ten minutes.",
                fix="Run `arvis login` for a new one.",
                code="bad_code",
            )
        return Login(token, identity)

    async def identify(self, token: str) -> Identity | None:
        """Who holds this cookie; None when the session has ended."""
        return await self.renew(_hash(token))

    async def renew(self, session: str) -> Identity | None:
        """Count a use of a session (by its hash), written at most once a minute; None when it has ended."""
        found, now = await self._store.read(_session, session), self._clock.now()
        if found is None:
            return None
        if now - found.seen_at >= IDLE_MS or now - found.created_at >= LIFE_MS:
            await self.end(session)
            return None
        if now - found.seen_at >= TOUCH_MS:
            await self._store.write(_touch, session, now)
        return _identity(found.principal, session)

    async def end(self, session: str) -> None:
        await self._store.write(_end, session)


def _identity(principal: Principal, session: str) -> Identity | None:
    role = _ROLES.get(principal.role)
    if role is None:
        return None
    return Identity(role, principal.user_id, principal.name, paired=True, session=session)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _add_code(tx: Transaction, code_hash: str, expires_at: int, now: int) -> None:
    tx.logins.add_code(code_hash, expires_at, now)


def _log_in(tx: Transaction, code_hash: str, token_hash: str, old_hash: str | None, now: int) -> Principal | None:
    if not tx.logins.use_code(code_hash, now):
        return None
    if old_hash is not None:
        tx.logins.close_session(old_hash)
    principal = tx.principals.seen(PLATFORM, OWNER_ID, "Owner", PrincipalRole.OWNER, now)
    tx.logins.open_session(token_hash, principal.id, now)
    return principal


def _session(tx: Transaction, session: str) -> LoginSession | None:
    return tx.logins.session(session)


def _touch(tx: Transaction, session: str, now: int) -> None:
    tx.logins.touch(session, now)


def _end(tx: Transaction, session: str) -> None:
    tx.logins.close_session(session)
