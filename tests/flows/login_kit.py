"""A person at a browser, with a cookie, the page's own origin, and a socket."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import connect

from tests.flows.web_server import DAEMON_KEY, Answer, Site, Socket


@dataclass(frozen=True, slots=True)
class Browser:
    site: Site
    cookie: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Cookie": f"arvis_session={self.cookie}", "Origin": self.site.url}

    async def call(self, method: str, path: str, **more: Any) -> Answer:
        return await self.site.call(method, path, key=None, headers=self.headers, **more)

    async def status(self) -> int:
        return (await self.call("GET", "/api/auth/me")).status

    @contextlib.asynccontextmanager
    async def socket(self, **auth: Any) -> AsyncIterator[Socket]:
        address = self.site.url.replace("http", "ws") + "/ws"
        async with connect(address, additional_headers=self.headers) as connection:
            socket = Socket(connection)
            await socket.send(type="auth", **auth)
            assert (await socket.receive())["type"] == "auth_ok"
            yield socket


async def enter(site: Site, body: Mapping[str, Any], **headers: str) -> Answer:
    return await site.call("POST", "/api/auth/login", key=None, json=dict(body), headers=headers)


def browser_of(site: Site, answer: Answer) -> Browser:
    assert answer.status == 200, answer.text
    return Browser(site, answer.headers["set-cookie"].partition("=")[2].partition(";")[0])


async def by_code(site: Site, code: str, **headers: str) -> Browser:
    return browser_of(site, await enter(site, {"code": code}, **headers))


async def owner(site: Site, **headers: str) -> Browser:
    return await by_code(site, (await site.call("POST", "/api/auth/codes")).json()["code"], **headers)


async def add_user(site: Site, user_id: str, role: str, name: str = "") -> Browser:
    """Add a user who has followed the login link."""
    wanted = {"id": user_id, "role": role, **({"name": name} if name else {})}
    made = await site.call("POST", "/api/users", key=DAEMON_KEY, json=wanted)
    assert made.status == 201, made.text
    return await by_code(site, made.json()["link"]["code"])


async def make_key(site: Site, role: str, **more: Any) -> dict[str, Any]:
    made = await site.call("POST", "/api/keys", json={"name": f"for {role}", "role": role, **more})
    assert made.status == 201, made.text
    found: dict[str, Any] = made.json()
    return found
