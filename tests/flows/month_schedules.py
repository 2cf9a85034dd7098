"""The schedules of a replay: all kinds, at the hours at which clocks change."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from arvis.domain.schedules import Missed, Schedule, ScheduleKind
from tests.flows.schedule_kit import DAY, HOUR, SCRIPT, schedule_with

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"

_INTERVALS: list[tuple[str, dict[str, Any]]] = [
    ("every 10 m", {"script": SCRIPT}),
    ("every 20 m", {}),
    ("every 1 h", {"missed": Missed.SKIP}),
    ("every 6 h", {"max_cycles": 3}),
    ("every 1d", {}),
    ("every 1 w", {}),
    ("every 30 m", {"name": "failing"}),
    ("every 45 m", {"name": "long"}),
]
_CRONS: list[tuple[str, str, dict[str, Any]]] = [
    ("0 8 * * *", BERLIN, {}),
    ("30 2 * * *", BERLIN, {}),
    ("*/30 1-3 * * *", BERLIN, {"missed": Missed.SKIP}),
    ("0 9 * * 1-5", BERLIN, {}),
    ("0 */4 * * *", BERLIN, {"grace": HOUR}),
    ("30 1 * * *", NEW_YORK, {}),
    ("30 2 * * *", NEW_YORK, {}),
    ("0 * * * *", NEW_YORK, {"missed": Missed.ALL}),
    ("45 1 * * *", LORD_HOWE, {}),
    ("15 2 * * *", LORD_HOWE, {}),
    ("*/15 1-2 * * *", LORD_HOWE, {}),
    ("15 10,22 * * *", "UTC", {"missed": Missed.SKIP}),
]


def wanted(now: int) -> Iterator[Schedule]:
    for text, fields in _INTERVALS:
        yield schedule_with(text, kind=ScheduleKind.HEARTBEAT, **fields)
    for text, zone, fields in _CRONS:
        yield schedule_with(text, timezone=zone, **fields)
    days = (now + DAY) // DAY * DAY
    yield schedule_with(f"at {_date(days)} 12:00", timezone="UTC", name="once")


def _date(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).date().isoformat()
