"""Guesses of keys, passwords and links are limited and recorded, and do not lock other people out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import structlog
from pydantic import SecretStr

from arvis.config.sections import ApiKey, Web
from arvis.web.auth.failed_logins import FailedLogins
from tests.flows.web_server import CHAT_KEY, DAEMON_KEY, KEYS, Site, running_site

STRONG = "uGh8aeTheiWo3ahngu0ahghoh8"
MOST = 30


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    keys = (*KEYS, ApiKey(key=SecretStr(STRONG), role="viewer"))
    async with running_site(tmp_path, web=Web(port=0, api_keys=keys), real_insights=True) as site:
        yield site


async def guess(site: Site, times: int) -> list[int]:
    return [(await site.call("GET", "/api/auth/me", key=f"guess-{number}")).status for number in range(times)]


async def test_guesses_of_keys_are_limited_by_address(site: Site) -> None:
    assert await guess(site, MOST + 5) == [401] * MOST + [429] * 5
    refused = await site.call("GET", "/api/auth/me", key="guess")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    site.clock.shift_ms += 61_000
    assert (await site.call("GET", "/api/auth/me", key="guess")).status == 401


async def test_who_holds_a_key_that_nobody_guesses_is_never_shut_out(site: Site) -> None:
    made = (await site.call("POST", "/api/keys", json={"name": "Program", "role": "viewer"})).json()["key"]
    await guess(site, MOST + 1)
    for key in (DAEMON_KEY, STRONG, made):
        assert (await site.call("GET", "/api/auth/me", key=key)).status == 200
    # A guessable key is refused without a check; otherwise, the limit would have no effect.
    assert (await site.call("GET", "/api/auth/me", key=CHAT_KEY)).status == 429


async def test_guesses_over_the_socket_count_as_well(site: Site) -> None:
    for _ in range(MOST):
        with pytest.raises(AssertionError, match="wrong_key"):
            async with site.socket(apiKey="guess"):
                pass
    with pytest.raises(AssertionError, match="too_many"):
        async with site.socket(apiKey="guess"):
            pass
    assert (await site.call("GET", "/api/auth/me", key="guess")).status == 429


async def test_wrong_passwords_close_no_link_of_the_same_address(site: Site) -> None:
    code = (await site.call("POST", "/api/auth/codes")).json()["code"]
    tries = [
        (await site.call("POST", "/api/auth/login", key=None, json={"user": "owner", "password": "wrong"})).status
        for _ in range(10)
    ]
    assert tries == [401] * 5 + [429] * 5
    assert (await site.call("POST", "/api/auth/login", key=None, json={"code": code})).status == 200


async def test_failed_attempts_are_in_the_audit_and_repeated_ones_are_summed_up(site: Site) -> None:
    for body in ({"user": "owner", "password": "wrong"}, {"code": "wrong"}):
        await site.call("POST", "/api/auth/login", key=None, json=body)
    await guess(site, MOST)
    site.clock.shift_ms += 3_601_000
    await guess(site, 5)
    answer = (await site.call("GET", "/api/audit")).json()["items"]
    rows = [(row["kind"], row["fields"]["by"], row["fields"].get("user"), row["fields"]["times"]) for row in answer]
    assert rows == [
        ("wrong_key", "key", None, 21),
        ("wrong_key", "key", None, 9),
        ("wrong_key", "key", None, 1),
        ("login_failed", "link", None, 1),
        ("login_failed", "password", "owner", 1),
    ]
    shared = {(row["subject"], row["outcome"], row["agent"], row["executionId"]) for row in answer}
    assert shared == {("127.0.0.1", "refused", "", None)}
    assert "guess-" not in repr(answer)
    only = await site.call("GET", "/api/audit?kind=login_failed")
    assert len(only.json()["items"]) == 2


async def test_a_guesser_with_many_addresses_does_not_fill_the_audit(site: Site) -> None:
    failures = FailedLogins(clock=site.clock, store=site.store)
    for number in range(2_000):
        await failures.note(f"2001:db8::{number:x}", "wrong_key", "key")
    answer = (await site.call("GET", "/api/audit?limit=100")).json()
    found = answer["items"]
    assert answer["nextCursor"] is None
    assert len(found) == 50 + 4
    assert sum(row["fields"]["times"] for row in found) == 50 + 1_000


async def test_failed_tries_are_in_the_log_at_most_so_many_a_minute(site: Site) -> None:
    with structlog.testing.capture_logs() as lines:
        for body in ({"user": "owner", "password": "wrong"}, {"code": "wrong"}):
            await site.call("POST", "/api/auth/login", key=None, json=body)
        await guess(site, 60)
        site.clock.shift_ms += 61_000
        await guess(site, 1)
    logged = [line for line in lines if line["event"] in {"login_failed", "wrong_key"}]
    assert [(line["event"], line["by"], line.get("user")) for line in logged[:3]] == [
        ("login_failed", "password", "owner"),
        ("login_failed", "link", None),
        ("wrong_key", "key", None),
    ]
    assert len(logged) == 21
    assert logged[-1]["unreported"] == 42
    assert {line["address"] for line in logged} == {"127.0.0.1"}
    assert "guess-1" not in repr(logged)
    assert "wrong" not in {line.get("password") for line in logged}
