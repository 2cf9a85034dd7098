"""Every way to start an agent makes the same access decision: a restricted agent is closed to everybody who is not on
its list."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent
from arvis.domain.errors import Unprocessable
from arvis.domain.jobs import JobKind
from arvis.domain.messages import Address, IncomingMessage, PrincipalRole, Sender
from arvis.domain.schedules import Cause, MadeBy, Missed, OccurrenceStatus, Schedule, ScheduleKind
from arvis.ports.store import Transaction
from arvis.routing import permit
from arvis.scheduler import beginning
from arvis.tasks.access import Asker, CallerLimits, may_reach, refusal
from arvis.tasks.state import TaskSpec
from arvis.tasks.task import NewRun, begin_run
from arvis.web.http.identity import OWNER_ID
from tests.flows.hook_kit import called
from tests.flows.web_server import OPERATOR_KEY, Site, running_site

PLACE = Address("web", "web", "hall")
OPEN = Agent(id="a-open", slug="open", name="Open")
CLOSED = Agent(id="a-closed", slug="closed", name="Closed", tools=("run_shell",))
LIMITS = CallerLimits()
PEOPLE = (("bob", PrincipalRole.OPERATOR), (OWNER_ID, PrincipalRole.OWNER))


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with running_site(tmp_path, real_insights=True, real_operations=True) as site:
        for agent in (OPEN, CLOSED):
            await site.store.write(add, agent)
        await close(site)
        yield site


def add(tx: Transaction, agent: Agent) -> None:
    tx.agents.add(agent, 0)


async def close(site: Site, *people: str) -> None:
    listed = replace(CLOSED, allow_users=people or (OWNER_ID,))
    await site.store.write(lambda tx: tx.agents.update(listed, 1))


async def let_in_everybody(site: Site) -> None:
    await site.store.write(lambda tx: tx.agents.update(replace(CLOSED, allow_users=None), 1))


async def drawn(site: Site, name: str, agent: str, key: str = OPERATOR_KEY) -> str:
    document = {
        "settings": {"agent": agent},
        "nodes": [
            {"id": "s", "type": "start", "data": {}},
            {"id": "a", "type": "agent", "data": {"userPrompt": "Go."}},
        ],
        "connections": [{"source": "s", "target": "a"}],
    }
    answer = await site.call("POST", "/api/workflows", key=key, json={"name": name, "document": document})
    assert answer.status == 201, answer.text
    return str(answer.json()["slug"])


def cron(**changes: Any) -> dict[str, Any]:
    return {
        "kind": "cron", "agent": "closed", "name": "report", "schedule": "0 8 * * *", "prompt": "Report.",
        "platform": "web", "channelId": "hall", **changes,
    }  # fmt: skip


async def executions(site: Site) -> list[Any]:
    rows = (await site.call("GET", "/api/executions")).json()["items"]
    return [await site.store.read(execution, row["id"]) for row in rows]


def execution(tx: Transaction, execution_id: str) -> Any:
    return tx.executions.get(execution_id)


async def due(site: Site, schedule_id: str) -> Any:
    """Start the next occurrence of a schedule, and return it."""

    def come(tx: Transaction) -> Any:
        schedule = tx.schedules.get(schedule_id)
        assert schedule is not None
        begun = beginning.begin(tx, schedule, site.clock.now(), Cause.DUE, site.clock.now())
        assert begun is not None
        return tx.occurrences.get(begun.id)

    return await site.store.write(come)


# -- workflows -----------------------------------------------------------------------------------------------------------


async def test_an_operator_begins_no_workflow_of_an_agent_that_is_closed_to_them(site: Site) -> None:
    slug = await drawn(site, "Dig", "closed")
    refused = await site.call("POST", f"/api/workflows/{slug}/runs", key=OPERATOR_KEY, json={})
    assert (refused.status, refused.code) == (422, "out_of_reach")
    assert await executions(site) == []
    allowed = await drawn(site, "Own", "closed", key="daemon-key-of-the-data-folder")
    assert (await site.call("POST", f"/api/workflows/{allowed}/runs", json={})).status == 201


async def test_an_operator_does_not_repeat_the_run_of_an_agent_that_is_closed_to_them(site: Site) -> None:
    slug = await drawn(site, "Dig", "closed", key="daemon-key-of-the-data-folder")
    run = (await site.call("POST", f"/api/workflows/{slug}/runs", json={})).json()["id"]
    refused = await site.call("POST", f"/api/runs/{run}/rerun", key=OPERATOR_KEY, json={})
    assert (refused.status, refused.code) == (422, "out_of_reach")
    assert len(await executions(site)) == 1


async def test_a_workflow_without_an_agent_goes_to_the_first_that_is_open(site: Site) -> None:
    await site.store.write(add, replace(CLOSED, id="c", slug="conductor", allow_users=("x",)))
    slug = await drawn(site, "Any", "")
    begun = await site.call("POST", f"/api/workflows/{slug}/runs", key=OPERATOR_KEY, json={})
    assert begun.status == 201
    (run,) = await executions(site)
    assert run.state["agent"] == OPEN.id


# -- schedules -----------------------------------------------------------------------------------------------------------


async def test_an_operator_schedules_nothing_for_an_agent_that_is_closed_to_them(site: Site) -> None:
    for kind in ("cron", "heartbeat"):
        refused = await site.call("POST", "/api/schedules", key=OPERATOR_KEY, json=cron(kind=kind))
        assert (refused.status, refused.code) == (422, "out_of_reach")
    assert (await site.call("GET", "/api/schedules")).json()["items"] == []
    assert (await site.call("POST", "/api/schedules", json=cron())).status == 201


async def test_an_operator_does_not_take_over_a_schedule_of_an_agent_that_is_closed_to_them(site: Site) -> None:
    made = (await site.call("POST", "/api/schedules", json=cron())).json()
    refused = await site.call("PATCH", f"/api/schedules/{made['id']}", key=OPERATOR_KEY, json={"prompt": "Dig."})
    assert (refused.status, refused.code) == (422, "out_of_reach")
    # Switching a schedule off needs no access to its agent.
    off = await site.call("PATCH", f"/api/schedules/{made['id']}", key=OPERATOR_KEY, json={"enabled": False})
    assert off.status == 200


async def test_times_of_a_schedule_are_skipped_once_its_person_may_not_use_the_agent(site: Site) -> None:
    await let_in_everybody(site)
    made = (await site.call("POST", "/api/schedules", key=OPERATOR_KEY, json=cron())).json()
    beat = (await site.call("POST", "/api/schedules", key=OPERATOR_KEY, json=cron(kind="heartbeat"))).json()
    await close(site)
    for schedule in (made, beat):
        occurrence = await due(site, schedule["id"])
        assert occurrence.status is OccurrenceStatus.SKIPPED
        assert occurrence.report == (
            "The person for whom the schedule runs may not use the agent closed. "
            "Only owners and the people in `allow_users` of the agent may use it."
        )
    assert await executions(site) == []


async def test_a_schedule_leads_to_no_closed_agent_by_way_of_a_workflow(site: Site) -> None:
    slug = await drawn(site, "Dig", "closed")
    wanted = cron(agent="open", graph=f"workflow:{slug}")
    made = (await site.call("POST", "/api/schedules", key=OPERATOR_KEY, json=wanted)).json()
    occurrence = await due(site, made["id"])
    assert occurrence.status is OccurrenceStatus.FAILED
    assert "The agent closed may not be used for this task." in occurrence.report
    assert await executions(site) == []


async def test_a_reminder_of_a_member_comes_while_they_may_use_the_agent(site: Site) -> None:
    """Over the web, the key vouched for the member when they asked; elsewhere, their own row decides now."""

    def person(tx: Transaction, platform: str, *, paired: bool) -> str:
        known = tx.principals.seen(platform, "ann", "Ann", PrincipalRole.MEMBER, 0)
        if paired:
            tx.principals.pair(known.id, 0)
        return known.id

    await let_in_everybody(site)
    for platform, paired, memo, comes in (
        ("web", False, {"paired": True}, True),
        ("web", False, {"paired": False}, False),
        ("web", False, {}, True),
        ("telegram", False, {"paired": True}, False),
        ("telegram", True, {}, True),
        ("telegram", True, {"reach": ["other"]}, False),
    ):
        owner = await site.store.write(person, platform, paired=paired)
        schedule = await site.store.write(reminder, owner, memo)
        occurrence = await due(site, schedule.id)
        assert (occurrence.status is OccurrenceStatus.RUNNING) is comes, (platform, paired, memo)


def reminder(tx: Transaction, principal_id: str, memo: dict[str, Any]) -> Schedule:
    made = Schedule(
        id=tx.new_id(), kind=ScheduleKind.CRON, agent_id=CLOSED.id, name="r", schedule="0 8 * * *", timezone=None,
        prompt="Tea.", platform="web", connector="web", channel="hall", script=None, missed=Missed.ONCE, enabled=True,
        principal_id=principal_id, last_run=None, next_run=1, created_at=0, updated_at=0, created_by=MadeBy.TOOL, memo=memo,
    )  # fmt: skip
    tx.schedules.add(made)
    return made


# -- webhooks -----------------------------------------------------------------------------------------------------------

HOOK = {"path": "ci/deploy", "agent": "closed", "template": "Look.", "platform": "web", "channelId": "hall"}


async def test_an_operator_makes_no_web_hook_for_an_agent_that_is_closed_to_them(site: Site) -> None:
    refused = await site.call("POST", "/api/webhooks", key=OPERATOR_KEY, json=HOOK)
    assert (refused.status, refused.code) == (422, "out_of_reach")


async def test_a_web_hook_is_gone_once_its_person_may_not_use_the_agent(site: Site) -> None:
    await let_in_everybody(site)
    made = await site.call("POST", "/api/webhooks", key=OPERATOR_KEY, json=HOOK | {"secret": "a secret of it"})
    assert made.status == 201
    assert (await called(site, {}, secret="a secret of it")).status == 202
    await close(site)
    assert (await called(site, {}, secret="a secret of it")).status == 404
    assert len(await executions(site)) == 1


async def test_a_web_hook_leads_to_no_closed_agent_by_way_of_a_workflow(site: Site) -> None:
    slug = await drawn(site, "Dig", "closed")
    wanted = HOOK | {"agent": "open", "graph": f"workflow:{slug}", "secret": "a secret of it"}
    assert (await site.call("POST", "/api/webhooks", key=OPERATOR_KEY, json=wanted)).status == 201
    assert (await called(site, {}, secret="a secret of it")).status == 503
    assert await executions(site) == []


# -- the decision --------------------------------------------------------------------------------------------------------


async def test_agents_lead_an_operator_to_no_agent_that_is_closed_to_them(site: Site) -> None:
    def judge(tx: Transaction, role: PrincipalRole, user: str) -> bool:
        person = tx.principals.seen("web", user, user, role, 0)
        target = tx.agents.get(CLOSED.id)
        assert target is not None
        return may_reach(tx, target, Asker(person, LIMITS, PLACE, OPEN))

    assert not await site.store.write(judge, PrincipalRole.OPERATOR, "bob")
    assert await site.store.write(judge, PrincipalRole.OWNER, OWNER_ID)
    await close(site, "bob")
    assert await site.store.write(judge, PrincipalRole.OPERATOR, "bob")


@pytest.mark.parametrize(
    ("asker", "author", "allowed"),
    [
        (PrincipalRole.OWNER, None, True),
        (PrincipalRole.OWNER, PrincipalRole.OWNER, True),
        (PrincipalRole.OWNER, PrincipalRole.OPERATOR, False),
        (PrincipalRole.OWNER, PrincipalRole.BLOCKED, False),
        (PrincipalRole.OPERATOR, PrincipalRole.OWNER, False),
        (PrincipalRole.BLOCKED, PrincipalRole.OWNER, False),
    ],
)
async def test_everybody_who_has_a_say_must_be_let_in(
    site: Site, asker: PrincipalRole, author: PrincipalRole | None, allowed: bool
) -> None:
    def judge(tx: Transaction) -> str | None:
        person = tx.principals.seen("chat", "one", "One", asker, 0)
        other = tx.principals.seen("chat", "two", "Two", author, 0)
        limits = LIMITS.with_authors([] if author is None else [other.id])
        target = tx.agents.get(CLOSED.id)
        assert target is not None
        return refusal(tx, target, Asker(person, limits, PLACE, None))

    assert (await site.store.write(judge) is None) is allowed


async def test_no_run_begins_behind_the_decision(site: Site) -> None:
    def begin(tx: Transaction) -> None:
        person = tx.principals.seen("web", "bob", "Bob", PrincipalRole.OPERATOR, 0)
        agent = tx.agents.get(CLOSED.id)
        assert agent is not None
        run = NewRun(agent, TaskSpec("Dig."), PLACE, person.id, "schedule:s1")
        begin_run(tx, run, kind=JobKind.CRON, lane="x", priority=1, now=0)

    with pytest.raises(Unprocessable, match="may not be used for this task"):
        await site.store.write(begin)
    assert await executions(site) == []


# -- the list ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("listed", "allowed"), [(None, True), ((), False), (("bob",), True), (("ann",), False)])
async def test_an_empty_list_is_for_owners_alone_and_none_for_everybody(
    site: Site, listed: tuple[str, ...] | None, allowed: bool
) -> None:
    def judge(tx: Transaction) -> tuple[bool, bool, bool]:
        target = replace(CLOSED, allow_users=listed)
        tx.agents.update(target, 1)
        kept = tx.agents.get(CLOSED.id)
        assert kept == target
        people = [tx.principals.seen("web", user, user, role, 0) for user, role in PEOPLE]
        reached = [refusal(tx, kept, Asker(person, LIMITS, PLACE, None)) is None for person in people]
        sender = Sender("bob", "Bob", PrincipalRole.OPERATOR, paired=True)
        question = IncomingMessage(Address("web", "web", "dashboard-agent-closed"), "", sender, "")
        talks = permit(question, kept, "dashboard_direct", PrincipalRole.OPERATOR, None) is None
        return reached[0], reached[1], talks

    assert await site.store.write(judge) == (allowed, True, allowed)


async def test_taking_the_last_person_from_a_list_opens_the_agent_to_nobody(site: Site) -> None:
    path = "/api/agents/closed"
    assert (await site.call("PATCH", path, json={"allowUsers": []})).json()["allowUsers"] == []
    assert (await site.call("GET", path)).json()["allowUsers"] == []
    assert (await site.call("PATCH", path, json={"allowUsers": None})).json()["allowUsers"] is None
    assert (await site.call("POST", f"{path}/undo")).json()["allowUsers"] == []
