"""Logins of the dashboard: one-time codes, passwords and cookie sessions. The database contains only hashes.

A session ends at logout, when a person revokes it, or when a configured time has passed since its last use or since its
creation. An open socket counts as use.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence

from arvis.bus import EventBus
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Forbidden, Unauthorised, Unprocessable
from arvis.domain.events import SessionEnded
from arvis.domain.messages import PrincipalRole
from arvis.domain.users import FIRST_USER, LONGEST_PASSWORD, User
from arvis.ports.clock import Clock
from arvis.ports.people import LoginSession
from arvis.ports.store import Store, Transaction
from arvis.process.secrets import Argon2Passwords
from arvis.web.auth import users
from arvis.web.http.identity import Identity, Role
from arvis.web.http.rate_limits import LoginLimiter

# A short description of the browser, by which a person recognises their own logins.


_LONGEST_HEADER = 1000
_LONGEST = 60

#: Pairs: a part of the header `User-Agent`, and the name of the browser. The first match counts, because most headers
#: name several browsers.
_BROWSERS = (
    ("edg", "Edge"),
    ("opr/", "Opera"),
    ("samsungbrowser/", "Samsung Internet"),
    ("firefox/", "Firefox"),
    ("fxios/", "Firefox"),
    ("crios/", "Chrome"),
    ("chromium/", "Chromium"),
    ("chrome/", "Chrome"),
    ("safari/", "Safari"),
)
_SYSTEMS = (
    ("iphone", "iPhone"),
    ("ipad", "iPad"),
    ("android", "Android"),
    ("windows", "Windows"),
    ("cros", "ChromeOS"),
    ("mac os x", "macOS"),
    ("linux", "Linux"),
)


def device_of(user_agent: str) -> str:
    """Return a name such as `Chrome on Linux`. For an unknown program, return the first word of the header, which can
    be empty."""
    text = user_agent[:_LONGEST_HEADER].lower()
    browser = next((word for sign, word in _BROWSERS if sign in text), "")
    system = next((word for sign, word in _SYSTEMS if sign in text), "")
    if browser:
        return f"{browser} on {system}" if system else browser
    first = user_agent[:_LONGEST_HEADER].partition("/")[0].partition(" ")[0]
    return "".join(letter for letter in first if letter.isascii() and letter.isprintable())[:_LONGEST]


CODE_LIFE_MS = 10 * 60_000
TOUCH_MS = 60_000


@dataclass(frozen=True, slots=True)
class SessionLifetime:
    """The idle timeout and the maximum age of a login (ms)."""

    idle: int
    whole: int


@dataclass(frozen=True, slots=True)
class Login:
    """A new session. Only the cookie contains the `token`."""

    token: str
    identity: Identity


@dataclass(frozen=True, slots=True)
class _Opening:
    """The data of a session before its user is known."""

    token_hash: str
    device: str
    life: SessionLifetime
    now: int


class LoginCodes:
    """The codes with which people log in."""

    def __init__(self, *, store: Store, clock: Clock, new_token: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._new_token = new_token

    async def new_code(self, user_id: str = FIRST_USER) -> str:
        """Return a new code for this user. The code is valid once, for ten minutes."""
        code, now = self._new_token(), self._clock.now()
        await self._store.write(_add_code, hashed(code), user_id, now + CODE_LIFE_MS, now)
        return code


class Sessions:
    """The sessions of dashboard users. `new_token` creates URL-safe texts of at least 128 random bits."""

    def __init__(
        self, *, store: Store, clock: Clock, bus: EventBus, new_token: Callable[[], str], life: SessionLifetime
    ) -> None:
        self._store = store
        self._clock = clock
        self._bus = bus
        self._new_token = new_token
        self._codes = LoginCodes(store=store, clock=clock, new_token=new_token)
        self.life = life

    async def new_code(self, user_id: str = FIRST_USER) -> str:
        """Return a new login code for this user. The code is valid once, for ten minutes."""
        return await self._codes.new_code(user_id)

    async def log_in(self, code: str, old_token: str | None, device: str) -> Login:
        """Exchange a code for a new session, and end the session of `old_token`, which came with the request."""
        token = self._new_token()
        user = await self._store.write(_spend, hashed(code), self._opening(token, device))
        return await self._begun(token, user, old_token, "bad_code")

    async def begin(self, user: User, old_token: str | None, device: str) -> Login:
        """Start a session for a user whose password was checked, and end the session of `old_token`, which came with
        the request."""
        token = self._new_token()
        known = await self._store.write(_open_for, user, self._opening(token, device))
        return await self._begun(token, known, old_token, "wrong_password")

    async def identify(self, token: str) -> Identity | None:
        """Return the holder of the session with this cookie, or None if the session has ended."""
        return await self.renew(hashed(token))

    async def renew(self, session: str) -> Identity | None:
        """Record a use of the session with this hash, at most once a minute. Return its holder, or None if the session
        has ended."""
        found, now = await self._store.read(_session, session), self._clock.now()
        if found is None:
            return None
        if now - found.seen_at >= self.life.idle or now - found.created_at >= self.life.whole:
            await self.end(session)
            return None
        if now - found.seen_at >= TOUCH_MS:
            await self._store.write(_touch, session, now)
        return _identity(found)

    async def end(self, session: str) -> bool:
        """End a session and its sockets. Return False if the session had ended before."""
        ended = await self._store.write(_end, session)
        self.announce_end([session])
        return ended

    def announce_end(self, sessions: Sequence[str]) -> None:
        """Announce that these sessions have ended, so that their sockets close."""
        for session in sessions:
            self._bus.publish(SessionEnded(session))

    def _opening(self, token: str, device: str) -> _Opening:
        return _Opening(hashed(token), device, self.life, self._clock.now())

    async def _begun(self, token: str, user: User | None, old_token: str | None, code: str) -> Login:
        identity = None if user is None else await self.identify(token)
        if identity is None:
            raise _refusal(user, code)
        if old_token is not None:
            await self.end(hashed(old_token))
        return Login(token, identity)


def _refusal(user: User | None, code: str) -> Unauthorised:
    """Return the error for a login that opened no session. `user` is None if the link or the password is
    no longer valid."""
    if user is not None:
        return Unauthorised(
            "This user cannot log in.",
            why="The user is blocked.",
            fix=f"An owner can run `arvis people unblock web:{user.id}`.",
            code=code,
        )
    if code == "bad_code":
        return Unauthorised(
            "This login link is not valid.",
            why="It was used before, or is older than ten minutes.",
            fix="Run `arvis login` to get a new login link.",
            code=code,
        )
    return Unauthorised(
        "This user cannot log in.",
        why="The user was deleted, or the password was changed, during the login.",
        fix="Try again with the new password.",
        code=code,
    )


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _identity(found: LoginSession) -> Identity | None:
    """Return the holder of a session, or None if the person is blocked or no longer a user."""
    user = found.user or users.implied(found.principal.user_id, found.created_at)
    if user is None or found.principal.role is PrincipalRole.BLOCKED:
        return None
    return Identity(Role(user.role), user.id, user.name, paired=True, session=found.token_hash)


def _add_code(tx: Transaction, code_hash: str, user_id: str, expires_at: int, now: int) -> None:
    tx.logins.add_code(code_hash, user_id, expires_at, now)


def _spend(tx: Transaction, code_hash: str, opening: _Opening) -> User | None:
    user_id = tx.logins.use_code(code_hash, opening.now)
    if user_id == FIRST_USER:
        users.first_user(tx, opening.now)
    user = None if user_id is None else tx.users.get(user_id)
    return None if user is None else _open(tx, user, opening)


def _open_for(tx: Transaction, shown: User, opening: _Opening) -> User | None:
    """Open a session. Return None if the user was removed, or the password has changed since it was verified."""
    if shown.id == FIRST_USER:
        users.first_user(tx, opening.now)
    user = tx.users.get(shown.id)
    if user is None or user.password_hash != shown.password_hash:
        return None
    return _open(tx, user, opening)


def _open(tx: Transaction, user: User, opening: _Opening) -> User:
    """Open a session, and delete expired ones."""
    life, now = opening.life, opening.now
    tx.logins.drop_over(seen_before=now - life.idle, created_before=now - life.whole)
    principal = users.principal_of(tx, user, now)
    tx.logins.open_session(opening.token_hash, principal.id, opening.device, now)
    return user


def _session(tx: Transaction, session: str) -> LoginSession | None:
    return tx.logins.session(session)


def _touch(tx: Transaction, session: str, now: int) -> None:
    tx.logins.touch(session, now)


def _end(tx: Transaction, session: str) -> bool:
    return tx.logins.close_session(session)


# Logins by password. The response for an unknown user is the same as for a wrong password, and takes the same time.


class LoginService:
    """Logins by password. `configured` is `web.password`. The first user has this password until another password is
    set in the dashboard or with `arvis password`."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        passwords: Argon2Passwords,
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
        """Return the user if the password is right. Otherwise raise `Unauthorised`. After too many attempts, raise
        `TooMany` without checking the password."""
        self._limiter.count(address)
        user = await self._store.read(users.find, user_id)
        self._limiter.count_account(user_id, known=user is not None)
        if not await self._fits(user, password) or user is None:
            raise Unauthorised(
                "The user or the password is wrong.",
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
        """Change the password of the logged-in user, and end all other logins of this user."""
        if identity.session is None:
            raise Forbidden(
                "An API key has no password to change.",
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
        """Return whether the password is right. For an unknown user and for the password in the configuration, the
        check takes as long as for a stored password."""
        kept = None if user is None else user.password_hash
        # The length is limited, so that a caller cannot cause expensive hashing.
        fits = await self._passwords.matches(password[: LONGEST_PASSWORD + 1], kept)
        if user is not None and kept is None and user.id == FIRST_USER and self._configured is not None:
            return hmac.compare_digest(password.encode(), self._configured.encode())
        return fits

    def _secured(self, user: User) -> bool:
        return user.password_hash is not None or (user.id == FIRST_USER and self._configured is not None)


def _any_password(tx: Transaction) -> bool:
    return tx.users.any_password()
