"""The scheduler when clocks are set, and when runs fail: no time comes twice, no schedule stops, and a failing one
pauses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from arvis.bus import EventBus
from arvis.domain.events import SchedulesChanged
from arvis.domain.jobs import Done, Fail, Job
from arvis.domain.messages import Address
from arvis.domain.schedules import Cause, Occurrence, OccurrenceStatus, ScheduleKind
from arvis.messaging.owner_alerts import choose_place
from arvis.ports.store import Store, Transaction
from arvis.process.clock import SystemClock
from arvis.process.leases import Holding
from arvis.scheduler import due
from arvis.scheduler.beginning import trigger
from arvis.scheduler.scheduler import Scheduler
from arvis.scheduler.scripts import ScheduleHandler
from arvis.services import schedule_runs
from arvis.store.open import Database
from arvis.tasks.state import TaskSpec
from tests.conformance.databases import opened
from tests.flows.app_parts import ObservedStore
from tests.flows.schedule_kit import (
    DAY,
    HOUR,
    MINUTE,
    NOW,
    SCRIPT,
    SECOND,
    Desk,
    WildClock,
    add,
    add_helper,
    at,
    begun,
    schedule_with,
)

BEAT = {"kind": ScheduleKind.HEARTBEAT}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        await store.write(add_helper)
        yield Desk(store, WildClock())


# -- clocks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hours", [1, 24])
async def test_a_clock_that_went_ahead_and_back_brings_no_time_twice(desk: Desk, hours: int) -> None:
    cron, beat = await desk.add("*/30 * * * *"), await desk.add("every 20 m", **BEAT)
    slow = Desk(desk.store, desk.clock, poll_seconds=60)
    await slow.pass_time(3600)
    desk.clock.set_by(hours * 3600)
    await slow.pass_time(600)
    desk.clock.set_by(-hours * 3600)
    await slow.pass_time(3600 * (hours + 2))
    for schedule in (cron, beat):
        ran = await desk.ran(schedule)
        assert len({due for due, _ in ran}) == len(ran)
        assert [cause for _, cause in ran].count(Cause.MISSED) <= 1


async def test_an_interval_does_not_wait_until_the_clock_is_there_again(desk: Desk) -> None:
    beat = await desk.add("every 5 m", **BEAT)
    await desk.pass_time(60)
    desk.clock.set_by(-86_400)
    with capture_logs() as logs:
        await desk.pass_time(601)
    assert {due for due, _ in await desk.ran(beat)} == {NOW, NOW + 5 * MINUTE - DAY, NOW + 10 * MINUTE - DAY}
    assert [entry["event"] for entry in logs].count("clock_jumped") == 1


async def test_an_interval_that_meets_its_own_times_again_begins_anew(desk: Desk) -> None:
    beat = await desk.add("every 5 m", **BEAT)
    await desk.pass_time(601)
    desk.clock.set_by(-601 - 300)
    await desk.pass_time(1300)
    ran = [due for due, _ in await desk.ran(beat)]
    assert len(set(ran)) == len(ran)
    assert len(ran) >= 3 + 2


async def test_a_start_with_a_clock_that_was_put_back_by_a_year(desk: Desk) -> None:
    cron = await desk.add("0 10 * * *")
    desk.clock.set_by(365 * 86_400)
    await desk.look()
    await desk.end_all()
    assert len(await desk.ran(cron)) == 1
    desk.clock.set_by(-365 * 86_400)
    await desk.restarted().look()
    assert (await desk.current(cron)).next_run == at("2026-11-22 10:00")


async def test_a_steady_clock_is_no_jump(desk: Desk) -> None:
    """A suspended machine is no jump, either: its monotonic time includes the pause."""
    await desk.look()
    desk.clock.pass_time(30 * 86_400)
    with capture_logs() as logs:
        await desk.look()
    assert logs == []


@pytest.mark.parametrize(
    ("zone", "text", "start", "times"),
    [
        ("Europe/Berlin", "30 2 * * *", "2027-03-27 12:00", ["2027-03-29 02:30"]),
        ("Europe/Berlin", "30 2 * * *", "2027-10-30 12:00", ["2027-10-31 02:30", "2027-11-01 02:30"]),
        ("America/New_York", "30 1 * * *", "2027-11-06 12:00", ["2027-11-07 01:30", "2027-11-08 01:30"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2027-04-03 12:00", ["2027-04-04 01:45", "2027-04-05 01:45"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2027-10-02 12:00", ["2027-10-04 02:15"]),
    ],
)
async def test_a_time_that_clocks_skip_does_not_come_and_one_shown_twice_comes_once(
    desk: Desk, zone: str, text: str, start: str, times: list[str]
) -> None:
    desk.clock.set_by((at(start, zone) - NOW) / 1000)
    cron = await desk.add(text, timezone=zone)
    await Desk(desk.store, desk.clock, poll_seconds=3600).pass_time(44 * 3600)
    assert [due for due, _ in await desk.ran(cron)] == [at(time, zone) for time in times]


# -- failures ----------------------------------------------------------------------------------------------


async def test_what_fails_again_and_again_is_left_alone_for_longer_and_longer(desk: Desk) -> None:
    beat = await desk.add("every 1 m", **BEAT)
    slow = Desk(desk.store, desk.clock, poll_seconds=600)
    await slow.pass_time(64 * 60, ends=OccurrenceStatus.FAILED)
    begun_at = [due for due, _ in await desk.ran(beat)]
    assert [(due - NOW) // MINUTE for due in begun_at] == [0, 2, 6, 14, 30, 62]
    assert (await desk.current(beat)).failures == 6
    await slow.pass_time(24 * 3600, ends=OccurrenceStatus.FAILED)
    rest = (await desk.current(beat)).cooldown_until or 0
    assert rest - desk.clock.now() <= 6 * HOUR
    await slow.pass_time(7 * 3600)
    after = await desk.current(beat)
    assert (after.failures, after.cooldown_until) == (0, None)


async def test_the_owner_is_told_of_the_third_failure_and_then_of_every_25th(desk: Desk) -> None:
    await desk.store.write(choose_place, Address("web", "web", "owner"), NOW)
    beat = await desk.add("every 1h", **BEAT, name="beat")
    sent = []
    for number in range(1, 51):
        desk.clock.pass_time(1)
        await desk.store.write(due.run_now, beat.id, desk.clock.now())
        await desk.end_all(OccurrenceStatus.FAILED, "no network")
        found = await desk.store.read(lambda tx: tx.notifications.newest(f"schedule:{beat.id}"))
        sent += [number] if found is not None and found.sent_at == desk.clock.now() else []
    assert sent == [3, 25, 50]


async def test_one_that_comes_no_more_does_not_rest(desk: Desk) -> None:
    once = await desk.add("at 2026-11-22 09:01")
    await desk.pass_time(120, ends=OccurrenceStatus.FAILED)
    after = await desk.current(once)
    assert (after.failures, after.cooldown_until, after.next_run) == (1, None, None)


@pytest.mark.parametrize(
    ("said", "status"),
    [("done", "done"), ("continue", "done"), ("open", "done"), ("exhausted", "failed"), ("silent", "silent"),
     ("blocked", "blocked"), ("cancelled", "cancelled")],
)  # fmt: skip
async def test_how_its_work_ended_is_how_the_time_ended(desk: Desk, said: str, status: str) -> None:
    cron = await desk.add("every 1h")
    await desk.look()
    _, execution = await desk.store.read(begun, cron)
    assert execution is not None
    for report in ("All\0 well.", "too late"):
        await desk.store.write(schedule_runs.run_ended, execution, said, report, NOW + 5)
    (occurrence,) = await desk.occurrences(cron)
    assert (occurrence.status, occurrence.report, occurrence.ended_at) == (status, "All well.", NOW + 5)


async def test_old_times_are_forgotten_and_those_that_run_are_not(desk: Desk) -> None:
    beat = await desk.add("every 1 m", **BEAT)
    await desk.pass_time(200)
    await desk.pass_time(60, ends=None)
    assert await desk.store.write(lambda tx: tx.occurrences.prune(NOW + DAY, 100)) == 4
    assert [one.status for one in await desk.occurrences(beat)] == [OccurrenceStatus.RUNNING]


# -- at run time -------------------------------------------------------------------------------------------


@asynccontextmanager
async def running(store: Store, bus: EventBus, poll_seconds: float) -> AsyncIterator[None]:
    clock = SystemClock()
    scheduler = Scheduler(store=store, bus=bus, clock=clock, poll_seconds=poll_seconds, zone="UTC")
    task = asyncio.create_task(scheduler.run(Holding(clock=clock, lease=None, until=float("inf"))))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_it_looks_at_once_when_a_schedule_changed_and_rings_when_one_is_due(desk: Desk) -> None:
    bus, clock, store = EventBus(), SystemClock(), ObservedStore(desk.store)

    async def until(script: str, times: int) -> None:
        while store.commits.count(script) < times:
            store.changed.clear()
            await store.changed.wait()

    async with running(store, bus, 3_600), asyncio.timeout(5):
        # Without schedules, the first look only reads.
        while "look" not in store.reads:  # noqa: ASYNC110 - reads have no event
            await asyncio.sleep(0)
        beat = await desk.store.write(add, schedule_with("every 5s", **BEAT, script=SCRIPT), clock.now())
        bus.publish(SchedulesChanged())
        await until("take", 1)
        assert clock.now() - beat.created_at < SECOND
        soon = await desk.store.write(soon_again, beat.id, clock.now() + 300)
        bus.publish(SchedulesChanged())
        await until("take", 2)
        assert 0 <= clock.now() - soon < SECOND


def soon_again(tx: Transaction, schedule_id: str, when: int) -> int:
    """End the current run, and make the schedule due."""
    schedule = tx.schedules.get(schedule_id)
    assert schedule is not None
    for occurrence in tx.occurrences.running(schedule_id):
        schedule_runs.end(tx, occurrence, OccurrenceStatus.DONE, "", when)
    if (job := tx.jobs.head_of_lane(schedule.key)) is not None:
        tx.jobs.cancel(job.id, when)
    tx.schedules.advance(schedule, last_run=None, next_run=when)
    return when


class Told:
    """A handler that records its jobs."""

    def __init__(self) -> None:
        self.jobs: list[str] = []

    async def run(self, job: Job) -> Done:
        self.jobs.append(job.id)
        return Done()

    def postponed(self, tx: Transaction, job: Job, outcome: object, now: int) -> None:
        self.jobs.append(f"postponed {job.id}")

    async def announce(self, job: Job, outcome: object) -> None: ...


async def test_runs_and_scripts_go_their_own_ways(desk: Desk) -> None:
    cron, beat = await desk.add("every 1h"), await desk.add("every 1h", **BEAT, script=SCRIPT)
    await desk.look()
    (run, _), (script, _) = [await desk.store.read(begun, schedule) for schedule in (cron, beat)]
    assert run is not None
    assert script is not None
    runs, scripts = Told(), Told()
    handler = ScheduleHandler(runs=runs, scripts=scripts)
    await handler.run(run)
    await handler.run(script)
    await desk.store.write(handler.postponed, script, Fail("broken", "no network"), NOW)
    assert (runs.jobs, scripts.jobs) == ([run.id], [script.id, f"postponed {script.id}"])
    (occurrence,) = await desk.occurrences(beat)
    assert (occurrence.status, occurrence.report) == (OccurrenceStatus.FAILED, "no network")


async def test_the_condition_of_a_script_has_its_agent_asked(desk: Desk) -> None:
    beat = await desk.add("every 1h", **BEAT, script=SCRIPT)
    await desk.look()

    def hold(tx: Transaction) -> None:
        job = tx.jobs.head_of_lane(beat.key)
        assert job is not None
        tx.jobs.cancel(job.id, NOW)
        (occurrence,) = tx.occurrences.running(beat.id)
        trigger(tx, beat, occurrence, TaskSpec("The price fell!"), NOW)

    await desk.store.write(hold)
    job, execution = await desk.store.read(begun, beat)
    (occurrence,) = await desk.occurrences(beat)
    assert job is not None
    assert execution is not None
    assert (job.priority, execution.state["run"]["prompt"]) == (5, "The price fell!")
    assert (occurrence.cause, occurrence.execution_id) == (Cause.CONDITION, execution.id)


async def test_two_schedulers_at_once_make_no_time_twice(either_database: Database) -> None:
    async with opened(either_database) as store:
        await store.write(add_helper)
        clock = WildClock()
        desks = [Desk(store, clock) for _ in range(3)]
        crons = [await desks[0].add("every 1 m", **BEAT, name=f"{number}") for number in range(10)]
        for _ in range(3):
            await asyncio.gather(*(desk.look() for desk in desks))
            await desks[0].end_all()
            clock.pass_time(60)
        for cron in crons:
            ran = [due for due, _ in await desks[0].ran(cron)]
            assert ran == [NOW + number * MINUTE for number in range(3)]
        jobs = await store.read(lambda tx: [tx.executions.get(one.execution_id or "") for one in _all(tx)])
        assert len(jobs) == 30
        assert all(jobs)


def _all(tx: Transaction) -> list[Occurrence]:
    return [
        one
        for schedule in tx.schedules.all(ScheduleKind.HEARTBEAT, 100)
        for one in tx.occurrences.newest(schedule.id, 9)
    ]
