"""API keys that are created in the product, for owners. A key is shown once; only its hash is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from arvis.domain.errors import NotFound, Unprocessable
from arvis.domain.events import SessionEnded
from arvis.domain.messages import PrincipalRole
from arvis.domain.users import StoredKey, UserRole
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.web.auth.api_keys import PREFIX, key_hash, user_of_key
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OWN, PLATFORM
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import LABEL, OK, STRING, TIME, array, object_schema, one_of, optional, page_schema
from arvis.web.http.views import page_view

Json = dict[str, Any]

_LONGEST_NAME = 80
_MOST_AGENTS = 50

_ROLE = one_of(UserRole)
_AGENTS = {
    **array(STRING),
    "description": "Slugs of the agents that a key with the role chat may use; empty: all agents without risky tools.",
}
KEY = object_schema(
    {
        "id": STRING,
        "name": STRING,
        "role": _ROLE,
        "agents": _AGENTS,
        "createdBy": {**STRING, "description": "The id of a user."},
        "createdAt": TIME,
        "lastUsedAt": {**optional(TIME), "description": "The last use, to the hour."},
    }
)
NEW_KEY = object_schema(
    {"name": {**LABEL, "maxLength": _LONGEST_NAME}, "role": _ROLE, "agents": {**_AGENTS, "maxItems": _MOST_AGENTS}},
    required=("name", "role"),
)
MADE_KEY = object_schema({**KEY["properties"], "key": {**STRING, "description": "Shown only in this response."}})


class ApiKeyRoutes:
    """Routes of API keys. `new_token` creates URL-safe texts of at least 128 random bits."""

    def __init__(self, *, store: Store, clock: Clock, bus: Bus, new_token: Callable[[], str]) -> None:
        self._store = store
        self._clock = clock
        self._bus = bus
        self._new_token = new_token

    def endpoints(self) -> list[Endpoint]:
        every = "/api/keys"
        return [
            Endpoint(
                "GET",
                every,
                "List the keys created in the product, newest first",
                OWN,
                self._list,
                {200: page_schema(KEY)},
                query=PAGING,
            ),
            Endpoint("POST", every, "Create a key; it is shown once", OWN, self._add, {201: MADE_KEY}, body=NEW_KEY),
            Endpoint("DELETE", f"{every}/{{key}}", "Revoke a key immediately", OWN, self._revoke, {200: OK}),
        ]

    async def _list(self, call: Call) -> Response:
        found = await self._store.read(_before, call.query("cursor"), call.limit + 1)
        shown = found[: call.limit]
        cursor = shown[-1].id if len(found) > call.limit else None
        return answer(page_view([_view(key) for key in shown], cursor))

    async def _add(self, call: Call) -> Response:
        fields = await call.fields()
        name, role, agents = fields.label("name", _LONGEST_NAME), _role(fields), _agents(fields)
        if name is None:
            raise unusable("name", "is missing")
        if agents and role is not UserRole.CHAT:
            raise unusable("agents", "is allowed only for keys with the role chat")
        key = PREFIX + self._new_token()
        wanted = StoredKey("", name, role, agents, key_hash(key), call.identity.user_id, self._clock.now())
        made = await self._store.write(_make, wanted)
        return answer({**_view(made), "key": key}, 201)

    async def _revoke(self, call: Call) -> Response:
        key_id = call.id("key")
        if not await self._store.write(_revoke, key_id, self._clock.now()):
            raise NotFound("There is no such key.", fix="GET /api/keys lists the keys.")
        self._bus.publish(SessionEnded(key_id))
        return answer({"ok": True})


def _role(fields: Fields) -> UserRole:
    value = fields.required_text("role")
    if value not in set(UserRole):
        raise unusable("role", f"must be one of {', '.join(UserRole)}")
    return UserRole(value)


def _agents(fields: Fields) -> tuple[str, ...]:
    agents = fields.texts("agents") or []
    if len(agents) > _MOST_AGENTS:
        raise unusable("agents", f"must be at most {_MOST_AGENTS} slugs")
    return tuple(dict.fromkeys(agents))


def _view(key: StoredKey) -> Json:
    return {
        "id": key.id,
        "name": key.name,
        "role": key.role,
        "agents": list(key.agents),
        "createdBy": key.created_by,
        "createdAt": key.created_at,
        "lastUsedAt": key.used_at,
    }


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
