"""Workflows over HTTP: stored in versions, checked, imported, exported and removed."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.events import Changed
from arvis.domain.versions import Versioned
from arvis.ports.store import Transaction
from tests.flows.web_server import CHAT_KEY, OPERATOR_KEY, VIEWER_KEY, Site, running_site

ALL = "/api/workflows"


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    def begin(tx: Transaction) -> None:
        tx.agents.add(Agent(id="a1", slug="helper", name="helper"), 0)

    async with running_site(tmp_path, real_insights=True) as site:
        await site.store.write(begin)
        yield site


def drawn(task: str = "Sum it up: {{PREVIOUS_OUTPUT}}", **data: Any) -> dict[str, Any]:
    return {
        "nodes": [
            {"id": "s", "type": "start", "x": 0, "y": 0, "data": {"initialInput": "news"}},
            {"id": "a", "type": "agent", "x": 200, "y": 0, "data": {"agentName": "Writer", "userPrompt": task, **data}},
        ],
        "connections": [{"source": "s", "target": "a"}],
    }


def triggered(words: str = "invoice") -> dict[str, Any]:
    nodes = [
        {"id": "t", "type": "trigger", "data": {"kind": "message", "words": words}},
        {"id": "a", "type": "agent", "data": {}},
    ]
    return {"nodes": nodes, "connections": [{"source": "t", "target": "a"}]}


async def made(site: Site, name: str, document: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    answer = await site.call("POST", ALL, json={"name": name, "document": document or drawn(), **more})
    assert answer.status == 201, answer.text
    found = answer.json()
    assert isinstance(found, dict)
    return found


# -- saving ------------------------------------------------------------------------------------------------


async def test_a_new_one_has_a_slug_a_version_and_its_document_in_one_form(site: Site) -> None:
    found = await made(site, "Daily digest", note="first")
    shown = {
        name: found[name] for name in ("slug", "version", "runnable", "problemCount", "problems", "note", "enabled")
    }
    assert shown == {
        "slug": "daily-digest", "version": 1, "runnable": 1, "problemCount": 0, "problems": [], "note": "first",
        "enabled": True,
    }  # fmt: skip
    assert found["document"]["schema"] == 1
    assert found["document"]["connections"][0] | {"id": ""} == {
        "id": "", "source": "s", "target": "a", "sourceHandle": "", "targetHandle": "",
    }  # fmt: skip
    assert (await site.call("GET", f"{ALL}/daily-digest")).json() == found
    assert (await made(site, "Daily digest"))["slug"] == "daily-digest-2"


async def test_one_with_errors_is_refused_with_all_of_them_and_kept_as_a_draft(site: Site) -> None:
    document = drawn(agent="nobody")
    refused = await site.call("POST", ALL, json={"name": "Broken", "document": document})
    assert (refused.status, refused.code) == (422, "problems")
    (problem,) = refused.json()["problems"]
    assert (problem["node"], problem["field"], problem["severity"]) == ("a", "agent", "error")
    assert problem["message"]
    assert problem["fix"]
    kept = await made(site, "Broken", document, draft=True)
    assert (kept["version"], kept["runnable"], kept["problemCount"]) == (1, None, 1)
    assert kept["problems"] == [problem]


def called(kind: str = "schedule", **data: Any) -> dict[str, Any]:
    nodes = [{"id": "t", "type": "trigger", "data": {"kind": kind}}, {"id": "a", "type": "agent", "data": data}]
    return {"nodes": nodes, "connections": [{"source": "t", "target": "a"}]}


async def test_a_trigger_that_no_schedule_calls_is_warned_of_until_one_does(site: Site) -> None:
    found = await made(site, "Digest", called())
    (problem,) = found["problems"]
    assert (problem["rule"], problem["severity"], problem["node"]) == ("trigger-idle", "warning", "t")
    assert "arvis schedules create" in problem["fix"]
    assert (await site.call("GET", "/api/names?workflow=digest")).json()["activeTriggers"] == []
    schedule = {
        "kind": "cron",
        "agent": "helper",
        "name": "daily",
        "schedule": "0 9 * * *",
        "graph": "workflow:digest",
        "platform": "web",
        "channelId": "agent:helper",
        "prompt": "news",
    }
    answer = await site.call("POST", "/api/schedules", json=schedule)
    assert answer.status == 201, answer.text
    assert (await site.call("GET", f"{ALL}/digest")).json()["problems"] == []
    assert (await site.call("GET", "/api/names?workflow=digest")).json()["activeTriggers"] == ["schedule"]
    checked = await site.call("POST", f"{ALL}/validate", json={"document": called()})
    assert [each["rule"] for each in checked.json()["problems"]] == ["trigger-idle"]
    saved = await site.call("POST", f"{ALL}/validate", json={"document": called(), "workflow": "digest"})
    assert saved.json()["problems"] == []
    gone = await site.call("POST", f"{ALL}/validate", json={"document": called(), "workflow": "gone"})
    assert gone.status == 404
    paused = await site.call("PATCH", f"/api/schedules/{answer.json()['id']}", json={"enabled": False})
    assert paused.status == 200, paused.text
    assert (await site.call("GET", f"{ALL}/digest")).json()["problems"] == [problem]


@pytest.mark.parametrize("kind", ["calendar", "workbench"])
async def test_a_trigger_that_nothing_here_begins_is_warned_of(site: Site, kind: str) -> None:
    (problem,) = (await made(site, "Never", called(kind)))["problems"]
    assert (problem["rule"], problem["severity"]) == ("trigger-unserved", "warning")


async def test_without_a_document_it_is_a_start_to_draw_on(site: Site) -> None:
    answer = await site.call("POST", ALL, json={"name": "Blank"})
    assert answer.status == 201, answer.text
    assert [node["type"] for node in answer.json()["document"]["nodes"]] == ["start"]


async def test_a_changed_document_is_a_new_version_and_the_same_is_none(site: Site) -> None:
    await made(site, "Changing")
    same = (await site.call("PATCH", f"{ALL}/changing", json={"document": drawn(), "name": "Renamed"})).json()
    assert (same["version"], same["name"]) == (1, "Renamed")
    answer = await site.call(
        "PATCH", f"{ALL}/changing", json={"document": drawn("Other."), "note": "better", "version": 1}
    )
    assert (answer.json()["version"], answer.json()["note"], answer.json()["runnable"]) == (2, "better", 2)
    draft = await site.call("PATCH", f"{ALL}/changing", json={"document": drawn(agent="nobody"), "draft": True})
    assert (draft.json()["version"], draft.json()["runnable"]) == (3, 2)


async def test_who_edited_an_old_version_is_told_and_nothing_is_written(site: Site) -> None:
    await made(site, "Two editors")
    await site.call("PATCH", f"{ALL}/two-editors", json={"document": drawn("Mine."), "version": 1})
    answer = await site.call("PATCH", f"{ALL}/two-editors", json={"document": drawn("Theirs."), "version": 1})
    assert (answer.status, answer.code) == (409, "saved_meanwhile")
    assert (await site.call("GET", f"{ALL}/two-editors")).json()["version"] == 2


async def test_of_two_who_save_at_once_one_is_told(site: Site) -> None:
    await made(site, "At once")
    saves = [{"document": drawn(text), "version": 1} for text in ("One.", "Two.")]
    answers = await asyncio.gather(*(site.call("PATCH", f"{ALL}/at-once", json=save) for save in saves))
    assert sorted(answer.status for answer in answers) == [200, 409]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"name": "X", "slug": "taken"}, 409, "slug_taken"),
        ({"name": "X", "slug": "Not a slug"}, 422, "unprocessable"),
        ({"name": "X", "slug": "kinds"}, 422, "unprocessable"),
        ({"name": " "}, 422, "unprocessable"),
        ({"name": "x" * 101}, 422, "unprocessable"),
        ({"name": "X", "description": "x" * 2001}, 422, "unprocessable"),
        ({"name": "X", "documents": {}}, 422, "unknown_field"),
        ({"name": "X", "draft": "yes"}, 422, "unprocessable"),
        ({"slug": "x"}, 422, "unprocessable"),
    ],
)
async def test_what_cannot_be_kept(site: Site, body: dict[str, Any], status: int, code: str) -> None:
    await made(site, "Taken")
    answer = await site.call("POST", ALL, json={"document": drawn(), **body})
    assert (answer.status, answer.code) == (status, code)


async def test_more_than_a_megabyte_is_not_read(site: Site) -> None:
    body = io.BytesIO(json.dumps({"name": "Large", "document": drawn("x" * 1_100_000)}).encode())
    answer = await site.call("POST", ALL, data=body, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.code) == (413, "too_large")


async def test_a_removed_one_is_found_no_more_and_its_slug_is_free(site: Site) -> None:
    found = await made(site, "Passing", triggered())
    heard: list[Changed] = []
    site.bus.subscribe(Changed, heard.append)
    assert (await site.call("DELETE", f"{ALL}/passing")).json() == {"ok": True}
    assert heard == [Changed("workflows", "passing")]
    for name in ("passing", found["id"]):
        assert (await site.call("GET", f"{ALL}/{name}")).code == "unknown_workflow"
    assert (await site.call("GET", ALL)).json()["items"] == []
    assert await site.store.read(lambda tx: tx.workflows.triggers("message", 10).rows) == []
    assert (await made(site, "Passing"))["id"] != found["id"]


async def test_who_changed_it_is_kept(site: Site) -> None:
    found = await made(site, "Told")
    await site.call("PATCH", f"{ALL}/told", json={"enabled": False})
    await site.call("DELETE", f"{ALL}/told")
    told = await site.store.read(lambda tx: tx.versions.newest(Versioned.WORKFLOW, found["id"], 5))
    assert [each.data and each.data["enabled"] for each in told] == [None, False, True, None]
    assert all(each.by_id for each in told[:3])


# -- triggers ----------------------------------------------------------------------------------------------


async def test_what_begins_it_follows_its_runnable_version_while_it_is_on(site: Site) -> None:
    async def words() -> list[str]:
        return [each.words for each in await site.store.read(lambda tx: tx.workflows.triggers("message", 10).rows)]

    found = await made(site, "Begun", triggered())
    assert (await words(), found["triggers"]) == (["invoice"], ["message"])
    await site.call("PATCH", f"{ALL}/begun", json={"document": triggered("bill")})
    assert await words() == ["bill"]
    broken = triggered("draft")
    broken["nodes"][1]["data"]["agent"] = "nobody"
    await site.call("PATCH", f"{ALL}/begun", json={"document": broken, "draft": True})
    assert await words() == ["bill"]
    await site.call("PATCH", f"{ALL}/begun", json={"enabled": False})
    assert await words() == []
    await site.call("PATCH", f"{ALL}/begun", json={"enabled": True})
    assert await words() == ["bill"]


# -- lists and versions ------------------------------------------------------------------------------------


async def test_the_list_is_searched_filtered_and_paged(site: Site) -> None:
    for name in ("Alpha", "Beta 100%", "Gamma"):
        await made(site, name, enabled=name != "Gamma")
    names = [each["name"] for each in (await site.call("GET", ALL)).json()["items"]]
    assert names == ["Gamma", "Beta 100%", "Alpha"]
    for query, expected in (("q=bETA", ["Beta 100%"]), ("q=0%25", ["Beta 100%"]), ("enabled=false", ["Gamma"])):
        assert [each["name"] for each in (await site.call("GET", f"{ALL}?{query}")).json()["items"]] == expected
    first = (await site.call("GET", f"{ALL}?limit=2")).json()
    rest = (await site.call("GET", f"{ALL}?limit=2&cursor={first['nextCursor']}")).json()
    assert [each["name"] for each in rest["items"]] == ["Alpha"]
    assert rest["nextCursor"] is None


async def test_versions_are_listed_shown_and_brought_back(site: Site) -> None:
    await made(site, "Versioned")
    for text in ("Two.", "Three."):
        await site.call("PATCH", f"{ALL}/versioned", json={"document": drawn(text), "note": text})
    page = (await site.call("GET", f"{ALL}/versioned/versions?limit=2")).json()
    assert [(each["version"], each["note"]) for each in page["items"]] == [(3, "Three."), (2, "Two.")]
    rest = (await site.call("GET", f"{ALL}/versioned/versions?cursor={page['nextCursor']}")).json()
    assert [each["version"] for each in rest["items"]] == [1]
    old = (await site.call("GET", f"{ALL}/versioned/versions/2")).json()
    assert old["document"]["nodes"][1]["data"]["userPrompt"] == "Two."
    back = await site.call("POST", f"{ALL}/versioned/versions/2/restore")
    assert (back.json()["version"], back.json()["document"]) == (4, old["document"])
    for number in ("9", "0", "x"):
        assert (await site.call("GET", f"{ALL}/versioned/versions/{number}")).status == 404


# -- documents ---------------------------------------------------------------------------------------------


async def test_a_document_is_checked_without_being_kept_and_nobody_is_told(site: Site) -> None:
    heard: list[Changed] = []
    site.bus.subscribe(Changed, heard.append)
    answer = (
        await site.call("POST", f"{ALL}/validate", json={"document": drawn(agent="nobody")}, key=VIEWER_KEY)
    ).json()
    assert (answer["runnable"], [each["node"] for each in answer["problems"]]) == (False, ["a"])
    assert (await site.call("POST", f"{ALL}/validate", json={"document": drawn(agent="helper")})).json()["runnable"]
    assert (await site.call("POST", f"{ALL}/validate", json={})).status == 422
    assert (await site.call("GET", ALL)).json()["items"] == []
    assert heard == []


async def test_kinds_schema_and_examples_are_there(site: Site) -> None:
    kinds = (await site.call("GET", f"{ALL}/kinds", key=VIEWER_KEY)).json()
    assert {"start", "agent", "if", "approval", "merge"} <= {kind["name"] for kind in kinds["kinds"]}
    (routes,) = [kind["rowHandles"] for kind in kinds["kinds"] if kind["name"] == "router"]
    assert routes == {"field": "routes", "prefix": "route-"}
    assert (await site.call("GET", f"{ALL}/schema")).json()["type"] == "object"
    for example in (await site.call("GET", f"{ALL}/examples")).json()["items"]:
        await made(site, example["name"], example["document"], slug=f"try-{example['slug']}", draft=True)


@pytest.mark.parametrize("form", ["json", "yaml"])
async def test_what_was_exported_can_be_imported(site: Site, form: str) -> None:
    found = await made(site, "Travelling")
    sent = await site.call("GET", f"{ALL}/travelling/export?form={form}")
    assert sent.headers["content-disposition"] == f'attachment; filename="travelling-1.{form}"'
    for said in (form, "auto"):
        answer = await site.call("POST", f"{ALL}/import", json={"text": sent.text, "form": said, "name": "Arrived"})
        assert answer.status == 201, answer.text
        assert answer.json()["document"] == found["document"]
    assert (await site.call("GET", f"{ALL}/travelling/export?form=xml")).status == 422
    assert (await site.call("GET", f"{ALL}/travelling/export?version=7")).status == 404


async def test_a_text_that_is_no_document_is_refused_with_its_line(site: Site) -> None:
    answer = await site.call("POST", f"{ALL}/import", json={"text": '{\n"nodes": [,]}', "form": "json"})
    assert (answer.status, answer.code) == (422, "unreadable_document")
    assert "line 2" in answer.json()["error"]["message"]
    assert (await site.call("POST", f"{ALL}/import", json={"text": "- a\n- b\n"})).status == 422


async def test_the_name_of_an_imported_one_is_that_of_its_document(site: Site) -> None:
    text = json.dumps({**drawn(), "name": "From afar", "description": "What it does."})
    found = (await site.call("POST", f"{ALL}/import", json={"text": text})).json()
    assert (found["name"], found["slug"], found["description"]) == ("From afar", "from-afar", "What it does.")


# -- rights ------------------------------------------------------------------------------------------------


async def test_viewers_look_operators_write_and_chat_keys_do_neither(site: Site) -> None:
    answer = await site.call("POST", ALL, json={"name": "Owned", "document": drawn()}, key=OPERATOR_KEY)
    assert answer.status == 201
    one = f"{ALL}/owned"
    for path in (ALL, one, f"{one}/versions", f"{one}/versions/1", f"{one}/export", f"{ALL}/kinds"):
        assert (await site.call("GET", path, key=VIEWER_KEY)).status == 200
        assert (await site.call("GET", path, key=CHAT_KEY)).status == 403
    writes = [
        ("POST", ALL),
        ("PATCH", one),
        ("DELETE", one),
        ("POST", f"{ALL}/import"),
        ("POST", f"{one}/versions/1/restore"),
    ]
    for method, path in writes:
        assert (await site.call(method, path, json={}, key=VIEWER_KEY)).status == 403
