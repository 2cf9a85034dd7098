"""Crons and heartbeats over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.calendar import for_people
from arvis.domain.agents import Agent
from arvis.ports.store import Transaction
from tests.flows.web_server import OPERATOR_KEY, VIEWER_KEY, Site, running_site

ALL = "/api/schedules"
SCRIPT = {"type": "script", "url": "https://example.com", "template": "{{price}}"}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    def begin(tx: Transaction) -> None:
        for number, slug in enumerate(("helper", "other")):
            tx.agents.add(Agent(id=f"a{number}", slug=slug, name=slug, timezone="Europe/Berlin"), 0)

    async with running_site(tmp_path, real_insights=True) as site:
        await site.store.write(begin)
        yield site


def wanted(**changes: Any) -> dict[str, Any]:
    fields = {
        "kind": "cron", "agent": "helper", "name": "report", "schedule": "0 8 * * *", "prompt": "Report.",
        "platform": "telegram", "channelId": "1234567890123456789",
    }  # fmt: skip
    return {name: value for name, value in {**fields, **changes}.items() if value is not None}


async def made(site: Site, **changes: Any) -> dict[str, Any]:
    answer = await site.call("POST", ALL, json=wanted(**changes))
    assert answer.status == 201, answer.text
    found = answer.json()
    assert isinstance(found, dict)
    return found


async def test_a_schedule_is_made_with_its_next_five_times(site: Site) -> None:
    answer = await made(site, timezone="Asia/Tokyo")
    assert [line[-5:] for line in for_people(answer["nextRuns"], "Asia/Tokyo").split(", ")] == ["08:00"] * 5
    assert answer["nextRuns"] == sorted(set(answer["nextRuns"]))
    assert answer["nextRuns"][0] == answer["nextRun"] > site.clock.now()
    fields = ("kind", "agent", "channelId", "missed", "enabled", "script", "lastRun", "connector")
    assert {name: answer[name] for name in fields} == {
        "kind": "cron", "agent": "helper", "channelId": "1234567890123456789", "missed": "once", "enabled": True,
        "script": None, "lastRun": None, "connector": "",
    }  # fmt: skip
    assert (await site.call("GET", f"{ALL}/{answer['id']}")).json() == answer
    row = await site.store.read(lambda tx: tx.schedules.get(answer["id"]))
    owner = await site.store.read(lambda tx: tx.principals.find("web", "owner"))
    assert row is not None
    assert owner is not None
    assert row.principal_id == owner.id


async def test_schedules_are_listed_filtered_and_paged(site: Site) -> None:
    cron = await made(site)
    beat = await made(site, kind="heartbeat", agent="other", schedule="every 5s", script=SCRIPT, prompt=None, name=None)
    shown = (await site.call("GET", ALL)).json()
    assert [item["id"] for item in shown["items"]] == [beat["id"], cron["id"]]
    for query, ids in {
        "kind=cron": [cron["id"]], "agent=other": [beat["id"]], "agent=a1&kind=heartbeat": [beat["id"]], "agent=x": [],
        f"cursor={beat['id']}": [cron["id"]],
    }.items():  # fmt: skip
        assert [item["id"] for item in (await site.call("GET", f"{ALL}?{query}")).json()["items"]] == ids
    assert (await site.call("GET", f"{ALL}?limit=1")).json()["nextCursor"] == beat["id"]
    assert (await site.call("GET", f"{ALL}?kind=wish")).status == 422


async def test_what_is_named_is_changed(site: Site) -> None:
    before = await made(site)
    path = f"{ALL}/{before['id']}"
    after = (await site.call("PATCH", path, json={"schedule": "@hourly", "enabled": True, "prompt": "Less."})).json()
    assert (after["schedule"], after["prompt"], after["name"]) == ("@hourly", "Less.", "report")
    assert after["nextRun"] - site.clock.now() <= 3_600_000
    off = (await site.call("PATCH", path, json={"enabled": False})).json()
    assert (off["enabled"], off["nextRun"], off["nextRuns"]) == (False, None, [])
    assert (await site.call("PATCH", path, json={"timezone": "Mars/Olympus"})).code == "bad_timezone"
    again = (await site.call("PATCH", path, json={"enabled": True, "timezone": None, "connector": "second"})).json()
    assert (again["connector"], len(again["nextRuns"])) == ("second", 5)
    assert (await site.call("DELETE", path)).json() == {"ok": True}
    for method, body in (("GET", None), ("PATCH", {"name": "x"}), ("DELETE", None)):
        assert (await site.call(method, path, json=body)).status == 404


async def test_what_was_done_last_is_undone(site: Site) -> None:
    first = await made(site)
    path = f"{ALL}/{first['id']}"

    async def undone() -> Any:
        return (await site.call("POST", f"{path}/undo", key=OPERATOR_KEY)).json()["schedule"]

    def fixed(schedule: dict[str, Any]) -> dict[str, Any]:
        return {**schedule, "updatedAt": 0, "nextRun": 0, "nextRuns": []}

    await site.call("PATCH", path, json={"prompt": "Less.", "schedule": "@hourly"})
    assert fixed(await undone()) == fixed(first)
    await site.call("DELETE", path)
    assert fixed(await undone()) == fixed(first)
    other = await made(site, name="other")
    path = f"{ALL}/{other['id']}"
    assert await undone() is None
    assert (await site.call("GET", path)).status == 404
    assert (await site.call("POST", f"{path}/undo", key=VIEWER_KEY)).status == 403
    assert (await site.call("POST", f"{ALL}/none/undo")).status == 404


UNUSABLE: list[tuple[dict[str, Any], int]] = [
    ({"schedule": "soon"}, 422), ({"schedule": None}, 422), ({"schedule": "every 10s"}, 422), ({"agent": None}, 422),
    ({"agent": "nobody"}, 404), ({"kind": "wish"}, 422), ({"kind": None}, 422), ({"prompt": None}, 422),
    ({"prompt": "x" * 9_000}, 422), ({"platform": ""}, 422), ({"channelId": None}, 422), ({"missed": "x"}, 422),
    ({"script": SCRIPT}, 422), ({"kind": "heartbeat", "script": {"type": "x"}}, 422), ({"enabled": "yes"}, 422),
    ({"graph": "code"}, 422), ({"timezone": "Mars/Olympus"}, 422), ({"name": "a\nb"}, 422), ({"script": "x"}, 422),
]  # fmt: skip


async def test_what_cannot_be_a_schedule(site: Site) -> None:
    for change, status in UNUSABLE:
        answer = await site.call("POST", ALL, json=wanted(**change))
        assert answer.status == status, change
        assert answer.code
    assert (await site.call("GET", ALL)).json()["items"] == []


async def test_limits_are_conflicts(site: Site) -> None:
    await made(site)
    assert (await site.call("POST", ALL, json=wanted())).status == 409
    for number in range(9):
        await made(site, name=f"n{number}")
    assert (await site.call("POST", ALL, json=wanted(name="one more"))).code == "too_many_schedules"


async def test_operators_may_and_viewers_may_not(site: Site) -> None:
    answer = await site.call("POST", ALL, key=OPERATOR_KEY, json=wanted())
    assert answer.status == 201
    path = f"{ALL}/{answer.json()['id']}"
    for method, where in (("GET", ALL), ("POST", ALL), ("GET", path), ("PATCH", path), ("DELETE", path)):
        assert (await site.call(method, where, key=VIEWER_KEY, json={})).status == 403
