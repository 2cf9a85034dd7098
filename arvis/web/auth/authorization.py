"""Authentication and authorisation: every route and every socket identifies its caller and checks their rights here."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from arvis.domain.dataclass import replace
from arvis.domain.errors import Forbidden, NotFound, Unauthorised
from arvis.domain.messages import Address, Principal, PrincipalRole, Sender
from arvis.ports.browsing import Person, TalkDetail
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.web.auth.api_keys import ApiKeyCache
from arvis.web.auth.failed_logins import FailedLogins, address_of
from arvis.web.auth.sessions import Sessions
from arvis.web.http.identity import ANONYMOUS, PLATFORM, READ, Access, Identity, Role, address_for, sender_for
from arvis.web.http.rate_limits import KeyGuesses

_BEARER = b"bearer "


class Authorizer:
    """The authentication and authorisation of callers. `cookie` is the name of the session cookie, and `owners` is the
    configuration's `owners.web`."""

    def __init__(
        self,
        *,
        keys: ApiKeyCache,
        sessions: Sessions,
        store: Store,
        clock: Clock,
        cookie: str,
        owners: frozenset[str],
        failures: FailedLogins,
    ) -> None:
        self._keys = keys
        self._sessions = sessions
        self._store = store
        self._clock = clock
        self._owners = owners
        self.cookie = cookie
        self._failures = failures
        self._guesses = KeyGuesses(clock=clock)

    async def identify(self, connection: HTTPConnection) -> Identity:
        """Return the caller, or `ANONYMOUS` without a credential. Raise `Unauthorised` for an invalid credential.

        The cookie is ignored if the request also has an `Authorization` header.
        """
        for name, value in connection.headers.raw:
            if name == b"authorization":
                return await self._unblocked(await self._bearer(value, address_of(connection)))
        token = self.token(connection)
        if token is None:
            return ANONYMOUS
        identity = await self._sessions.identify(token)
        if identity is None:
            raise Unauthorised("You are logged out.", fix="Log in again.", code="session_ended")
        return identity

    def token(self, connection: HTTPConnection) -> str | None:
        """Return the unparsed value of the session cookie. Starlette's parser is not used, because it can need seconds
        for a malicious header. If the name occurs twice, the last value counts, as in Starlette."""
        found = None
        for pair in connection.headers.get("cookie", "").split(";"):
            name, _, value = pair.partition("=")
            if name.strip() == self.cookie:
                found = value.strip()
        return found

    async def by_key(self, key: str, address: str) -> Identity:
        return await self._unblocked(await self._holder(key.encode(), address))

    async def renew(self, identity: Identity) -> Identity | None:
        """Return the current identity of the credential, or None if the credential is no longer valid or its rights
        have changed. The call counts as a use of the login."""
        if identity.session is not None:
            found = await self._sessions.renew(identity.session)
        elif identity.key is not None:
            found = await self._keys.renew(identity.key)
        else:
            found = identity
        if found is None or (found.role, found.agents) != (identity.role, identity.agents):
            return None
        return None if await self._is_blocked(found) else found

    def admit(self, identity: Identity, access: Access) -> None:
        if identity.role in access:
            return
        if identity.role is Role.ANONYMOUS:
            raise Unauthorised(
                "You are not logged in.", fix="Log in, or send `Authorization: Bearer KEY`.", code="no_credential"
            )
        raise Forbidden(
            f"The role {identity.role} may not do this.",
            fix="Ask an owner of this Arvis for another role.",
            code="role",
        )

    def sender(self, identity: Identity, user_id: str | None = None, user_name: str | None = None) -> Sender:
        return sender_for(identity, user_id, user_name, self._owners)

    async def principal(self, sender: Sender) -> Principal:
        """Return the stored person of a sender; create the row if it is missing."""
        return await self._store.write(_seen, sender, self._clock.now())

    async def principal_id(self, identity: Identity) -> str:
        """Return the id of the stored person of a credential; create the row if it is missing."""
        return (await self.principal(self.sender(identity))).id

    async def known(self, identity: Identity) -> Principal | None:
        """Return the stored person of a credential, or None if no row exists yet."""
        return await self._store.read(_find, identity.user_id)

    async def asker(self, identity: Identity) -> Principal:
        """Return the person of a credential, with the credential's role, and store nothing. If the person has no row,
        the id is "". A blocked person stays blocked."""
        sender, known = self.sender(identity), await self.known(identity)
        if known is None:
            return Principal("", PLATFORM, sender.user_id, sender.name, sender.role or PrincipalRole.MEMBER)
        blocked = known.role is PrincipalRole.BLOCKED
        return known if blocked or sender.role is None else replace(known, role=sender.role)

    async def owns(self, identity: Identity, principal_id: str | None) -> bool:
        """Return whether this principal is the person of the caller. If so, the caller owns the data of the
        principal."""
        principal = await self._store.read(_find, identity.user_id)
        return principal is not None and principal.id == principal_id

    async def _unblocked(self, identity: Identity) -> Identity:
        if await self._is_blocked(identity):
            raise Forbidden(
                "The holder of this key is blocked.", fix="Ask an owner of this Arvis to unblock you.", code="blocked"
            )
        return identity

    async def _is_blocked(self, identity: Identity) -> bool:
        """Return whether the person is blocked. Owners cannot be blocked, so that the person who has the data folder
        always has access."""
        if identity.role in {Role.OWNER, Role.ANONYMOUS}:
            return False
        person = await self._store.read(_find, identity.user_id)
        return person is not None and person.role is PrincipalRole.BLOCKED

    async def _bearer(self, header: bytes, address: str) -> Identity:
        if header[: len(_BEARER)].lower() != _BEARER:
            raise Unauthorised("This kind of authorization is not supported.", fix="Send `Authorization: Bearer KEY`.")
        return await self._holder(header[len(_BEARER) :].strip(), address)

    async def _holder(self, key: bytes, address: str) -> Identity:
        """Return the holder of the key. Wrong keys are counted per address. From an address with too many wrong keys,
        only keys that cannot be guessed are accepted."""
        exhausted = self._guesses.exhausted(address)
        identity = await self._keys.holder(key, guessable=exhausted is None)
        if identity is None:
            await self._failures.note(address, "wrong_key", "key")
            self._guesses.count(address)
            raise Unauthorised(
                "This key is not valid.",
                fix="Use a key from the dashboard, from `web.api_keys` or from the data folder.",
                code="wrong_key",
            )
        return identity


