"""Dates as a model reads them: the line that ends a prompt, and the days of its history."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from arvis.domain.agent_rules import is_timezone

#: English whatever the machine's own language is.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def first_zone(*names: str | None) -> str:
    """The first of these names that is a time zone: the user's, else the agent's, else the daemon's; UTC in the end."""
    return next((name for name in names if name and is_timezone(name)), "UTC")


def clock_line(now: int, zone: str) -> str:
    """`Now: Sunday, 22 November 2026, 07:40 (Europe/Berlin)`; `now` in ms."""
    at = _moment(now, zone)
    date = f"{_WEEKDAYS[at.weekday()]}, {at.day} {_MONTHS[at.month - 1]} {at.year}"
    return f"Now: {date}, {at:%H:%M} ({zone})"


@lru_cache(maxsize=4_096)
def day_of(at: int, zone: str) -> str:
    """`2026-11-21`; `at` in ms. Remembered: every prompt asks for the days of the same messages again."""
    return _moment(at, zone).date().isoformat()


def _moment(at: int, zone: str) -> datetime:
    return datetime.fromtimestamp(at // 1000, tz=UTC).astimezone(ZoneInfo(zone))
