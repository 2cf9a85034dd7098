"""Accounts over HTTP: keys are never returned, and changes apply to the next model call."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.events import AccountsChanged
from arvis.domain.runs import Account, Cooldown, RunRequest, RunResult
from arvis.ports.store import Transaction
from arvis.process.secrets import secrets_key_file
from tests.flows.web_server import OPERATOR_KEY, VIEWER_KEY, Site, files_with, running_site

CANARY = "canary-7Qx29mKp"
OTHER = "other-3Wz81nLq"
CONFIGURED = Account("main one", "demo", "demo", api_key="configured-canary", priority=5)


class Vendor:
    """A vendor that answers, or fails with `kind`, and records its calls."""

    name = "openai"

    def __init__(self) -> None:
        self.calls: list[tuple[RunRequest, Account]] = []
        self.kind: ProviderErrorKind | None = None

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        self.calls.append((request, account))
        if self.kind is not None:
            raise ProviderError(self.kind, "the vendor said no")
        return RunResult("OK", account.model, self.name, account.name)


@pytest.fixture
def vendor() -> Vendor:
    return Vendor()


@pytest.fixture
async def site(tmp_path: Path, vendor: Vendor) -> AsyncIterator[Site]:
    providers = {"openai": vendor, "demo": vendor}
    async with running_site(tmp_path, real_insights=True, accounts=[CONFIGURED], providers=providers) as site:
        yield site


def an_account(**more: Any) -> dict[str, Any]:
    return {"name": "paid", "provider": "openai", "apiKey": CANARY, "model": "m", **more}


async def listed(site: Site) -> dict[str, Any]:
    items = (await site.call("GET", "/api/accounts")).json()["items"]
    return {item["name"]: item for item in items}


async def rests(site: Site, *names: str) -> None:
    def script(tx: Transaction) -> None:
        for name in names:
            tx.cooldowns.put(Cooldown(name, "m", site.clock.now() + 60_000, 2, "rate_limit", site.clock.now()))

    await site.store.write(script)


async def test_an_account_is_added_and_used_at_once_and_its_key_never_shown(site: Site, tmp_path: Path) -> None:
    heard: list[AccountsChanged] = []
    site.bus.subscribe(AccountsChanged, heard.append)
    answer = await site.call("POST", "/api/accounts", json=an_account(models=["m", "n"], priority=7))
    assert answer.status == 201
    made = answer.json()
    assert re.fullmatch(r"[0-9A-Z]{26}", made["id"])
    assert made == (await listed(site))["paid"]
    assert {
        "hasKey": True,
        "source": "product",
        "status": "active",
        "problem": None,
        "health": [],
    }.items() <= made.items()
    assert (made["models"], made["priority"], made["baseUrl"]) == (["m", "n"], 7, None)
    assert len(heard) == 1
    assert [(one.name, one.api_key) for one in site.book.current()] == [
        ("main one", "configured-canary"),
        ("paid", CANARY),
    ]
    everything = answer.text + (await site.call("GET", "/api/accounts")).text
    assert not any(secret in everything for secret in (CANARY, "configured-canary", "v1."))
    assert files_with(CANARY, tmp_path) == []
    assert CANARY not in site.redact(f"a line with {CANARY}")


async def test_defaults_are_those_of_the_configuration(site: Site) -> None:
    made = (await site.call("POST", "/api/accounts", json={"name": "a", "provider": "ollama"})).json()
    assert (made["model"], made["priority"], made["hasKey"]) == ("llama3.2", 100, False)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": None}, "name"), ({"name": "two words"}, "name"), ({"name": "a/b"}, "name"), ({"name": ""}, "name"),
        ({"provider": None}, "provider"), ({"provider": "nobody"}, "provider"), ({"provider": 1}, "provider"),
        ({"apiKey": None}, "apiKey"), ({"apiKey": "env:OPENAI_API_KEY"}, "apiKey"), ({"apiKey": "a\nb"}, "apiKey"),
        ({"apiKey": " "}, "api"), ({"apiKey": 7}, "apiKey"), ({"baseUrl": "ftp://x"}, "baseUrl"),
        ({"priority": -1}, "priority"), ({"priority": 10_001}, "priority"), ({"models": "m"}, "models"),
        ({"models": [1]}, "models"), ({"model": "m" * 101}, "model"), ({"status": "asleep"}, "status"),
        ({"api": "soap"}, "api"), ({"provider": "ollama", "api": "chat"}, "api"),
        ({"provider": "custom"}, "baseUrl"), ({"provider": "google", "apiKey": None}, "apiKey"),
    ],
)  # fmt: skip
async def test_what_cannot_be_used_is_unprocessable(site: Site, changes: dict[str, Any], field: str) -> None:
    answer = await site.call("POST", "/api/accounts", json=an_account(**changes))
    assert (answer.status, answer.code) == (422, "unprocessable")
    assert f"`{field}" in answer.json()["error"]["message"]
    assert CANARY not in answer.text
    assert list(await listed(site)) == ["main one"]


async def test_a_name_is_given_once(site: Site) -> None:
    assert (await site.call("POST", "/api/accounts", json=an_account())).status == 201
    assert (await site.call("POST", "/api/accounts", json=an_account())).status == 409


async def test_an_account_is_changed_field_by_field(site: Site) -> None:
    await site.call("POST", "/api/accounts", json=an_account())
    changed = (await site.call("PATCH", "/api/accounts/paid", json={"model": "n", "priority": 0})).json()
    assert (changed["model"], changed["priority"], changed["hasKey"]) == ("n", 0, True)
    assert [one.api_key for one in site.book.current() if one.name == "paid"] == [CANARY]
    for api in ("responses", None):
        changed = (await site.call("PATCH", "/api/accounts/paid", json={"api": api})).json()
        assert (changed["api"], [one.api for one in site.book.current() if one.name == "paid"]) == (api, [api])
    await site.call("PATCH", "/api/accounts/paid", json={"apiKey": f" {OTHER}\n"})
    assert [one.api_key for one in site.book.current() if one.name == "paid"] == [OTHER]
    await site.call("PATCH", "/api/accounts/paid", json={"status": "disabled"})
    assert [one.name for one in site.book.current()] == ["main one"]
    assert (await listed(site))["paid"]["status"] == "disabled"
    assert (await site.call("PATCH", "/api/accounts/paid", json={"apiKey": ""})).status == 422


async def test_a_key_does_not_follow_to_another_address(site: Site) -> None:
    """Otherwise, a person with write access could have it sent to their own server."""
    await site.call("POST", "/api/accounts", json=an_account())
    for change in ({"baseUrl": "http://evil.example"}, {"provider": "openrouter"}):
        answer = await site.call("PATCH", "/api/accounts/paid", json=change)
        assert (answer.status, "`apiKey`" in answer.text) == (422, True)
    moved = {"baseUrl": "http://127.0.0.1:9", "apiKey": OTHER}
    assert (await site.call("PATCH", "/api/accounts/paid", json=moved)).status == 200
    assert [(one.api_key, one.base_url) for one in site.book.current()][1] == (OTHER, "http://127.0.0.1:9")


async def test_an_account_is_removed(site: Site) -> None:
    await site.call("POST", "/api/accounts", json=an_account())
    assert (await site.call("DELETE", "/api/accounts/paid")).json() == {"ok": True}
    assert [one.name for one in site.book.current()] == ["main one"]
    for method, path in [("DELETE", ""), ("PATCH", ""), ("POST", "/test")]:
        assert (await site.call(method, f"/api/accounts/paid{path}", json={})).status == 404


async def test_what_the_configuration_names_is_changed_there(site: Site) -> None:
    shown = (await listed(site))["main one"]
    assert (shown["id"], shown["source"], shown["hasKey"]) == (None, "configuration", True)
    for method in ("PATCH", "DELETE"):
        answer = await site.call(method, "/api/accounts/main%20one", json={"model": "x"})
        assert (answer.status, answer.code) == (409, "configured")
        assert "config.yaml" in answer.json()["error"]["fix"]


async def test_a_stored_one_with_the_name_of_a_configured_one_is_passed_over(tmp_path: Path) -> None:
    async with running_site(tmp_path, real_insights=True) as site:
        await site.call("POST", "/api/accounts", json=an_account())
    twin = Account("paid", "demo", "demo")
    async with running_site(tmp_path, real_insights=True, accounts=[twin]) as site:
        await site.book.learn()
        assert site.book.current() == (twin,)
        both = (await site.call("GET", "/api/accounts")).json()["items"]
        assert [(one["source"], one["problem"] is None) for one in both] == [
            ("configuration", True),
            ("product", False),
        ]
        assert (await site.call("POST", "/api/accounts", json=an_account())).status == 409
        assert (await site.call("DELETE", "/api/accounts/paid")).status == 200
        assert (await site.call("DELETE", "/api/accounts/paid")).status == 409


async def test_a_lost_key_is_told_and_harms_nobody_else(tmp_path: Path) -> None:
    async with running_site(tmp_path, real_insights=True) as site:
        await site.call("POST", "/api/accounts", json=an_account())
    secrets_key_file(tmp_path).unlink()
    async with running_site(tmp_path, real_insights=True, accounts=[CONFIGURED]) as site:
        await site.book.learn()
        assert site.book.current() == (CONFIGURED,)
        assert "cannot be decrypted" in (await listed(site))["paid"]["problem"]
        trial = (await site.call("POST", "/api/accounts/paid/test")).json()
        assert (trial["ok"], "cannot be decrypted" in trial["error"]) == (False, True)
        assert "enter the secret again" in trial["fix"]


async def test_health_tells_of_every_model_that_was_refused(site: Site) -> None:
    await site.call("POST", "/api/accounts", json=an_account())
    await rests(site, "paid", "main one")
    for name in ("paid", "main one"):
        [health] = (await listed(site))[name]["health"]
        assert (health["model"], health["kind"], health["refusals"]) == ("m", "rate_limit", 2)
        assert health["cooldownUntil"] > site.clock.now()
    site.clock.shift_ms += 61_000
    [health] = (await listed(site))["paid"]["health"]
    assert (health["cooldownUntil"], health["refusals"]) == (None, 2)


async def test_a_change_forgets_what_was_refused_before(site: Site) -> None:
    await site.call("POST", "/api/accounts", json=an_account())
    await rests(site, "paid", "main one")
    await site.call("PATCH", "/api/accounts/paid", json={"apiKey": OTHER})
    found = await listed(site)
    assert (found["paid"]["health"], len(found["main one"]["health"])) == ([], 1)


async def test_a_trial_is_one_small_call(site: Site, vendor: Vendor) -> None:
    await site.call("POST", "/api/accounts", json=an_account())
    await rests(site, "paid")
    for name, key in (("paid", CANARY), ("main%20one", "configured-canary")):
        answer = await site.call("POST", f"/api/accounts/{name}/test")
        trial = answer.json()
        assert (trial["ok"], trial["error"], trial["fix"]) == (True, None, None)
        assert trial["durationMs"] >= 0
        request, account = vendor.calls[-1]
        assert (request.max_tokens, request.turns[0].content, account.api_key) == (16, "Say OK", key)
    assert (await listed(site))["paid"]["health"] == [], "it answers again"


async def test_a_trial_that_fails_says_what_to_do(site: Site, vendor: Vendor) -> None:
    await site.call("POST", "/api/accounts", json=an_account())
    vendor.kind = ProviderErrorKind.AUTH
    answer = await site.call("POST", "/api/accounts/paid/test")
    assert answer.status == 200
    trial = answer.json()
    assert (trial["ok"], trial["error"]) == (False, "the vendor said no")
    assert "key" in trial["fix"]
    vendor.kind = ProviderErrorKind.EMPTY
    assert (await site.call("POST", "/api/accounts/paid/test")).json()["ok"]
    await site.call("POST", "/api/accounts", json={"name": "away", "provider": "ollama"})
    assert "no provider ollama" in (await site.call("POST", "/api/accounts/away/test")).json()["error"]


async def test_operators_read_and_owners_write(site: Site) -> None:
    assert (await site.call("GET", "/api/accounts", key=OPERATOR_KEY)).status == 200
    assert (await site.call("GET", "/api/accounts", key=VIEWER_KEY)).status == 403
    for method, path in [("POST", ""), ("PATCH", "/paid"), ("DELETE", "/paid"), ("POST", "/paid/test")]:
        assert (await site.call(method, f"/api/accounts{path}", key=OPERATOR_KEY, json={})).status == 403
