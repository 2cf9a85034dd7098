"""Every route of the table and every frame of the socket with every kind of client: 401 and 403 exactly as the table
says. A new route is included automatically."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from arvis.domain.users import UserRole
from arvis.ports.store import Transaction
from arvis.web.http.endpoints import Endpoint
from arvis.web.http.identity import PUBLIC, READ, SEND, Access, Role
from tests.flows.login_kit import add_user, make_key, owner
from tests.flows.web_server import CHAT_KEY, DAEMON_KEY, OPERATOR_KEY, OWNER_KEY, VIEWER_KEY, Site, running_site

HOUR = 3_600_000
KEYS = {
    Role.OWNER: (DAEMON_KEY, OWNER_KEY),
    Role.OPERATOR: (OPERATOR_KEY,),
    Role.VIEWER: (VIEWER_KEY,),
    Role.CHAT: (CHAT_KEY,),
}
#: Routes that end the client's own login or user, which other clients still need.
SELF_ENDING = {"/api/auth/logout", "/api/users/{user}", "/api/auth/sessions/{session}"}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


@dataclass(frozen=True, slots=True)
class Refusal:
    """The status of a response, and the code if it was a refusal."""

    status: int
    code: str | None


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def cookie(value: str) -> dict[str, str]:
    return {"Cookie": f"arvis_session={value}", "X-Arvis-Request": "1"}


async def ask(site: Site, endpoint: Endpoint, headers: Mapping[str, str]) -> Refusal:
    """Send a request with a body that no route accepts, so that it changes nothing."""
    path = re.sub(r"\{\w+\}", "x", endpoint.path)
    body: dict[str, str] | None = None if endpoint.method in {"GET", "DELETE"} else {}
    async with site.http.request(endpoint.method, site.url + path, headers=headers, json=body) as response:
        if response.status not in {401, 403}:
            return Refusal(response.status, None)
        return Refusal(response.status, (await response.json())["error"]["code"])


async def askers(site: Site) -> list[tuple[Role, dict[str, str]]]:
    """Return clients of each role: keys of the configuration, a key of the product, and a login."""
    found = [(role, bearer(key)) for role, keys in KEYS.items() for key in keys]
    for role in UserRole:
        found.append((Role(role), bearer((await make_key(site, role))["key"])))
        login = await add_user(site, f"a_{role}", role)
        found.append((Role(role), cookie(login.cookie)))
    return [*found, (Role.OWNER, cookie((await owner(site)).cookie))]


async def nobodies(site: Site) -> dict[str, dict[str, str]]:
    """Return requests without a credential, and with invalid ones."""
    expired, removed, demoted = (
        await owner(site),
        await add_user(site, "gone", "owner"),
        await add_user(site, "low", "owner"),
    )
    site.clock.shift_ms += 13 * HOUR
    out, rotated = await owner(site), await owner(site)
    assert (await out.call("POST", "/api/auth/logout")).status == 200
    code = (await site.call("POST", "/api/auth/codes")).json()["code"]
    await site.call("POST", "/api/auth/login", key=None, json={"code": code}, headers=rotated.headers)
    assert (await site.call("DELETE", "/api/users/gone")).status == 200
    assert (await site.call("PATCH", "/api/users/low", json={"role": "chat"})).status == 200
    revoked, _ = await make_key(site, "owner"), await make_key(site, "owner")
    assert (await site.call("DELETE", f"/api/keys/{revoked['id']}")).status == 200
    code = (await site.call("POST", "/api/auth/codes")).json()["code"]
    words = ("", "undefined", "null", "None", "true", "[object Object]", "arvis_", "arvis_undefined", "*", "%00")
    return {
        "nothing": {},
        "expired login": cookie(expired.cookie),
        "removed user": cookie(removed.cookie),
        "login before another role": cookie(demoted.cookie),
        "ended login": cookie(out.cookie),
        "login before the last one": cookie(rotated.cookie),
        "revoked key": bearer(revoked["key"]),
        "revoked key's id": bearer(revoked["id"]),
        "hash of a key": bearer(await site.store.read(_a_hash)),
        "hash of a login": cookie(await site.store.read(_a_session)),
        "login code as a key": bearer(code),
        "login code as a login": cookie(code),
        "a key as a login": cookie(DAEMON_KEY),
        "forged": {"X-Forwarded-For": "127.0.0.1", "X-Real-IP": "::1", "Forwarded": "for=127.0.0.1", "X-User": "owner"},
        "forged host": {"X-Forwarded-Host": "localhost", "X-Forwarded-Proto": "https", "X-Remote-User": "owner"},
        **{f"key {word!r}": bearer(word) for word in words},
        **{f"login {word!r}": cookie(word) for word in words},
    }


def _a_hash(tx: Transaction) -> str:
    (found,) = tx.api_keys.before(None, 1)
    return found.key_hash


def _a_session(tx: Transaction) -> str:
    found = tx.logins.session_like("")
    assert found is not None
    return found.token_hash


async def test_each_route_lets_in_exactly_who_may(site: Site) -> None:
    asked = 0
    everybody = await askers(site)
    for endpoint in site.parts.endpoints:
        if endpoint.access == PUBLIC or endpoint.path in SELF_ENDING:
            continue
        for role, headers in everybody:
            found = await ask(site, endpoint, headers)
            refused = found.status == 401 or (found.status == 403 and found.code == "role")
            assert refused is (role not in endpoint.access), (role, endpoint.method, endpoint.path, found)
            if refused:
                assert found == Refusal(403, "role"), (role, endpoint.method, endpoint.path)
            asked += 1
    assert asked > 1000


async def test_each_route_refuses_whoever_shows_nothing_that_holds(site: Site) -> None:
    wrong = await nobodies(site)
    asked = 0
    for endpoint in site.parts.endpoints:
        if endpoint.access == PUBLIC:
            continue
        for name, headers in wrong.items():
            site.clock.monotonic_ms += HOUR  # otherwise, the limit on wrong keys would answer
            found = await ask(site, endpoint, headers)
            assert found.status == 401, (name, endpoint.method, endpoint.path, found)
            asked += 1
    assert asked > 2000
    assert not site.inbox.received


async def test_what_ends_a_login_is_refused_to_nobody_and_to_none_else(site: Site) -> None:
    """The routes that the first test leaves out."""
    for endpoint in site.parts.endpoints:
        if endpoint.path in SELF_ENDING:
            for role, (key, *_) in KEYS.items():
                found = await ask(site, endpoint, bearer(key))
                assert (found == Refusal(403, "role")) is (role not in endpoint.access), (role, endpoint.path, found)


async def frame(site: Site, headers: Mapping[str, str], **sent: Any) -> dict[str, Any]:
    """Return the answer of a socket that greets with the credential of its upgrade."""
    async with site.http.ws_connect(site.url + "/ws", headers=dict(headers)) as socket:
        await socket.send_json({"type": "auth"})
        assert (await socket.receive_json())["type"] == "auth_ok"
        await socket.send_json(sent)
        answer: dict[str, Any] = await asyncio.wait_for(socket.receive_json(), 5)
        return answer


FRAMES: list[tuple[dict[str, Any], Access]] = [
    ({"type": "message", "content": "x"}, SEND),
    ({"type": "click", "buttonId": "b", "data": "x"}, SEND),
    ({"type": "stop"}, SEND),
    ({"type": "speech", "chunkId": "1", "text": "x", "complete": False}, SEND),
    ({"type": "watch", "topics": ["jobs"]}, READ),
    ({"type": "ping"}, PUBLIC - {Role.ANONYMOUS}),
]


async def test_each_frame_is_for_exactly_who_may(site: Site) -> None:
    for role, headers in await askers(site):
        for sent, access in FRAMES:
            if sent["type"] == "speech" and role in SEND:
                continue  # a fragment is not answered
            answer = await frame(site, headers, **sent)
            refused = answer["type"] == "error" and answer["error"]["code"] == "role"
            assert refused is (role not in access), (role, sent, answer)


async def test_no_socket_opens_for_what_does_not_hold(site: Site) -> None:
    address = site.url.replace("http", "ws") + "/ws"
    for name, headers in (await nobodies(site)).items():
        if "Cookie" not in headers and "Authorization" not in headers:
            continue
        async with site.http.get(
            site.url + "/ws",
            headers={
                **headers, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            },
        ) as response:  # fmt: skip
            assert response.status == 401, name
    async with connect(address) as socket:
        await socket.send('{"type": "auth", "apiKey": "arvis_undefined"}')
        await asyncio.wait_for(socket.wait_closed(), 5)
        assert socket.close_code == 4001
