"""Crons and heartbeats over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.calendar import for_people
from arvis.domain.agents import Agent
from arvis.domain.events import SchedulesChanged
from arvis.domain.schedules import OccurrenceStatus
from arvis.ports.store import Transaction
from arvis.services import schedule_runs
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
    fields = ("kind", "agent", "channelId", "misfirePolicy", "enabled", "script", "lastRun", "connector")
    later = ("thread", "misfireGraceMs", "graph", "maxIterations", "createdBy", "failures", "pausedUntil")
    assert [answer[name] for name in later] == ["", None, None, 1, "api", 0, None]
    assert {name: answer[name] for name in fields} == {
        "kind": "cron", "agent": "helper", "channelId": "1234567890123456789", "misfirePolicy": "once", "enabled": True,
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
        f"cursor={beat['id']}": [cron["id"]], "createdBy=tool": [], "createdBy=api&kind=cron": [cron["id"]], "enabled=false": [],
        "enabled=true&agent=other": [beat["id"]],
    }.items():  # fmt: skip
        assert [item["id"] for item in (await site.call("GET", f"{ALL}?{query}")).json()["items"]] == ids
    assert (await site.call("GET", f"{ALL}?limit=1")).json()["nextCursor"] == beat["id"]
    for query in ("kind=wish", "createdBy=wish", "enabled=perhaps"):
        assert (await site.call("GET", f"{ALL}?{query}")).status == 422


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


async def test_how_it_works_is_chosen_and_taken_back(site: Site) -> None:
    chosen = {"graph": "overlord", "maxIterations": 5, "misfireGraceMs": 60_000, "thread": "t1", "misfirePolicy": "all"}
    chosen |= {"model": "openai/gpt-5", "effort": "low"}
    before = await made(site, kind="heartbeat", schedule="every 5 m", **chosen)
    assert {name: before[name] for name in chosen} == {**chosen, "graph": "heartbeat"}
    path = f"{ALL}/{before['id']}"
    for graph, kept in (("general", "agent"), ("planning", "planning"), ("code", "code"), ("handover", "handover")):
        assert (await site.call("PATCH", path, json={"graph": graph})).json()["graph"] == kept
    cleared = dict.fromkeys(("graph", "misfireGraceMs", "thread", "model", "effort"))
    after = (await site.call("PATCH", path, json={**cleared, "maxIterations": 1})).json()
    assert {name: after[name] for name in cleared} == {**cleared, "thread": ""}
    assert after["maxIterations"] == 1
    row = await site.store.read(lambda tx: tx.schedules.get(before["id"]))
    assert row is not None
    assert (row.graph, row.thread, row.missed) == (None, "", "all")


async def test_a_schedule_is_run_by_hand_and_its_history_told(site: Site) -> None:
    path = f"{ALL}/{(await made(site, platform='web', enabled=False))['id']}"
    assert (await site.call("GET", f"{path}/runs")).json() == {"items": [], "nextCursor": None}
    begun = await site.call("POST", f"{path}/run", key=OPERATOR_KEY)
    assert (begun.status, begun.json()["status"], begun.json()["cause"]) == (201, "running", "manual")
    assert (await site.call("POST", f"{path}/run")).code == "running"
    row = await site.store.read(lambda tx: tx.occurrences.get(begun.json()["id"]))
    assert row is not None
    await site.store.write(lambda tx: schedule_runs.end(tx, row, OccurrenceStatus.FAILED, "No.", site.clock.now()))
    again = (await site.call("POST", f"{path}/run")).json()
    told = (await site.call("GET", f"{path}/runs")).json()["items"]
    assert [(run["id"], run["status"], run["report"]) for run in told] == [
        (again["id"], again["status"], again["report"]), (begun.json()["id"], "failed", "No."),
    ]  # fmt: skip
    assert told[1]["executionId"] == begun.json()["executionId"]
    assert told[1]["endedAt"] >= told[1]["dueAt"]
    first = (await site.call("GET", f"{path}/runs?limit=1")).json()
    assert (len(first["items"]), first["nextCursor"]) == (1, told[0]["id"])
    assert (await site.call("GET", path)).json()["failures"] == 1
    await site.call("DELETE", path)
    assert len((await site.call("GET", f"{path}/runs")).json()["items"]) == 2
    for method, where in (("POST", f"{ALL}/none/run"), ("GET", f"{ALL}/none/runs"), ("POST", f"{path}/run")):
        assert (await site.call(method, where)).status == 404
    for method, where in (("POST", f"{path}/run"), ("GET", f"{path}/runs")):
        assert (await site.call(method, where, key=VIEWER_KEY)).status == 403


async def test_the_scheduler_hears_of_a_change(site: Site) -> None:
    heard: list[SchedulesChanged] = []
    site.bus.subscribe(SchedulesChanged, heard.append)
    path = f"{ALL}/{(await made(site))['id']}"
    await site.call("PATCH", path, json={"enabled": False})
    await site.call("POST", f"{path}/undo")
    assert len(heard) == 3


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
    ({"prompt": "x" * 9_000}, 422), ({"platform": ""}, 422), ({"channelId": None}, 422), ({"misfirePolicy": "x"}, 422),
    ({"maxIterations": 0}, 422), ({"maxIterations": 11}, 422), ({"misfireGraceMs": -1}, 422), ({"thread": "a\nb"}, 422),
    ({"effort": "huge"}, 422), ({"model": "two words"}, 422), ({"graph": ""}, 422), ({"kind": "heartbeat", "script": {**SCRIPT, "headers": {"Host": "x"}}}, 422),
    ({"script": SCRIPT}, 422), ({"kind": "heartbeat", "script": {"type": "x"}}, 422), ({"enabled": "yes"}, 422),
    ({"graph": "wish"}, 422), ({"timezone": "Mars/Olympus"}, 422), ({"name": "a\nb"}, 422), ({"script": "x"}, 422),
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
