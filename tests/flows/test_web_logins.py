"""Logins with one-time codes, and the lifetime of a login."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from http.cookies import SimpleCookie
from pathlib import Path

import pytest

from arvis.config.sections import Web
from arvis.domain.messages import PrincipalRole
from arvis.ports.store import Transaction
from tests.flows.web_server import CHAT_KEY, KEYS, Answer, Site, principal_of, running_site

HOUR = 3_600_000


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def me(site: Site, cookie: str) -> Answer:
    return await site.call("GET", "/api/auth/me", key=None, headers={"Cookie": f"arvis_session={cookie}"})


async def try_code(site: Site, code: str) -> Answer:
    return await site.call("POST", "/api/auth/login", key=None, json={"code": code})


async def test_a_code_becomes_a_login_of_the_owner(site: Site) -> None:
    made = await site.call("POST", "/api/auth/codes")
    assert made.status == 201
    code = made.json()["code"]
    assert made.json()["url"] == f"{site.url}/#login={code}"
    answer = await try_code(site, code)
    assert answer.json() == {
        "userId": "owner", "name": "Owner", "role": "owner", "channelId": "web-owner", "hasPassword": False,
    }  # fmt: skip
    (morsel,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert morsel.key == "arvis_session"
    assert (morsel["httponly"], morsel["samesite"], morsel["path"]) == (True, "strict", "/")
    assert not morsel["secure"]
    assert len(morsel.value) >= 22
    assert (await me(site, morsel.value)).json() == answer.json()
    owner = await site.store.read(principal_of, "owner")
    assert owner is not None
    assert owner.role is PrincipalRole.OWNER


async def test_the_daemon_makes_a_link_itself(site: Site) -> None:
    base, _, code = (await site.server.login_link()).partition("/#login=")
    assert base == site.url
    assert (await try_code(site, code)).status == 200


async def test_a_code_is_good_once(site: Site) -> None:
    code = (await site.server.login_link()).partition("#login=")[2]
    answers = await asyncio.gather(*(try_code(site, code) for _ in range(4)))
    assert sorted(answer.status for answer in answers) == [200, 401, 401, 401]


async def test_a_code_is_good_for_ten_minutes(site: Site) -> None:
    code = (await site.server.login_link()).partition("#login=")[2]
    site.clock.shift_ms = 10 * 60_000 + 1
    assert (await try_code(site, code)).code == "bad_code"


@pytest.mark.parametrize("body", [{}, {"code": 7}, {"code": None}])
async def test_a_login_needs_a_code(site: Site, body: dict[str, object]) -> None:
    assert (await site.call("POST", "/api/auth/login", key=None, json=body)).status == 422


async def test_only_an_owner_makes_codes(site: Site) -> None:
    assert (await site.call("POST", "/api/auth/codes", key=CHAT_KEY)).status == 403


async def test_logging_in_again_ends_the_login_before(site: Site) -> None:
    old = await site.log_in()
    code = (await site.server.login_link()).partition("#login=")[2]
    headers = {"Cookie": f"arvis_session={old}", "Origin": site.url}
    assert (await site.call("POST", "/api/auth/login", key=None, json={"code": code}, headers=headers)).status == 200
    assert (await me(site, old)).status == 401


async def test_logging_out_ends_the_login_for_good(site: Site) -> None:
    cookie, other = await site.log_in(), await site.log_in()
    headers = {"Cookie": f"arvis_session={cookie}", "Origin": site.url}
    answer = await site.call("POST", "/api/auth/logout", key=None, headers=headers)
    assert "Max-Age=0" in answer.headers["set-cookie"]
    assert (await me(site, cookie)).code == "session_ended"
    assert (await me(site, other)).status == 200


async def test_a_login_ends_after_twelve_idle_hours(site: Site) -> None:
    cookie = await site.log_in()
    for _ in range(3):
        site.clock.shift_ms += 11 * HOUR
        assert (await me(site, cookie)).status == 200
    site.clock.shift_ms += 12 * HOUR
    assert (await me(site, cookie)).status == 401


async def test_a_login_ends_after_thirty_days_of_use(site: Site) -> None:
    cookie = await site.log_in()
    for _ in range(3 * 30 - 1):
        site.clock.shift_ms += 8 * HOUR
        assert (await me(site, cookie)).status == 200
    site.clock.shift_ms += 8 * HOUR
    assert (await me(site, cookie)).status == 401


def block(tx: Transaction) -> None:
    principal = tx.principals.find("web", "owner")
    assert principal is not None
    tx.principals.set_role(principal.id, PrincipalRole.BLOCKED, 1)


async def test_a_blocked_owner_is_logged_out(site: Site) -> None:
    cookie = await site.log_in()
    await site.store.write(block)
    assert (await me(site, cookie)).status == 401


async def test_a_blocked_user_is_told_how_to_be_unblocked(site: Site) -> None:
    code = (await site.server.login_link()).partition("#login=")[2]
    await site.log_in()
    await site.store.write(block)
    refused = await try_code(site, code)
    assert (refused.status, refused.code) == (401, "bad_code")
    assert "The user is blocked." in refused.text
    assert "arvis people unblock web:owner" in refused.text


async def test_guessing_is_slowed_down(site: Site) -> None:
    """Five attempts a minute and twenty an hour, also at the same time; the right code has to wait, too."""
    code = (await site.server.login_link()).partition("#login=")[2]
    answers = await asyncio.gather(*(try_code(site, f"wrong{n}") for n in range(30)))
    assert sorted(answer.status for answer in answers) == [401] * 5 + [429] * 25
    refused = await try_code(site, code)
    assert (refused.status, refused.code) == (429, "too_many")
    assert int(refused.headers["retry-after"]) > 0
    site.clock.shift_ms += 61_000
    assert (await try_code(site, code)).status == 200
    tried = 5
    for _ in range(10):
        site.clock.shift_ms += 61_000
        tried += [(await try_code(site, "wrong")).status for _ in range(6)].count(401)
    assert tried == 20
    site.clock.shift_ms += HOUR
    assert (await try_code(site, "wrong")).status == 401


async def test_right_codes_are_not_counted(site: Site) -> None:
    for _ in range(25):
        await site.log_in()


async def test_behind_tls_the_cookie_is_for_tls_only(tmp_path: Path) -> None:
    web = Web(port=0, api_keys=KEYS, public_url="https://arvis.example")
    async with running_site(tmp_path, web=web) as site:
        base, _, code = (await site.server.login_link()).partition("/#login=")
        assert base == "https://arvis.example"
        headers = {"Host": "arvis.example", "Origin": "https://arvis.example"}
        answer = await site.call("POST", "/api/auth/login", key=None, json={"code": code}, headers=headers)
        assert answer.status == 200
        (morsel,) = SimpleCookie(answer.headers["set-cookie"]).values()
        assert (morsel.key, morsel["secure"]) == ("__Host-arvis_session", True)
