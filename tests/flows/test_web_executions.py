"""Executions over HTTP: running ones are listed, shown and cancelled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from arvis.domain.errors import Conflict, NotFound
from arvis.domain.executions import Execution, ExecutionStatus, Step, Wait, WaitKind
from arvis.domain.messages import MessageStatus
from arvis.domain.runs import ModelCall
from arvis.ports.insights import ExecutionView
from arvis.ports.store import Transaction
from tests.flows.app_harness import AppHarness
from tests.flows.scripted import Held
from tests.flows.web_server import VIEWER_KEY, Site, running_site

EXECUTION = Execution(
    "01HZY0000000000000000000E1", "agent", "v", {"agent": "agent1", "run": {"source": "schedule:s1"}},
    ExecutionStatus.PAUSED, None, "lane", 5, None, None, 2, None, 1, 2,
)  # fmt: skip
WAIT = Wait("w1", EXECUTION.id, "c1", WaitKind.APPROVAL, "May I?", (), 1, None)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path) as site:
        step = Step(EXECUTION.id, 1, "prepare", "next", "{}", 1)
        site.insights.given = (ExecutionView(EXECUTION, [step], [WAIT], []),)
        yield site


async def test_what_works_is_listed_and_shown_with_its_way(site: Site) -> None:
    (listed,) = (await site.call("GET", "/api/executions?status=paused")).json()["items"]
    assert (listed["graph"], listed["source"], listed["costUsd"]) == ("agent", "schedule:s1", 0)
    shown = (await site.call("GET", f"/api/executions/{EXECUTION.id}")).json()
    assert [step["node"] for step in shown["path"]] == ["prepare"]
    assert [(wait["id"], wait["open"]) for wait in shown["waits"]] == [("w1", True)]
    assert (await site.call("GET", "/api/executions?status=done")).json()["items"] == []


async def test_it_is_ended_by_operators_only(site: Site) -> None:
    path = f"/api/executions/{EXECUTION.id}/cancel"
    assert (await site.call("POST", path, key=VIEWER_KEY)).status == 403
    assert (await site.call("POST", path)).status == 200
    assert site.operations.ended == [EXECUTION.id]
    assert (await site.call("POST", "/api/executions/01HZY0000000000000000000E2/cancel")).status == 404


async def test_ending_an_execution_ends_its_turn(app: AppHarness) -> None:
    held = Held()
    app.provider.script.append(held)
    received = await app.say("Do it")
    await held.until_begun()
    (execution,) = (await app.insights.executions(graph=None, status="running", limit=10, cursor=None)).items
    await app.operations.cancel_execution(execution.id)
    await app.until_status(received.message_id, MessageStatus.CANCELLED)
    with pytest.raises(Conflict):
        await app.operations.cancel_execution(execution.id)
    with pytest.raises(NotFound):
        await app.operations.cancel_execution("nothing")
    found = await app.insights.execution(execution.id)
    assert found is not None
    assert found.execution.status is ExecutionStatus.CANCELLED


async def test_a_list_knows_what_each_has_cost(app: AppHarness) -> None:
    for text in ("One", "Two"):
        await app.until_status((await app.say(text)).message_id, MessageStatus.ANSWERED)
    (newest, oldest) = (await app.insights.executions(graph=None, status="done", limit=10, cursor=None)).items
    found = await app.insights.execution(newest.id)
    assert found is not None
    dear = replace(found.calls[0], id=app.new_id(), cost_micros=250)
    await app.store.write(_book, dear, found.execution)
    costs = partial(app.insights.execution_costs, graph=None, oldest=oldest.id)
    assert await costs(status="done", newest=newest.id) == {newest.id: 250}
    assert await costs(status="done", newest=oldest.id) == {}
    assert await costs(status="failed", newest=newest.id) == {}


def _book(tx: Transaction, call: ModelCall, execution: Execution) -> None:
    agent_id = execution.state["agent"]
    assert tx.usage.add(
        call, execution_id=execution.id, job_id="job", agent_id=agent_id, principal_id=None, client_id=None
    )
