"""Logging in and out over HTTP: a one-time code becomes a cookie, a cookie ends with all its sockets."""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import Response

from arvis.domain.events import SessionEnded
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.web.endpoints import Call, Endpoint, answer
from arvis.web.gate import Gate
from arvis.web.identity import ANYONE, OWN, PUBLIC, Identity
from arvis.web.limiter import LoginLimiter
from arvis.web.schemas import CODE, LOGIN, ME, OK
from arvis.web.sessions import CODE_LIFE_MS, LIFE_MS, Sessions


class LoginRoutes:
    """`login_link` makes the address that carries a code in its fragment; `secure` marks the cookie for HTTPS only."""

    def __init__(
        self,
        *,
        sessions: Sessions,
        limiter: LoginLimiter,
        gate: Gate,
        clock: Clock,
        login_link: Callable[[str], str],
        bus: Bus,
        secure: bool,
    ) -> None:
        self._sessions = sessions
        self._limiter = limiter
        self._gate = gate
        self._clock = clock
        self._login_link = login_link
        self._bus = bus
        self._secure = secure

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST", "/api/auth/login", "Log in with a one-time code", PUBLIC, self._log_in, {200: ME}, body=LOGIN
            ),
            Endpoint("POST", "/api/auth/logout", "End this login", ANYONE, self._log_out, {200: OK}),
            Endpoint("POST", "/api/auth/codes", "Make a one-time login code", OWN, self._new_code, {201: CODE}),
            Endpoint("GET", "/api/auth/me", "Who is logged in here", ANYONE, self._me, {200: ME}),
        ]

    async def _log_in(self, call: Call) -> Response:
        code = (await call.fields()).required_text("code")
        address = call.request.client.host if call.request.client else ""
        self._limiter.count(address)
        login = await self._sessions.log_in(code, self._gate.token(call.request))
        self._limiter.forgive(address)
        response = answer(_me_view(login.identity))
        self._set_cookie(response, login.token, LIFE_MS // 1000)
        return response

    async def _log_out(self, call: Call) -> Response:
        response = answer({"ok": True})
        if call.identity.session is not None:
            await self._sessions.end(call.identity.session)
            self._bus.publish(SessionEnded(call.identity.session))
            self._set_cookie(response, "", 0)
        return response

    async def _new_code(self, _: Call) -> Response:
        expires_at = self._clock.now() + CODE_LIFE_MS
        code = await self._sessions.new_code()
        return answer({"code": code, "url": self._login_link(code), "expiresAt": expires_at}, 201)

    async def _me(self, call: Call) -> Response:
        return answer(_me_view(call.identity))

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


def _me_view(identity: Identity) -> dict[str, str]:
    return {
        "userId": identity.user_id,
        "name": identity.name,
        "role": identity.role,
        "channelId": f"web-{identity.user_id}",
    }
