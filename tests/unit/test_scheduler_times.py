"""The due times that a schedule handles: the arithmetic equals a loop over all times."""

from __future__ import annotations

import random

import pytest

from arvis.calendar import last_times, next_times, parse
from arvis.domain.schedules import Cause, Missed
from arvis.scheduler.due import MOST_MISSED, TimePlan, plan_times, resumed
from tests.flows.schedule_kit import DAY, HOUR, MINUTE, NOW, at, schedule_with

LATE = MINUTE
TEXTS = ["every 7 m", "*/15 * * * *", "30 2 * * *", "15,45 1-3 * * *", "0 9 * * 1", "*/20 5 2 * * *", "@hourly"]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]
#: Some days before clocks change.
STARTS = [at("2027-03-26 12:00"), at("2027-10-29 12:00"), at("2027-04-02 12:00"), at("2027-10-01 12:00"), NOW]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("zone", ZONES)
def test_the_last_times_are_the_last_of_all(zone: str, start: int) -> None:
    chance = random.Random(start)
    for text in TEXTS:
        schedule, after, count = parse(text), start + chance.randrange(2 * DAY), chance.choice((1, 3, 24))
        until = after + chance.randrange(DAY)
        every = [time for time in next_times(schedule, zone, after, 210) if time <= until]
        assert last_times(schedule, zone, after, until, count) == every[-count:]


def test_a_single_time_is_the_last_one_once() -> None:
    once = parse("at 2026-11-22 10:00")
    ten = at("2026-11-22 10:00")
    assert last_times(once, "Europe/Berlin", ten - 1, ten, 5) == [ten]
    assert last_times(once, "Europe/Berlin", ten, ten + 1, 5) == []
    assert last_times(once, "Europe/Berlin", ten - 2, ten - 1, 5) == []


def planned(text: str, first: int, now: int, missed: Missed = Missed.ONCE, grace: int | None = None) -> TimePlan:
    schedule = schedule_with(text, next_run=first, missed=missed, grace=grace)
    return plan_times(schedule, parse(text), "UTC", now, LATE)


@pytest.mark.parametrize("missed", Missed)
def test_a_time_that_just_came_is_due(missed: Missed) -> None:
    assert planned("@hourly", NOW, NOW + 5, missed) == TimePlan(NOW, Cause.DUE, NOW + HOUR)
    assert planned("every 5s", NOW, NOW + 5, missed) == TimePlan(NOW, Cause.DUE, NOW + 5_000)


@pytest.mark.parametrize("missed", [Missed.ONCE, Missed.SKIP])
def test_the_newest_stands_for_all_before_it(missed: Missed) -> None:
    assert planned("@hourly", NOW - 9 * HOUR, NOW + 5, missed) == TimePlan(NOW, Cause.DUE, NOW + HOUR)
    assert planned("every 5s", NOW - DAY, NOW + 7, missed) == TimePlan(NOW, Cause.DUE, NOW + 5_000)


def test_what_was_missed_is_made_up_for_or_not() -> None:
    late = NOW + 30 * MINUTE
    assert planned("@hourly", NOW - HOUR, late) == TimePlan(NOW, Cause.MISSED, NOW + HOUR)
    assert planned("@hourly", NOW - HOUR, late, Missed.SKIP) == TimePlan(NOW, None, NOW + HOUR)
    assert planned("@hourly", NOW - HOUR, late, grace=30 * MINUTE) == TimePlan(NOW, Cause.MISSED, NOW + HOUR)
    assert planned("@hourly", NOW - HOUR, late, grace=29 * MINUTE) == TimePlan(NOW, None, NOW + HOUR)


def test_all_come_one_after_another() -> None:
    late = NOW + 30 * MINUTE
    first = planned("@hourly", NOW - 100 * HOUR, late, Missed.ALL)
    assert first == TimePlan(NOW - (MOST_MISSED - 1) * HOUR, Cause.MISSED, NOW - (MOST_MISSED - 2) * HOUR)
    in_grace = planned("@hourly", NOW - 100 * HOUR, late, Missed.ALL, grace=2 * HOUR)
    assert in_grace == TimePlan(NOW - HOUR, Cause.MISSED, NOW)
    assert planned("@hourly", NOW - HOUR, late, Missed.ALL, grace=1) == TimePlan(NOW, None, NOW + HOUR)
    assert planned("@hourly", NOW, late, Missed.ALL) == TimePlan(NOW, Cause.MISSED, NOW + HOUR)


def test_a_single_time_has_no_next() -> None:
    assert planned("at 2026-11-22 08:00", NOW, NOW + 5) == TimePlan(NOW, Cause.DUE, None)
    assert planned("at 2026-11-22 08:00", NOW, NOW + DAY, Missed.SKIP) == TimePlan(NOW, None, None)


def test_after_a_rest_it_comes_at_its_first_time() -> None:
    for text, expected in (("every 7 m", NOW + 63 * MINUTE), ("@hourly", NOW + HOUR)):
        schedule = schedule_with(text, next_run=NOW)
        assert resumed(schedule, parse(text), "UTC", NOW + 58 * MINUTE) == expected
    exactly = schedule_with("@hourly", next_run=NOW)
    assert resumed(exactly, parse("@hourly"), "UTC", NOW + HOUR) == NOW + HOUR
