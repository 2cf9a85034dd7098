"""The scheduler at run time: it checks when the next schedule is due, when a schedule has changed, and every few
seconds regardless of clocks; the rows decide what to do (`due.py`). `ScheduleHandler` handles the jobs."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from arvis.domain.errors import StoreError
from arvis.domain.events import NoticesMissed, SchedulesChanged
from arvis.domain.jobs import Fail, Job, JobResult, Unfinished
from arvis.domain.schedules import OccurrenceStatus
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding
from arvis.queue.queue import Handler
from arvis.scheduler import due
from arvis.scheduler.due import LATE_MS
from arvis.services import schedule_runs
from arvis.services.schedules import Rules


class ScheduleHandler:
    """Implements `Handler` for jobs of kind `cron`, `heartbeat` and `webhook`. `runs` handles those that have an
    execution. `scripts` handles the others, whose payload is `{"schedule": id, "due": ms, "occurrence": id}`; it ends
    the occurrence in the commit that settles the job (`schedule_runs.end`), or lets the agent continue it
    (`beginning.trigger`)."""

    def __init__(self, *, runs: Handler, scripts: Handler) -> None:
        self._runs = runs
        self._scripts = scripts

    async def run(self, job: Job) -> JobResult:
        return await self._handler_of(job).run(job)

    def postponed(self, tx: Transaction, job: Job, outcome: Unfinished, now: int) -> None:
        self._handler_of(job).postponed(tx, job, outcome, now)
        if job.execution_id is not None or not isinstance(outcome, Fail):
            return
        occurrence = tx.occurrences.get(str(job.payload.get("occurrence", "")))
        if occurrence is not None:
            schedule_runs.end(tx, occurrence, OccurrenceStatus.FAILED, outcome.error, now)

    async def announce(self, job: Job, outcome: Unfinished) -> None:
        await self._handler_of(job).announce(job, outcome)

    def _handler_of(self, job: Job) -> Handler:
        return self._runs if job.execution_id is not None else self._scripts


_NAME = "soonest"


class Ticker:
    """An alarm that belongs to the event loop in which it is first set: an installation without schedules does not
    load the library. `ring` must not block."""

    def __init__(self, *, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._alarm: Any = None

    def stop(self) -> None:
        if self._alarm is not None:
            self._alarm.shutdown(wait=False)

    def set(self, seconds: float) -> None:
        """Fire once after this many seconds, in place of any earlier setting."""
        if self._alarm is None:
            library = importlib.import_module("apscheduler.schedulers.asyncio")
            self._alarm = library.AsyncIOScheduler(timezone=UTC)
            self._alarm.start()
        # The library reads the clock of the system, even if this process uses another clock.
        at = datetime.now(UTC) + timedelta(seconds=seconds)
        self._alarm.add_job(self._rung, "date", run_date=at, id=_NAME, replace_existing=True, misfire_grace_time=None)

    async def _rung(self) -> None:
        """A coroutine, because the library would call a function in a thread."""
        self._ring()


log = structlog.get_logger(__name__)

#: If the wall clock moves by this much (ms) more or less than the monotonic one, it was set.
JUMP_MS = 60_000


class Scheduler:
    """Starts due schedules. `poll_seconds` is the maximum interval of checks, `zone` the daemon's time zone. One
    scheduler at a time works on a database; if there are two for a moment, the rows keep them apart."""

    def __init__(self, *, store: Store, bus: Bus, clock: Clock, poll_seconds: float, zone: str) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._late = max(int(2 * poll_seconds * 1000), LATE_MS)
        self._rules = Rules(zone=zone)
        #: Wall and monotonic time of the last check; None: the rows may have been written under another clock.
        self._seen: tuple[int, float] | None = None

    async def run(self, holding: Holding) -> None:
        """Check repeatedly until cancelled. If the database is unavailable, the check is repeated."""
        with self._woken() as (wake, ticker):
            while True:
                wake.clear()
                try:
                    if (seconds := await self.look(holding)) < self._poll_seconds:
                        ticker.set(seconds)
                except StoreError as error:
                    log.warning("duty_failed", duty="schedules", error=error.what, why=error.why)
                with suppress(TimeoutError):
                    # The loop's own monotonic time: the alarm uses the wall clock, which may be set.
                    async with asyncio.timeout(self._poll_seconds):
                        await wake.wait()

    async def look(self, holding: Holding) -> float:
        """Handle due schedules, and return the seconds until the next check."""
        now = self._clock.now()
        if (back := self._set_back_by(now)) is not None:
            moved = await self._store.write(due.set_back, holding, self._rules, now, back=back)
            if moved:
                log.info("schedules_moved", count=moved, why="their times were later than possible by this clock")
        self._seen = now, self._clock.monotonic()
        found = await self._store.read(due.look, now)
        while found.now and await self._store.write(due.take, holding, self._rules, self._late, now):
            """Slice by slice."""
        if found.now:
            found = await self._store.read(due.look, now)
        soonest = self._poll_seconds if found.soonest is None else (found.soonest - self._clock.now()) / 1000
        return min(max(0.0, soonest), self._poll_seconds)

    def _set_back_by(self, now: int) -> int | None:
        """Return by how much (ms) the wall clock was set back since the last check; None if it was not, and 0 at the
        first check, when this is unknown."""
        if self._seen is None:
            return 0
        wall, steady = self._seen
        jump = round(now - wall - (self._clock.monotonic() - steady) * 1000)
        if abs(jump) > JUMP_MS:
            log.warning("clock_jumped", seconds=jump / 1000, why="the clock of this machine was set")
        return -jump if jump < -JUMP_MS else None

    @contextmanager
    def _woken(self) -> Iterator[tuple[asyncio.Event, Ticker]]:
        """Yield the event that is set at the next due time, or when a schedule changes."""
        wake = asyncio.Event()
        ticker = Ticker(ring=wake.set)
        endings = [self._bus.subscribe(kind, lambda _: wake.set()) for kind in (SchedulesChanged, NoticesMissed)]
        try:
            yield wake, ticker
        finally:
            ticker.stop()
            for end in endings:
                end()
