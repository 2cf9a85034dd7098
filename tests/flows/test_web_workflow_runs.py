"""Runs of workflows over HTTP: started once, shown with their progress, answered, cancelled and rerun. The tests write
the rows that an engine would write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.executions import Cursor, ExecutionStatus, Step, Wait, WaitKind
from arvis.domain.workflows import OUTPUT
from arvis.ports.store import Transaction
from arvis.workflows.runtime.parts import name_of
from tests.flows.web_server import CHAT_KEY, OPERATOR_KEY, VIEWER_KEY, Site, running_site

ALL, RUNS = "/api/workflows", "/api/runs"
EMPTY: Mapping[str, Any] = {}
DOCUMENT: dict[str, Any] = {
    "nodes": [
        {"id": "s", "type": "start", "data": {"initialInput": "news"}},
        {"id": "a", "type": "agent", "label": "Writer", "data": {"userPrompt": "Sum it up."}},
        {"id": "ok", "type": "approval", "data": {"prompt": "Send it?"}},
        {"id": "r", "type": "response", "data": {"template": "{{Writer}}"}},
    ],
    "connections": [
        {"source": "s", "target": "a"},
        {"source": "a", "target": "ok"},
        {"source": "ok", "target": "r", "sourceHandle": "approve"},
    ],
}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    def begin(tx: Transaction) -> None:
        tx.agents.add(Agent(id="a1", slug="helper", name="helper"), 0)

    async with running_site(tmp_path, real_insights=True, real_operations=True) as site:
        await site.store.write(begin)
        answer = await site.call("POST", ALL, json={"name": "Digest", "document": DOCUMENT})
        assert answer.status == 201, answer.text
        yield site


async def begun(site: Site, **body: Any) -> dict[str, Any]:
    answer = await site.call("POST", f"{ALL}/digest/runs", json=body)
    assert answer.status == 201, answer.text
    found = answer.json()
    assert isinstance(found, dict)
    return found


async def shown(site: Site, run_id: str) -> dict[str, Any]:
    answer = await site.call("GET", f"{RUNS}/{run_id}")
    assert answer.status == 200, answer.text
    found = answer.json()
    assert isinstance(found, dict)
    return found


def walked(tx: Transaction, run_id: str, node: str, output: Any, marks: Mapping[str, Any] = EMPTY) -> None:
    """Record an output of a node."""
    execution = tx.executions.get(run_id)
    assert execution is not None
    kept = {"output": output, "label": node, "at": 5, "handle": None, **marks}
    number = execution.steps + 1
    tx.executions.add_steps([Step(run_id, number, name_of(node), "next", "{}", 5)])
    tx.executions.save(replace(execution, state={**execution.state, OUTPUT + node: kept}, steps=number))


def asks(tx: Transaction, run_id: str, node: str, wait_id: str) -> None:
    """Let the run wait at this node for a person."""
    tx.executions.drop_cursors(run_id)
    tx.executions.put_cursor(Cursor(f"c-{wait_id}", run_id, name_of(node), None, wait_id=wait_id))
    tx.waits.add(Wait(wait_id, run_id, f"c-{wait_id}", WaitKind.APPROVAL, "Send it?", ("approve", "reject"), 7, None))
    tx.executions.set_status(run_id, ExecutionStatus.PAUSED, None, 7)


def ends(tx: Transaction, run_id: str, status: ExecutionStatus, error: str | None = None) -> None:
    tx.executions.drop_cursors(run_id)
    tx.executions.set_status(run_id, status, error, 9)


async def asking(site: Site) -> str:
    run_id = str((await begun(site))["id"])
    await site.store.write(walked, run_id, "s", "news")
    await site.store.write(walked, run_id, "a", "a summary", {"tainted": True})
    await site.store.write(asks, run_id, "ok", f"w{run_id}"[:26])
    return run_id


# -- starts ------------------------------------------------------------------------------------------------


async def test_a_run_begins_with_its_input_at_its_version(site: Site) -> None:
    found = await begun(site, input={"order": 7})
    fields = (
        "version",
        "status",
        "source",
        "entry",
        "input",
        "waitingForInput",
        "nodes",
        "endedAt",
        "rerunOf",
        "questions",
    )
    assert {name: found[name] for name in fields} == {
        "version": 1, "status": "pending", "source": "api", "entry": "s", "input": {"order": 7}, "waitingForInput": False,
        "nodes": {}, "endedAt": None, "rerunOf": None, "questions": [],
    }  # fmt: skip
    assert found["workflow"]["slug"] == "digest"
    assert found["logsTotal"] == 1
    row = (await site.call("GET", f"{ALL}/digest")).json()
    assert (row["liveRuns"], row["lastRun"]["id"], row["lastRun"]["status"]) == (1, found["id"], "pending")


async def test_the_same_key_begins_one_run(site: Site) -> None:
    first, second = [
        await site.call("POST", f"{ALL}/digest/runs", json={"input": "x"}, headers={"Idempotency-Key": "once"})
        for _ in range(2)
    ]
    assert (first.status, second.status) == (201, 201)
    assert first.json()["id"] == second.json()["id"]
    assert second.headers["idempotency-replayed"] == "true"
    assert len((await site.call("GET", f"{ALL}/digest/runs")).json()["items"]) == 1
    # The run itself remembers the response that a crash lost.
    assert await site.store.write(lambda tx: tx.idempotency.prune(2**50, 10)) == 1
    third = await site.call("POST", f"{ALL}/digest/runs", json={"input": "x"}, headers={"Idempotency-Key": "once"})
    assert third.json()["id"] == first.json()["id"]
    assert len((await site.call("GET", f"{ALL}/digest/runs")).json()["items"]) == 1


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("nothing", {}, 404, "unknown_workflow"),
        ("digest", {"version": 9}, 404, "not_found"),
        ("digest", {"entry": "nowhere"}, 422, "unknown_node"),
        ("digest", {"inputs": 1}, 422, "unknown_field"),
        ("draft", {}, 422, "not_runnable"),
        ("digest", {"version": "1"}, 422, "unprocessable"),
    ],
)
async def test_what_cannot_begin(site: Site, path: str, body: dict[str, Any], status: int, code: str) -> None:
    await site.call("POST", ALL, json={"name": "Draft"})
    answer = await site.call("POST", f"{ALL}/{path}/runs", json=body)
    assert (answer.status, answer.code) == (status, code)


# -- progress ----------------------------------------------------------------------------------------------


async def test_a_run_that_asks_shows_its_nodes_and_the_question(site: Site) -> None:
    run_id = await asking(site)
    found = await shown(site, run_id)
    assert (found["status"], found["waitingForInput"], found["currentNodeId"]) == ("paused", True, "ok")
    assert {name: node["state"] for name, node in found["nodes"].items()} == {"s": "done", "a": "done", "ok": "waiting"}
    written = found["nodes"]["a"]
    assert (written["output"], written["visits"], written["tainted"]) == ("a summary", 1, True)
    assert found["state"] == {"s": "news", "a": "a summary"}
    (wait,) = found["questions"]
    assert (wait["prompt"], wait["canAnswer"], wait["choices"]) == ("Send it?", True, ["approve", "reject"])


async def test_a_run_that_is_over_says_what_was_skipped_and_what_failed(site: Site) -> None:
    run_id = await asking(site)
    await site.store.write(walked, run_id, "ok", None, {"failed": "nobody answered"})
    await site.store.write(ends, run_id, ExecutionStatus.FAILED, "Send it?: nobody answered")
    found = await shown(site, run_id)
    states = {name: node["state"] for name, node in found["nodes"].items()}
    assert states == {"s": "done", "a": "done", "ok": "failed", "r": "skipped"}
    assert found["nodes"]["ok"]["error"] == "nobody answered"
    assert (found["status"], found["error"], found["endedAt"]) == ("failed", "Send it?: nobody answered", 9)


async def test_a_run_that_broke_off_failed_at_the_node_where_it_stood(site: Site) -> None:
    run_id = str((await begun(site))["id"])
    await site.store.write(walked, run_id, "s", "news")

    def breaks(tx: Transaction) -> None:
        tx.executions.drop_cursors(run_id)
        tx.executions.put_cursor(Cursor("c-broken", run_id, name_of("a"), None))
        tx.executions.set_status(run_id, ExecutionStatus.FAILED, "no model answered", 9)

    await site.store.write(breaks)
    assert (await shown(site, run_id))["nodes"]["a"]["state"] == "failed"


async def test_long_outputs_are_cut(site: Site) -> None:
    run_id = str((await begun(site, input="y" * 9_000))["id"])
    await site.store.write(walked, run_id, "a", {"text": "x" * 9_000})
    found = await shown(site, run_id)
    assert len(found["nodes"]["a"]["output"]) == len(found["input"]) == 4_001


async def test_its_document_is_that_of_its_version(site: Site) -> None:
    run_id = (await begun(site))["id"]
    changed = {**DOCUMENT, "nodes": DOCUMENT["nodes"][:-1], "connections": DOCUMENT["connections"][:-1]}
    await site.call("PATCH", f"{ALL}/digest", json={"document": changed, "draft": True})
    found = (await site.call("GET", f"{RUNS}/{run_id}/document")).json()
    assert (found["version"], len(found["document"]["nodes"])) == (1, 4)


async def test_runs_are_listed_by_workflow_status_and_source(site: Site) -> None:
    paused, done, pending = await asking(site), (await begun(site))["id"], (await begun(site))["id"]
    await site.store.write(ends, done, ExecutionStatus.DONE)
    other = await site.call("POST", ALL, json={"name": "Other", "document": DOCUMENT})
    assert other.status == 201

    async def ids(path: str) -> list[str]:
        return [each["id"] for each in (await site.call("GET", path)).json()["items"]]

    assert await ids(RUNS) == await ids(f"{ALL}/digest/runs") == [pending, done, paused]
    assert await ids(f"{RUNS}?status=paused") == [paused]
    assert await ids(f"{RUNS}?status=pending") == await ids(f"{ALL}/digest/runs?status=pending") == [pending]
    assert await ids(f"{RUNS}?status=running") == []
    assert await ids(f"{RUNS}?status=completed&workflow=digest&source=api") == [done]
    assert await ids(f"{RUNS}?workflow=other") == await ids(f"{RUNS}?source=schedule") == []
    first = (await site.call("GET", f"{RUNS}?limit=1")).json()
    assert await ids(f"{RUNS}?limit=5&cursor={first['nextCursor']}") == [done, paused]
    for query, status in (("status=over", 422), ("workflow=nothing", 404)):
        assert (await site.call("GET", f"{RUNS}?{query}")).status == status


async def test_the_log_is_read_from_a_line_on(site: Site) -> None:
    run_id = (await begun(site))["id"]
    lines = [("a", "llm_response", f"line {number}") for number in range(2, 6)]
    await site.store.write(lambda tx: tx.workflow_runs.log(run_id, lines, 3))
    page = (await site.call("GET", f"{RUNS}/{run_id}/log?limit=2")).json()
    assert [(each["number"], each["type"]) for each in page["items"]] == [(1, "start_prompt"), (2, "llm_response")]
    assert (page["lastNumber"], page["hasMore"]) == (2, True)
    rest = (await site.call("GET", f"{RUNS}/{run_id}/log?after=2")).json()
    assert ([each["content"] for each in rest["items"]], rest["hasMore"]) == (["line 3", "line 4", "line 5"], False)
    assert (await site.call("GET", f"{RUNS}/{run_id}/log?after=5")).json() == {
        "items": [],
        "lastNumber": 5,
        "hasMore": False,
    }
    assert (await site.call("GET", f"{RUNS}/{run_id}/log?after=-1")).status == 422


# -- actions of people -------------------------------------------------------------------------------------


async def test_the_first_answer_wins_and_the_second_is_told(site: Site) -> None:
    run_id = await asking(site)
    answers = await asyncio.gather(
        *(site.call("POST", f"{RUNS}/{run_id}/resume", json={"decision": "approve", "note": "go"}) for _ in range(2))
    )
    assert sorted(answer.status for answer in answers) == [200, 409]
    wait = await site.store.read(lambda tx: tx.waits.get(f"w{run_id}"[:26]))
    assert wait is not None
    assert wait.answer is not None
    assert (wait.answer.value["decision"], wait.answer.value["note"]) == ("approve", "go")
    late = await site.call("POST", f"{RUNS}/{run_id}/resume", json={"decision": "reject"})
    assert (late.status, late.code) == (409, "not_waiting")


async def test_who_may_not_answer_is_told_and_unreadable_answers_leave_it_paused(site: Site) -> None:
    run_id = await asking(site)
    for body in ({"decision": "maybe"}, {"note": "x"}):
        assert (await site.call("POST", f"{RUNS}/{run_id}/resume", json=body)).status == 422
    refused = await site.call("POST", f"{RUNS}/{run_id}/resume", json={"decision": "approve"}, key=OPERATOR_KEY)
    assert refused.status == 403
    assert (await shown(site, run_id))["status"] == "paused"


async def test_a_run_is_ended_once(site: Site) -> None:
    run_id = await asking(site)
    assert (await site.call("POST", f"{RUNS}/{run_id}/cancel")).json()["status"] == "cancelled"
    assert (await site.call("POST", f"{RUNS}/{run_id}/cancel")).status == 409
    assert (await site.call("GET", f"{ALL}/digest")).json()["liveRuns"] == 0
    over = await shown(site, run_id)
    assert over["nodes"]["ok"]["state"] == "cancelled", "the step that waited"
    assert "skipped" in {node["state"] for node in over["nodes"].values()} or len(over["nodes"]) < 4
    lines = (await site.call("GET", f"{RUNS}/{run_id}/log")).json()["items"]
    assert over["logs"] == lines
    assert "cancelled: Owner" in lines[-1].values()


async def test_a_run_begins_again_in_its_midst_with_what_came_there(site: Site) -> None:
    run_id = await asking(site)
    await site.store.write(ends, run_id, ExecutionStatus.DONE)
    found = (await site.call("POST", f"{RUNS}/{run_id}/rerun", json={"node": "ok"})).json()
    assert (found["rerunOf"], found["entry"], found["version"]) == (run_id, "ok", 1)
    execution = await site.store.read(lambda tx: tx.executions.get(found["id"]))
    assert execution is not None
    token = execution.state["workflow"]["token"]
    assert (token["output"], token["source"]) == ("a summary", "a")
    assert found["state"] == {"s": "news", "a": "a summary"}
    whole = (await site.call("POST", f"{RUNS}/{run_id}/rerun", json={})).json()
    assert (whole["entry"], whole["state"]) == ("s", {})


async def test_again_with_the_newest_version(site: Site) -> None:
    run_id = (await begun(site, input="x"))["id"]
    changed = {**DOCUMENT, "name": "other"}
    assert (await site.call("PATCH", f"{ALL}/digest", json={"document": changed})).json()["version"] == 2
    same, newest = [
        (await site.call("POST", f"{RUNS}/{run_id}/rerun", json={"version": which})).json()
        for which in ("same", "newest")
    ]
    assert (same["version"], newest["version"], newest["input"]) == (1, 2, "x")
    assert (await site.call("POST", f"{RUNS}/{run_id}/rerun", json={"node": "nowhere"})).code == "unknown_node"
    assert (await site.call("POST", f"{RUNS}/{run_id}/rerun", json={"version": "2"})).status == 422


# -- rights ------------------------------------------------------------------------------------------------


async def test_viewers_look_and_only_operators_act(site: Site) -> None:
    run_id = (await begun(site))["id"]
    for path in (RUNS, f"{RUNS}/{run_id}", f"{RUNS}/{run_id}/log", f"{RUNS}/{run_id}/document", f"{ALL}/digest/runs"):
        assert (await site.call("GET", path, key=VIEWER_KEY)).status == 200
        assert (await site.call("GET", path, key=CHAT_KEY)).status == 403
    for path in (f"{ALL}/digest/runs", *(f"{RUNS}/{run_id}/{verb}" for verb in ("cancel", "resume", "rerun"))):
        assert (await site.call("POST", path, json={}, key=VIEWER_KEY)).status == 403


async def test_an_unknown_run_is_nowhere(site: Site) -> None:
    for path in ("", "/log", "/document", "/events"):
        assert (await site.call("GET", f"{RUNS}/01NOTHING{path}")).status == 404
    for verb, body in (("cancel", None), ("resume", {"decision": "approve"}), ("rerun", {})):
        assert (await site.call("POST", f"{RUNS}/01NOTHING/{verb}", json=body)).status == 404
