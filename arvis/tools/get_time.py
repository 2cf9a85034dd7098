"""Tool `get_time`: returns the time in a time zone."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool

#: The weekdays in English, regardless of the machine's language.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

DECLARATION = ToolDeclaration(risk=Risk.READ, harmless=True, own_output=True)


def create(services: ToolServices) -> Tool:
    async def get_time(
        zone: Annotated[str | None, Field(max_length=100, description="Such as Europe/Paris")] = None,
        *,
        caller: Caller,
    ) -> str:
        """Get the date, time and weekday in a time zone (default: the user's own)."""
        return time_in(zone or caller.timezone, services.clock.now())

    return FunctionTool(get_time, DECLARATION)


def time_in(zone: str, now: int) -> str:
    """Return the time `now` (ms) in a zone: in ISO 8601 with the offset, then the weekday and the name of the zone.
    Raise `ToolError` if there is no such zone."""
    name, place = _find(zone)
    moment = datetime.fromtimestamp(now // 1000, tz=UTC).astimezone(place)
    return f"{moment.isoformat()}, {_WEEKDAYS[moment.weekday()]}, {name}"


def _find(zone: str) -> tuple[str, tzinfo]:
    """Return the zone with its proper name; the case of the input does not matter."""
    if zone.upper() == "UTC":
        return "UTC", UTC
    known = available_timezones()
    name = next((name for name in known if name.lower() == zone.strip().lower().replace(" ", "_")), None)
    try:
        return name or zone, ZoneInfo(name or "")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = " or ".join(_close(zone, known))
        raise ToolError(f"There is no time zone {zone!r}. Did you mean {near or 'UTC'}?") from None


def _close(zone: str, known: Collection[str]) -> list[str]:
    """Return at most two names of zones that begin with the text, or whose city or whole name resembles it."""
    wanted = zone.strip().lower().replace(" ", "_")
    cities = {name.rpartition("/")[2].lower(): name for name in sorted(known)}
    whole = {name.lower(): name for name in sorted(known)}
    begun = [whole[name] for name in whole if name.startswith(wanted)][:2]
    by_city = [cities[city] for city in get_close_matches(wanted.rpartition("/")[2], cities, n=2, cutoff=0.75)]
    by_name = [whole[name] for name in get_close_matches(wanted, whole, n=2, cutoff=0.0)]
    return list(dict.fromkeys(begun + by_city + by_name))[:2]
