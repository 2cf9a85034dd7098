"""Bots over HTTP: tokens are never returned, and running bots follow the rows; and webhooks of platforms."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.bots.registry import BotSpec
from arvis.domain.events import BotsChanged
from tests.flows.bot_kit import TOKEN, HookPuppet, Workshop, entry
from tests.flows.web_server import OPERATOR_KEY, VIEWER_KEY, Site, files_with, running_site

ALL, MAIN, CONFIGURED = "/api/bots", "/api/bots/hooked/main", "/api/bots/plain/fixed"
HOOK = "/hooks/hooked/main"


@pytest.fixture
def workshop() -> Workshop:
    return Workshop()


@pytest.fixture
async def site(tmp_path: Path, workshop: Workshop) -> AsyncIterator[Site]:
    configured = [entry("fixed", token="configured-canary", respond="all")]
    async with running_site(tmp_path, configured=configured, maker=workshop) as site:
        yield site


def a_bot(**more: Any) -> dict[str, Any]:
    return {"platform": "hooked", "name": "main", "secrets": {"token": TOKEN}, **more}


async def entered(site: Site, **more: Any) -> dict[str, Any]:
    answer = await site.call("POST", ALL, json=a_bot(**more))
    assert answer.status == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


# -- entering, changing, removing ----------------------------------------------------------------------------


async def test_a_bot_is_entered_and_its_token_never_shown(site: Site, tmp_path: Path, workshop: Workshop) -> None:
    heard: list[BotsChanged] = []
    site.bus.subscribe(BotsChanged, heard.append)
    made = await entered(site, settings={"respond": "all"})
    assert (made["source"], made["enabled"], made["state"]) == ("product", True, "stopped")
    assert (made["settings"], made["secrets"]) == ({"respond": "all"}, ["token"])
    assert heard == [BotsChanged()]
    assert workshop.last.closed, "it was only made to see whether it can be"
    assert workshop.last.values == {"respond": "all", "token": TOKEN}
    items = (await site.call("GET", ALL)).json()["items"]
    assert [(item["name"], item["source"]) for item in items] == [("fixed", "configuration"), ("main", "product")]
    assert items[0]["settings"] == {"respond": "all"}
    assert (await site.call("GET", MAIN)).json() == items[1]
    shown = (await site.call("GET", ALL)).text
    assert TOKEN not in shown
    assert "canary" not in shown
    assert files_with(TOKEN, tmp_path) == []
    assert TOKEN not in site.redact(f"at {TOKEN}."), "the log hides it"


async def test_a_change_keeps_what_it_does_not_name(site: Site, workshop: Workshop) -> None:
    await entered(site, settings={"respond": "all", "observe": 5})
    changed = await site.call("PATCH", MAIN, json={"settings": {"respond": "never", "observe": None}})
    assert changed.json()["settings"] == {"respond": "never"}
    assert workshop.last.values == {"respond": "never", "token": TOKEN}
    made = len(workshop.made)
    assert (await site.call("PATCH", MAIN, json={"enabled": False})).json()["enabled"] is False
    assert len(workshop.made) == made, "it goes off whether or not it can be made"
    await site.call("PATCH", MAIN, json={"secrets": {"token": "another"}})
    assert workshop.last.values["token"] == "another"


async def test_a_token_is_not_sent_to_another_address(site: Site) -> None:
    await entered(site)
    stolen = await site.call("PATCH", MAIN, json={"settings": {"api_url": "http://thief"}})
    assert stolen.status == 422
    assert "another address" in stolen.json()["error"]["message"]
    both = {"settings": {"api_url": "http://mine"}, "secrets": {"token": "mine"}}
    assert (await site.call("PATCH", MAIN, json=both)).status == 200


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (a_bot(settings={"bad": 1}), "bad"),
        (a_bot(settings={"bot_token": "x"}), "bot_token"),
        (a_bot(secrets={"respond": "x"}), "respond"),
        (a_bot(secrets={"token": 5}), "token"),
        (a_bot(secrets={"token": "x" * 5000}), "token"),
        (a_bot(name="no such name"), "name"),
        (a_bot(platform="A b"), "platform"),
        (a_bot(enabled="yes"), "enabled"),
        (a_bot(settings=[1]), "settings"),
        ({"platform": "hooked"}, "name"),
    ],
)
async def test_what_cannot_be_used_is_refused_by_its_name(site: Site, body: dict[str, Any], named: str) -> None:
    answer = await site.call("POST", ALL, json=body)
    assert answer.status == 422
    assert named in answer.json()["error"]["message"]
    assert TOKEN not in answer.text


async def test_names_are_given_once_and_bots_of_the_configuration_stay(site: Site) -> None:
    await entered(site)
    assert (await site.call("POST", ALL, json=a_bot())).status == 409
    assert (await site.call("POST", ALL, json=a_bot(platform="plain", name="fixed"))).code == "configured"
    assert (await site.call("PATCH", CONFIGURED, json={"enabled": False})).code == "configured"
    assert (await site.call("DELETE", CONFIGURED)).code == "configured"
    assert (await site.call("DELETE", MAIN)).status == 200
    for method, path in (("DELETE", MAIN), ("GET", MAIN), ("PATCH", MAIN), ("POST", f"{MAIN}/restart")):
        assert (await site.call(method, path, json={"enabled": True})).status == 404


async def test_any_bot_is_examined_and_restarted(site: Site) -> None:
    await entered(site)
    found = (await site.call("POST", f"{MAIN}/test")).json()["findings"]
    assert found == [{"level": "warning", "text": "A scope is missing", "fix": "Add it."}]
    found = (await site.call("POST", f"{CONFIGURED}/test")).json()["findings"]
    assert found == [{"level": "ok", "text": "The platform plain has nothing to check", "fix": None}]
    heard: list[BotsChanged] = []
    site.bus.subscribe(BotsChanged, heard.append)
    assert (await site.call("POST", f"{CONFIGURED}/restart")).status == 200
    assert len(heard) == 1


async def test_only_the_owner_touches_bots(site: Site) -> None:
    await entered(site)
    for method, path in (("POST", ALL), ("PATCH", MAIN), ("DELETE", MAIN), ("POST", f"{MAIN}/test")):
        assert (await site.call(method, path, key=OPERATOR_KEY, json=a_bot())).status == 403
    assert (await site.call("GET", ALL, key=OPERATOR_KEY)).status == 200
    assert (await site.call("GET", ALL, key=VIEWER_KEY)).status == 403


async def test_bots_that_are_down_leave_the_daemon_ready(site: Site) -> None:
    ready = await site.call("GET", "/ready", key=None)
    assert ready.status == 200
    assert ready.json()["bots"] == {"plain/main": False}


# -- webhooks -----------------------------------------------------------------------------------------------


async def hooked(site: Site, *, enabled: bool = True, platform: str = "hooked") -> HookPuppet:
    await site.fleet.put(BotSpec(platform, "main", {}, enabled))
    connector = site.fleet.connector(platform, "main")
    assert isinstance(connector, HookPuppet)
    return connector


async def test_a_hook_reaches_the_bot_as_it_was_sent(site: Site) -> None:
    puppet = await hooked(site)
    headers = {"X-Signature": "right", "Content-Type": "application/x-www-form-urlencoded"}
    answer = await site.call("POST", HOOK, key=None, headers=headers, data=b"\x00raw")
    assert (answer.status, answer.text) == (200, '{"taken": true}')
    ((seen, body),) = puppet.hooks
    assert (seen["x-signature"], body) == ("right", b"\x00raw")


async def test_the_bot_itself_refuses_a_wrong_signature(site: Site) -> None:
    puppet = await hooked(site)
    async with site.http.post(site.url + HOOK, data=b"x") as answer:
        assert (answer.status, await answer.text()) == (401, "who are you?")
    assert puppet.hooks == []


async def test_nothing_is_there_for_bots_that_are_off_or_take_no_hooks(site: Site) -> None:
    await site.fleet.put(BotSpec("hooked", "main", {}, enabled=False))
    await site.fleet.put(BotSpec("plain", "main", {}))
    for path in (HOOK, "/hooks/plain/main", "/hooks/none/main", "/hooks/UP/main"):
        assert (await site.call("POST", path, key=None, data=b"x")).status == 404


async def test_a_hook_has_a_limit(site: Site) -> None:
    puppet = await hooked(site)
    large = await site.call("POST", HOOK, key=None, headers={"X-Signature": "right"}, data=io.BytesIO(bytes(1_048_577)))
    assert large.status == 413
    assert puppet.hooks == []


async def test_a_hook_is_no_door_for_browsers(site: Site) -> None:
    headers = {"Origin": "https://platform.example"}
    assert (await site.call("POST", HOOK, key=None, headers=headers, data=b"x")).code == "wrong_origin"
    assert (await site.call("POST", HOOK, key=None, headers={"Host": "evil.example"}, data=b"x")).code == "wrong_host"
