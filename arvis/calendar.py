"""Parses schedule texts and calculates the times of a schedule. `arvis/scheduler` starts the work at these times.

A text is an interval (`every 5 m`), a cron line (five fields, six with seconds, or a name such as `@daily`) or a single
time (`at 2027-01-15 08:00`, `at 08:00`). Cron lines and single times are local times of a zone. If the clock skips a
local time (summer time begins), the schedule skips it too; if the clock shows a local time twice, only the first time
counts. Intervals do not depend on a zone.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Unprocessable
from arvis.domain.regex import regex

_LONGEST_TEXT = 200
_MS = 1000
_MINUTE, _HOUR, _DAY, _WEEK = 60, 3_600, 86_400, 604_800

_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), _MINUTE),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), _HOUR),
    **dict.fromkeys(("d", "day", "days"), _DAY),
    **dict.fromkeys(("w", "week", "weeks"), _WEEK),
}
_NAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_EVERY = regex(r"every\s*(?P<number>\d{0,9})\s*(?P<unit>[a-z]+)", re.ASCII)
_CRON = regex(r"[0-9a-z*,/#-]+(\s+[0-9a-z*,/#-]+){4,5}", re.ASCII)
_EVERY_SECONDS = regex(r"\*/(?P<number>\d{1,9})(\s+\*){5}", re.ASCII)
_CLOCK = r"(?P<clock>\d{1,2}:\d{2}(:\d{2})?)"
_AT = regex(
    rf"at\s+((?P<date>\d{{4}}-\d{{2}}-\d{{2}})[t\s]\s*)?{_CLOCK}\s*(?P<offset>z|[+-]\d{{2}}:\d{{2}})?", re.ASCII
)

_LONGEST_INTERVAL = 3_660 * _DAY
#: The years that the date of a single time may have.
_YEARS = range(1971, 2200)
#: The number of years in which the next time of a cron line is searched for. Every possible combination of date and
#: weekday occurs within this time.
_FAR = 50
#: The factor by which `_last_cron_times` extends the span that it searches.
_WIDER = 8
#: Any fixed start time, for checks of a cron line that do not depend on the current time.
_LONG_AGO = datetime(2000, 1, 1)  # noqa: DTZ001 - a local time without a zone

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Every:
    """An interval. Each time is `seconds` after the previous time."""

    text: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron line with the rules of Debian's cron. `text` may be a name such as `@daily`; `line` has five or six
    fields."""

    text: str
    line: str


@dataclass(frozen=True, slots=True)
class At:
    """A single time. Either `moment` or `clock` is set."""

    text: str
    #: A date and time, with or without an offset.
    moment: datetime | None = None
    #: A time of day, which means the next moment at which clocks show it.
    clock: time | None = None


ScheduleText = Every | Cron | At


def parse(text: str) -> ScheduleText:
    """Parse a schedule text; case is ignored. Raise `Unprocessable` if the text is not a schedule."""
    plain = " ".join(text.split()).lower() if len(text) <= _LONGEST_TEXT else ""
    line = _NAMES.get(plain, plain)
    if plain.startswith("every"):
        return _interval(plain)
    if plain.startswith("at "):
        return _single_time(plain)
    if _CRON.fullmatch(line):
        return _cron(plain, line)
    raise _unreadable(text, "it is not an interval, a cron line or a time")


def next_times(schedule: ScheduleText, zone: str, after: int, count: int) -> list[int]:
    """Return the next times (ms) after `after` (ms), at most `count`; an empty list if the schedule has no further
    time. Raise `Unprocessable` for an unknown zone."""
    match schedule:
        case Every(seconds=seconds):
            return [after + number * seconds * _MS for number in range(1, count + 1)]
        case Cron():
            return list(islice(_cron_times(schedule, zone_of(zone), after), count))
        case At():
            moment = _moment_of(schedule, zone_of(zone), after)
            return [moment][:count] if moment is not None and moment > after else []


