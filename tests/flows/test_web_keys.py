"""Keys that are created in the product, and the list of a user's logins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.web.http.limits import Timeouts
from tests.flows.login_kit import Browser, add_user, make_key, owner
from tests.flows.web_server import OPERATOR_KEY, Site, files_with, running_site

HOUR = 3_600_000
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:150.0) Gecko/20100101 Firefox/150.0"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def keys(site: Site) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await site.call("GET", "/api/keys")).json()["items"]
    return found


@pytest.mark.parametrize("role", ["owner", "operator", "viewer", "chat"])
async def test_a_key_does_what_its_role_may_until_it_is_revoked(site: Site, tmp_path: Path, role: str) -> None:
    made = await make_key(site, role)
    key = made.pop("key")
    assert key.startswith("arvis_")
    assert len(key) >= 28
    assert await keys(site) == [made]
    assert not files_with(key, tmp_path)
    me = (await site.call("GET", "/api/auth/me", key=key)).json()
    assert (me["role"], me["hasPassword"]) == (role, False)
    assert me["channelId"] == f"web-{me['userId']}"
    assert (await site.call("GET", "/api/jobs", key=key)).status == (403 if role == "chat" else 200)
    async with site.socket(apiKey=key) as socket, site.socket() as other:
        assert (await site.call("DELETE", f"/api/keys/{made['id']}")).status == 200
        async with asyncio.timeout(1.0):
            assert await socket.close_code() == 4001
        await other.send(type="ping")
        await other.until("pong")
    assert (await site.call("GET", "/api/auth/me", key=key)).code == "wrong_key"
    assert (await site.call("DELETE", f"/api/keys/{made['id']}")).status == 404
    assert await keys(site) == []


async def test_two_keys_are_two_users_and_an_owners_key_speaks_for_others(site: Site) -> None:
    for role in ("chat", "chat", "owner"):
        key = (await make_key(site, role))["key"]
        await site.call("POST", "/api/messages", key=key, json={"content": "x", "userId": "bob"})
    users = [message.sender.user_id for message in site.inbox.received]
    assert len(set(users)) == 3
    assert users[2] == "bob"
    assert all(each.startswith("key-") for each in users[:2])


async def test_a_key_of_some_agents_counts_as_paired_with_them(site: Site) -> None:
    await site.store.write(lambda tx: tx.agents.add(Agent(id=tx.new_id(), slug="helper", name="Helper"), 1))
    key = (await make_key(site, "chat", agents=["helper"]))["key"]
    await site.call("POST", "/api/messages", key=key, json={"content": "x"})
    (message,) = site.inbox.received
    assert (message.sender.agents, message.sender.paired) == (("helper",), True)


@pytest.mark.parametrize(
    "wanted",
    [
        {"role": "chat"},
        {"name": "x"},
        {"name": "", "role": "chat"},
        {"name": "x", "role": "king"},
        {"name": "x", "role": "nobody"},
        {"name": "x", "role": "operator", "agents": ["helper"]},
        {"name": "x", "role": "chat", "agents": ["none"]},
        {"name": "x", "role": "chat", "agents": "helper"},
    ],
)
async def test_a_key_that_cannot_be(site: Site, wanted: dict[str, Any]) -> None:
    assert (await site.call("POST", "/api/keys", json=wanted)).status == 422
    assert await keys(site) == []


async def test_only_owners_see_and_make_keys(site: Site) -> None:
    for method, path in (("GET", "/api/keys"), ("POST", "/api/keys"), ("DELETE", "/api/keys/x")):
        assert (await site.call(method, path, key=OPERATOR_KEY, json={})).code == "role"


async def test_the_last_use_is_written_down_once_an_hour(site: Site) -> None:
    made = await make_key(site, "viewer")
    used: list[int | None] = [(await keys(site))[0]["lastUsedAt"]]
    for wait in (0, HOUR - 60_000, 61_000):
        site.clock.shift_ms += wait
        await site.call("GET", "/api/auth/me", key=made["key"])
        used.append((await keys(site))[0]["lastUsedAt"])
    assert used[0] is None
    assert used[1] == used[2]
    assert used[3] is not None
    assert used[2] is not None
    assert used[3] - used[2] >= HOUR


async def test_keys_are_listed_in_pages_newest_first(site: Site) -> None:
    made = [(await make_key(site, "chat"))["id"] for _ in range(3)]
    first = (await site.call("GET", "/api/keys?limit=2")).json()
    rest = (await site.call("GET", f"/api/keys?limit=2&cursor={first['nextCursor']}")).json()
    assert [each["id"] for each in (*first["items"], *rest["items"])] == made[::-1]
    assert rest["nextCursor"] is None


async def test_a_socket_ends_whose_key_was_revoked_elsewhere(tmp_path: Path) -> None:
    async with running_site(tmp_path, patience=Timeouts(renewal=0.1)) as site:
        made = await make_key(site, "operator")
        async with site.socket(apiKey=made["key"]) as socket:
            await site.store.write(lambda tx: tx.api_keys.remove(made["id"]))
            async with asyncio.timeout(1.0):
                assert await socket.close_code() == 4001


# -- the list of logins ---------------------------------------------------------------------------------------


async def logins(browser: Browser, query: str = "") -> list[dict[str, Any]]:
    answer = await browser.call("GET", f"/api/auth/sessions{query}")
    assert answer.status == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


async def test_one_sees_where_one_is_logged_in_and_ends_one_of_them(site: Site) -> None:
    here = await owner(site, **{"User-Agent": CHROME})
    site.clock.shift_ms += 5
    there = await owner(site, **{"User-Agent": FIREFOX})
    await add_user(site, "amy", "chat")
    newest, oldest = await logins(here)
    assert [newest["device"], oldest["device"]] == ["Firefox on Windows", "Chrome on Linux"]
    assert [newest["current"], oldest["current"]] == [False, True]
    assert newest["createdAt"] > oldest["createdAt"]
    assert there.cookie not in newest["id"]
    async with there.socket() as socket:
        assert (await here.call("DELETE", f"/api/auth/sessions/{newest['id']}")).status == 200
        async with asyncio.timeout(1.0):
            assert await socket.close_code() == 4001
    assert [await each.status() for each in (here, there)] == [200, 401]
    assert (await here.call("DELETE", f"/api/auth/sessions/{newest['id']}")).status == 404


async def test_only_an_owner_sees_and_ends_the_logins_of_others(site: Site) -> None:
    boss, amy, bob = await owner(site), await add_user(site, "amy", "operator"), await add_user(site, "bob", "chat")
    (own,) = await logins(amy)
    (other,) = await logins(bob)
    assert (await amy.call("GET", "/api/auth/sessions?user=bob")).code == "role"
    assert (await amy.call("DELETE", f"/api/auth/sessions/{other['id']}")).status == 404
    assert await bob.status() == 200
    assert [each["id"] for each in await logins(boss, "?user=bob")] == [other["id"]]
    assert (await boss.call("DELETE", f"/api/auth/sessions/{other['id']}")).status == 200
    assert await bob.status() == 401
    assert (await amy.call("DELETE", f"/api/auth/sessions/{own['id']}")).status == 200
    assert await amy.status() == 401


async def test_logins_are_listed_in_pages_without_those_that_are_over(site: Site) -> None:
    await owner(site)
    site.clock.shift_ms += 13 * HOUR
    here = [await owner(site) for _ in range(3)][-1]
    first = (await here.call("GET", "/api/auth/sessions?limit=2")).json()
    rest = (await here.call("GET", f"/api/auth/sessions?limit=2&cursor={first['nextCursor']}")).json()
    assert (len(first["items"]), len(rest["items"]), rest["nextCursor"]) == (2, 1, None)
    assert len({each["id"] for each in (*first["items"], *rest["items"])}) == 3
    assert (await here.call("GET", "/api/auth/sessions?cursor=x")).status == 422
