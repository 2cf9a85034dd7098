"""The logins of tool servers (OAuth 2.1), and the attempts to log in, as they are stored. All secrets are sealed.

Every process of an installation uses the same login. A login that is refreshed has a new refresh token, and the old one
becomes invalid, so only one process may refresh it: the process that has set `refreshing_until`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, field
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import SecretLost
from arvis.domain.regex import regex
from arvis.domain.tools import TOOL_LOGIN_ATTEMPTS, TOOL_LOGINS
from arvis.ports.clock import Clock
from arvis.ports.http import GuardedClient
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction

#: The page of the daemon to which the browser returns after a login.
CALLBACK = "/oauth/callback"
#: The time (ms) in which a person must log in.
ATTEMPT_MS = 600_000
#: The time (ms) after which another process may refresh a login, if the first process has not stored the result.
REFRESH_MS = 40_000
#: The names of servers.
_SERVER = regex(r"[a-z0-9_-]{1,32}", re.ASCII)
_LOGIN, _ATTEMPT = f"{TOOL_LOGINS}{{}}", f"{TOOL_LOGIN_ATTEMPTS}{{}}"
_SEALED = ("access", "refresh", "client_secret", "verifier")


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The addresses of an authorization server. Optional addresses are empty if they are not known."""

    issuer: str
    authorization: str
    token: str
    registration: str = ""
    revocation: str = ""
    #: True if the server states its issuer in every answer.
    states_issuer: bool = False


@dataclass(frozen=True, slots=True)
class Login:
    """The login of a server: the registration of Arvis, and the tokens of the person who logged in."""

    #: The address of the tool server. The login is not used for another address.
    address: str
    endpoints: Endpoints
    client_id: str
    #: The way in which the token endpoint gets the client's secret: `none`, `client_secret_basic` or
    #: `client_secret_post`.
    method: str
    #: The address to which the authorization server sends the person back.
    redirect: str
    #: The identifier of the tool server for which the tokens are valid.
    resource: str
    scope: str = ""
    client_secret: str = field(default="", repr=False)
    #: The time (ms) at which the registration expires; 0 if it does not expire.
    client_expires_at: int = 0
    access: str = field(default="", repr=False)
    refresh: str = field(default="", repr=False)
    #: The time (ms) at which the access token expires; 0 if it is unknown.
    expires_at: int = 0
    refreshing_until: int = 0

    @property
    def without_tokens(self) -> Login:
        return replace(self, access="", refresh="", expires_at=0, refreshing_until=0)

    @property
    def without_client(self) -> Login:
        """A copy of this login without its registration and its tokens. The next login registers Arvis again."""
        return replace(self.without_tokens, client_id="", client_secret="", client_expires_at=0)


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to log in. `login` has no tokens yet."""

    login: Login
    state_hash: str
    verifier: str = field(repr=False)
    expires_at: int


@dataclass(frozen=True, slots=True)
class Logins:
    """The stored logins by the names of servers."""

    store: Store
    box: SecretBox
    clock: Clock

    async def get(self, server: str, address: str) -> Login | None:
        """Return the login for this address of the server; None if there is none, or if it cannot be decrypted."""
        text = await self.store.read(_text, _LOGIN.format(server))
        # A thread decrypts, because the first call reads the key from its file and imports the library.
        return await asyncio.to_thread(_opened, text, address, self.box) if text else None

    async def put(self, server: str, login: Login) -> None:
        text = await asyncio.to_thread(_sealed, login, self.box)
        await self.store.write(_put, _LOGIN.format(server), text, self.clock.now())

    async def remove(self, server: str) -> None:
        for key in (_LOGIN, _ATTEMPT):
            await self.store.write(_put, key.format(server), "", self.clock.now())

    async def swap(self, server: str, before: Login, login: Login) -> bool:
        """Replace the login. Return False if another process has changed it since it was read."""

        def swap(tx: Transaction) -> bool:
            # Each encryption gives another text, so the decrypted logins are compared. `tx.kv.swap` detects a change
            # after `get`.
            key = _LOGIN.format(server)
            text = tx.kv.get(key)
            if not text or _opened(text, before.address, self.box) != before:
                return False
            return tx.kv.swap(key, text, _sealed(login, self.box), self.clock.now())

        return await self.store.write(swap)

    # -- attempts ----------------------------------------------------------------------------------------------

    async def begin(self, server: str, login: Login, verifier: str) -> tuple[str, int]:
        """Store an attempt, which replaces an earlier one. Return its state, and the time (ms) at which it expires."""
        state, until = f"{server}.{secrets.token_urlsafe(32)}", self.clock.now() + ATTEMPT_MS
        kept = {
            "login": json.loads(_sealed(login.without_tokens, self.box)),
            "state": _hash(state),
            "verifier": self.box.seal(verifier),
            "until": until,
        }
        await self.store.write(_put, _ATTEMPT.format(server), json.dumps(kept), self.clock.now())
        return state, until

    async def take(self, state: str) -> tuple[str, Attempt] | None:
        """Delete the attempt with this state, and return its server and the attempt. Return None if there is no such
        attempt, or if it has expired."""
        server = state.rpartition(".")[0]
        key = _ATTEMPT.format(server)
        # Everybody can send a state, so an unknown state causes no write.
        if not _SERVER.fullmatch(server) or not await self.store.read(_text, key):
            return None
        text = await self.store.write(_take, key, _hash(state), self.clock.now())
        if not text:
            return None
        kept = json.loads(text)
        login = _opened(json.dumps(kept["login"]), None, self.box)
        if login is None:
            return None
        return server, Attempt(login, kept["state"], self.box.open(kept["verifier"]), kept["until"])


#: A function that opens a client for addresses that other servers name. The hosts of the argument are exempt from the
#: check.
OpenClient = Callable[[Sequence[str]], AbstractAsyncContextManager[GuardedClient]]


@dataclass(frozen=True, slots=True)
class Access:
    """The services that logins need. `report` is called with the name of a server, and with True if a person must log
    in to the server, or False if its tools can be used."""

    logins: Logins
    open_client: OpenClient
    report: Callable[[str, bool], Awaitable[None]]


def _hash(state: str) -> str:
    return hashlib.sha256(state.encode("utf-8", "replace")).hexdigest()


def _sealed(login: Login, box: SecretBox) -> str:
    kept = asdict(login)
    return json.dumps({name: box.seal(value) if name in _SEALED and value else value for name, value in kept.items()})


def _opened(text: str | None, address: str | None, box: SecretBox) -> Login | None:
    """Return the login if it belongs to this address (None: any address)."""
    if not text:
        return None
    kept: dict[str, Any] = json.loads(text)
    if address is not None and kept["address"] != address:
        return None
    try:
        plain: dict[str, Any] = {
            name: box.open(value) if name in _SEALED and value else value for name, value in kept.items()
        }
    except SecretLost:
        return None
    plain["endpoints"] = Endpoints(**plain["endpoints"])
    return Login(**plain)


def _text(tx: Transaction, key: str) -> str | None:
    return tx.kv.get(key)


def _put(tx: Transaction, key: str, text: str, now: int) -> None:
    if text or tx.kv.get(key):
        tx.kv.put(key, text, now)


def _take(tx: Transaction, key: str, state_hash: str, now: int) -> str | None:
    text = tx.kv.get(key)
    if not text:
        return None
    kept = json.loads(text)
    if not secrets.compare_digest(kept["state"], state_hash) or kept["until"] < now:
        return None
    return text if tx.kv.swap(key, text, "", now) else None
