"""Dashboard users over HTTP, for owners: list, add, change and delete users, and create login links."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from starlette.responses import Response

from arvis.domain.errors import Conflict, Forbidden, NotFound
from arvis.domain.users import FIRST_USER, User, UserRole
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.web.api.sessions import CODE, PASSWORD
from arvis.web.auth import users
from arvis.web.auth.sessions import LoginService, Sessions
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OWN
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import BOOLEAN, LABEL, OK, STRING, TIME, object_schema, one_of, page_schema
from arvis.web.http.views import page_view

Json = dict[str, Any]

_LONGEST_NAME = 80

NAME = {**LABEL, "maxLength": _LONGEST_NAME}
ROLE = one_of(UserRole)
USER = object_schema(
    {
        "id": STRING,
        "name": STRING,
        "role": ROLE,
        "hasPassword": {**BOOLEAN, "description": "False: the user logs in by a link, or by `web.password`."},
        "createdAt": TIME,
        "updatedAt": TIME,
    }
)
NEW_USER = object_schema(
    {
        "id": {"type": "string", "pattern": f"^{users.USER_ID.pattern}$", "description": "The name used to log in."},
        "name": {**NAME, "description": "Default: the id."},
        "role": ROLE,
    },
    required=("id", "role"),
)
MADE_USER = object_schema({**USER["properties"], "link": CODE})
CHANGED_USER = object_schema({"name": NAME, "role": ROLE}, required=())
GIVEN_PASSWORD = object_schema({"password": PASSWORD})


class UserRoutes:
    """Routes of users. `code_for` creates a login link for a user. `owners` are the user ids in the configuration's
    `owners.web`."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        sessions: Sessions,
        service: LoginService,
        code_for: Callable[[str], Awaitable[Json]],
        owners: Collection[str],
    ) -> None:
        self._store = store
        self._clock = clock
        self._sessions = sessions
        self._service = service
        self._code_for = code_for
        self._owners = owners

    def endpoints(self) -> list[Endpoint]:
        every, one = "/api/users", "/api/users/{user}"
        return [
            Endpoint("GET", every, "List dashboard users", OWN, self._list, {200: page_schema(USER)}, query=PAGING),
            Endpoint(
                "POST", every, "Add a user and return a login link", OWN, self._add, {201: MADE_USER}, body=NEW_USER
            ),
            Endpoint("GET", one, "Show a user", OWN, self._show, {200: USER}),
            Endpoint(
                "PATCH", one, "Rename a user or change their role", OWN, self._change, {200: USER}, body=CHANGED_USER
            ),
            Endpoint("DELETE", one, "Delete a user and end their logins", OWN, self._remove, {200: OK}),
            Endpoint("POST", f"{one}/link", "Create a login link for a user", OWN, self._link, {201: CODE}),
            Endpoint(
                "PUT",
                f"{one}/password",
                "Reset a lost password, with an owner's key",
                OWN,
                self._set_password,
                {200: OK},
                body=GIVEN_PASSWORD,
            ),
        ]

    async def _list(self, call: Call) -> Response:
        await self._first()
        found = await self._store.read(_after, call.query("cursor") or "", call.limit + 1)
        shown = found[: call.limit]
        cursor = shown[-1].id if len(found) > call.limit else None
        return answer(page_view([_view(user) for user in shown], cursor))

    async def _add(self, call: Call) -> Response:
        fields = await call.fields()
        user_id, role = fields.required_text("id"), _role(fields)
        if role is None:
            raise unusable("role", "is missing")
        self._check_agrees(user_id, role)
        name = fields.label("name", _LONGEST_NAME) or user_id
        user = await self._store.write(users.add, user_id, name, role, self._clock.now())
        return answer({**_view(user), "link": await self._code_for(user.id)}, 201)

    async def _show(self, call: Call) -> Response:
        return answer(_view(await self._known(call)))

    async def _change(self, call: Call) -> Response:
        fields = await call.fields()
        name, role = fields.label("name", _LONGEST_NAME), _role(fields)
        self._check_agrees(call.id("user"), role)
        user, ended = await self._store.write(users.change, call.id("user"), name, role, self._clock.now())
        self._sessions.announce_end(ended)
        return answer(_view(user))

    async def _remove(self, call: Call) -> Response:
        self._sessions.announce_end(await self._store.write(users.remove, call.id("user"), self._clock.now()))
        return answer({"ok": True})

    async def _link(self, call: Call) -> Response:
        return answer(await self._code_for((await self._known(call)).id), 201)

    async def _set_password(self, call: Call) -> Response:
        """Set a user's password. This requires an owner's key. If a login were enough, a person at an unlocked
        dashboard could lock its owner out."""
        if not call.identity.may_name:
            raise Forbidden(
                "This requires an owner's key.",
                fix="Run `arvis password` on the machine of the daemon, or create a login link for the user.",
                code="key_needed",
            )
        password = (await call.fields()).required_text("password")
        await self._service.reset((await self._known(call)).id, password)
        return answer({"ok": True})

    def _check_agrees(self, user_id: str, role: UserRole | None) -> None:
        if user_id in self._owners and role not in {None, UserRole.OWNER}:
            raise Conflict(
                f"The configuration makes {user_id} an owner.",
                why="`owners.web` lists this id, and gives it the rights of an owner with agents.",
                fix="Remove the id from `owners.web` in config.yaml first, or choose another `id`.",
                code="is_owner",
            )

    async def _known(self, call: Call) -> User:
        await self._first()
        user = await self._store.read(users.find, call.id("user"))
        if user is None:
            raise NotFound("There is no such user.", fix="GET /api/users lists the users.")
        return user

    async def _first(self) -> None:
        """Store the first user if it is missing, so that it is listed even before anyone has logged in."""
        if await self._store.read(_lacks_first):
            await self._store.write(users.first_user, self._clock.now())


def _role(fields: Fields) -> UserRole | None:
    value = fields.text("role")
    if value is not None and value not in set(UserRole):
        raise unusable("role", f"must be one of {', '.join(UserRole)}")
    return None if value is None else UserRole(value)


def _view(user: User) -> Json:
    return {
        "id": user.id,
        "name": user.name,
        "role": user.role,
        "hasPassword": user.password_hash is not None,
        "createdAt": user.created_at,
        "updatedAt": user.updated_at,
    }


def _after(tx: Transaction, user_id: str, limit: int) -> list[User]:
    return list(tx.users.after(user_id, limit))


def _lacks_first(tx: Transaction) -> bool:
    return tx.users.get(FIRST_USER) is None
