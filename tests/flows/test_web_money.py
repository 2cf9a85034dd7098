"""Usage, customers and their charges over HTTP, on the real store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.messages import PrincipalRole
from arvis.domain.money import Spender, SpendingLimits
from arvis.domain.runs import ModelCall
from arvis.llm.budgets import settle
from arvis.ports.store import Transaction
from tests.flows.web_server import CHAT_KEY, OPERATOR_KEY, OWNER_KEY, VIEWER_KEY, Site, running_site


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        yield site


def _spend(tx: Transaction, now: int, client_id: str | None) -> str:
    """Book three calls of two agents' turns, and return the person's id."""
    tx.agents.add(Agent(id="a1", slug="helper", name="Helper"), now)
    ann = tx.principals.seen("telegram", "u1", "Ann", PrincipalRole.MEMBER, now)
    for number, (agent, model, cost) in enumerate(
        [("a1", "big", 3_000_000), ("a1", "big", 0), (None, "small", 20_000)]
    ):
        error = "timeout" if number == 1 else None
        call = ModelCall(
            tx.new_id(), "main", "openai", model, now, 5, 100, 10, cost, 40, error=error, priced=number < 1
        )
        who = Spender(
            execution_id=f"t{number}", visit="1", turn=f"t{number}", job_id="j", agent_id=agent,
            principal_id=ann.id, client_id=client_id,
        )  # fmt: skip
        settle(tx, who, SpendingLimits(), (call,), now)
    return ann.id


# -- usage -------------------------------------------------------------------------------------------------


async def test_usage_by_whatever_one_wants_to_know(site: Site) -> None:
    client = (await site.call("POST", "/api/clients", json={"name": "ACME"})).json()["id"]
    ann = await site.store.write(_spend, site.clock.now(), client)

    async def groups(by: str) -> list[tuple[str, str, int, float]]:
        report = (await site.call("GET", f"/api/usage?by={by}")).json()
        assert report["by"] == by
        return [(group["key"], group["name"], group["calls"], group["costUsd"]) for group in report["groups"]]

    assert await groups("agent") == [("a1", "helper", 2, 3.0), ("", "", 1, 0.02)]
    assert await groups("model") == [("openai/big", "openai/big", 2, 3.0), ("openai/small", "openai/small", 1, 0.02)]
    assert await groups("account") == [("main", "main", 3, 3.02)]
    assert await groups("client") == [(client, "ACME", 3, 3.02)]
    assert await groups("principal") == [(ann, "Ann (telegram)", 3, 3.02)]
    ((day, _, calls, cost),) = await groups("day")
    assert (len(day), calls, cost) == (10, 3, 3.02)
    total = (await site.call("GET", f"/api/usage?since={day}", key=OPERATOR_KEY)).json()["total"]
    assert total == {
        "calls": 3, "inputTokens": 300, "outputTokens": 30, "cachedTokens": 120, "cacheWriteTokens": 0, "costUsd": 3.02,
        "errors": 1, "unpriced": 1, "averageMs": 5, "success": 0.6667,
    }  # fmt: skip
    for empty in ("until=2020-01-01", f"since={site.clock.now() + 60_000}"):
        assert (await site.call("GET", f"/api/usage?{empty}")).json()["total"]["calls"] == 0


async def test_days_are_split_by_agent_model_account_or_client(site: Site) -> None:
    client = (await site.call("POST", "/api/clients", json={"name": "ACME"})).json()["id"]
    await site.store.write(_spend, site.clock.now(), client)

    async def points(split: str) -> list[tuple[str, str, int, float, int]]:
        report = (await site.call("GET", f"/api/usage?split={split}")).json()
        (day,) = [group["key"] for group in report["groups"]]
        assert (report["split"], {each["day"] for each in report["points"]}) == (split, {day})
        return [
            (each["key"], each["name"], each["calls"], each["costUsd"], each["errors"]) for each in report["points"]
        ]

    assert await points("agent") == [("a1", "helper", 2, 3.0, 1), ("", "", 1, 0.02, 0)]
    assert await points("model") == [("openai/big",) * 2 + (2, 3.0, 1), ("openai/small",) * 2 + (1, 0.02, 0)]
    assert await points("account") == [("main", "main", 3, 3.02, 1)]
    assert await points("client") == [(client, "ACME", 3, 3.02, 1)]
    assert (await site.call("GET", "/api/usage")).json()["points"] == []


async def test_the_eight_dearest_are_shown_and_the_rest_is_one(site: Site) -> None:
    await site.store.write(_spend_on_models, site.clock.now())
    points = (await site.call("GET", "/api/usage?split=model")).json()["points"]
    assert [each["key"] for each in points] == [*(f"openai/m{number}" for number in range(11, 3, -1)), "*"]
    assert (points[-1]["name"], points[-1]["calls"], points[-1]["costUsd"]) == ("others", 4, 0.6)
    report = (await site.call("GET", "/api/usage?by=account")).json()["groups"]
    assert [(each["averageMs"], each["success"]) for each in report] == [(5, 1.0)]


def _spend_on_models(tx: Transaction, now: int) -> None:
    for number in range(12):
        call = ModelCall(tx.new_id(), "main", "openai", f"m{number}", now, 5, 1, 1, number * 100_000, 0, priced=True)
        who = Spender(
            execution_id=f"t{number}", visit="1", turn=f"t{number}", job_id="j", agent_id=None, principal_id=None,
            client_id=None,
        )  # fmt: skip
        settle(tx, who, SpendingLimits(), (call,), now)


@pytest.mark.parametrize(
    "query",
    [
        "split=mood",
        "by=agent&split=model",
        "by=mood",
        "since=yesterday",
        "until=2026-13-01",
        "since=-1",
        "since=9999999-01-01",
    ],
)
async def test_a_wrong_question_is_unprocessable(site: Site, query: str) -> None:
    assert (await site.call("GET", f"/api/usage?{query}")).status == 422


# -- clients -----------------------------------------------------------------------------------------------


async def test_a_client_is_made_changed_and_listed(site: Site) -> None:
    body = {"name": "ACME", "plan": "prepaid", "pricePerTaskUsd": 0.25, "tokenFactor": 1.5, "monthlyLimitUsd": 20}
    made = await site.call("POST", "/api/clients", json=body)
    assert made.status == 201
    client = made.json()
    assert body.items() <= client.items()
    assert (client["status"], client["balanceUsd"], client["channels"]) == ("active", 0, [])
    path = f"/api/clients/{client['id']}"
    changed = (await site.call("PATCH", path, json={"status": "paused", "monthlyLimitUsd": None})).json()
    assert (changed["status"], changed["monthlyLimitUsd"], changed["plan"]) == ("paused", None, "prepaid")
    again = await site.call("POST", "/api/clients", json={"name": "ACME"})
    assert (again.status, again.code) == (409, "name_taken")
    other = (await site.call("POST", "/api/clients", json={"name": "Bolt"})).json()
    assert (await site.call("PATCH", path, json={"name": "Bolt"})).status == 409
    listed = (await site.call("GET", "/api/clients?limit=1", key=OPERATOR_KEY)).json()
    assert [each["id"] for each in listed["items"]] == [other["id"]]
    rest = (await site.call("GET", f"/api/clients?cursor={listed['nextCursor']}")).json()
    assert ([each["name"] for each in rest["items"]], rest["nextCursor"]) == (["ACME"], None)


async def test_what_was_done_last_to_a_client_is_undone(site: Site) -> None:
    client = (await site.call("POST", "/api/clients", json={"name": "ACME", "plan": "prepaid"})).json()
    path = f"/api/clients/{client['id']}"
    await site.call("PATCH", path, json={"name": "Bolt", "status": "paused"})
    back = (await site.call("POST", f"{path}/undo")).json()
    assert {**back, "updatedAt": 0} == {**client, "updatedAt": 0}
    new = (await site.call("POST", "/api/clients", json={"name": "New"})).json()["id"]
    assert (await site.call("POST", f"/api/clients/{new}/undo")).json()["status"] == "archived"
    assert (await site.call("POST", f"{path}/undo", key=OPERATOR_KEY)).status == 403
    assert (await site.call("POST", "/api/clients/none/undo")).status == 404


async def test_a_channel_has_one_client(site: Site) -> None:
    first, second = [(await site.call("POST", "/api/clients", json={"name": n})).json()["id"] for n in "AB"]
    hall = {"platform": "telegram", "channel": "-100:7/8"}
    for client in (first, second):
        bound = await site.call("POST", f"/api/clients/{client}/channels", json=hall)
        assert bound.json()["channels"] == [hall]
    assert (await site.call("GET", f"/api/clients/{first}")).json()["channels"] == []
    where = "platform=telegram&channel=-100:7/8"
    assert (await site.call("DELETE", f"/api/clients/{first}/channels?{where}")).status == 404
    assert (await site.call("DELETE", f"/api/clients/{second}/channels?{where}")).json()["channels"] == []
    assert (await site.call("DELETE", f"/api/clients/{second}/channels?platform=telegram")).status == 422


async def test_a_payment_adds_and_everything_else_subtracts(site: Site) -> None:
    client = (await site.call("POST", "/api/clients", json={"name": "ACME"})).json()["id"]
    path = f"/api/clients/{client}"
    entered = [
        ("payment", 50, "paid"), ("subscription", 19.99, "pending"), ("adjustment", 0.000001, "approved"),
        ("adjustment", -5, "approved"),
    ]  # fmt: skip
    for kind, amount, status in entered:
        line = await site.call("POST", f"{path}/charges", json={"type": kind, "amountUsd": amount})
        assert (line.status, line.json()["amountUsd"], line.json()["status"]) == (201, amount, status)
    assert (await site.call("GET", path)).json()["balanceUsd"] == 35.009999
    lines = (await site.call("GET", f"{path}/charges?limit=3", key=OPERATOR_KEY)).json()
    assert [line["type"] for line in lines["items"]] == ["adjustment", "adjustment", "subscription"]
    summary = (await site.call("GET", f"{path}/summary?limit=2")).json()
    assert (summary["chargedUsd"], summary["paidUsd"], summary["balanceUsd"]) == (14.990001, 50, 35.009999)
    assert (len(summary["items"]), summary["nextCursor"] is None) == (2, False)
    before = (await site.call("GET", f"{path}/summary?month=2020-02")).json()
    assert (before["chargedUsd"], before["paidUsd"], before["balanceUsd"], before["items"]) == (0, 0, 35.009999, [])
    line_id = lines["items"][2]["id"]
    judged = await site.call("PATCH", f"{path}/charges/{line_id}", json={"status": "disputed"})
    assert judged.status == 200
    statuses = [line["status"] for line in (await site.call("GET", f"{path}/charges")).json()["items"]]
    assert statuses == ["approved", "approved", "disputed", "paid"]
    assert (await site.call("PATCH", f"{path}/charges/none", json={"status": "paid"})).status == 404


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("", {}),
        ("", {"name": ""}),
        ("", {"name": "A", "plan": "gold"}),
        ("", {"name": "A", "pricePerTaskUsd": -1}),
        ("", {"name": "A", "pricePerTaskUsd": True}),
        ("", {"name": "A", "tokenFactor": 1001}),
        ("", {"name": "A", "monthlyLimitUsd": "5"}),
        ("", {"name": "A", "notes": "x" * 10_001}),
        ("/charges", {"type": "task", "amountUsd": 1}),
        ("/charges", {"type": "payment"}),
        ("/charges", {"type": "payment", "amountUsd": -1}),
        ("/charges", {"type": "payment", "amountUsd": 0.0000001}),
        ("/charges", {"type": "adjustment", "amountUsd": 1e12}),
        ("/summary?month=2026-13", None),
        ("/summary?month=202611", None),
    ],
)
async def test_what_cannot_be_is_unprocessable(site: Site, path: str, body: Any) -> None:
    client = (await site.call("POST", "/api/clients", json={"name": "ACME"})).json()["id"]
    where = f"/api/clients/{client}{path}" if path else "/api/clients"
    answer = await site.call("GET", where) if body is None else await site.call("POST", where, json=body)
    assert answer.status == 422


async def test_who_may_read_and_who_may_write(site: Site) -> None:
    client = (await site.call("POST", "/api/clients", key=OWNER_KEY, json={"name": "ACME"})).json()["id"]
    one = f"/api/clients/{client}"
    for key, status in [(OPERATOR_KEY, 200), (VIEWER_KEY, 403), (CHAT_KEY, 403)]:
        for path in ("/api/usage", "/api/clients", one, f"{one}/charges", f"{one}/summary"):
            assert (await site.call("GET", path, key=key)).status == status
        assert (await site.call("POST", "/api/clients", key=key, json={"name": "B"})).status == 403
        assert (await site.call("PATCH", one, key=key, json={"name": "B"})).status == 403
        assert (await site.call("POST", f"{one}/charges", key=key, json={})).status == 403
    for method, path in [("GET", ""), ("GET", "/charges"), ("GET", "/summary"), ("PATCH", "")]:
        body: dict[str, Any] = {"json": {}} if method == "PATCH" else {}
        assert (await site.call(method, f"/api/clients/none{path}", **body)).status == 404
    charge = {"type": "payment", "amountUsd": 1}
    assert (await site.call("POST", "/api/clients/none/charges", json=charge)).status == 404
