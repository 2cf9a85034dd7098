"""Login by name and password, and setting a password. A wrong user and a wrong password give the same answer in the
same time."""

from __future__ import annotations

import hmac
from collections.abc import Sequence

from arvis.domain.errors import Forbidden, Unauthorised, Unprocessable
from arvis.domain.users import FIRST_USER, LONGEST_PASSWORD, User
from arvis.ports.clock import Clock
from arvis.ports.secrets import Passwords
from arvis.ports.store import Store, Transaction
from arvis.web.auth import users
from arvis.web.auth.sessions import Sessions
from arvis.web.http.identity import Identity
from arvis.web.http.rate_limits import LoginLimiter


class LoginService:
    """Password logins. `configured` is `web.password`, the first user's password until one is set in the product."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        passwords: Passwords,
        limiter: LoginLimiter,
        sessions: Sessions,
        configured: str | None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._passwords = passwords
        self._limiter = limiter
        self._sessions = sessions
        self._configured = configured

    async def check(self, address: str, user_id: str, password: str) -> User:
        """Return the user. Raises `Unauthorised`, or `TooMany` before the password is checked."""
        self._limiter.count(address)
        user = await self._store.read(users.find, user_id)
        self._limiter.count_account(user_id, known=user is not None)
        if not await self._fits(user, password) or user is None:
            raise Unauthorised(
                "User or password is wrong.",
                fix="Try again. To reset a lost password, run `arvis password` on the machine of the daemon.",
                code="wrong_password",
            )
        self._limiter.forgive(address, user_id)
        return user

    async def has_password(self, user_id: str) -> bool:
        user = await self._store.read(users.find, user_id)
        return user is not None and self._secured(user)

    async def anybody_has(self) -> bool:
        return self._configured is not None or await self._store.read(_any_password)

    async def change(self, address: str, identity: Identity, password: str, current: str | None) -> None:
        """Change the password of the logged-in user. All other logins of this user end."""
        if identity.session is None:
            raise Forbidden(
                "A key has no password.",
                fix="Log in to the dashboard, or use PUT /api/users/{user}/password with an owner's key.",
                code="login_needed",
            )
        users.check_password(password)
        user = await self._store.read(users.find, identity.user_id)
        if user is not None and self._secured(user):
            if current is None:
                raise Unprocessable("`current` is missing.", fix="Send the current password as `current`.")
            user = await self.check(address, identity.user_id, current)
        kept = await self._passwords.hashed(password)
        now, session = self._clock.now(), identity.session
        self._sessions.announce_end(await self._store.write(users.change_password, user, kept, now, session))

    async def reset(self, user_id: str, password: str) -> None:
        """Set a new password for a user and end all their logins."""
        users.check_password(password)
        kept = await self._passwords.hashed(password)
        ended: Sequence[str] = await self._store.write(users.set_password, user_id, kept, self._clock.now())
        self._sessions.announce_end(ended)

    async def _fits(self, user: User | None, password: str) -> bool:
        """Compare the password. An unknown user and the password of the configuration take as long as any other."""
        kept = None if user is None else user.password_hash
        fits = await self._passwords.matches(_bounded(password), kept)
        if user is not None and kept is None and user.id == FIRST_USER and self._configured is not None:
            return hmac.compare_digest(password.encode(), self._configured.encode())
        return fits

    def _secured(self, user: User) -> bool:
        return user.password_hash is not None or (user.id == FIRST_USER and self._configured is not None)


def _bounded(password: str) -> str:
    """Limit the length of a password, so that a caller cannot cause expensive hashing."""
    return password[: LONGEST_PASSWORD + 1]


def _any_password(tx: Transaction) -> bool:
    return tx.users.any_password()
