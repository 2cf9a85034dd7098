"""Two transactions at the same moment on PostgreSQL, at some of their statements (`python -m tests.conformance.machine` takes
each): what they leave is what one after the other could have left, nothing is lost between them, and neither waits for the
other in a circle."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest

from tests.conformance.machine.meetings import MEETINGS, Meeting, an_answer_and_a_claim, hold
from tests.conformance.machine.town import Town

STRIDE = 4


@pytest.mark.parametrize("meet", MEETINGS, ids=lambda meet: meet.__name__)
def test_two_at_once_leave_what_one_after_the_other_leaves(meet: Callable[[Meeting], None], postgres_url: str) -> None:
    with closing(Town(postgres_url, safe_resend=False)) as town:
        town.start_all()
        hold(town, meet, STRIDE)
        assert town.records.calls["race"] > 2
        assert town.records.calls["deadlock"] == 0


def test_an_answer_is_not_missed_by_a_job_that_begins_meanwhile(postgres_url: str) -> None:
    """Once it was: the job was claimed after the answer had seen it wait, and had read before the answer was committed."""
    with closing(Town(postgres_url, safe_resend=False)) as town:
        town.start_all()
        hold(town, an_answer_and_a_claim, 1)
