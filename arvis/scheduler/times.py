"""Which of the times of a schedule that have come are to be dealt with, and how: arithmetic alone.

However long nobody looked, at most one time is run at once. Older ones are made up for as the schedule says, and never by
more than one run, unless it wants all: then one after another, the last 24 of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from arvis.calendar import Every, ScheduleText, last_times, next_times
from arvis.domain.schedules import Cause, Missed, Schedule

#: So many missed times are made up for at most where all are wanted.
MOST_MISSED = 24
#: A time that is later than this (ms) was missed, however often the scheduler looks.
LATE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Plan:
    """The time `due` is dealt with now: run (`cause` says why), or only noted as missed (None). `next_run` comes after it."""

    due: int
    cause: Cause | None
    next_run: int | None


def plan(schedule: Schedule, text: ScheduleText, zone: str, now: int, late: int, *, over: int = 0) -> Plan:
    """For a schedule that is due; a time is missed that came more than `late` ms ago. Times up to `over` (ms) have had their
    chance elsewhere and are only noted."""
    passed = _passed(schedule, text, zone, now)
    newest, after = passed[-1], _next(text, zone, passed[-1], now)
    if newest <= over:
        return Plan(newest, None, after)
    passed = [due for due in passed if due > over]
    if schedule.missed is Missed.ALL:
        wanted = [due for due in passed if _in_grace(schedule, due, now) or due >= now - late]
        if wanted:
            cause = Cause.DUE if wanted[0] >= now - late else Cause.MISSED
            return Plan(wanted[0], cause, wanted[1] if len(wanted) > 1 else after)
        return Plan(newest, None, after)
    if newest >= now - late:
        return Plan(newest, Cause.DUE, after)
    made_up = schedule.missed is Missed.ONCE and _in_grace(schedule, newest, now)
    return Plan(newest, Cause.MISSED if made_up else None, after)


def resumed(schedule: Schedule, text: ScheduleText, zone: str, until: int) -> int | None:
    """The first time of a schedule that is due and is to be left alone until then."""
    return _next(text, zone, schedule.next_run or until, until - 1)


def natural(text: ScheduleText, zone: str, now: int) -> int | None:
    """The latest time at which a schedule comes next if clocks only ever went forward; None: it has one time alone, or
    comes no more."""
    return next(iter(next_times(text, zone, now, 1)), None)


def _passed(schedule: Schedule, text: ScheduleText, zone: str, now: int) -> list[int]:
    """The last of its times from `next_run` on that have come; never none."""
    first = schedule.next_run if schedule.next_run is not None else now
    later = last_times(text, zone, first, now, MOST_MISSED)
    return later if len(later) == MOST_MISSED else [first, *later]


def _next(text: ScheduleText, zone: str, newest: int, now: int) -> int | None:
    """An interval keeps its step, whatever came late."""
    if isinstance(text, Every):
        step = text.seconds * 1000
        return newest + step * max(1, (now - newest) // step + 1)
    return next(iter(next_times(text, zone, now, 1)), None)


def _in_grace(schedule: Schedule, due: int, now: int) -> bool:
    return schedule.grace is None or due >= now - schedule.grace
