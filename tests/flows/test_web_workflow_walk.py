"""A workflow from its drawing to its result, only through the API, with the real engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.events import Changed, RunAdvanced
from tests.flows.app_harness import AppHarness
from tests.flows.test_web_workflow_runs import DOCUMENT
from tests.flows.web_server import DAEMON_KEY, Site, running_site


@pytest.fixture
async def site(tmp_path: Path, app: AppHarness) -> AsyncIterator[Site]:
    folder = tmp_path / "web"
    folder.mkdir()
    async with running_site(folder, behind=app) as site:
        for kind in (RunAdvanced, Changed):
            app.bus.subscribe(kind, site.bus.publish)
        yield site


async def events(site: Site, run_id: str, told: list[tuple[str, Any]], asked: asyncio.Event) -> None:
    headers = {"Authorization": f"Bearer {DAEMON_KEY}"}
    async with site.http.get(f"{site.url}/api/runs/{run_id}/events", headers=headers) as response:
        kind = ""
        async for raw in response.content:
            name, _, value = raw.decode().rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                told.append((kind, json.loads(value)))
                if told[-1][1].get("waitingForInput"):
                    asked.set()


async def test_a_run_is_begun_watched_approved_and_done(site: Site, app: AppHarness) -> None:
    app.provider.script.append("A short summary.")
    made = await site.call("POST", "/api/workflows", json={"name": "Walked", "document": DOCUMENT})
    assert made.status == 201, made.text
    run_id = (await site.call("POST", "/api/workflows/walked/runs", json={"input": "the news"})).json()["id"]
    told: list[tuple[str, Any]] = []
    asked = asyncio.Event()
    async with asyncio.timeout(20):
        listening = asyncio.create_task(events(site, run_id, told, asked))
        await asked.wait()
        found = (await site.call("GET", f"/api/runs/{run_id}")).json()
        states = {name: node["state"] for name, node in found["nodes"].items()}
        assert (found["status"], found["currentNodeId"], states) == (
            "paused", "ok", {"s": "done", "a": "done", "ok": "waiting"},
        )  # fmt: skip
        answer = await site.call("POST", f"/api/runs/{run_id}/resume", json={"decision": "approve", "note": "fine"})
        assert answer.status == 200, answer.text
        await listening
    lines = [data["number"] for kind, data in told if kind == "log"]
    assert lines == list(range(1, len(lines) + 1))
    assert (told[0][0], told[-1][0], told[-1][1]["status"], told[-1][1]["result"]) == (
        "start", "done", "completed", "A short summary.",
    )  # fmt: skip
    ended = (await site.call("GET", f"/api/runs/{run_id}")).json()
    assert {node["state"] for node in ended["nodes"].values()} == {"done"}
    assert {name: node["visits"] for name, node in ended["nodes"].items()} == {"s": 1, "a": 1, "ok": 1, "r": 1}
    assert ended["logsTotal"] == len(lines)
