"""The scheduler at run time: each due schedule runs once, at its time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.domain.agents import AgentStatus
from arvis.domain.errors import Conflict, Unprocessable
from arvis.domain.jobs import JobKind
from arvis.domain.messages import Address, PrincipalRole
from arvis.domain.platforms import BotState
from arvis.domain.schedules import Cause, MadeBy, Missed, OccurrenceStatus, ScheduleKind
from arvis.domain.taint import Label
from arvis.scheduler import due
from arvis.scheduler.beginning import INSTRUCTIONS
from arvis.services import agents, schedules
from arvis.services.schedules import Rules
from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.flows.schedule_kit import DAY, MINUTE, NOW, SCRIPT, SECOND, Desk, WildClock, add_helper, at, begun

BEAT = {"kind": ScheduleKind.HEARTBEAT}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        await store.write(add_helper)
        yield Desk(store, WildClock())


# -- due times ---------------------------------------------------------------------------------------------


async def test_an_interval_runs_at_once_and_then_at_its_steps(desk: Desk) -> None:
    beat = await desk.add("every 5 m", **BEAT)
    await desk.pass_time(16 * 60)
    assert await desk.ran(beat) == [(NOW + number * 5 * MINUTE, Cause.DUE) for number in range(4)]


async def test_a_day_is_a_day(desk: Desk) -> None:
    beat = await desk.add("every 1d", **BEAT)
    await Desk(desk.store, desk.clock, poll_seconds=3600).pass_time(3 * 86_400 + 5)
    assert [due for due, _ in await desk.ran(beat)] == [NOW + number * DAY for number in range(4)]


async def test_a_script_every_five_seconds_comes_every_five_seconds(desk: Desk) -> None:
    beat = await desk.add("every 5s", **BEAT, script=SCRIPT)
    await desk.pass_time(61)
    assert [due for due, _ in await desk.ran(beat)] == [NOW + number * 5 * SECOND for number in range(13)]


async def test_a_calendar_schedule_waits_for_its_time(desk: Desk) -> None:
    cron = await desk.add("0 10 * * *")
    await Desk(desk.store, desk.clock, poll_seconds=3600).pass_time(26 * 3600)
    assert await desk.ran(cron) == [(at(f"2026-11-{day} 10:00"), Cause.DUE) for day in (22, 23)]


async def test_a_single_time_comes_once_and_is_over(desk: Desk) -> None:
    once = await desk.add("at 2026-11-22 10:00")
    await desk.pass_time(3 * 3600)
    assert await desk.ran(once) == [(at("2026-11-22 10:00"), Cause.DUE)]
    assert (await desk.current(once)).next_run is None


# -- kinds -------------------------------------------------------------------------------------------------


async def test_a_cron_is_a_run_of_its_agent_without_history(desk: Desk) -> None:
    cron = await desk.add("every 1h", prompt="Say the weather.", created_by=MadeBy.TAG, thread="t1")
    await desk.look()
    job, execution = await desk.store.read(begun, cron)
    assert job is not None
    assert execution is not None
    assert (job.kind, job.priority, job.lane, job.key) == (JobKind.CRON, 10, cron.key, cron.key)
    assert execution.graph == "agent"
    run = execution.state["run"]
    assert (run["prompt"], run["instructions"], run["history"]) == ("Say the weather.", INSTRUCTIONS, [])
    assert run["source"] == f"schedule:{cron.id}"
    assert execution.state["address"] == Address("web", "web", "room", "t1").to_json()
    assert execution.state["taint"] == [Label.AGENTS]
    (occurrence,) = await desk.occurrences(cron)
    assert (occurrence.execution_id, occurrence.status) == (execution.id, OccurrenceStatus.RUNNING)


@pytest.mark.parametrize(("graph", "walked"), [(None, "heartbeat"), ("general", "agent"), ("overlord", "heartbeat")])
async def test_a_heartbeat_goes_on_by_itself(desk: Desk, graph: str | None, walked: str) -> None:
    beat = await desk.add("every 1h", **BEAT, graph=graph, max_cycles=4)
    await desk.look()
    job, execution = await desk.store.read(begun, beat)
    assert job is not None
    assert execution is not None
    assert (job.kind, execution.graph) == (JobKind.HEARTBEAT, walked)
    assert execution.state.get("max_cycles") == (4 if walked == "heartbeat" else None)


async def test_a_schedule_has_its_own_model_and_effort(desk: Desk) -> None:
    cron = await desk.add("every 1h", model="openai/gpt-5", effort="high")
    await desk.look()
    _, execution = await desk.store.read(begun, cron)
    assert execution is not None
    assert (execution.state["run"]["model"], execution.state["run"]["effort"]) == ("openai/gpt-5", "high")
    for wrong in ({"effort": "huge"}, {"model": "two words"}):
        with pytest.raises(Unprocessable):
            await desk.add("every 1h", name="b", **wrong)


async def test_a_script_is_a_job_without_an_execution(desk: Desk) -> None:
    beat = await desk.add("every 1h", **BEAT, script=SCRIPT)
    await desk.look()
    job, execution = await desk.store.read(begun, beat)
    (occurrence,) = await desk.occurrences(beat)
    assert job is not None
    assert execution is None
    assert (job.kind, job.payload) == (
        JobKind.HEARTBEAT,
        {"schedule": beat.id, "due": occurrence.due, "occurrence": occurrence.id},
    )


async def test_it_goes_through_the_only_bot_of_its_platform(desk: Desk) -> None:
    async def report_of(*names: str) -> str:
        for name in names:
            await desk.store.write(
                lambda tx, name: tx.bots.put_status("telegram", name, BotState.RUNNING, error="", now=NOW), name
            )
        cron = await desk.add("every 1h", platform="telegram", channel="5")
        await desk.look()
        (occurrence,) = await desk.occurrences(cron)
        _, execution = await desk.store.read(begun, cron)
        return occurrence.report or f"through {execution and execution.state['address'][1]}"

    assert await report_of() == "No bot for telegram is set up, so the text cannot be posted."
    assert await report_of("main") == "through main"
    assert await report_of("other") == (
        "There are several bots for telegram. Name the bot that posts the text as `connector`: main, other."
    )


# -- skipped times -----------------------------------------------------------------------------------------


async def test_one_that_still_runs_is_left_alone_and_looked_at_again(desk: Desk) -> None:
    beat = await desk.add("every 1 m", **BEAT)
    await desk.look()
    desk.clock.pass_time(60)
    before = await desk.current(beat)
    assert before.next_run == NOW + MINUTE
    assert await desk.look() == 10.0
    assert await desk.current(beat) == before
    assert len(await desk.occurrences(beat)) == 1
    await desk.end_all()
    desk.clock.pass_time(10)
    await desk.look()
    assert [due for due, _ in await desk.ran(beat)] == [NOW, NOW + MINUTE]


async def test_a_paused_agent_runs_nothing_and_the_first_time_says_so(desk: Desk) -> None:
    beat = await desk.add("every 1 m", **BEAT)
    await desk.pass_time(30)
    await desk.store.write(agents.set_status, "agent-helper", AgentStatus.PAUSED, by="ann", now=NOW)
    await desk.pass_time(300)
    found = [(one.status, one.report) for one in await desk.occurrences(beat)]
    assert found == [
        (OccurrenceStatus.DONE, "it is said"),
        (OccurrenceStatus.SKIPPED, "The agent helper is paused."),
    ]
    await desk.store.write(agents.set_status, "agent-helper", AgentStatus.ACTIVE, by="ann", now=NOW)
    await desk.pass_time(60)
    assert len(await desk.ran(beat)) == 2


async def test_nothing_runs_for_a_person_who_is_blocked(desk: Desk) -> None:
    person = await desk.store.write(lambda tx: tx.principals.seen("web", "eve", "Eve", PrincipalRole.MEMBER, NOW))
    beat = await desk.add("every 1 m", principal_id=person.id)
    await desk.store.write(lambda tx: tx.principals.set_role(person.id, PrincipalRole.BLOCKED, NOW))
    await desk.look()
    assert [(one.status, one.report) for one in await desk.occurrences(beat)] == [
        (OccurrenceStatus.SKIPPED, "The person for whom the schedule runs is blocked.")
    ]


async def test_what_is_switched_off_does_not_come(desk: Desk) -> None:
    beat = await desk.add("every 1 m", enabled=False)
    await desk.pass_time(120)
    assert await desk.occurrences(beat) == []


async def test_what_was_changed_meanwhile_is_not_run_as_it_was(desk: Desk) -> None:
    """Two processes may act on the same row on PostgreSQL; the later one finds it changed."""
    cron = await desk.add("every 1 m")
    await desk.store.write(schedules.change_schedule, cron.id, {"prompt": "Other."}, Rules(), NOW + 1, by=None)
    assert not await desk.store.write(lambda tx: tx.schedules.advance(cron, last_run=NOW, next_run=NOW + MINUTE))


# -- missed times ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missed", Missed)
async def test_what_was_missed_is_made_up_for_as_the_schedule_says(desk: Desk, missed: Missed) -> None:
    cron = await desk.add("0 * * * *", missed=missed)
    desk.clock.pass_time(5 * 3600 + 1800)  # from 09:00 in Berlin to 14:30
    await desk.restarted().pass_time(60)
    hours = [at(f"2026-11-22 {hour}:00") for hour in range(10, 15)]
    expected = {Missed.SKIP: [], Missed.ONCE: hours[-1:], Missed.ALL: hours}[missed]
    assert await desk.ran(cron) == [(hour, Cause.MISSED) for hour in expected]
    assert (await desk.current(cron)).next_run == at("2026-11-22 15:00")


async def test_what_was_skipped_is_told_once(desk: Desk) -> None:
    cron = await desk.add("0 * * * *", missed=Missed.SKIP)
    desk.clock.pass_time(5 * 3600 + 1800)
    await desk.restarted().look()
    (skipped,) = await desk.occurrences(cron)
    assert (skipped.due, skipped.cause, skipped.status) == (
        at("2026-11-22 14:00"),
        Cause.MISSED,
        OccurrenceStatus.SKIPPED,
    )


async def test_all_that_was_missed_ends_at_twenty_four(desk: Desk) -> None:
    cron = await desk.add("*/10 * * * *", missed=Missed.ALL)
    desk.clock.pass_time(10 * 86_400 + 30 * 60 + 70)
    await desk.restarted().pass_time(300)
    ran = await desk.ran(cron)
    assert [cause for _, cause in ran] == [Cause.MISSED] * 24


@pytest.mark.parametrize(("grace", "runs"), [(None, 1), (40 * MINUTE, 1), (20 * MINUTE, 0)])
async def test_a_missed_time_is_made_up_for_within_its_grace(desk: Desk, grace: int | None, runs: int) -> None:
    cron = await desk.add("0 10 * * *", grace=grace)
    desk.clock.pass_time(3600 + 1800)
    await desk.look()
    assert len(await desk.ran(cron)) == runs
    assert len(await desk.occurrences(cron)) == 1


async def test_a_little_late_is_not_missed(desk: Desk) -> None:
    cron = await desk.add("0 10 * * *", missed=Missed.SKIP)
    desk.clock.pass_time(3600 + 59)
    await desk.look()
    assert await desk.ran(cron) == [(at("2026-11-22 10:00"), Cause.DUE)]


async def test_an_interval_makes_up_for_nothing_and_keeps_its_step(desk: Desk) -> None:
    beat = await desk.add("every 5 m", **BEAT)
    await desk.pass_time(60)
    desk.clock.pass_time(30 * 86_400 + 17)
    await desk.restarted().pass_time(600)
    (_, first), (due, cause), *later = await desk.ran(beat)
    assert (first, cause, len(later)) == (Cause.DUE, Cause.MISSED, 2)
    assert [(one - NOW) % (5 * MINUTE) for one in (due, *(at for at, _ in later))] == [0, 0, 0]


# -- by a person -------------------------------------------------------------------------------------------


async def test_somebody_may_have_it_run_now(desk: Desk) -> None:
    cron = await desk.add("0 10 * * *", enabled=False)
    await desk.store.write(due.run_now, cron.id, NOW + 5)
    with pytest.raises(Conflict, match="running"):
        await desk.store.write(due.run_now, cron.id, NOW + 6)
    assert await desk.ran(cron) == [(NOW + 5, Cause.MANUAL)]
    assert replace(await desk.current(cron), last_run=None) == cron
    await desk.end_all()
    await desk.store.write(due.run_now, cron.id, NOW + 5)
    assert [due for due, _ in await desk.ran(cron)] == [NOW + 5, NOW + 6]


async def test_what_lost_its_job_is_ended(desk: Desk) -> None:
    beat = await desk.add("every 1h", **BEAT, script=SCRIPT)
    await desk.look()
    job, _ = await desk.store.read(begun, beat)
    assert job is not None
    await desk.store.write(lambda tx: tx.jobs.cancel(job.id, NOW))
    desk.clock.pass_time(10)
    await desk.look()
    (occurrence,) = await desk.occurrences(beat)
    assert (occurrence.status, occurrence.ended_at) == (OccurrenceStatus.CANCELLED, NOW + 10 * SECOND)
