"""The judge of a month replay: it computes the expected times minute by minute, independently of the product."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

from arvis.domain.schedules import Cause, Missed, Occurrence, OccurrenceStatus, Schedule
from arvis.scheduler.due import MOST_MISSED

MINUTE = 60_000
_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
#: Seconds by which a step may be late: the run before it has to end, and polls have to come.
_SLACK = 120


@dataclass(slots=True)
class Told:
    """The events of a replay. `covered` are stretches of the wall clock without trouble, from poll to poll. `begun` are
    occurrences with the number of troubles before them and the seconds that the scheduler had been awake."""

    schedules: dict[str, Schedule] = field(default_factory=dict)
    occurrences: list[Occurrence] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    covered: list[tuple[int, int]] = field(default_factory=list)
    begun: list[tuple[str, int, float]] = field(default_factory=list)
    epoch: int = 0
    awake: float = 0.0
    restarts: int = 0
    jumps: int = 8


def judge(told: Told) -> list[str]:
    """Return all faults as sentences."""
    return [
        *_twice(told),
        *_made_up_for_too_often(told),
        *(line for schedule in told.schedules.values() for line in _of_schedule(told, schedule)),
    ]


def _twice(told: Told) -> Iterator[str]:
    """Yield executions that ran for several occurrences, and local times that ran several times."""
    for execution, number in Counter(told.jobs).items():
        if number > 1:
            yield f"the run {execution} stands for {number} times"
    shown = Counter(
        (one.schedule_id, _shown(told.schedules[one.schedule_id], one.due))
        for one in told.occurrences
        if one.status is not OccurrenceStatus.SKIPPED
    )
    for (schedule_id, label), number in shown.items():
        if number > 1:
            yield f"{told.schedules[schedule_id].schedule} ran {number} times at {label}"


def _shown(schedule: Schedule, due: int) -> str:
    """Return the local time in the schedule's zone; for an interval, the instant."""
    if schedule.schedule.startswith("every"):
        return str(due)
    return datetime.fromtimestamp(due / 1000, ZoneInfo(schedule.timezone or "UTC")).isoformat()[:16]


def _made_up_for_too_often(told: Told) -> Iterator[str]:
    epochs = {one: epoch for one, epoch, _ in told.begun}
    often = Counter(
        (one.schedule_id, epochs[one.id])
        for one in told.occurrences
        if one.cause is Cause.MISSED and one.id in epochs and told.schedules[one.schedule_id].name != "long"
    )
    for (schedule_id, epoch), number in often.items():
        schedule = told.schedules[schedule_id]
        # With `Missed.ALL`, one more may come while the others run.
        if number > (MOST_MISSED + 1 if schedule.missed is Missed.ALL else 1):
            yield f"{schedule.schedule} was made up for {number} times after trouble {epoch}"


def _of_schedule(told: Told, schedule: Schedule) -> Iterator[str]:
    if schedule.name == "once":
        ran = [one for one in told.occurrences if one.schedule_id == schedule.id]
        if len(ran) != 1:
            yield f"{schedule.schedule} was dealt with {len(ran)} times"
    elif schedule.schedule.startswith("every"):
        yield from _steps(told, schedule)
    else:
        yield from _did_not_come(told, schedule)


def _steps(told: Told, schedule: Schedule) -> Iterator[str]:
    """Check that an interval neither stops nor comes in a burst, counted by the scheduler's awake time."""
    _, number, unit = schedule.schedule.split() if schedule.schedule.count(" ") > 1 else _glued(schedule.schedule)
    step = int(number) * _UNITS[unit]
    own = {one.id for one in told.occurrences if one.schedule_id == schedule.id}
    awake = [at for one, _, at in told.begun if one in own]
    if len(awake) > told.awake / step + told.epoch + 2:
        yield f"{schedule.schedule} ran {len(awake)} times in {told.awake / step:.0f} steps"
    if schedule.name in {"failing", "long"}:
        return
    for earlier, later in pairwise([*awake, told.awake]):
        if later - earlier > 2 * step + _SLACK:
            yield f"{schedule.schedule} stood still for {later - earlier:.0f} s"


def _glued(text: str) -> tuple[str, str, str]:
    every, rest = text.split()
    return every, rest[:-1], rest[-1]


def _did_not_come(told: Told, schedule: Schedule) -> Iterator[str]:
    known = {one.due for one in told.occurrences if one.schedule_id == schedule.id}
    zone = ZoneInfo(schedule.timezone or "UTC")
    for since, until in told.covered:
        first = since // MINUTE * MINUTE + MINUTE
        for due in range(first, until, MINUTE):
            if due not in known and _comes(schedule.schedule, datetime.fromtimestamp(due / 1000, zone)):
                yield f"{schedule.schedule} in {zone} did not come at {datetime.fromtimestamp(due / 1000, zone)}"


def _comes(line: str, local: datetime) -> bool:
    """Return true if a cron line matches a local time, at its first occurrence when clocks go back."""
    minute, hour, _, _, weekday = line.split()
    return (
        local.fold == 0
        and _fits(minute, local.minute, 60)
        and _fits(hour, local.hour, 24)
        and _fits(weekday, local.isoweekday() % 7, 7)
    )


def _fits(fields: str, value: int, size: int) -> bool:
    allowed: set[int] = set()
    for part in fields.split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        begin, end = (0, size - 1) if span == "*" else (int(low), int(high or low))
        allowed.update(range(begin, end + 1, int(step or 1)))
    return value in allowed
