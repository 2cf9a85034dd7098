"""The loop of the scheduler. The loop checks the schedules when a schedule is due or was changed. It also checks them
every few seconds, because the clock may have been set. The transaction scripts in `due.py` decide at which times
schedules run."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from arvis.bus import EventBus
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import StoreError
from arvis.domain.events import NoticesMissed, SchedulesChanged
from arvis.domain.notifications import DAY_MS, Hint, Problem, Severity
from arvis.messaging.owner_alerts import alert_owner
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding

_NAME = "soonest"


class Ticker:
    """An alarm in the event loop, which calls `ring`. The first call of `set` imports the library, so that an
    installation without schedules does not load it. `ring` must not block."""

    def __init__(self, *, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._alarm: Any = None

    def close(self) -> None:
        if self._alarm is not None:
            self._alarm.shutdown(wait=False)

    def set(self, seconds: float) -> None:
        """Call `ring` once after `seconds`. This replaces the time that was set before."""
        if self._alarm is None:
            library = importlib.import_module("apscheduler.schedulers.asyncio")
            self._alarm = library.AsyncIOScheduler(timezone=UTC)
            self._alarm.start()
        # The library uses the system's clock. `Ticker` must use that clock, too, even if the scheduler has another
        # clock.
        at = datetime.now(UTC) + timedelta(seconds=seconds)
        self._alarm.add_job(self._rung, "date", run_date=at, id=_NAME, replace_existing=True, misfire_grace_time=None)

    async def _rung(self) -> None:
        """Call `ring`. The function is a coroutine, because the library would run a plain function in a thread."""
        self._ring()


log = structlog.get_logger(__name__)

#: The wall clock counts as set if its advance since the last check differs from the advance of the monotonic clock by
#: more than this time (ms).
JUMP_MS = 60_000
#: A time counts as missed if its run is late by more than this (ms).
LATE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Due:
    """The result of `look`."""

    #: True if a schedule is due, or if an abandoned occurrence must be ended.
    now: bool
    #: The time (ms) of the schedule that is due next; None if no schedule has a next time.
    soonest: int | None


def look(tx: Transaction, now: int) -> Due:
    """Find due schedules and abandoned occurrences. Call this function before each write, because usually there is
    nothing to write."""
    waiting = tx.schedules.due(now, 1) or tx.occurrences.orphans(1)
    return Due(bool(waiting), tx.schedules.next_due(now))


async def _scripts() -> Any:
    """Return the module `due`. It is imported for the first schedule, because it needs the services of agents and
    workflows."""
    return await asyncio.to_thread(importlib.import_module, "arvis.scheduler.due")


class Scheduler:
    """The part that starts the work of due schedules. `poll_seconds` is the maximum time between two checks, `zone` the
    daemon's time zone. Only one process runs the scheduler of a database. Even if two processes do so for a
    moment, each occurrence is started only once."""

    def __init__(self, *, store: Store, bus: EventBus, clock: Clock, poll_seconds: float, zone: str) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._late = max(int(2 * poll_seconds * 1000), LATE_MS)
        self._zone = zone
        #: The wall time and the monotonic time of the last check. None before the first check: the clock may have been
        #: set while the daemon was stopped.
        self._seen: tuple[int, float] | None = None

    async def run(self, holding: Holding) -> None:
        """Check the schedules repeatedly until cancelled. An error of the database is logged and does not end the
        loop."""
        with self._bus.signal(SchedulesChanged, NoticesMissed) as wake, closing(Ticker(ring=wake.set)) as ticker:
            while True:
                try:
                    if (seconds := await self.look(holding)) < self._poll_seconds:
                        ticker.set(seconds)
                except StoreError as error:
                    log.warning("duty_failed", duty="schedules", error=error.what, why=error.why)
                await wake.wait(self._poll_seconds)

    async def look(self, holding: Holding) -> float:
        """Handle due schedules, and return the seconds until the next check."""
        now = self._clock.now()
        jump = self._jump(now)
        if jump is not None:
            await self._store.write(_alert_jump, holding, jump, now)
        back = _set_back_by(jump, first=self._seen is None)
        self._seen = now, self._clock.monotonic()
        found = await self._store.read(look, now)
        if back is not None and found.soonest is not None:
            found = await self._correct(holding, now, back)
        if found.now:
            due = await _scripts()
            while await self._store.write(due.take, holding, due.Rules(zone=self._zone), self._late, now):
                pass
            found = await self._store.read(look, now)
        soonest = self._poll_seconds if found.soonest is None else (found.soonest - self._clock.now()) / 1000
        return min(max(0.0, soonest), self._poll_seconds)

    async def _correct(self, holding: Holding, now: int, back: int) -> Due:
        """Correct the next times of the schedules after the clock was set back by `back` ms."""
        due = await _scripts()
        moved = await self._store.write(due.set_back, holding, due.Rules(zone=self._zone), now, back=back)
        if moved:
            log.info("schedules_moved", count=moved, why="the clock was set back, so their next times were too late")
        return await self._store.read(look, now)

    def _jump(self, now: int) -> int | None:
        """Return the time (ms) by which the wall clock was set since the last check; None if it was not set."""
        if self._seen is None:
            return None
        wall, steady = self._seen
        jump = round(now - wall - (self._clock.monotonic() - steady) * 1000)
        if abs(jump) <= JUMP_MS:
            return None
        log.warning("clock_jumped", seconds=jump / 1000, why="the clock of this machine was set")
        return jump


def _set_back_by(jump: int | None, *, first: bool) -> int | None:
    """Return the time (ms) by which the wall clock was set back; None if it was not set back. At the first check this
    time is unknown, so return 0."""
    if first:
        return 0
    return -jump if jump is not None and jump < 0 else None


def _alert_jump(tx: Transaction, holding: Holding, jump: int, now: int) -> None:
    """Alert the owners about a clock that was set."""
    holding.check(tx)
    way = "forward" if jump > 0 else "back"
    text = (
        f"The clock of this machine was set {way} by {abs(jump) // 1000} s. Schedules now follow the new time. If you "
        "did not expect this, check the time service of the machine."
    )
    hint = Hint("\n`arvis doctor` checks the clock.", "\nThe page Doctor checks the clock.", "/settings/doctor")
    problem = Problem(cause="clock", text=text, severity=Severity.WARNING, hint=hint, lasts=DAY_MS)
    alert_owner(tx, problem, now)