def _seen(tx: Transaction, sender: Sender, now: int) -> Principal:
    return tx.principals.seen(PLATFORM, sender.user_id, sender.name, sender.role, now)


def _find(tx: Transaction, user_id: str) -> Principal | None:
    return tx.principals.find(PLATFORM, user_id)


async def person_of(gate: Authorizer, identity: Identity) -> Person | None:
    """Return the person whose data the caller may read; None for callers who may read all data."""
    if identity.role in READ:
        return None
    principal = await gate.known(identity)
    return Person(principal.id if principal is not None else "", identity.user_id)


def is_own_place(identity: Identity, address: Address) -> bool:
    """Return whether the address is a channel of the platform `web` that the credential may use."""
    if address.platform != PLATFORM or address.connector != PLATFORM:
        return False
    try:
        return address_for(identity, address.channel) == address
    except Forbidden:
        return False


async def visible_talk(insights: Insights, gate: Authorizer, identity: Identity, conversation_id: str) -> TalkDetail:
    """Return the conversation if the caller may see it. If not, raise the same `NotFound` as for an unknown
    conversation."""
    found = await insights.talk(conversation_id)
    person = await person_of(gate, identity)
    if found is None or (person is not None and not await _is_own(insights, identity, person, found)):
        raise NotFound("There is no such conversation.", fix="GET /api/conversations lists the conversations.")
    return found


async def _is_own(insights: Insights, identity: Identity, person: Person, found: TalkDetail) -> bool:
    """Return whether the conversation is in a channel of the person and contains a message that the person wrote."""
    if not is_own_place(identity, found.talk.address):
        return False
    messages = await insights.talk_messages(found.talk.id, own=person, limit=1, cursor=None)
    return bool(messages.items)