def last_times(schedule: ScheduleText, zone: str, after: int, until: int, count: int) -> list[int]:
    """Return the last times (ms) that are later than `after` and not later than `until`: at most `count`, the earliest
    first. For an interval of n seconds, the first time is n seconds after `after`."""
    match schedule:
        case Every(seconds=seconds):
            passed = max(0, (until - after) // (seconds * _MS))
            return [after + number * seconds * _MS for number in range(max(1, passed - count + 1), passed + 1)]
        case Cron():
            return _last_cron_times(schedule, zone_of(zone), after, until, count)
        case At():
            return [moment for moment in next_times(schedule, zone, after, 1) if moment <= until][-count:]


def shortest_gap_seconds(schedule: ScheduleText) -> float:
    """Return the least number of seconds between two times of the schedule; infinity for a single time."""
    match schedule:
        case Every(seconds=seconds):
            return seconds
        case Cron(line=line):
            return _shortest_gap(CronSim(line, _LONG_AGO))
        case At():
            return math.inf


def pinned(schedule: ScheduleText, zone: str, now: int) -> ScheduleText:
    """Return the schedule with a fixed date. A single time without a date gets its next date; without this date, each
    later read would use the date of another day. All other schedules are returned unchanged."""
    match schedule:
        case At(clock=time()):
            times = next_times(schedule, zone, now, 1)
            return _single_time(f"at {_local(times[0], zone_of(zone)).isoformat(' ')}") if times else schedule
        case _:
            return schedule


def zone_of(name: str) -> ZoneInfo:
    """Return the time zone with this name. Raise `Unprocessable` if there is no time zone with this name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Unprocessable(
            f"There is no time zone {name[:64]!r}.",
            fix="Use a name such as Europe/Berlin, or UTC.",
            code="bad_timezone",
        ) from None


def for_people(times: Sequence[int], zone: str) -> str:
    """Return times (ms) as short text in local time: `Mon 23 Nov 08:00, Tue 24 Nov 08:00`."""
    local = [_local(at, zone_of(zone)) for at in times]
    clock = "%H:%M:%S" if any(moment.second for moment in local) else "%H:%M"
    year = len({moment.year for moment in local}) > 1
    return ", ".join(
        f"{_WEEKDAYS[moment.weekday()]} {moment.day} {_MONTHS[moment.month - 1]}"
        f"{f' {moment.year}' if year else ''} {moment.strftime(clock)}"
        for moment in local
    )


# -- parsing -----------------------------------------------------------------------------------------------


def _interval(text: str) -> Every:
    found = _EVERY.fullmatch(text)
    if found is None or found["unit"] not in _UNITS:
        raise _unreadable(text, "`every` must be followed by a number and s, m, h, d or w")
    return _bounded(text, int(found["number"] or 1) * _UNITS[found["unit"]])


def _bounded(text: str, seconds: int) -> Every:
    if not 1 <= seconds <= _LONGEST_INTERVAL:
        raise _unreadable(text, "an interval must have a length from one second to ten years")
    return Every(text, seconds)


def _cron(text: str, line: str) -> ScheduleText:
    if (found := _EVERY_SECONDS.fullmatch(line)) is not None:
        return _bounded(text, int(found["number"]))
    try:
        comes = next(CronSim(line, _LONG_AGO), None)
    except CronSimError as error:
        raise _unreadable(text, str(error).lower()) from None
    if comes is None:
        raise _unreadable(text, "no date matches it; 30 February, for example, does not exist")
    return Cron(text, line)


def _single_time(text: str) -> At:
    found = _AT.fullmatch(text)
    if found is None:
        raise _unreadable(text, "`at` must be followed by a time, with or without a date")
    try:
        clock = time.fromisoformat(
            found["clock"].zfill(5) if found["clock"].count(":") == 1 else found["clock"].zfill(8)
        )
        if found["date"] is None:
            if found["offset"] is not None:
                raise _unreadable(text, "an offset needs a date")
            return At(text, clock=clock)
        offset = (found["offset"] or "").upper()
        moment = datetime.fromisoformat(f"{found['date']}T{clock.isoformat()}{offset}")
    except ValueError as error:
        raise _unreadable(text, str(error)) from None
    if moment.year not in _YEARS:
        raise _unreadable(text, f"the year must be from {_YEARS[0]} to {_YEARS[-1]}")
    return At(text, moment=moment)


def _unreadable(text: str, why: str) -> Unprocessable:
    return Unprocessable(
        f"The schedule {text[:80]!r} cannot be read: {why}.",
        fix="Write `every 5 m`, a cron line such as `0 8 * * 1-5`, `@daily`, or `at 2027-01-15 08:00`.",
        code="bad_schedule",
    )


# -- next and last times -----------------------------------------------------------------------------------


def _cron_times(schedule: Cron, zone: ZoneInfo, after: int) -> Iterator[int]:
    """Yield the times (ms) of a cron line after `after`. The local times are computed without a zone, so that each
    local time exists once. Local times that the zone skips are then left out. If the zone has a local time twice, only
    the first occurrence counts."""
    start = _local(after, zone)
    for local in CronSim(schedule.line, start):
        if local.year > start.year + _FAR:
            return
        at = _in_zone(local, zone)
        if at is not None and at > after:
            yield at


def _last_cron_times(schedule: Cron, zone: ZoneInfo, after: int, until: int, count: int) -> list[int]:
    """Return the last times that are not later than `until`. Search a short span before `until` and extend the span as
    needed, because a cron line may have very many times since `after`."""
    span, found = _MINUTE * _MS, list[int]()
    while len(found) < count:
        start = max(after, until - span)
        times = takewhile(lambda at: at <= until, _cron_times(schedule, zone, start))
        found = list(deque(times, maxlen=count))
        if start == after:
            break
        span *= _WIDER
    return found


def _moment_of(schedule: At, zone: ZoneInfo, after: int) -> int | None:
    if schedule.moment is not None:
        moment = schedule.moment
        return _in_zone(moment, zone) if moment.tzinfo is None else round(moment.timestamp()) * _MS
    clock, today = schedule.clock or time(), _local(after, zone).date()
    days = (_in_zone(datetime.combine(today + timedelta(days=ahead), clock), zone) for ahead in range(4))
    return next((at for at in days if at is not None and at > after), None)


def _local(at: int, zone: ZoneInfo) -> datetime:
    """Return the local time of the zone, in whole seconds, as a `datetime` without a zone."""
    return datetime.fromtimestamp(at // _MS, zone).replace(tzinfo=None, fold=0)


def _in_zone(local: datetime, zone: ZoneInfo) -> int | None:
    """Return the first time (ms) at which clocks of the zone show this local time; None if the clocks skip it."""
    moment = local.replace(tzinfo=zone).astimezone(UTC)
    shown = moment.astimezone(zone).replace(tzinfo=None, fold=0)
    return round(moment.timestamp()) * _MS if shown == local else None


def _shortest_gap(cron: CronSim) -> int:
    seconds, minutes = sorted(cron.seconds), cron.minutes
    gaps = [later - earlier for earlier, later in pairwise(seconds)]
    if any((minute + 1) % 60 in minutes for minute in minutes):
        gaps.append(_MINUTE - seconds[-1] + seconds[0])
    return min(gaps, default=_MINUTE)
