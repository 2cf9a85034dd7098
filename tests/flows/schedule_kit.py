"""A scheduler over a real store, and a clock that is set, goes back, and stands still. Tests end the runs by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from arvis.bus import EventBus
from arvis.domain.agents import Agent
from arvis.domain.executions import Execution, ExecutionStatus
from arvis.domain.jobs import Job
from arvis.domain.schedules import Cause, Missed, Occurrence, OccurrenceStatus, Schedule, ScheduleKind
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding
from arvis.scheduler.scheduler import Scheduler
from arvis.services import schedule_runs, schedules
from arvis.services.schedules import Rules

HELPER = Agent(id="agent-helper", slug="helper", name="Helper", timezone="Europe/Berlin")
SCRIPT = {"type": "script", "url": "https://example.com/price", "template": "{{a}}"}
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
#: Sunday 22 November 2026, 08:00 UTC.
NOW = 1_795_334_400_000


class WildClock:
    """A clock with two times: `pass_time` moves both, `set_by` only the wall clock."""

    def __init__(self, now: int = NOW) -> None:
        self._wall = now
        self._steady = 0.0

    def now(self) -> int:
        return self._wall

    def monotonic(self) -> float:
        return self._steady

    async def sleep(self, seconds: float) -> None:
        self.pass_time(seconds)

    def pass_time(self, seconds: float) -> None:
        self._wall += round(seconds * 1000)
        self._steady += seconds

    def set_by(self, seconds: float) -> None:
        self._wall += round(seconds * 1000)


class Desk:
    """One scheduler process; a restart makes a new one."""

    def __init__(self, store: Store, clock: WildClock, *, poll_seconds: float = 10, zone: str = "UTC") -> None:
        self.store = store
        self.clock = clock
        self.holding = Holding(clock=clock, lease=None, until=float("inf"))
        self.scheduler = Scheduler(store=store, bus=EventBus(), clock=clock, poll_seconds=poll_seconds, zone=zone)

    def restarted(self) -> Desk:
        return Desk(self.store, self.clock)

    async def look(self) -> float:
        return await self.scheduler.look(self.holding)

    async def pass_time(self, seconds: float, *, ends: OccurrenceStatus | None = OccurrenceStatus.DONE) -> None:
        """Let the scheduler poll for this long. Runs end at once with status `ends`, unless that is None."""
        end = self.clock.monotonic() + seconds
        while True:
            wait = await self.look()
            if ends is not None:
                await self.end_all(ends)
            if self.clock.monotonic() + wait > end:
                self.clock.pass_time(end - self.clock.monotonic())
                return
            self.clock.pass_time(max(wait, 0.001))

    async def add(self, schedule: str, **fields: Any) -> Schedule:
        return await self.store.write(add, schedule_with(schedule, **fields), self.clock.now())

    async def occurrences(self, schedule: Schedule) -> list[Occurrence]:
        """Return the occurrences, oldest first."""
        found = await self.store.read(lambda tx: tx.occurrences.newest(schedule.id, 10_000))
        return sorted(found, key=lambda occurrence: (occurrence.created_at, occurrence.due))

    async def ran(self, schedule: Schedule) -> list[tuple[int, Cause]]:
        """Return the times and causes of the occurrences that ran."""
        found = await self.occurrences(schedule)
        return [(one.due, one.cause) for one in found if one.status is not OccurrenceStatus.SKIPPED]

    async def current(self, schedule: Schedule) -> Schedule:
        found = await self.store.read(lambda tx: tx.schedules.get(schedule.id))
        assert found is not None
        return found

    async def end_all(self, status: OccurrenceStatus = OccurrenceStatus.DONE, report: str = "it is said") -> None:
        await self.store.write(end_all, status, report, self.clock.now())


def schedule_with(text: str, **fields: Any) -> Schedule:
    blank = Schedule(
        id="", kind=ScheduleKind.CRON, agent_id="helper", name="", schedule=text, timezone=None, prompt="Report.",
        platform="web", connector="", channel="room", script=None, missed=Missed.ONCE, enabled=True, principal_id=None,
        last_run=None, next_run=None, created_at=0, updated_at=0,
    )  # fmt: skip
    return replace(blank, **fields)


def at(text: str, zone: str = "Europe/Berlin", *, fold: int = 0) -> int:
    """Return a local time in ms."""
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()) * 1000


# -- scripts -----------------------------------------------------------------------------------------------


def add_helper(tx: Transaction) -> None:
    tx.agents.add(HELPER, NOW)


def add(tx: Transaction, wanted: Schedule, now: int) -> Schedule:
    rules = Rules(crons_per_agent=1_000, heartbeats_per_agent=1_000)
    return schedules.add_schedule(tx, wanted, rules, now)


def end_all(tx: Transaction, status: OccurrenceStatus, report: str, now: int) -> None:
    for schedule in everything(tx):
        for occurrence in tx.occurrences.running(schedule.id):
            end_one(tx, schedule, occurrence, status, report, now=now)


def end_one(
    tx: Transaction, schedule: Schedule, occurrence: Occurrence, status: OccurrenceStatus, report: str, *, now: int
) -> None:
    """End an occurrence like the commit that ends its run or script call."""
    if (job := tx.jobs.head_of_lane(schedule.key)) is not None:
        tx.jobs.cancel(job.id, now)
    execution = tx.executions.get(occurrence.execution_id or "")
    if execution is None:
        schedule_runs.end(tx, occurrence, status, report, now)
        return
    tx.executions.set_status(execution.id, ExecutionStatus.DONE, None, now)
    schedule_runs.run_ended(tx, execution, status.value, report, now)


def everything(tx: Transaction) -> list[Schedule]:
    return [schedule for kind in ScheduleKind for schedule in tx.schedules.all(kind, 2_000)]


def begun(tx: Transaction, schedule: Schedule) -> tuple[Job | None, Execution | None]:
    """Return the current job of a schedule, and its execution."""
    job = tx.jobs.head_of_lane(schedule.key)
    return job, tx.executions.get(job.execution_id or "") if job is not None else None
