"""The dashboard's data about workflows and their runs, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from arvis.domain.executions import Answer, Cursor, Execution, ExecutionStatus, Step, Wait, WaitKind
from arvis.domain.triggers import Trigger
from arvis.domain.workflows import RunStatus, Workflow, WorkflowRun, WorkflowVersion
from arvis.engine import lifecycle
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.ports.workflows import MOST_LIVE, OpenQuestion, Place, RunFigures
from arvis.process.clock import IdMaker
from arvis.store.open import Database, open_store
from arvis.testing.clock import SteppedClock
from tests.conformance.databases import migrated


@dataclass
class Rooms:
    store: Store
    insights: Insights
    clock: SteppedClock

    async def begin(self, workflow: str, source: str = "api", parent_wait: str | None = None) -> str:
        await self.clock.sleep(0.001)
        return await self.store.write(_begin, workflow, source, self.clock.now(), parent_wait)

    async def ids(self, **which: object) -> list[str]:
        wanted = {"workflow_id": None, "status": None, "source": None, "limit": 50, "cursor": None, **which}
        page = await self.insights.runs(**wanted)  # type: ignore[arg-type]  # the names are those of the port
        return [row.run.execution_id for row in page.items]


@pytest.fixture(params=["sqlite", "postgres"])
async def rooms(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rooms]:
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else None
    database, clock = Database(tmp_path / "arvis.db", url, tmp_path), SteppedClock()
    migrated(database, clock.now())
    async with open_store(database, boot="test", new_id=IdMaker(clock=clock, random_bits=lambda _: 0)) as opened:
        store, insights = opened
        await store.write(_draw)
        yield Rooms(store, insights, clock)


def _draw(tx: Transaction) -> None:
    for number, name in enumerate(("Digest 100%", "triage"), 1):
        tx.workflows.add(Workflow(f"W{number}", f"W{number}", name, "", number == 1, 2, 1, None, 0, 0))
        for version in (1, 2):
            tx.workflows.keep_version(WorkflowVersion(f"W{number}", version, {"nodes": []}, version, "note", None, 5))
    tx.workflows.set_triggers("W1", [Trigger("W1", "t1", "message"), Trigger("W1", "t2", "message")])


def _begin(tx: Transaction, workflow: str, source: str, now: int, parent_wait: str | None) -> str:
    run_id = tx.new_id()
    graph, lane = f"workflow:{workflow}", f"lane-{run_id}"
    execution = lifecycle.begin(tx, run_id, graph, {}, lane=lane, priority=5, principal_id=None, now=now)
    if parent_wait is not None:
        tx.executions.discard(run_id)
        _add_child(tx, execution, parent_wait)
    tx.workflow_runs.add(WorkflowRun(run_id, workflow, 1, source, "s", None, None, now))
    return run_id


def _add_child(tx: Transaction, execution: Execution, parent_wait: str) -> None:
    fields = {name: getattr(execution, name) for name in Execution.__slots__}
    tx.executions.add(Execution(**{**fields, "parent_wait": parent_wait}))


def _waits(tx: Transaction, run_id: str, node: str, kind: WaitKind) -> str:
    wait_id, cursor_id = tx.new_id(), tx.new_id()
    tx.executions.drop_cursors(run_id)
    tx.executions.put_cursor(Cursor(cursor_id, run_id, node, None, wait_id=wait_id))
    tx.waits.add(Wait(wait_id, run_id, cursor_id, kind, "?", (), 0, None))
    tx.executions.set_status(run_id, ExecutionStatus.PAUSED, None, 9)
    return wait_id


async def test_workflows_are_shown_with_their_newest_run_and_what_is_live(rooms: Rooms) -> None:
    over, newest = await rooms.begin("W1"), await rooms.begin("W1")
    await rooms.store.write(lambda tx: tx.executions.set_status(over, ExecutionStatus.DONE, None, 1))
    page = await rooms.insights.workflows(text=None, enabled=None, limit=9, cursor=None)
    second, first = page.items
    assert (second.workflow.id, second.last_run, second.live, second.triggers) == ("W2", None, 0, [])
    assert (first.problems, first.triggers, first.live) == (2, ["message"], 1)
    assert first.last_run is not None
    assert (first.last_run.id, first.last_run.status) == (newest, RunStatus.PENDING)
    assert await rooms.insights.workflow("W1") == first
    assert await rooms.insights.workflow("W9") is None


@pytest.mark.parametrize(
    ("text", "enabled", "found"), [("TRI", None, ["W2"]), ("0%", None, ["W1"]), (None, False, ["W2"])]
)
async def test_workflows_are_searched(rooms: Rooms, text: str | None, enabled: bool | None, found: list[str]) -> None:
    page = await rooms.insights.workflows(text=text, enabled=enabled, limit=9, cursor=None)
    assert [row.workflow.id for row in page.items] == found


async def test_versions_come_newest_first_in_pages(rooms: Rooms) -> None:
    page = await rooms.insights.workflow_versions("W1", limit=1, cursor=None)
    assert [(row.version, row.problems, row.by) for row in page.items] == [(2, 2, None)]
    rest = await rooms.insights.workflow_versions("W1", limit=1, cursor=page.next_cursor)
    assert ([row.version for row in rest.items], rest.next_cursor) == ([1], None)


async def test_runs_are_filtered_by_what_their_executions_say(rooms: Rooms) -> None:
    runs = [await rooms.begin("W1", source) for source in ("api", "schedule:s1", "schedule:s2", "agent_x")]
    other = await rooms.begin("W2")
    pending, running, done, failed = runs
    await rooms.store.write(lambda tx: tx.executions.set_status(done, ExecutionStatus.DONE, None, 1))
    await rooms.store.write(lambda tx: tx.executions.set_status(failed, ExecutionStatus.FAILED, "no", 1))

    def steps(tx: Transaction) -> None:
        execution = tx.executions.get(running)
        assert execution is not None
        fields = {name: getattr(execution, name) for name in Execution.__slots__}
        tx.executions.save(Execution(**{**fields, "steps": 3}))

    await rooms.store.write(steps)
    assert await rooms.ids() == [other, *reversed(runs)]
    assert await rooms.ids(workflow_id="W1") == list(reversed(runs))
    assert await rooms.ids(status=RunStatus.PENDING) == [other, pending]
    assert await rooms.ids(status=RunStatus.PENDING, workflow_id="W1") == [pending]
    assert await rooms.ids(status=RunStatus.RUNNING) == [running]
    assert await rooms.ids(status=RunStatus.COMPLETED) == [done]
    assert await rooms.ids(status=RunStatus.FAILED, workflow_id="W1") == [failed]
    assert await rooms.ids(source="schedule") == [done, running]
    assert await rooms.ids(source="schedule:s1") == [running]
    assert await rooms.ids(source="agent%") == []
    assert await rooms.ids(cursor=done, limit=1) == [running]


async def test_a_run_whose_children_have_ended_is_at_work_until_it_has_heard_of_it(rooms: Rooms) -> None:
    run_id = await rooms.begin("W1")
    calling = await rooms.store.write(_waits, run_id, "node:sub", WaitKind.CHILD)
    row = await rooms.insights.run_head(run_id)
    assert row is not None
    assert row.status is RunStatus.RUNNING
    await rooms.store.write(lambda tx: lifecycle.answer(tx, calling, Answer(None, "child"), 10))
    row = await rooms.insights.run_head(run_id)
    assert row is not None
    assert (row.status, row.open_questions) == (RunStatus.RUNNING, [])
    asked = await rooms.store.write(_waits, run_id, "node:ok", WaitKind.APPROVAL)
    row = await rooms.insights.run_head(run_id)
    assert row is not None
    assert (row.status, row.open_questions) == (RunStatus.PAUSED, [OpenQuestion(asked, "node:ok")])


async def test_joins_are_no_visits(rooms: Rooms) -> None:
    run_id = await rooms.begin("W1")
    made = [
        Step(run_id, number, "node:m", kind, "{}", 1) for number, kind in enumerate(("join", "drop", "next", "call"), 1)
    ]
    await rooms.store.write(lambda tx: tx.executions.add_steps(made))
    view = await rooms.insights.run(run_id)
    assert view is not None
    assert view.visits == {"node:m": 1}
    assert await rooms.store.read(lambda tx: tx.executions.visited(run_id)) == 1


async def test_a_question_of_a_child_is_asked_at_the_node_that_called_it(rooms: Rooms) -> None:
    run_id = await rooms.begin("W1")
    calling = await rooms.store.write(_waits, run_id, "node:sub", WaitKind.CHILD)
    child = await rooms.begin("W2", f"workflow:{run_id}", calling)
    asked = await rooms.store.write(_waits, child, "node:ok", WaitKind.APPROVAL)
    row, below = await rooms.insights.run_head(run_id), await rooms.insights.run_head(child)
    assert row is not None
    assert below is not None
    assert (row.open_questions, row.status) == ([OpenQuestion(asked, "node:sub")], RunStatus.PAUSED)
    assert below.open_questions == [OpenQuestion(asked, "node:ok")]
    view = await rooms.insights.run(run_id)
    assert view is not None
    assert view.places == [Place("node:sub", WaitKind.CHILD)]
    assert [(each.id, each.node) for each in view.children] == [(child, "node:sub")]


async def test_visits_are_those_that_went_on(rooms: Rooms) -> None:
    run_id = await rooms.begin("W1")
    decisions = ("pause", "next", "next", "call", "repeat")
    made = [Step(run_id, number, "node:a", decision, "{}", 1) for number, decision in enumerate(decisions, 1)]
    await rooms.store.write(lambda tx: tx.executions.add_steps(made))
    view = await rooms.insights.run(run_id)
    assert view is not None
    assert view.visits == {"node:a": 2}


async def test_the_log_of_no_run_is_none(rooms: Rooms) -> None:
    run_id = await rooms.begin("W1")
    assert await rooms.insights.run_log(run_id, after=0, limit=9) == []
    assert await rooms.insights.run_log("e9", after=0, limit=9) is None
    assert await rooms.insights.run("e9") is None


async def test_live_runs_are_counted_to_a_bound(rooms: Rooms) -> None:
    for _ in range(MOST_LIVE + 2):
        await rooms.begin("W1")
    row = await rooms.insights.workflow("W1")
    assert row is not None
    assert row.live == MOST_LIVE
    assert len(await rooms.store.read(lambda tx: tx.workflow_runs.live("W1", 5))) == 5


async def test_ends_are_counted_in_their_span_and_sleepers_as_they_are(rooms: Rooms) -> None:
    ends = [(ExecutionStatus.DONE, 10), (ExecutionStatus.DONE, 19), (ExecutionStatus.FAILED, 15)]
    for status, at in [*ends, (ExecutionStatus.CANCELLED, 20), (ExecutionStatus.PAUSED, 15), (None, 0)]:
        run_id = await rooms.begin("W1")
        if status is not None:
            await rooms.store.write(_set, run_id, status, at)
    found = await rooms.insights.run_figures(10, 20)
    ended = {RunStatus.COMPLETED: 2, RunStatus.FAILED: 1, RunStatus.CANCELLED: 0}
    assert found == RunFigures(ended, paused=1)


def _set(tx: Transaction, run_id: str, status: ExecutionStatus, at: int) -> None:
    tx.executions.set_status(run_id, status, None, at)
