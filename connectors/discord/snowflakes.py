"""Discord's ids: numbers that contain the time at which they were made."""

from __future__ import annotations

#: The first second of 2015, from which Discord counts (ms).
EPOCH = 1_420_070_400_000
_TIME_SHIFT = 22


def made_at(snowflake: str) -> int:
    """Return the time (ms) at which the thing with this id was made. Raises `ValueError` for a text that is no id."""
    return (int(snowflake) >> _TIME_SHIFT) + EPOCH


def first_at(at: int) -> int:
    """Return the smallest id that can be made at this time (ms)."""
    return max(0, at - EPOCH) << _TIME_SHIFT
