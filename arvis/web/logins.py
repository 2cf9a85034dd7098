"""Logging in and out over HTTP: a one-time code or a password becomes a cookie, a cookie ends with all its sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from arvis.domain.errors import TooMany, Unauthorised
from arvis.domain.users import FIRST_USER, LONGEST_PASSWORD, SHORTEST_PASSWORD
from arvis.ports.clock import Clock
from arvis.web.devices import device_of
from arvis.web.endpoints import Call, Endpoint, answer
from arvis.web.failures import Failures, address_of
from arvis.web.gate import Gate
from arvis.web.identity import ANYONE, OWN, PUBLIC, Identity, Role
from arvis.web.limiter import LoginLimiter
from arvis.web.password_desk import PasswordDesk
from arvis.web.schemas import BOOLEAN, LABEL, OK, STRING, TIME, one_of, record
from arvis.web.sessions import CODE_LIFE_MS, Login, Sessions

_LONGEST_NAME = 200

ME = record(
    {
        "userId": STRING,
        "name": STRING,
        "role": one_of(set(Role) - {Role.NOBODY}),
        "channelId": STRING,
        "hasPassword": BOOLEAN,
    }
)
LOGIN = record(
    {
        "code": {**LABEL, "description": "Of a login link. Either this, or `password`."},
        "user": {**LABEL, "default": FIRST_USER},
        "password": {"type": "string", "minLength": 1},
    },
    required=(),
)
CODE = record({"code": STRING, "url": STRING, "expiresAt": TIME})
STATE = record({"passwordLogin": BOOLEAN})
PASSWORD = {"type": "string", "minLength": SHORTEST_PASSWORD, "maxLength": LONGEST_PASSWORD}
NEW_PASSWORD = record(
    {"password": PASSWORD, "current": {**STRING, "description": "Needed when a password is set."}},
    required=("password",),
)


class LoginRoutes:
    """`login_link` makes the address that carries a code in its fragment; `secure` marks the cookie for HTTPS only."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        limiter: LoginLimiter,
        desk: PasswordDesk,
        gate: Gate,
        clock: Clock,
        login_link: Callable[[str], str],
        secure: bool,
        failures: Failures,
    ) -> None:
        self._sessions = sessions
        self._limiter = limiter
        self._desk = desk
        self._gate = gate
        self._clock = clock
        self._login_link = login_link
        self._secure = secure
        self._failures = failures

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/api/auth/login",
                "Log in with a one-time code, or with a password",
                PUBLIC,
                self._log_in,
                {200: ME},
                body=LOGIN,
            ),
            Endpoint(
                "GET", "/api/auth/state", "Whether anybody can log in by a password", PUBLIC, self._state, {200: STATE}
            ),
            Endpoint("POST", "/api/auth/logout", "End this login", ANYONE, self._log_out, {200: OK}),
            Endpoint("POST", "/api/auth/codes", "Make a one-time login code", OWN, self._new_code, {201: CODE}),
            Endpoint("GET", "/api/auth/me", "Who is logged in here", ANYONE, self._me, {200: ME}),
            Endpoint(
                "PUT",
                "/api/auth/password",
                "Set one's own password; one's other logins end",
                ANYONE,
                self._set_password,
                {200: OK},
                body=NEW_PASSWORD,
            ),
        ]

    async def code_for(self, user_id: str) -> dict[str, Any]:
        """A fresh link for this user, as JSON."""
        expires_at = self._clock.now() + CODE_LIFE_MS
        code = await self._sessions.new_code(user_id)
        return {"code": code, "url": self._login_link(code), "expiresAt": expires_at}

    async def _log_in(self, call: Call) -> Response:
        fields = await call.fields()
        user, password = fields.label("user", _LONGEST_NAME) or FIRST_USER, fields.text("password")
        if password is None:
            login = await self._by_code(call.request, fields.required_text("code"))
        else:
            login = await self._by_password(call.request, user, password)
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
            known = await self._desk.check(address, user, password)
        except (Unauthorised, TooMany):
            await self._failures.note(address, "login_failed", "password", user)
            raise
        return await self._sessions.begin(known, self._gate.token(request), _device(request))

    async def _state(self, _: Call) -> Response:
        return answer({"passwordLogin": await self._desk.anybody_has()})

    async def _log_out(self, call: Call) -> Response:
        response = answer({"ok": True})
        if call.identity.session is not None:
            await self._sessions.end(call.identity.session)
            self._set_cookie(response, "", 0)
        return response

    async def _new_code(self, call: Call) -> Response:
        return answer(await self.code_for(call.identity.user_id), 201)

    async def _me(self, call: Call) -> Response:
        return answer(await self._me_view(call.identity))

    async def _set_password(self, call: Call) -> Response:
        fields = await call.fields()
        password, current = fields.required_text("password"), fields.text("current")
        await self._desk.change(address_of(call.request), call.identity, password, current)
        return answer({"ok": True})

    async def _me_view(self, identity: Identity) -> dict[str, Any]:
        return {
            "userId": identity.user_id,
            "name": identity.name,
            "role": identity.role,
            "channelId": f"web-{identity.user_id}",
            "hasPassword": await self._desk.has_password(identity.user_id),
        }

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
