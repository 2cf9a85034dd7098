"""Discord's ids: numbers that hold the time of their making."""

from __future__ import annotations

#: The first second of 2015, from which Discord counts (ms).
EPOCH = 1_420_070_400_000
_TIME_SHIFT = 22


def made_at(snowflake: str) -> int:
    """When the thing with this id was made (ms). Raises `ValueError` for what is no id."""
    return (int(snowflake) >> _TIME_SHIFT) + EPOCH


def first_at(at: int) -> int:
    """No id made at this time (ms) or later is smaller."""
    return max(0, at - EPOCH) << _TIME_SHIFT
