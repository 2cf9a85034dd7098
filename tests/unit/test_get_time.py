"""The time as a text for models."""

from __future__ import annotations

import pytest

from arvis.domain.errors import ToolError
from arvis.tools.get_time import time_in

#: 22 November 2026, 04:23:23.5 UTC; 1 July 2026, 12:00 UTC.
WINTER, SUMMER = 1_795_321_403_500, 1_782_907_200_000


@pytest.mark.parametrize(
    ("zone", "now", "told"),
    [
        ("UTC", WINTER, "2026-11-22T04:23:23+00:00, Sunday, UTC"),
        ("utc", WINTER, "2026-11-22T04:23:23+00:00, Sunday, UTC"),
        ("Europe/Berlin", WINTER, "2026-11-22T05:23:23+01:00, Sunday, Europe/Berlin"),
        ("Europe/Berlin", SUMMER, "2026-07-01T14:00:00+02:00, Wednesday, Europe/Berlin"),
        ("europe/berlin", SUMMER, "2026-07-01T14:00:00+02:00, Wednesday, Europe/Berlin"),
        ("America/new york", WINTER, "2026-11-21T23:23:23-05:00, Saturday, America/New_York"),
        ("Asia/Kathmandu", WINTER, "2026-11-22T10:08:23+05:45, Sunday, Asia/Kathmandu"),
    ],
)
def test_the_time_in_a_zone(zone: str, now: int, told: str) -> None:
    assert time_in(zone, now) == told


@pytest.mark.parametrize(
    ("zone", "near"),
    [
        ("Berlin", "Europe/Berlin"),
        ("Europe/Berln", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("Tokio", "Asia/Tokyo"),
        ("PST", "PST8PDT"),
        ("Europe/Moskau", "Europe/"),
        ("Europe", " or "),
        ("../../etc/passwd", " or "),
        ("/etc/localtime", " or "),
        ("", " or "),
        ("\0", " or "),
        ("x" * 100, " or "),
    ],
)
def test_an_unknown_zone_names_two_that_are_near(zone: str, near: str) -> None:
    with pytest.raises(ToolError, match="There is no time zone") as caught:
        time_in(zone, WINTER)
    assert near in str(caught.value)
    assert " or " in str(caught.value)
