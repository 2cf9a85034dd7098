"""The queue over HTTP, behind the whole path of a message: the data of the page, and actions on many jobs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.messages import MessageStatus
from tests.flows.app_harness import AppHarness
from tests.flows.scripted import Held
from tests.flows.web_server import OPERATOR_KEY, VIEWER_KEY, Site, running_site


@pytest.fixture
async def site(tmp_path: Path, app: AppHarness) -> AsyncIterator[Site]:
    (tmp_path / "web").mkdir()
    async with running_site(tmp_path / "web", behind=app) as site:
        yield site


async def failed(app: AppHarness, *texts: str) -> list[str]:
    """Send messages whose turns fail, each in its own channel."""
    ids = []
    for text in texts:
        app.provider.script.append(ProviderError(ProviderErrorKind.REFUSED, "not this"))
        received = await app.say(text, channel=text.split()[0])
        await app.until_status(received.message_id, MessageStatus.FAILED)
        ids.append(received.message_id)
    await app.until_sent(1, channel=texts[-1].split()[0])
    await app.until_idle()
    return ids


async def listed(site: Site, query: str) -> list[dict[str, Any]]:
    items = (await site.call("GET", f"/api/jobs?{query}", key=VIEWER_KEY)).json()["items"]
    assert isinstance(items, list)
    return items


async def test_a_row_says_what_it_is_about(site: Site, app: AppHarness) -> None:
    await failed(app, "one\n" + "x" * 200)
    (row,) = await listed(site, "status=failed")
    assert row["subject"] == "one " + "x" * 115 + "…"
    assert (row["agent"], row["person"], row["channelId"]) == ("helper", "Ann", "one")
    (sent,) = await listed(site, "kind=deliver")
    assert (sent["status"], sent["platform"], sent["connector"]) == ("done", "chat", row["connector"])


@pytest.mark.parametrize("query", ["status=failed,running", "status=failed,done", "agent=helper", "kind=message"])
async def test_filters_find_the_same_by_every_way(site: Site, app: AppHarness, query: str) -> None:
    await failed(app, "one", "two", "three")
    rows = [row for row in await listed(site, query) if row["kind"] == "message"]
    assert [row["subject"] for row in rows] == ["three", "two", "one"]
    first = (await site.call("GET", f"/api/jobs?{query}&limit=1")).json()
    rest = (await site.call("GET", f"/api/jobs?{query}&limit=200&cursor={first['nextCursor']}")).json()
    assert len(first["items"]) == 1
    assert first["items"][0]["id"] > max(row["id"] for row in rest["items"])


async def test_what_lives_is_found_by_its_lane(site: Site, app: AppHarness) -> None:
    held = Held()
    app.provider.script.append(held)
    await app.say("Wait")
    await held.until_begun()
    (row,) = await listed(site, "status=pending,running")
    assert (row["status"], row["subject"]) == ("running", "Wait")
    assert await listed(site, f"status=running&lane={row['lane']}") == [row]
    assert await listed(site, "status=running&lane=other") == []
    assert (await site.call("GET", "/api/jobs?status=lost,done")).status == 422


async def test_every_job_tells_its_story_in_one_form(site: Site, app: AppHarness) -> None:
    timeline = await app.ask("Hello")
    await app.until_sent(1)
    await app.until_idle()
    stories = {}
    for row in await listed(site, ""):
        story = (await site.call("GET", f"/api/jobs/{row['id']}/timeline", key=VIEWER_KEY)).json()
        stories[story["kind"]] = story
    told = stories["message"]
    assert told["explanation"].startswith("Answered by helper after ")
    call = next(step for step in told["steps"] if step["step"] == "model_call")
    assert (call["actor"], call["durationMs"] >= 0, call["costUsd"]) == ("scripted/model", True, 0.0)
    sent = stories["deliver"]
    assert (sent["content"], sent["explanation"][:10]) == (timeline.reply, "Done after")
    assert [step["step"] for step in sent["steps"]] == ["queued", "started", "delivery", "done"]
    shown = (await site.call("GET", f"/api/messages/{timeline.message.id}")).json()
    assert (shown["explanation"], shown["steps"]) == (told["explanation"], told["steps"])


async def test_other_words_are_asked_over_http(site: Site, app: AppHarness) -> None:
    (message_id,) = await failed(app, "rude")
    (row,) = await listed(site, "status=failed")
    path = f"/api/jobs/{row['id']}/retry"
    assert (await site.call("POST", path, key=VIEWER_KEY, json={"content": "kind"})).status == 403
    assert (await site.call("POST", path, key=OPERATOR_KEY, json={"content": " "})).status == 422
    answer = await site.call("POST", path, key=OPERATOR_KEY, json={"content": "kind"})
    assert (answer.status, answer.json()["subject"]) == (200, "kind")
    assert answer.json()["id"] != row["id"]
    await app.until_status(message_id, MessageStatus.ANSWERED)
    again = await site.call("POST", path, key=OPERATOR_KEY, json={"content": "kinder"})
    assert (again.status, again.code) == (409, "conflict")


async def test_a_message_is_tried_again(site: Site, app: AppHarness) -> None:
    (message_id,) = await failed(app, "rude")
    path = f"/api/messages/{message_id}/retry"
    assert (await site.call("POST", path, key=VIEWER_KEY)).status == 403
    assert (await site.call("POST", path, key=OPERATOR_KEY)).status == 200
    await app.until_status(message_id, MessageStatus.ANSWERED)
    assert (await site.call("POST", path, key=OPERATOR_KEY)).status == 409


async def test_many_are_done_at_once_each_for_itself(site: Site, app: AppHarness) -> None:
    await failed(app, "one", "two")
    ids = [row["id"] for row in await listed(site, "status=failed")]
    body = {"action": "retry", "ids": [*ids, "nothing", ids[0]]}
    assert (await site.call("POST", "/api/jobs/bulk", key=VIEWER_KEY, json=body)).status == 403
    answer = (await site.call("POST", "/api/jobs/bulk", key=OPERATOR_KEY, json=body)).json()
    assert answer["done"] == 2
    assert [(each["id"], each["code"]) for each in answer["refused"]] == [("nothing", "not_found")]
    await app.until_idle()
    found = {"action": "delete", "filter": {"status": "done", "kind": "message"}}
    answer = (await site.call("POST", "/api/jobs/bulk", key=OPERATOR_KEY, json=found)).json()
    assert (answer["done"], answer["refused"], answer["remaining"], answer["nextCursor"]) == (2, [], 0, None)
    assert await listed(site, "kind=message") == []


@pytest.mark.parametrize(
    "body",
    [
        {"action": "retry"},
        {"action": "dance", "ids": ["a"]},
        {"action": "retry", "ids": []},
        {"action": "retry", "ids": [f"{number}" for number in range(501)]},
        {"action": "retry", "ids": ["a"], "filter": {"status": "failed"}},
        {"action": "delete", "filter": {}},
        {"action": "delete", "filter": {"status": "lost"}},
        {"action": "delete", "filter": {"kind": "dance"}},
    ],
)
async def test_what_is_asked_of_many_is_checked(site: Site, body: dict[str, Any]) -> None:
    answer = await site.call(
        "POST", "/api/jobs/bulk", data=json.dumps(body), headers={"Content-Type": "application/json"}
    )
    assert (answer.status, answer.code) == (422, "unprocessable")
