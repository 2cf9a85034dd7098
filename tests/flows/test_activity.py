"""The overview of running agents, read from leases, on both databases."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from arvis.cli.commands.reports import status
from arvis.domain.agents import Agent, AgentStatus
from arvis.domain.executions import Cursor, Wait, WaitKind
from arvis.domain.jobs import JobKind, NewJob
from arvis.domain.messages import Address
from arvis.domain.schedules import Missed, Schedule, ScheduleKind
from arvis.engine.unit_of_work import new_execution
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from arvis.services.activity import Activity, ActivityKind, ActivityStatus, active_agents_block, activities
from arvis.tasks.state import TaskSpec
from arvis.tasks.task import NewRun, begin_run, child_state
from tests.flows.web_server import DAEMON_KEY, VIEWER_KEY, running_site

NOW = 1_800_000_000_000
LEASE = 30_000
HELPER = Agent(id="a0", slug="helper", name="Helper", role="support", description="Helps  with\nall.")
GARDENER = Agent(id="a1", slug="gardener", name="Gardener")
PAUSED = Agent(id="a2", slug="lazy", name="Lazy", status=AgentStatus.PAUSED)
GARDEN, HOME = Address("chat", "main", "garden"), Address("chat", "main", "home")


@pytest.fixture
async def any_store(either_store: Store) -> Store:
    await either_store.write(_agents)
    return either_store


def _agents(tx: Transaction) -> None:
    for agent in (HELPER, GARDENER, PAUSED):
        tx.agents.add(agent, NOW)


def _begin(tx: Transaction, agent: Agent, address: Address, kind: JobKind, source: str) -> str:
    graph = "heartbeat" if kind is JobKind.HEARTBEAT else "agent"
    run = NewRun(agent, TaskSpec("Go."), address, None, source, graph=graph, more={"status_note": "Cycle 1 of 2"})
    begun = begin_run(tx, run, kind=kind, lane=source, priority=10, now=NOW)
    assert begun is not None
    return begun.id


def _claim(tx: Transaction, node: str, at: int) -> list[str]:
    claimed = tx.jobs.claim(Slots(9, 9, 9), "boot", node, at, at + LEASE)
    return [job.execution_id or "" for job in claimed]


def _call(tx: Transaction, parent_id: str, agent: Agent) -> str:
    """Let an execution wait for a child that has a job."""
    parent = tx.executions.get(parent_id)
    assert parent is not None
    (job,) = tx.jobs.live_of_execution(parent_id)
    tx.jobs.cancel(job.id, NOW)
    wait = Wait(tx.new_id(), parent_id, Cursor.start(parent_id).id, WaitKind.CHILD, "runs", (), NOW, None)
    tx.waits.add(wait)
    child_id = tx.new_id()
    state = {**child_state(parent.state, TaskSpec("Dig."), agent_id=agent.id), "status_note": "I dig. <AGENT_DONE>"}
    child = new_execution(
        child_id, "agent", state, lane=child_id, priority=10, principal_id=None, now=NOW, parent_wait=wait.id
    )
    tx.executions.add(child)
    tx.jobs.add(NewJob.advance(child_id, child_id, 10), NOW)
    return child_id


async def found_by(store: Store, at: int = NOW) -> dict[str, Activity]:
    return {each.agent.slug: each for each in await store.read(activities, at)}


async def test_what_runs_is_what_holds_a_lease(any_store: Store) -> None:
    heartbeat = await any_store.write(_begin, GARDENER, GARDEN, JobKind.HEARTBEAT, "schedule:s1")
    assert (await found_by(any_store))["gardener"].status is ActivityStatus.IDLE
    await any_store.write(_claim, "node-7", NOW)
    found = await found_by(any_store)
    assert {slug: each.status for slug, each in found.items()} == {
        "gardener": ActivityStatus.RUNNING, "helper": ActivityStatus.IDLE, "lazy": ActivityStatus.OFFLINE,
    }  # fmt: skip
    assert list(found) == ["gardener", "helper", "lazy"]
    runs = found["gardener"]
    assert (runs.kind, runs.graph, runs.node) == (ActivityKind.HEARTBEAT, "heartbeat", "node-7")
    assert (runs.execution_id, runs.address, runs.started_at) == (heartbeat, GARDEN, NOW)
    assert runs.status_note == "Cycle 1 of 2"
    late = (await found_by(any_store, NOW + LEASE + 1))["gardener"]
    assert late.status is ActivityStatus.IDLE


async def test_who_waits_for_a_child_is_at_work_as_well(any_store: Store) -> None:
    top = await any_store.write(_begin, GARDENER, GARDEN, JobKind.HEARTBEAT, "schedule:s1")
    await any_store.write(_call, top, GARDENER)
    await any_store.write(_claim, "node", NOW)
    (mine,) = [each for each in await any_store.read(activities, NOW) if each.status is ActivityStatus.RUNNING]
    assert (mine.kind, mine.graph, mine.status_note) == (ActivityKind.HEARTBEAT, "agent", "I dig. <AGENT_DONE>")


async def test_another_agent_as_child_is_one_more(any_store: Store) -> None:
    top = await any_store.write(_begin, GARDENER, GARDEN, JobKind.WEBHOOK, "webhook:w1")
    below = await any_store.write(_call, top, HELPER)
    await any_store.write(_claim, "node", NOW)
    found = await found_by(any_store)
    assert [found[slug].execution_id for slug in ("helper", "gardener")] == [below, top]
    assert {found[slug].kind for slug in ("helper", "gardener")} == {ActivityKind.WEBHOOK}


async def test_what_had_it_begin_is_told(any_store: Store) -> None:
    def schedule(tx: Transaction, row_id: str, kind: ScheduleKind) -> None:
        tx.schedules.add(
            Schedule(
                id=row_id, kind=kind, agent_id=HELPER.id, name=row_id, schedule="@daily", timezone=None, prompt="Go.",
                platform="chat", connector="main", channel="home", script=None, missed=Missed.ONCE, enabled=True,
                principal_id=None, last_run=None, next_run=None, created_at=NOW, updated_at=NOW,
            )
        )  # fmt: skip

    for row_id, kind in (("cron", ScheduleKind.CRON), ("beat", ScheduleKind.HEARTBEAT)):
        await any_store.write(schedule, row_id, kind)
        await any_store.write(_begin, HELPER, HOME, JobKind.CRON, f"schedule:{row_id}")
    await any_store.write(_claim, "node", NOW)
    kinds = [each.kind for each in await any_store.read(activities, NOW) if each.kind is not None]
    assert sorted(kinds) == [ActivityKind.HEARTBEAT, ActivityKind.SCHEDULE]


async def test_the_block_tells_of_others_as_data(store: Store) -> None:
    await store.write(_agents)
    top = await store.write(_begin, GARDENER, GARDEN, JobKind.HEARTBEAT, "schedule:s1")
    await store.write(_call, top, GARDENER)
    await store.write(_claim, "node", NOW)
    found = await store.read(activities, NOW)
    block = active_agents_block(found, HELPER.id).splitlines()
    assert block[0] == "# Other agents"
    assert block[1].startswith("- Gardener (gardener, custom): running (heartbeat) in chat garden: I dig.")
    assert "<AGENT_DONE>" not in block[1]
    assert block[2:] == ["- Lazy (lazy, custom): offline"]
    assert active_agents_block(found, GARDENER.id).splitlines()[1] == (
        "- Helper (helper, support): idle – Helps with all."
    )
    private = [replace(each, private=True) for each in found]
    assert active_agents_block(private, HELPER.id).splitlines()[1] == (
        "- Gardener (gardener, custom): running (heartbeat)"
    )
    many = [replace(found[0], agent=replace(GARDENER, id=f"g{number}")) for number in range(50)]
    assert active_agents_block(many, HELPER.id).splitlines()[-1] == "- and 30 more"
    assert active_agents_block([], HELPER.id) == ""


async def test_the_api_tells_who_runs_what(tmp_path: Path) -> None:
    async with running_site(tmp_path, real_insights=True) as site:
        now = site.clock.now()
        await site.store.write(_agents)
        await site.store.write(_begin, GARDENER, GARDEN, JobKind.HEARTBEAT, "schedule:s1")
        await site.store.write(_claim, "node-7", now)
        items: list[dict[str, Any]] = (await site.call("GET", "/api/activity")).json()["items"]
        assert [(each["agent"], each["status"]) for each in items] == [
            ("gardener", "running"), ("helper", "idle"), ("lazy", "offline"),
        ]  # fmt: skip
        first = items[0]
        assert (first["type"], first["process"], first["channelId"]) == ("heartbeat", "node-7", "garden")
        assert first["statusNote"] == "Cycle 1 of 2"
        assert items[1]["statusNote"] is None
        assert (await site.call("GET", "/api/activity", key=VIEWER_KEY)).status == 403
        (tmp_path / "address").write_text(site.url, encoding="utf-8")
        (tmp_path / "api-key").write_text(DAEMON_KEY, encoding="utf-8")
        shown = await asyncio.to_thread(CliRunner().invoke, status, ["--data", str(tmp_path)])
        assert shown.stdout.splitlines()[1].split()[:4] == ["gardener", "running", "heartbeat", "chat:garden"]
