"""Periods in which facts are true. People and models write them as a year, a month or a day: `2024`, `2024-03`, `2024-03-15`."""

from __future__ import annotations

from datetime import date, timedelta

from arvis.domain.memory import Fact
from arvis.domain.money import day_of, start_of_day
from arvis.domain.regex import regex

#: The form of a date, for errors and help.
DATE = "a date such as 2024, 2024-03 or 2024-03-15"
_DATE = regex(r"(1[6-9]\d\d|[2-9]\d{3})(?:-(\d{2})(?:-(\d{2}))?)?")


def _period(text: str) -> tuple[date, date] | None:
    """Return the first day of a year, month or day, and the day after its last one; None if the text is no date."""
    found = _DATE.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day = (int(part or 0) for part in found.groups())
    try:
        first = date(year, month or 1, day or 1)
        if day:
            return first, first + timedelta(days=1)
        return first, date(year + (month in {0, 12}), month % 12 + 1 if month else 1, 1)
    except (ValueError, OverflowError):
        return None


def is_date(text: str) -> bool:
    return _period(text) is not None


def start_of(text: str, zone: str) -> int | None:
    """Return the time (ms) at which the year, month or day begins; None if the text is no date."""
    found = _period(text)
    return None if found is None else start_of_day(found[0], zone)


def end_of(text: str, zone: str) -> int | None:
    """Return the time (ms) at which the year, month or day is over; None if the text is no date."""
    found = _period(text)
    return None if found is None else start_of_day(found[1], zone)


def validity_of(fact: Fact, zone: str) -> str:
    """Return the period in which the fact is true, such as `from 2024-01-01 until 2024-12-31`, with its first and its last day;
    "" if it is unknown."""
    began = "" if fact.valid_from is None else f"from {day_of(fact.valid_from, zone)}"
    ended = "" if fact.valid_until is None else f"until {day_of(fact.valid_until - 1, zone)}"
    return " ".join(filter(None, [began, ended]))
