"""Passwords, and the limits on guessing them."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from arvis.config.sections import Web
from arvis.domain.errors import TooMany
from arvis.testing.clock import SteppedClock
from arvis.web.http.rate_limits import LoginLimiter
from tests.flows.login_kit import Browser, add_user, browser_of, enter, make_key, owner
from tests.flows.web_server import DAEMON_KEY, KEYS, Answer, Site, files_with, running_site

FIRST = "correct horse battery"
SECOND = "another horse, älter"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        yield site


async def set_password(browser: Browser, password: str, current: str | None = None) -> Answer:
    given = {"password": password, **({} if current is None else {"current": current})}
    return await browser.call("PUT", "/api/auth/password", json=given)


async def state(site: Site) -> Any:
    return (await site.call("GET", "/api/auth/state", key=None)).json()


async def test_a_password_is_a_way_in(site: Site, tmp_path: Path) -> None:
    browser = await owner(site)
    assert await state(site) == {"passwordLogin": False}
    assert (await enter(site, {"password": FIRST})).code == "wrong_password"
    assert (await set_password(browser, FIRST)).status == 200
    assert await state(site) == {"passwordLogin": True}
    for body in ({"password": FIRST}, {"user": "owner", "password": FIRST}):
        again = browser_of(site, await enter(site, body))
        assert (await again.call("GET", "/api/auth/me")).json()["hasPassword"] is True
    assert (await enter(site, {"user": "amy", "password": FIRST})).code == "wrong_password"
    assert not files_with(FIRST, tmp_path)


async def test_a_new_password_needs_the_old_one_and_ends_all_other_logins(site: Site) -> None:
    browser, other, amy = await owner(site), await owner(site), await add_user(site, "amy", "chat")
    assert (await set_password(browser, FIRST)).status == 200
    assert [await each.status() for each in (browser, other, amy)] == [200, 401, 200]
    other = browser_of(site, await enter(site, {"password": FIRST}))
    assert (await set_password(browser, SECOND)).status == 422
    assert (await set_password(browser, SECOND, SECOND)).code == "wrong_password"
    assert await other.status() == 200
    async with other.socket() as socket:
        assert (await set_password(browser, SECOND, FIRST)).status == 200
        async with asyncio.timeout(1.0):
            assert await socket.close_code() == 4001
    assert [await each.status() for each in (browser, other)] == [200, 401]
    assert (await enter(site, {"password": FIRST})).code == "wrong_password"
    assert (await enter(site, {"password": SECOND})).status == 200


@pytest.mark.parametrize(
    ("password", "code"), [("", "short_password"), ("x" * 7, "short_password"), ("x" * 257, "long_password")]
)
async def test_a_password_has_a_length(site: Site, password: str, code: str) -> None:
    answer = await set_password(await owner(site), password)
    assert (answer.status, answer.code) == (422, code)


async def test_everybody_sets_their_own(site: Site) -> None:
    amy = await add_user(site, "amy", "viewer")
    assert (await set_password(amy, FIRST)).status == 200
    found = browser_of(site, await enter(site, {"user": "amy", "password": FIRST}))
    assert (await found.call("GET", "/api/auth/me")).json()["userId"] == "amy"
    assert (await enter(site, {"password": FIRST})).code == "wrong_password"
    users = (await site.call("GET", "/api/users")).json()["items"]
    assert [(each["id"], each["hasPassword"]) for each in users] == [("amy", True), ("owner", False)]


async def test_a_key_has_no_password(site: Site) -> None:
    answer = await site.call("PUT", "/api/auth/password", key=DAEMON_KEY, json={"password": FIRST})
    assert (answer.status, answer.code) == (403, "login_needed")


async def test_a_lost_password_is_set_anew_with_an_owners_key_only(site: Site) -> None:
    browser = await owner(site)
    assert (await set_password(browser, FIRST)).status == 200
    path, given = "/api/users/owner/password", {"password": SECOND}
    assert (await browser.call("PUT", path, json=given)).code == "key_needed"
    assert (await site.call("PUT", path, json={"password": "short"})).code == "short_password"
    assert (await site.call("PUT", "/api/users/amy/password", json=given)).status == 404
    key = (await make_key(site, "owner"))["key"]
    assert (await site.call("PUT", path, key=key, json=given)).status == 200
    assert await browser.status() == 401
    assert (await enter(site, {"password": SECOND})).status == 200


async def test_the_password_of_the_configuration_is_the_first_users_until_one_is_set(tmp_path: Path) -> None:
    web = Web(port=0, api_keys=KEYS, password=SecretStr(FIRST))
    async with running_site(tmp_path, web=web) as site:
        assert await state(site) == {"passwordLogin": True}
        await add_user(site, "amy", "chat")
        assert (await enter(site, {"user": "amy", "password": FIRST})).code == "wrong_password"
        browser = browser_of(site, await enter(site, {"password": FIRST}))
        assert (await browser.call("GET", "/api/auth/me")).json()["hasPassword"] is True
        assert (await set_password(browser, SECOND)).status == 422
        assert (await set_password(browser, SECOND, FIRST)).status == 200
        assert (await enter(site, {"password": FIRST})).code == "wrong_password"
        assert (await enter(site, {"password": SECOND})).status == 200


@pytest.mark.parametrize("body", [{"user": "owner"}, {"password": 7}, {"user": 7, "password": FIRST}, {"user": ""}])
async def test_a_login_that_is_none(site: Site, body: dict[str, Any]) -> None:
    assert (await enter(site, body)).status == 422


async def test_a_login_by_password_ends_the_one_before(site: Site) -> None:
    browser = await owner(site)
    assert (await set_password(browser, FIRST)).status == 200
    async with browser.socket() as socket:
        fresh = browser_of(site, await enter(site, {"password": FIRST}, **browser.headers))
        assert await socket.close_code() == 4001
    assert fresh.cookie != browser.cookie
    assert [await each.status() for each in (browser, fresh)] == [401, 200]


async def test_logins_last_as_long_as_the_configuration_says(tmp_path: Path) -> None:
    web = Web(port=0, api_keys=KEYS, session_idle_timeout="30m", session_max_age="12h")  # type: ignore[arg-type]
    async with running_site(tmp_path, web=web) as site:
        browser = await owner(site)
        for _ in range(24):
            site.clock.shift_ms += 29 * 60_000
            assert await browser.status() == 200
        site.clock.shift_ms += 29 * 60_000
        assert await browser.status() == 401
        idle = await owner(site)
        site.clock.shift_ms += 30 * 60_000
        assert await idle.status() == 401


# -- guessing -------------------------------------------------------------------------------------------------


async def test_guessing_one_account_is_slowed_down_and_the_owner_comes_in_by_a_link(site: Site) -> None:
    assert (await set_password(await owner(site), FIRST)).status == 200
    answers = await asyncio.gather(*(enter(site, {"password": f"{FIRST}{number}"}) for number in range(12)))
    assert sorted(answer.status for answer in answers) == [401] * 5 + [429] * 7
    refused = await enter(site, {"password": FIRST})
    assert (refused.status, refused.code) == (429, "too_many")
    forged = {"X-Forwarded-For": "192.0.2.77", "Forwarded": "for=192.0.2.77", "X-Real-IP": "192.0.2.77"}
    assert (await enter(site, {"password": FIRST}, **forged)).status == 429
    site.clock.shift_ms += 61_000
    assert (await enter(site, {"password": FIRST})).status == 200


async def test_the_old_password_cannot_be_guessed_with_a_stolen_login(site: Site) -> None:
    browser = await owner(site)
    assert (await set_password(browser, FIRST)).status == 200
    codes = [(await set_password(browser, SECOND, f"guess {number}")).status for number in range(8)]
    assert codes == [401] * 5 + [429] * 3


def tries(limiter: LoginLimiter, address: str, account: str, *, known: bool = True) -> bool:
    """Return true if the server checks this attempt."""
    try:
        limiter.count(address)
        limiter.count_account(account, known=known)
    except TooMany:
        return False
    return True


@pytest.mark.parametrize("addresses", [1, 7, 5000])
async def test_ten_thousand_guesses_are_twenty_an_hour(addresses: int) -> None:
    """One account, from one address or from thousands, with one guess every three seconds."""
    clock = SteppedClock()
    limiter = LoginLimiter(clock=clock)
    looked_at: list[float] = []
    for number in range(10_000):
        if tries(limiter, f"2001:db8:{number % addresses:x}::{number:x}", "owner"):
            looked_at.append(clock.monotonic())
        await clock.sleep(3.0)
    hours = 10_000 * 3 / 3600
    assert 20 <= len(looked_at) <= 20 * (hours + 1)
    for first, last in zip(looked_at, looked_at[20:], strict=False):
        assert last - first >= 3600


async def test_spraying_over_accounts_is_twenty_an_hour_for_each_address() -> None:
    clock = SteppedClock()
    limiter = LoginLimiter(clock=clock)
    passed = 0
    for number in range(1200):
        passed += tries(limiter, "192.0.2.1", f"user{number}", known=number % 2 == 0)
        await clock.sleep(2.9)
    assert passed == 20


def test_any_number_of_strange_names_lets_no_account_be_guessed_again() -> None:
    limiter = LoginLimiter(clock=SteppedClock())
    assert sum(tries(limiter, f"192.0.2.{number}", "owner") for number in range(9)) == 5
    for number in range(20_000):
        tries(limiter, f"2001:db8:{number >> 16:x}:{number & 65535:x}::1", f"nobody{number}", known=False)
    assert not tries(limiter, "198.51.100.1", "owner")


async def medians(site: Site, names: Sequence[str]) -> dict[str, float]:
    """Return the median processor time of a wrong password for each name, in ms, because the time of a busy machine
    tells little. The names alternate in one loop, so that other load affects them equally."""
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(21):
        site.clock.shift_ms += 4 * 3_600_000
        for name, times in taken.items():
            begun = time.process_time()
            assert (await enter(site, {"user": name, "password": SECOND})).status == 401
            times.append(time.process_time() - begun)
    return {name: statistics.median(times) * 1000 for name, times in taken.items()}


async def test_the_time_tells_not_whether_there_is_such_a_user(site: Site) -> None:
    """A busy machine may spoil a round, but a leak affects all of them: one password check takes 20 ms."""
    assert (await set_password(await owner(site), FIRST)).status == 200
    await add_user(site, "link_only", "chat")
    found = []
    for _ in range(5):
        times = await medians(site, ["owner", "link_only", "nobody"])
        found.append(max(times.values()) - min(times.values()))
        if found[-1] < 5:
            return
    pytest.fail(f"the medians differ by {found} ms")
