"""Decide which times of a schedule that have passed are handled, and how: arithmetic only.

After any pause, at most one time is run immediately. Older ones are made up for as the schedule says, by at most one
run, unless it asks for all: then one after another, the last 24 of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from arvis.calendar import Every, ScheduleText, last_times, next_times
from arvis.domain.schedules import Cause, Missed, Schedule

#: Maximum missed times that are made up for if all are requested.
MOST_MISSED = 24
#: A time that is later than this (ms) counts as missed, however often the scheduler checks.
LATE_MS = 60_000


@dataclass(frozen=True, slots=True)
class TimePlan:
    """The decision for one time. `due` is handled now: run (`cause` says why), or only recorded as missed (None).
    `next_run` is the time after it."""

    due: int
    cause: Cause | None
    next_run: int | None


def plan(schedule: Schedule, text: ScheduleText, zone: str, now: int, late: int, *, over: int = 0) -> TimePlan:
    """Plan a schedule that is due; a time more than `late` ms ago counts as missed. Times up to `over` (ms) were
    handled in another database and are only recorded."""
    passed = _passed(schedule, text, zone, now)
    newest, after = passed[-1], _next(text, zone, passed[-1], now)
    if newest <= over:
        return TimePlan(newest, None, after)
    passed = [due for due in passed if due > over]
    if schedule.missed is Missed.ALL:
        wanted = [due for due in passed if _in_grace(schedule, due, now) or due >= now - late]
        if wanted:
            cause = Cause.DUE if wanted[0] >= now - late else Cause.MISSED
            return TimePlan(wanted[0], cause, wanted[1] if len(wanted) > 1 else after)
        return TimePlan(newest, None, after)
    if newest >= now - late:
        return TimePlan(newest, Cause.DUE, after)
    made_up = schedule.missed is Missed.ONCE and _in_grace(schedule, newest, now)
    return TimePlan(newest, Cause.MISSED if made_up else None, after)


def resumed(schedule: Schedule, text: ScheduleText, zone: str, until: int) -> int | None:
    """Return the first time of a due schedule that was paused until this time."""
    return _next(text, zone, schedule.next_run or until, until - 1)


def natural(text: ScheduleText, zone: str, now: int) -> int | None:
    """Return the latest possible next time of a schedule under a clock that only moves forward; None: it has a single
    time, or no more."""
    return next(iter(next_times(text, zone, now, 1)), None)


def _passed(schedule: Schedule, text: ScheduleText, zone: str, now: int) -> list[int]:
    """Return the last of its times from `next_run` on that have passed; there is always one."""
    first = schedule.next_run if schedule.next_run is not None else now
    later = last_times(text, zone, first, now, MOST_MISSED)
    return later if len(later) == MOST_MISSED else [first, *later]


def _next(text: ScheduleText, zone: str, newest: int, now: int) -> int | None:
    """Return the next time. An interval keeps its step, even if a time was handled late."""
    if isinstance(text, Every):
        step = text.seconds * 1000
        return newest + step * max(1, (now - newest) // step + 1)
    return next(iter(next_times(text, zone, now, 1)), None)


def _in_grace(schedule: Schedule, due: int, now: int) -> bool:
    return schedule.grace is None or due >= now - schedule.grace
