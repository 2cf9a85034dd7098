"""Dashboard users over HTTP, for owners: list, add, change and delete users, and create login links."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.domain.errors import Conflict, Forbidden, NotFound
from arvis.domain.users import FIRST_USER, User, UserRole
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.web.api.sessions import LoginLinkView, Password
from arvis.web.auth import users
from arvis.web.auth.sessions import LoginService, Sessions
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OWN
from arvis.web.http.models import MEMBER, About, Body, OkView, Page, Printable, Time, View

UserName = Annotated[str, Printable(80)]


class UserView(View):
    id: str
    name: str
    role: UserRole
    has_password: Annotated[bool, About("False: the user logs in by a link, or by `web.password`.")]
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, user: User, /, **others: Any) -> Self:
        return cls.showing(user, has_password=user.password_hash is not None, **others)


class MadeUserView(UserView):
    link: LoginLinkView


class NewUser(Body):
    id: Annotated[str, About("The name used to log in.", pattern=f"^{users.USER_ID.pattern}$")]
    name: Annotated[UserName | None, About("Default: the id.")] = None
    role: Annotated[UserRole, MEMBER]


class ChangedUser(Body):
    name: UserName | None = None
    role: Annotated[UserRole | None, MEMBER] = None


class GivenPassword(Body):
    password: Password


_ALL, _ONE = "/api/users", "/api/users/{user}"


class UserRoutes(Routes):
    """Routes of users. `code_for` creates a login link for a user. `owners` are the user ids in the configuration's
    `owners.web`."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        sessions: Sessions,
        service: LoginService,
        code_for: Callable[[str], Awaitable[LoginLinkView]],
        owners: Collection[str],
    ) -> None:
        self._store = store
        self._clock = clock
        self._sessions = sessions
        self._service = service
        self._code_for = code_for
        self._owners = owners

    @route("GET", _ALL, "List dashboard users", OWN, {200: Page[UserView]}, query=PAGING)
    async def _list(self, call: Call) -> Response:
        await self._first()
        found = await self._store.read(_after, call.query("cursor") or "", call.limit + 1)
        shown = found[: call.limit]
        return answer_page([UserView.of(user) for user in shown], shown[-1].id if len(found) > call.limit else None)

    @route("POST", _ALL, "Add a user and return a login link", OWN, {201: MadeUserView}, body=NewUser)
    async def _add(self, call: Call) -> Response:
        body = await call.read(NewUser)
        self._check_agrees(body.id, body.role)
        user = await self._store.write(users.add, body.id, body.name or body.id, body.role, self._clock.now())
        return answer(MadeUserView.of(user, link=await self._code_for(user.id)), 201)

    @route("GET", _ONE, "Show a user", OWN, {200: UserView})
    async def _show(self, call: Call) -> Response:
        return answer(UserView.of(await self._known(call)))

    @route("PATCH", _ONE, "Rename a user or change their role", OWN, {200: UserView}, body=ChangedUser)
    async def _change(self, call: Call) -> Response:
        body = await call.read(ChangedUser)
        self._check_agrees(call.id("user"), body.role)
        user, ended = await self._store.write(users.change, call.id("user"), body.name, body.role, self._clock.now())
        self._sessions.announce_end(ended)
        return answer(UserView.of(user))

    @route("DELETE", _ONE, "Delete a user and end their logins", OWN, {200: OkView})
    async def _remove(self, call: Call) -> Response:
        self._sessions.announce_end(await self._store.write(users.remove, call.id("user"), self._clock.now()))
        return done()

    @route("POST", f"{_ONE}/link", "Create a login link for a user", OWN, {201: LoginLinkView})
    async def _link(self, call: Call) -> Response:
        return answer(await self._code_for((await self._known(call)).id), 201)

    @route(
        "PUT",
        f"{_ONE}/password",
        "Reset a lost password, with an owner's key",
        OWN,
        {200: OkView},
        body=GivenPassword,
    )
    async def _set_password(self, call: Call) -> Response:
        """Set a user's password. This requires an owner's key. If a login were enough, a person at an unlocked
        dashboard could lock its owner out."""
        if not call.identity.may_name:
            raise Forbidden(
                "This requires an owner's key.",
                fix="Run `arvis password` on the machine of the daemon, or create a login link for the user.",
                code="key_needed",
            )
        body = await call.read(GivenPassword)
        await self._service.reset((await self._known(call)).id, body.password)
        return done()

    def _check_agrees(self, user_id: str, role: UserRole | None) -> None:
        if user_id in self._owners and role not in {None, UserRole.OWNER}:
            raise Conflict(
                f"The configuration makes {user_id} an owner.",
                why="`owners.web` lists this id, so agents treat this user as an owner.",
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


def _after(tx: Transaction, user_id: str, limit: int) -> list[User]:
    return list(tx.users.after(user_id, limit))


def _lacks_first(tx: Transaction) -> bool:
    return tx.users.get(FIRST_USER) is None
