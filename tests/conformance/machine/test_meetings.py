"""Two transactions at the same moment on PostgreSQL, at each of their statements: what they leave is what one after the other
could have left, nothing is lost between them, and neither waits for the other in a circle."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import count

import pytest

from tests.conformance.machine.calm import come_to_rest, drain
from tests.conformance.machine.invariants import check
from tests.conformance.machine.meetings import MEETINGS, Meeting
from tests.conformance.machine.process import Write
from tests.conformance.machine.town import Town


@pytest.mark.parametrize("meet", MEETINGS, ids=lambda meet: meet.__name__)
def test_two_at_once_leave_what_one_after_the_other_leaves(meet: Callable[[Meeting], None], postgres_url: str) -> None:
    with closing(Town(postgres_url, safe_resend=False)) as town:
        for node in ("node-1", "node-2"):
            town.start(node)
        drain(town)
        for swapped in (False, True):
            for pause in count():
                meet(Meeting(town, f"room {swapped} {pause}"))
                met = race_the_last_two(town, pause, swapped=swapped)
                drain(town)
                if not met:
                    break
        come_to_rest(town)
        assert town.records.calls["race"] > 8
        assert town.records.calls["deadlock"] == 0


def race_the_last_two(town: Town, pause: int, *, swapped: bool) -> bool:
    town.rest()
    first, second = [one for one in town.waiting if isinstance(one, Write)][-2:]
    met = town.race(second, first, pause) if swapped else town.race(first, second, pause)
    check(town)
    return met
