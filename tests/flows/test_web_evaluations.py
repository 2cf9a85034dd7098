"""Suites, cases and evaluations over HTTP: their documents, their errors, and the roles."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.flows.web_server import CHAT_KEY, OPERATOR_KEY, VIEWER_KEY, Site, running_site

CASE: dict[str, Any] = {
    "format": "arvis-case/1",
    "name": "hello",
    "input": {"at": 1, "platform": "web", "direct": True, "messages": [{"text": "Hello", "author": "Ann"}]},
    "calls": [{"tool": "get_time", "arguments": {"zone": "UTC"}, "output": "noon"}],
    "expect": [{"contains": "hi"}, {"tool": "get_time", "arguments": {"zone": "UTC"}}],
}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True) as site:
        await site.call("POST", "/api/agents", json={"slug": "news", "prompt": "Be brief."})
        assert (await site.call("POST", "/api/suites", json={"name": "news", "agent": "news"})).status == 201
        yield site


async def test_documents_come_back_and_evaluations_are_started_and_compared(site: Site) -> None:
    added = await site.call("POST", "/api/suites/news/cases", json={"document": CASE})
    assert (added.status, added.json()["document"]) == (201, CASE)
    assert (await site.call("POST", "/api/suites/news/cases", json={"document": CASE})).status == 409
    again = {"document": CASE, "replace": True}
    assert (await site.call("POST", "/api/suites/news/cases", json=again)).status == 201
    shown = (await site.call("GET", "/api/suites/news")).json()
    assert [(one["name"], one["question"], one["calls"]) for one in shown["items"]] == [("hello", "Hello", 1)]

    body = {"suite": "news", "changes": {"prompt": "Be long."}, "maxCostUsd": 0.5}
    begun = await site.call("POST", "/api/evaluations", json=body, key=OPERATOR_KEY)
    assert (begun.status, begun.json()["status"], begun.json()["count"]) == (201, "running", 1)
    one = begun.json()["id"]
    assert (await site.call("GET", f"/api/evaluations/{one}")).json()["changes"] == {"prompt": "Be long."}
    compared = (await site.call("GET", f"/api/evaluations/{one}/compare/{one}")).json()
    assert (compared["cases"], compared["worse"]) == ([], 0)
    listed = (await site.call("GET", "/api/evaluations?suite=news")).json()["items"]
    assert [each["id"] for each in listed] == [one]
    assert (await site.call("DELETE", "/api/suites/news")).status == 409, "an evaluation is running"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/suites", {"name": "news", "agent": "news"}, 409),
        ("/api/suites", {"name": "Not A Slug", "agent": "news"}, 422),
        ("/api/suites", {"name": "other", "agent": "nobody"}, 404),
        ("/api/suites/none/cases", {"document": CASE}, 404),
        ("/api/suites/news/cases", {"document": {**CASE, "expect": [{"contains": 1}]}}, 422),
        ("/api/suites/news/cases", {"document": {"name": "x"}}, 422),
        ("/api/suites/news/record", {"message": "nothing"}, 404),
        ("/api/evaluations", {"suite": "news"}, 409),
        ("/api/evaluations", {"suite": "none"}, 404),
        ("/api/evaluations", {"suite": "news", "changes": {"effort": "huge"}}, 422),
        ("/api/evaluations", {"suite": "news", "changes": {"name": "X"}}, 422),
        ("/api/evaluations", {"suite": "news", "maxCostUsd": -1}, 422),
    ],
)
async def test_wrong_requests_are_refused(site: Site, path: str, body: dict[str, Any], status: int) -> None:
    answer = await site.call("POST", path, json=body)
    assert answer.status == status, answer.text
    assert answer.json()["error"]["message"]


async def test_viewers_read_operators_evaluate_and_owners_set_gates(site: Site) -> None:
    await site.call("POST", "/api/suites/news/cases", json={"document": CASE})
    for key, statuses in ((CHAT_KEY, (403, 403, 403)), (VIEWER_KEY, (200, 403, 403)), (OPERATOR_KEY, (200, 201, 403))):
        read = await site.call("GET", "/api/suites", key=key)
        start = await site.call("POST", "/api/evaluations", json={"suite": "news"}, key=key)
        gate = await site.call("PATCH", "/api/suites/news", json={"gate": True}, key=key)
        assert (read.status, start.status, gate.status) == statuses, key
    assert (await site.call("PATCH", "/api/suites/news", json={"gate": True})).json()["gate"] is True
    assert (await site.call("DELETE", "/api/suites/news")).status == 409, "an owner must turn the gate off first"
    change = {"prompt": "Be loud."}
    refused = await site.call("PATCH", "/api/agents/news", json=change)
    assert (refused.status, refused.json()["error"]["code"]) == (409, "suite_not_passed")
    assert (await site.call("PATCH", "/api/agents/news?gate=false", json=change)).status == 200
