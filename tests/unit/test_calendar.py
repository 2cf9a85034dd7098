"""Texts of schedules: their meaning and their times, and no text causes a crash or an endless search."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arvis.calendar import At, Cron, Every, for_people, next_times, parse, pinned, shortest_gap_seconds, zone_of
from arvis.domain.errors import Unprocessable

#: Sunday 22 November 2026, 08:00 UTC, in ms.
NOW = 1_795_334_400_000
MINUTE = 60_000
BERLIN = "Europe/Berlin"

#: Zones with a day on which clocks change: an hour forward, an hour back, half an hour, across midnight, no change.
CHANGES = [
    (BERLIN, "2027-03-28"),
    (BERLIN, "2027-10-31"),
    ("America/New_York", "2027-03-14"),
    ("America/New_York", "2027-11-07"),
    ("Australia/Lord_Howe", "2027-04-04"),
    ("Australia/Lord_Howe", "2027-10-03"),
    ("America/Santiago", "2027-09-05"),
    ("Asia/Kathmandu", "2027-05-05"),
    ("UTC", "2028-02-29"),
]


def ms(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1000


def told(text: str, zone: str, after: int, count: int = 5) -> str:
    return for_people(next_times(parse(text), zone, after, count), zone)


# -- the meaning of texts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("every 1d", 86_400),
        ("every 60s", 60),
        ("every 5 m", 300),
        ("Every 5 Minutes", 300),
        ("every 1 min", 60),
        ("every 90 sec", 90),
        ("every 2hours", 7_200),
        ("every 3 weeks", 1_814_400),
        ("every day", 86_400),
        ("*/10 * * * * *", 10),
        ("*/90 * * * * *", 90),
    ],
)
def test_intervals(text: str, seconds: int) -> None:
    schedule = parse(text)
    assert isinstance(schedule, Every)
    assert shortest_gap_seconds(schedule) == seconds
    assert next_times(schedule, "UTC", NOW, 2) == [NOW + seconds * 1000, NOW + 2 * seconds * 1000]


@pytest.mark.parametrize(
    ("text", "told_times"),
    [
        ("0 8 * * 1-5", "Mon 23 Nov 08:00, Tue 24 Nov 08:00"),
        ("0 8 * * MON", "Mon 23 Nov 08:00, Mon 30 Nov 08:00"),
        ("@daily", "Mon 23 Nov 00:00, Tue 24 Nov 00:00"),
        ("@hourly", "Sun 22 Nov 10:00, Sun 22 Nov 11:00"),
        ("@yearly", "Fri 1 Jan 2027 00:00, Sat 1 Jan 2028 00:00"),
        ("0 0 L * *", "Mon 30 Nov 00:00, Thu 31 Dec 00:00"),
        ("15,45 30 8 * * *", "Mon 23 Nov 08:30:15, Mon 23 Nov 08:30:45"),
        ("at 08:00", "Mon 23 Nov 08:00"),
        ("at 9:30", "Sun 22 Nov 09:30"),
        ("at 2027-01-15 08:00", "Fri 15 Jan 08:00"),
        ("at 2027-01-15T08:00:30Z", "Fri 15 Jan 09:00:30"),
        ("at 2027-01-15 08:00+05:30", "Fri 15 Jan 03:30"),
        ("at 2020-01-15 08:00", ""),
    ],
)
def test_times_of_the_clock(text: str, told_times: str) -> None:
    assert told(text, BERLIN, NOW, 2) == told_times


def test_a_time_without_a_date_is_pinned_to_one() -> None:
    at = pinned(parse("at 08:00"), BERLIN, NOW)
    assert at == At("at 2026-11-23 08:00:00", moment=datetime.fromisoformat("2026-11-23 08:00"))
    assert next_times(at, BERLIN, ms("2026-11-23 08:00", BERLIN), 1) == []
    for other in ("at 2027-01-15 08:00", "every 5m", "@daily"):
        assert pinned(parse(other), BERLIN, NOW) == parse(other)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "soon", "every", "every 0s", "every -5 m", "every 5 parsecs", "every 4000d", "every 1.5 h", "every ٣ m",
        "* * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "0 0 30 2 *", "0 0 31 4,6 *", "*/0 * * * *", "a b c d e",
        "@reboot", "@often", "at", "at noon", "at 24:00", "at 08:60", "at 2027-02-30 08:00", "at 1492-10-12 08:00",
        "at 9999-12-31 23:59", "at 08:00Z", "at 2027-01-15 08:00+99:00", "0 0 * * *\x00", "1" * 500, "5-1 * * * *",
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why_and_how(text: str) -> None:
    with pytest.raises(Unprocessable) as refused:
        parse(text)
    assert "cannot be read: " in refused.value.what
    assert "0 8 * * 1-5" in refused.value.fix


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../../etc/passwd", "Europe", "/etc/localtime", "a\0b", "ü"])
def test_a_zone_that_is_none(name: str) -> None:
    with pytest.raises(Unprocessable, match="time zone"):
        zone_of(name)


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("0,30 * * * * *", 30),
        ("0,10,20,30 * * * * *", 10),
        ("0,45 * * * * *", 15),
        ("0,45 0 9 * * *", 45),
        ("0,45 59,0 * * * *", 15),
        ("* * * * *", 60),
        ("@yearly", 60),
        ("at 08:00", math.inf),
    ],
)
def test_the_shortest_gap(text: str, gap: float) -> None:
    assert shortest_gap_seconds(parse(text)) == gap


# -- changes of the clock ----------------------------------------------------------------------------------


def test_a_time_that_the_clock_skips_does_not_come() -> None:
    assert told("30 2 * * *", BERLIN, ms("2027-03-27 00:00")) == (
        "Sat 27 Mar 02:30, Mon 29 Mar 02:30, Tue 30 Mar 02:30, Wed 31 Mar 02:30, Thu 1 Apr 02:30"
    )
    assert told("at 2027-03-28 02:30", BERLIN, NOW) == ""
    assert told("at 02:30", BERLIN, ms("2027-03-28 00:10")) == "Mon 29 Mar 02:30"


def test_a_time_that_the_clock_shows_twice_comes_once() -> None:
    times = next_times(parse("30 2 * * *"), BERLIN, ms("2027-10-30 12:00"), 2)
    assert times == [ms("2027-10-31 00:30"), ms("2027-11-01 01:30")]
    for meanwhile in (times[0], times[0] + MINUTE, ms("2027-10-31 01:10"), ms("2027-10-31 01:30")):
        assert next_times(parse("30 2 * * *"), BERLIN, meanwhile, 1) == times[1:]
    assert (
        told("*/20 * * * *", BERLIN, ms("2027-10-31 00:30"), 3)
        == "Sun 31 Oct 02:40, Sun 31 Oct 03:00, Sun 31 Oct 03:20"
    )


def test_a_time_that_is_always_skipped_ends() -> None:
    assert next_times(parse("30 2 * 3 0#4"), BERLIN, NOW, 3) != []
    assert next_times(parse("30 2 1 1 *"), BERLIN, NOW, 200)


def test_an_interval_knows_no_zone() -> None:
    before = ms("2027-03-28 00:30")
    assert next_times(parse("every 1 h"), BERLIN, before, 2) == [before + 60 * MINUTE, before + 120 * MINUTE]


def field(low: int, high: int) -> st.SearchStrategy[tuple[str, frozenset[int]]]:
    """Return a strategy for a field of a cron line with the numbers that it matches."""
    number = st.integers(low, high)
    everything = frozenset(range(low, high + 1))
    return st.one_of(
        st.just(("*", everything)),
        number.map(lambda value: (str(value), frozenset({value}))),
        st.lists(number, min_size=1, max_size=4).map(lambda many: (",".join(map(str, many)), frozenset(many))),
        st.tuples(number, number).map(sorted).map(lambda ab: (f"{ab[0]}-{ab[1]}", frozenset(range(ab[0], ab[1] + 1)))),
        st.integers(1, 20).map(lambda step: (f"*/{step}", frozenset(range(low, high + 1, step)))),
    )


def by_hand(fields: list[tuple[str, frozenset[int]]], zone: str, after: int, days: int) -> list[int]:
    """Return the matching minutes by checking each minute of local time; repeated minutes are left out."""
    (_, minutes), (_, hours), (day_text, days_of_month), (_, months), (weekday_text, weekdays) = fields
    place, found = ZoneInfo(zone), []
    for at in range(after // MINUTE * MINUTE + MINUTE, after + days * 1440 * MINUTE, MINUTE):
        local = datetime.fromtimestamp(at // 1000, place)
        if local.minute not in minutes or local.hour not in hours or local.month not in months or local.fold:
            continue
        fitting = [local.day in days_of_month, local.isoweekday() % 7 in weekdays]
        together = day_text.startswith("*") or weekday_text.startswith("*")
        if all(fitting) if together else any(fitting):
            found.append(at)
    return found


@settings(max_examples=60)
@given(
    change=st.sampled_from(CHANGES),
    fields=st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6)),
    minutes_before=st.integers(0, 1440),
)
def test_cron_lines_come_when_the_clock_says_so(
    change: tuple[str, str], fields: tuple[tuple[str, frozenset[int]], ...], minutes_before: int
) -> None:
    zone, day = change
    after = ms(f"{day} 12:00") - minutes_before * MINUTE - 123
    try:
        schedule = parse(" ".join(text for text, _ in fields))
    except Unprocessable as refused:
        assert "day-of-month" in refused.why  # noqa: PT017 - such as the 31st of April
        return
    wanted = by_hand(list(fields), zone, after, days=2)
    found = next_times(schedule, zone, after, len(wanted) + 1)
    assert found[: len(wanted)] == wanted
    assert all(at >= after + 2 * 1440 * MINUTE for at in found[len(wanted) :])


@settings(max_examples=150)
@given(
    text=st.one_of(
        st.text(max_size=40),
        st.from_regex(r"(every|at|@)[ 0-9a-z:@T-]{0,20}", fullmatch=True),
        st.lists(st.text("0123456789*,-/LW#?MON", min_size=1, max_size=6), min_size=5, max_size=6).map(" ".join),
    ),
    zone=st.sampled_from([zone for zone, _ in CHANGES]),
    after=st.integers(NOW, NOW + 10**11),
)
def test_any_text_is_read_or_refused_and_times_only_grow(text: str, zone: str, after: int) -> None:
    try:
        schedule = parse(text)
    except Unprocessable:
        return
    times = next_times(schedule, zone, after, 5)
    assert times == sorted(set(times))
    assert all(at > after for at in times)
    assert next_times(schedule, zone, after, 2) == times[:2]
    if isinstance(schedule, Every | Cron):
        assert all(later - at >= shortest_gap_seconds(schedule) * 1000 for at, later in pairwise(times))
    assert parse(schedule.text) == schedule
    assert pinned(schedule, zone, after) == pinned(pinned(schedule, zone, after), zone, after)


def test_times_are_told_in_the_zone_of_the_reader() -> None:
    assert for_people([NOW], "Asia/Tokyo") == "Sun 22 Nov 17:00"
    assert for_people([], BERLIN) == ""
    assert datetime.fromtimestamp(NOW // 1000, UTC).isoformat() == "2026-11-22T08:00:00+00:00"
