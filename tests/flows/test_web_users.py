"""Users of the dashboard: their identity, the effect of their role, and the end of their access."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.messages import PrincipalRole
from arvis.ports.store import Transaction
from arvis.web.http.limits import Timeouts
from tests.flows.login_kit import Browser, add_user, by_code, owner
from tests.flows.web_server import CHAT_KEY, OPERATOR_KEY, VIEWER_KEY, Site, principal_of, running_site

#: Seconds until a socket without rights closes.
SOON = 1.0


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def user(site: Site, user_id: str) -> dict[str, Any]:
    answer = await site.call("GET", f"/api/users/{user_id}")
    assert answer.status == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_first_user_is_the_owner_and_there_from_the_beginning(site: Site) -> None:
    (first,) = (await site.call("GET", "/api/users")).json()["items"]
    assert (first["id"], first["name"], first["role"], first["hasPassword"]) == ("owner", "Owner", "owner", False)
    assert (await (await owner(site)).call("GET", "/api/auth/me")).json()["name"] == "Owner"


@pytest.mark.parametrize(
    ("role", "principal"),
    [
        ("owner", PrincipalRole.OWNER),
        ("operator", PrincipalRole.OPERATOR),
        ("viewer", PrincipalRole.MEMBER),
        ("chat", PrincipalRole.MEMBER),
    ],
)
async def test_a_user_comes_in_by_the_link_and_is_who_the_row_says(
    site: Site, role: str, principal: PrincipalRole
) -> None:
    amy = await add_user(site, "amy", role, "Amy ü")
    assert (await amy.call("GET", "/api/auth/me")).json() == {
        "userId": "amy", "name": "Amy ü", "role": role, "channelId": "web-amy", "hasPassword": False,
    }  # fmt: skip
    known = await site.store.read(principal_of, "amy")
    assert known is not None
    assert (known.name, known.role) == ("Amy ü", principal)
    sent = await amy.call("POST", "/api/messages", json={"content": "hello", "userId": "owner"})
    assert sent.status == (403 if role == "viewer" else 202)
    if role != "viewer":
        (message,) = site.inbox.received
        assert (message.sender.user_id, message.sender.role, message.sender.paired) == ("amy", principal, True)


async def test_a_link_is_good_once_and_for_its_user(site: Site) -> None:
    await add_user(site, "amy", "chat")
    link = (await site.call("POST", "/api/users/amy/link")).json()
    assert link["url"] == f"{site.url}/#login={link['code']}"
    assert (await (await by_code(site, link["code"])).call("GET", "/api/auth/me")).json()["userId"] == "amy"
    answer = await site.call("POST", "/api/auth/login", key=None, json={"code": link["code"]})
    assert answer.code == "bad_code"
    assert (await site.call("POST", "/api/users/bob/link")).status == 404


async def test_another_owner_makes_links_for_themselves(site: Site) -> None:
    bob = await add_user(site, "bob", "owner")
    code = (await bob.call("POST", "/api/auth/codes")).json()["code"]
    assert (await (await by_code(site, code)).call("GET", "/api/auth/me")).json()["userId"] == "bob"


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ({"id": "amy", "role": "king"}, 422),
        ({"id": "amy"}, 422),
        ({"role": "chat"}, 422),
        ({"id": "Ann", "role": "chat"}, 422),
        ({"id": "amy-x", "role": "chat"}, 422),
        ({"id": "key", "role": "chat"}, 422),
        ({"id": "1", "role": "chat"}, 422),
        ({"id": "a" * 41, "role": "chat"}, 422),
        ({"id": "amy", "role": "chat", "name": "x" * 81}, 422),
        ({"id": "owner", "role": "chat"}, 409),
        ({"id": "ann", "role": "operator"}, 409),
    ],
)
async def test_a_user_that_cannot_be(site: Site, wanted: dict[str, str], status: int) -> None:
    answer = await site.call("POST", "/api/users", json=wanted)
    assert (answer.status, bool(answer.code)) == (status, True)
    assert [each["id"] for each in (await site.call("GET", "/api/users")).json()["items"]] == ["owner"]


async def test_whom_the_configuration_names_an_owner_is_one_here_too(site: Site) -> None:
    """`ann` is in `owners.web`: agents would treat her as an owner whatever her role is."""
    await add_user(site, "ann", "owner")
    assert (await site.call("PATCH", "/api/users/ann", json={"role": "chat"})).code == "is_owner"
    assert (await user(site, "ann"))["role"] == "owner"


async def test_the_people_of_the_agents_are_what_their_logins_are(tmp_path: Path) -> None:
    async with running_site(tmp_path, real_insights=True) as site:
        for role in ("owner", "operator", "viewer"):
            await add_user(site, f"a_{role}", role)
        people = (await site.call("GET", "/api/people?platform=web")).json()["items"]
        found = {each["userId"]: each["role"] for each in people}
        assert found == {"a_owner": "owner", "a_operator": "operator", "a_viewer": "member"}
        (person,) = (each["id"] for each in people if each["userId"] == "a_owner")
        assert (await site.call("PATCH", f"/api/people/{person}", json={"role": "member"})).code == "is_owner"
        await site.call("PATCH", "/api/users/a_owner", json={"role": "chat"})
        assert (await site.call("GET", f"/api/people/{person}")).json()["role"] == "member"


async def test_users_are_listed_in_pages(site: Site) -> None:
    for name in ("dan", "amy", "zoe"):
        await add_user(site, name, "chat")
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = (await site.call("GET", f"/api/users?limit=2{cursor and f'&cursor={cursor}'}")).json()
        seen += [each["id"] for each in page["items"]]
        cursor = page["nextCursor"]
    assert seen == ["amy", "dan", "owner", "zoe"]


@pytest.mark.parametrize("key", [OPERATOR_KEY, VIEWER_KEY, CHAT_KEY])
async def test_only_owners_see_and_change_users(site: Site, key: str) -> None:
    for method, path in (("GET", "/api/users"), ("POST", "/api/users"), ("POST", "/api/users/owner/link")):
        assert (await site.call(method, path, key=key, json={})).code == "role"


async def test_a_new_name_is_shown_and_ends_nothing(site: Site) -> None:
    amy = await add_user(site, "amy", "chat")
    assert (await site.call("PATCH", "/api/users/amy", json={"name": "Amélie"})).json()["name"] == "Amélie"
    assert (await amy.call("GET", "/api/auth/me")).json()["name"] == "Amélie"


async def lose(site: Site, how: str) -> None:
    if how == "DELETE":
        answer = await site.call("DELETE", "/api/users/amy")
    else:
        answer = await site.call("PATCH", "/api/users/amy", json={"role": how})
    assert answer.status == 200, answer.text


@pytest.mark.parametrize("how", ["DELETE", "chat", "viewer", "owner"])
async def test_who_has_another_role_or_is_removed_is_out_at_once(site: Site, how: str) -> None:
    amy = await add_user(site, "amy", "operator")
    also = await by_code(site, (await site.call("POST", "/api/users/amy/link")).json()["code"])
    link = (await site.call("POST", "/api/users/amy/link")).json()["code"]
    other = await owner(site)
    async with amy.socket() as one, also.socket() as two, other.socket() as three:
        await lose(site, how)
        async with asyncio.timeout(SOON):
            assert await one.close_code() == 4001
            assert await two.close_code() == 4001
        await three.send(type="ping")
        assert (await three.until("pong"))["type"] == "pong"
    assert [await each.status() for each in (amy, also, other)] == [401, 401, 200]
    answer = await site.call("POST", "/api/auth/login", key=None, json={"code": link})
    if how == "DELETE":
        assert answer.code == "bad_code"
        assert (await site.call("GET", "/api/users/amy")).status == 404
    else:
        assert answer.json()["role"] == how
    known = await site.store.read(principal_of, "amy")
    assert known is not None
    assert known.role is (PrincipalRole.OWNER if how == "owner" else PrincipalRole.MEMBER)


async def test_links_from_before_end_with_the_user_and_with_a_new_password(site: Site) -> None:
    await add_user(site, "amy", "chat")
    old = (await site.call("POST", "/api/users/amy/link")).json()["code"]
    await lose(site, "DELETE")
    await add_user(site, "amy", "chat")
    newer = (await site.call("POST", "/api/users/amy/link")).json()["code"]
    assert (await site.call("PUT", "/api/users/amy/password", json={"password": "long enough"})).status == 200
    for code in (old, newer):
        assert (await site.call("POST", "/api/auth/login", key=None, json={"code": code})).code == "bad_code"


@pytest.mark.parametrize("change", [("DELETE", None), ("PATCH", {"role": "operator"})])
async def test_there_is_always_an_owner(site: Site, change: tuple[str, dict[str, str] | None]) -> None:
    method, body = change
    await add_user(site, "bob", "owner")
    answer = await site.call(method, "/api/users/owner", json=body)
    assert (answer.status, answer.code) == (409, "last_owner")
    assert (await user(site, "owner"))["role"] == "owner"


async def test_a_login_from_before_users_were_written_down_goes_on(site: Site) -> None:
    """After the upgrade, there is a session without a row of its user. Such a session works for the owner only."""
    browser = await owner(site)
    amy = await add_user(site, "amy", "operator")

    def forget(tx: Transaction) -> None:
        tx.users.remove("owner")
        tx.users.remove("amy")

    await site.store.write(forget)
    assert (await browser.call("GET", "/api/auth/me")).json()["role"] == "owner"
    assert await amy.status() == 401
    assert (await user(site, "owner"))["role"] == "owner"


async def test_a_blocked_person_stays_out(site: Site) -> None:
    amy = await add_user(site, "amy", "chat")
    known = await site.store.read(principal_of, "amy")
    assert known is not None
    await site.store.write(lambda tx: tx.principals.set_role(known.id, PrincipalRole.BLOCKED, 1))
    assert await amy.status() == 401
    code = (await site.call("POST", "/api/users/amy/link")).json()["code"]
    assert (await site.call("POST", "/api/auth/login", key=None, json={"code": code})).status == 401


async def test_everybody_has_their_own_channel(site: Site) -> None:
    amy, bob = await add_user(site, "amy", "chat"), await add_user(site, "bob", "chat")
    for who, channel, status in ((amy, "web-amy-x", 202), (amy, "web-bob", 403), (bob, "web-amy-x", 403)):
        sent = await who.call("POST", "/api/messages", json={"content": "x", "channelId": channel})
        assert sent.status == status, (channel, sent.text)


async def test_sockets_end_that_heard_nothing_of_it(tmp_path: Path) -> None:
    """Another process removed the role, and its notice was lost; the next check of the login notices it."""
    async with running_site(tmp_path, patience=Timeouts(renewal=0.1)) as site:
        amy: Browser = await add_user(site, "amy", "operator")
        async with amy.socket() as socket:
            await site.store.write(lambda tx: tx.users.remove("amy"))
            async with asyncio.timeout(SOON):
                assert await socket.close_code() == 4001
