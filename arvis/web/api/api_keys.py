"""API keys of the database, for owners. A key is shown once, when it is created; only its hash is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Self

from pydantic import Field
from starlette.responses import Response

from arvis.bus import EventBus
from arvis.domain.dataclass import replace
from arvis.domain.errors import NotFound, Unprocessable
from arvis.domain.events import SessionEnded
from arvis.domain.messages import PrincipalRole
from arvis.domain.users import StoredKey, UserRole
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.web.auth.api_keys import PREFIX, key_hash, user_of_key
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OWN, PLATFORM
from arvis.web.http.models import MEMBER, About, Body, OkView, Page, Printable, Says, Time, View
from arvis.web.http.requests import unusable

_MOST_AGENTS = 50

_AGENTS = "Slugs of the agents that a key with the role chat may use; empty: all agents that have no risky tools."
_SomeAgents = Annotated[
    list[str], Field(max_length=_MOST_AGENTS), Says(f"must be a list of at most {_MOST_AGENTS} slugs")
]


class ApiKeyView(View):
    id: str
    name: str
    role: UserRole
    agents: Annotated[list[str], About(_AGENTS)]
    created_by: Annotated[str, About("The id of a user.")]
    created_at: Time
    last_used_at: Annotated[Time | None, About("The last use, to the hour.")]

    @classmethod
    def of(cls, key: StoredKey, /, **others: Any) -> Self:
        return cls.showing(key, last_used_at=key.used_at, **others)


class MadeKeyView(ApiKeyView):
    key: Annotated[str, About("Shown only in this response.")]


class NewKey(Body):
    name: Annotated[str, Printable(80)]
    role: Annotated[UserRole, MEMBER]
    agents: Annotated[_SomeAgents | None, About(_AGENTS)] = None


_ALL = "/api/keys"


class ApiKeyRoutes(Routes):
    """Routes of API keys. `new_token` creates URL-safe texts of at least 128 random bits."""

    def __init__(self, *, store: Store, clock: Clock, bus: EventBus, new_token: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._bus = bus
        self._new_token = new_token

    @route("GET", _ALL, "List the keys of the database, newest first", OWN, {200: Page[ApiKeyView]}, query=PAGING)
    async def _list(self, call: Call) -> Response:
        found = await self._store.read(_before, call.query("cursor"), call.limit + 1)
        shown = found[: call.limit]
        return answer_page([ApiKeyView.of(key) for key in shown], shown[-1].id if len(found) > call.limit else None)

    @route("POST", _ALL, "Create a key; it is shown once", OWN, {201: MadeKeyView}, body=NewKey)
    async def _add(self, call: Call) -> Response:
        body = await call.read(NewKey)
        if body.agents and body.role is not UserRole.CHAT:
            raise unusable("agents", "is allowed only for keys with the role chat")
        key, agents = PREFIX + self._new_token(), tuple(dict.fromkeys(body.agents or ()))
        wanted = StoredKey("", body.name, body.role, agents, key_hash(key), call.identity.user_id, self._clock.now())
        made = await self._store.write(_make, wanted)
        return answer(MadeKeyView.of(made, key=key), 201)

    @route("DELETE", f"{_ALL}/{{key}}", "Revoke a key immediately", OWN, {200: OkView})
    async def _revoke(self, call: Call) -> Response:
        key_id = call.id("key")
        if not await self._store.write(_revoke, key_id, self._clock.now()):
            raise NotFound("There is no such key.", fix="GET /api/keys lists the keys.")
        self._bus.publish(SessionEnded(key_id))
        return done()


def _before(tx: Transaction, key_id: str | None, limit: int) -> Sequence[StoredKey]:
    return tx.api_keys.before(key_id, limit)


def _make(tx: Transaction, wanted: StoredKey) -> StoredKey:
    """Store the key with a new id."""
    for slug in wanted.agents:
        if tx.agents.by_slug(slug) is None:
            raise Unprocessable(
                f"There is no agent {slug!r}.", fix="GET /api/agents lists the agents.", code="no_agent"
            )
    made = replace(wanted, id=tx.new_id())
    tx.api_keys.add(made)
    return made


def _revoke(tx: Transaction, key_id: str, now: int) -> bool:
    """Revoke the key. Schedules and other work of its user continue with the rights of a member. Return False if the
    key does not exist."""
    person = tx.principals.find(PLATFORM, user_of_key(key_id))
    if person is not None and person.role is not PrincipalRole.BLOCKED:
        tx.principals.set_role(person.id, PrincipalRole.MEMBER, now)
    return tx.api_keys.remove(key_id)
