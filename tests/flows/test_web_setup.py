"""The first run over HTTP: its progress, accounts and bots that are tested before they are stored, and skills that are
turned off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.messages import Address, IncomingMessage, MessageStatus, PrincipalRole, Role, Sender
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.store import Transaction
from arvis.tasks.state import BY_DAEMON
from arvis.turns.turns import Ending, begin_turn, end_turn
from tests.flows.bot_kit import TOKEN, Workshop
from tests.flows.web_server import OPERATOR_KEY, Site, files_with, running_site

CANARY = "canary-of-a-trial-44Lp"
SKILL = "---\nslug: knots\ntriggers: {keywords: [rope]}\n---\n# Tie\n"


class Vendor:
    """A vendor that answers, or fails with `kind`."""

    name = "openai"

    def __init__(self) -> None:
        self.asked: list[Account] = []
        self.kind: ProviderErrorKind | None = None

    async def complete(self, request: RunRequest, account: Account) -> RunResult:
        self.asked.append(account)
        assert request.max_tokens < 100
        if self.kind is not None:
            raise ProviderError(self.kind, "the vendor said no")
        return RunResult("OK", account.model, "openai", account.name, input_tokens=1_000, output_tokens=100)


@pytest.fixture
def vendor() -> Vendor:
    return Vendor()


@pytest.fixture
async def site(tmp_path: Path, vendor: Vendor) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True, providers={"openai": vendor}, maker=Workshop()) as site:
        yield site


async def state(site: Site) -> dict[str, Any]:
    answer = await site.call("GET", "/api/setup")
    assert answer.status == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_first_run_comes_further_with_what_is_done(site: Site) -> None:
    assert await state(site) == dict.fromkeys(
        ("hasPassword", "hasAccount", "hasOwnAgent", "hasBot", "hasReply", "dismissed", "done"), False
    )
    account = {"name": "paid", "provider": "openai", "apiKey": CANARY, "model": "m"}
    assert (await site.call("POST", "/api/accounts", json=account)).status == 201
    assert (await site.call("POST", "/api/agents", json={"slug": "news"})).status == 201
    bot = {"platform": "hooked", "name": "main", "secrets": {"token": TOKEN}}
    assert (await site.call("POST", "/api/bots", json=bot)).status == 201
    found = await state(site)
    assert (found["hasAccount"], found["hasOwnAgent"], found["hasBot"]) == (True, True, True)
    assert (found["hasReply"], found["done"]) == (False, False)
    assert (await site.call("POST", "/api/setup/dismiss")).json() == {"ok": True}
    assert ((await state(site))["dismissed"], (await state(site))["done"]) == (True, True)
    assert (await site.call("GET", "/api/setup", key=OPERATOR_KEY)).status == 403


async def test_an_account_is_tried_before_it_is_kept(site: Site, vendor: Vendor, tmp_path: Path) -> None:
    form = {"provider": "openai", "apiKey": f" {CANARY} ", "model": "gpt-4o"}
    trial = (await site.call("POST", "/api/accounts/test", json=form)).json()
    assert (trial["ok"], trial["model"], trial["kind"], trial["error"]) == (True, "gpt-4o", None, None)
    assert trial["costUsd"] == pytest.approx((1_000 * 2.5 + 100 * 10) / 1_000_000)
    assert vendor.asked[0].api_key == CANARY
    assert (await site.call("GET", "/api/accounts")).json()["items"] == []
    assert files_with(CANARY, tmp_path) == []
    assert CANARY not in site.redact(f"at {CANARY}."), "the log hides it"


async def test_a_kept_account_tells_what_a_word_of_it_costs(site: Site, vendor: Vendor) -> None:
    account = {"name": "paid", "provider": "openai", "apiKey": CANARY, "model": "gpt-4o"}
    await site.call("POST", "/api/accounts", json=account)
    trial = (await site.call("POST", "/api/accounts/paid/test")).json()
    assert (trial["ok"], trial["provider"], trial["kind"]) == (True, "openai", None)
    assert trial["costUsd"] == pytest.approx((1_000 * 2.5 + 100 * 10) / 1_000_000)
    vendor.kind = ProviderErrorKind.AUTH
    trial = (await site.call("POST", "/api/accounts/paid/test")).json()
    assert (trial["ok"], trial["provider"], trial["kind"], trial["costUsd"]) == (False, None, "auth", None)
    assert "enter a valid one" in trial["fix"]


@pytest.mark.parametrize("kind", ["auth", "quota", "overloaded"])
async def test_a_trial_that_fails_says_why_and_what_to_do(site: Site, vendor: Vendor, kind: str) -> None:
    vendor.kind = ProviderErrorKind(kind)
    form = {"provider": "openai", "apiKey": CANARY}
    trial = (await site.call("POST", "/api/accounts/test", json=form)).json()
    assert (trial["ok"], trial["kind"], trial["error"], trial["costUsd"]) == (False, kind, "the vendor said no", None)
    assert trial["fix"]


async def test_what_cannot_be_tried_is_refused(site: Site) -> None:
    for form in ({}, {"provider": "nobody"}, {"provider": "openai"}, {"provider": "openai", "apiKey": "env:PATH"}):
        assert (await site.call("POST", "/api/accounts/test", json=form)).status == 422, form
    missing = {"provider": "ollama"}
    trial = (await site.call("POST", "/api/accounts/test", json=missing)).json()
    assert (trial["kind"], "no provider ollama" in trial["error"]) == ("other", True)
    for path in ("/api/accounts/test", "/api/bots/test"):
        assert (await site.call("POST", path, key=OPERATOR_KEY, json={})).status == 403


async def test_a_bot_is_examined_before_it_is_kept(site: Site, tmp_path: Path) -> None:
    form = {"platform": "hooked", "secrets": {"token": TOKEN}}
    answer = await site.call("POST", "/api/bots/test", json=form)
    assert answer.json()["findings"][0]["text"] == "A scope is missing"
    assert TOKEN not in answer.text
    assert TOKEN not in site.redact(f"at {TOKEN}."), "the log hides it"
    assert (await site.call("GET", "/api/bots")).json()["items"] == []
    for wrong in ({}, {"platform": "No!"}, {"platform": "hooked", "settings": {"token": TOKEN}}):
        assert (await site.call("POST", "/api/bots/test", json=wrong)).status == 422, wrong


async def test_a_skill_rests_and_comes_back(site: Site) -> None:
    path = "/api/skills/devops"
    before = (await site.call("GET", path)).json()
    assert (before["enabled"], before["text"].startswith("---")) == (True, True)
    off = (await site.call("PATCH", path, json={"enabled": False})).json()
    assert (off["enabled"], off["hash"]) == (False, before["hash"])
    listed = {item["slug"]: item["enabled"] for item in (await site.call("GET", "/api/skills")).json()["items"]}
    assert (listed["devops"], listed["web-dev"]) == (False, True)
    assert (await site.call("PATCH", path, json={"enabled": True})).json() == before


async def test_a_skill_is_edited_and_set_back(site: Site) -> None:
    path = "/api/skills/knots"
    assert (await site.call("POST", "/api/skills", json={"text": SKILL})).status == 201
    edited = (await site.call("PATCH", path, json={"text": SKILL.replace("# Tie", "# Untie")})).json()
    assert (edited["body"], edited["source"]) == ("# Untie", "imported")
    assert (await site.call("POST", f"{path}/undo")).json()["skill"]["body"] == "# Tie"
    assert (await site.call("POST", f"{path}/undo")).json()["skill"]["body"] == "# Untie"
    assert (await site.call("DELETE", path)).status == 200
    assert (await site.call("POST", f"{path}/undo")).json()["skill"]["body"] == "# Untie"
    other = await site.call("PATCH", path, json={"text": SKILL.replace("knots", "other")})
    assert (other.status, "must keep the name knots" in other.json()["error"]["message"]) == (422, True)
    assert (await site.call("PATCH", "/api/skills/nobody", json={"enabled": False})).status == 404


async def test_editing_a_built_in_skill_replaces_it(site: Site) -> None:
    path = "/api/skills/devops"
    text = (await site.call("GET", path)).json()["text"]
    assert (await site.call("PATCH", path, json={"text": text + "\nOurs."})).json()["source"] == "imported"
    assert (await site.call("POST", f"{path}/undo")).json()["skill"]["source"] == "built_in"


async def test_the_figures_of_an_agent(site: Site) -> None:
    await site.call("POST", "/api/agents", json={"slug": "news"})
    found = (await site.call("GET", "/api/agents/news/stats")).json()
    assert (found["week"]["calls"], found["month"]["costUsd"], found["lastActive"]) == (0, 0, None)
    assert (await site.call("GET", "/api/agents/nobody/stats")).status == 404


async def test_who_said_hello_once_has_said_it_however_busy_other_places_are(site: Site) -> None:
    def talk(tx: Transaction) -> None:
        now, agent = site.clock.now(), Agent(id="a1", slug="helper", name="Helper")
        tx.agents.add(agent, now)
        ann = tx.principals.seen("web", "ann", "Ann", PrincipalRole.MEMBER, now)
        places = [("web", "web-ann"), *(("discord", str(number)) for number in range(25))]
        for number, (platform, channel) in enumerate(places):
            incoming = IncomingMessage(Address(platform, platform, channel), channel, Sender("ann", "Ann"), "Hello")
            told = begin_turn(tx, incoming, agent=agent, route="x", principal=ann, attachments=(), now=now + number)
            execution = tx.executions.get(told.execution_id or "")
            assert execution is not None
            execution = replace(execution, state={**execution.state, "read": BY_DAEMON})
            assert end_turn(tx, execution, Ending(MessageStatus.ANSWERED, Role.ASSISTANT, "There."), now + number)

    await site.store.write(talk)
    assert (await state(site))["hasReply"] is True
