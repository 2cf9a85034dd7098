"""Login and logout over HTTP, and the list of logins. A one-time code or a password is exchanged for a cookie. All
sockets of a login close when it ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Literal, Self

from starlette.requests import Request
from starlette.responses import Response

from arvis.domain.errors import Forbidden, NotFound, TooMany, Unauthorised, Unprocessable
from arvis.domain.regex import regex
from arvis.domain.users import FIRST_USER, LONGEST_PASSWORD, SHORTEST_PASSWORD
from arvis.ports.clock import Clock
from arvis.ports.people import LoginSession
from arvis.ports.store import Store, Transaction
from arvis.web.auth.authorization import Authorizer
from arvis.web.auth.failed_logins import FailedLogins, address_of
from arvis.web.auth.sessions import CODE_LIFE_MS, Login, LoginService, SessionLifetime, Sessions, device_of
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import ANYONE, OWN, PLATFORM, PUBLIC, Identity, Role
from arvis.web.http.models import About, Body, Label, OkView, Page, Time, View
from arvis.web.http.rate_limits import LoginLimiter
from arvis.web.http.requests import unusable
from arvis.web.http.schema import LABEL

#: The number of hexadecimal digits of a login's hash that are used as the id of the login.
_SHOWN = 16
_ID = regex(rf"[0-9a-f]{{{_SHOWN}}}", re.ASCII)
_CURSOR = regex(r"(\d{1,15})-([0-9a-f]{64})", re.ASCII)
#: The position before the newest login. Its time and its hash are greater than those of all logins.
_FIRST = (10**15, "g")


class LoginView(View):
    id: str
    user_id: str
    device: Annotated[str, About("The browser, such as `Firefox on Windows`.")]
    created_at: Time
    last_seen_at: Annotated[Time, About("The last use, to the minute.")]
    current: Annotated[bool, About("True: the caller's own login.")]

    @classmethod
    def of(cls, session: LoginSession, current: str | None) -> Self:
        return cls(
            id=session.token_hash[:_SHOWN],
            user_id=session.principal.user_id,
            device=session.device,
            created_at=session.created_at,
            last_seen_at=session.seen_at,
            current=session.token_hash == current,
        )


class SessionRoutes(Routes):
    """Routes of logins. A user can list and end their own logins; owners can list and end all logins."""

    def __init__(self, *, store: Store, sessions: Sessions, clock: Clock) -> None:
        self._store = store
        self._sessions = sessions
        self._clock = clock

    @route(
        "GET",
        "/api/auth/sessions",
        "List the caller's logins, newest first; an owner may name another user",
        ANYONE,
        {200: Page[LoginView]},
        query={**PAGING, "user": LABEL},
    )
    async def _list(self, call: Call) -> Response:
        user = call.query("user") or call.identity.user_id
        if user != call.identity.user_id and call.identity.role not in OWN:
            raise Forbidden(
                "Only owners may list the logins of others.", fix="Omit `user` to list your own.", code="role"
            )
        found = await self._store.read(
            _sessions_of,
            user,
            life=self._sessions.life,
            now=self._clock.now(),
            before=_before(call.query("cursor")),
            limit=call.limit + 1,
        )
        shown = found[: call.limit]
        last = shown[-1] if len(found) > call.limit else None
        cursor = None if last is None else f"{last.created_at}-{last.token_hash}"
        return answer_page([LoginView.of(each, call.identity.session) for each in shown], cursor)

    @route("DELETE", "/api/auth/sessions/{session}", "End a login", ANYONE, {200: OkView})
    async def _end(self, call: Call) -> Response:
        shown = call.named("session", _ID)
        found = None if shown is None else await self._store.read(_like, shown)
        own = found is not None and found.principal.user_id == call.identity.user_id
        if found is None or not (own or call.identity.role in OWN):
            raise NotFound("There is no such login.", fix="GET /api/auth/sessions lists your logins.")
        await self._sessions.end(found.token_hash)
        return done()


def _before(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return _FIRST
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise Unprocessable("`cursor` is not valid.", fix="Send the `nextCursor` of the previous page.")
    return int(found[1]), found[2]


def _sessions_of(
    tx: Transaction, user_id: str, *, life: SessionLifetime, now: int, before: tuple[int, str], limit: int
) -> Sequence[LoginSession]:
    principal = tx.principals.find(PLATFORM, user_id)
    if principal is None:
        return ()
    return tx.logins.sessions_of(
        principal.id, seen_from=now - life.idle, created_from=now - life.whole, before=before, limit=limit
    )


def _like(tx: Transaction, shown: str) -> LoginSession | None:
    return tx.logins.session_like(shown)


class MeView(View):
    user_id: str
    name: str
    role: Literal[Role.CHAT, Role.OPERATOR, Role.OWNER, Role.VIEWER]
    channel_id: str
    has_password: bool


class LoginLinkView(View):
    code: str
    url: str
    expires_at: Time


class LoginStateView(View):
    password_login: bool


class NewLogin(Body):
    code: Annotated[Label | None, About("The code of a login link; required without a `password`.")] = None
    user: Label = FIRST_USER
    password: Annotated[str, About(minLength=1)] | None = None


#: A password that a person may choose.
Password = Annotated[str, About(minLength=SHORTEST_PASSWORD, maxLength=LONGEST_PASSWORD)]


class NewPassword(Body):
    password: Password
    current: Annotated[str | None, About("Required if a password is set.")] = None


class LoginRoutes(Routes):
    """Routes of login and logout. `login_link` returns the login address with a code in its fragment. `secure`: the
    cookie is sent only over HTTPS."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        limiter: LoginLimiter,
        service: LoginService,
        gate: Authorizer,
        clock: Clock,
        login_link: Callable[[str], str],
        secure: bool,
        failures: FailedLogins,
    ) -> None:
        self._sessions = sessions
        self._limiter = limiter
        self._service = service
        self._gate = gate
        self._clock = clock
        self._login_link = login_link
        self._secure = secure
        self._failures = failures

    async def code_for(self, user_id: str) -> LoginLinkView:
        """Return a new login link for this user."""
        expires_at = self._clock.now() + CODE_LIFE_MS
        code = await self._sessions.new_code(user_id)
        return LoginLinkView(code=code, url=self._login_link(code), expires_at=expires_at)

    @route(
        "POST",
        "/api/auth/login",
        "Log in with a one-time code, or with a password",
        PUBLIC,
        {200: MeView},
        body=NewLogin,
    )
    async def _log_in(self, call: Call) -> Response:
        body = await call.read(NewLogin)
        if body.password is not None:
            login = await self._by_password(call.request, body.user, body.password)
        elif body.code is not None:
            login = await self._by_code(call.request, body.code)
        else:
            raise unusable("code", "is missing")
        response = answer(await self._me_view(login.identity))
        self._set_cookie(response, login.token, self._sessions.life.whole // 1000)
        return response

    async def _by_code(self, request: Request, code: str) -> Login:
        address = address_of(request)
        self._limiter.count_link(address)
        try:
            login = await self._sessions.log_in(code, self._gate.token(request), _device(request))
        except Unauthorised:
            await self._failures.note(address, "login_failed", "link")
            raise
        self._limiter.forgive_link(address)
        return login

    async def _by_password(self, request: Request, user: str, password: str) -> Login:
        address = address_of(request)
        try:
            known = await self._service.check(address, user, password)
        except (Unauthorised, TooMany):
            await self._failures.note(address, "login_failed", "password", user)
            raise
        return await self._sessions.begin(known, self._gate.token(request), _device(request))

    @route("GET", "/api/auth/state", "Show whether password login is possible", PUBLIC, {200: LoginStateView})
    async def _state(self, _: Call) -> Response:
        return answer(LoginStateView(password_login=await self._service.anybody_has()))

    @route("POST", "/api/auth/logout", "Log out", ANYONE, {200: OkView})
    async def _log_out(self, call: Call) -> Response:
        response = done()
        if call.identity.session is not None:
            await self._sessions.end(call.identity.session)
            self._set_cookie(response, "", 0)
        return response

    @route("POST", "/api/auth/codes", "Create a one-time login code", OWN, {201: LoginLinkView})
    async def _new_code(self, call: Call) -> Response:
        return answer(await self.code_for(call.identity.user_id), 201)

    @route("GET", "/api/auth/me", "Show the caller's identity", ANYONE, {200: MeView})
    async def _me(self, call: Call) -> Response:
        return answer(await self._me_view(call.identity))

    @route(
        "PUT",
        "/api/auth/password",
        "Set the caller's password; their other logins end",
        ANYONE,
        {200: OkView},
        body=NewPassword,
    )
    async def _set_password(self, call: Call) -> Response:
        body = await call.read(NewPassword)
        await self._service.change(address_of(call.request), call.identity, body.password, body.current)
        return done()

    async def _me_view(self, identity: Identity) -> MeView:
        return MeView.showing(
            identity,
            channel_id=f"web-{identity.user_id}",
            has_password=await self._service.has_password(identity.user_id),
        )

    def _set_cookie(self, response: Response, value: str, max_age: int) -> None:
        response.set_cookie(
            self._gate.cookie,
            value,
            max_age=max_age,
            path="/",
            secure=self._secure,
            httponly=True,
            samesite="strict",
        )


def _device(request: Request) -> str:
    return device_of(request.headers.get("user-agent", ""))
