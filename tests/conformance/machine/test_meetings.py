"""Two transactions at the same time on PostgreSQL, with a pause before some of their statements.

Their effect equals that of running one after the other: nothing is lost, and no deadlock happens. `python -m
tests.conformance.machine` pauses before every statement.
"""

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
    """The answer once was missed: it had seen the job wait, and the job was claimed and read before the answer's
    commit."""
    with closing(Town(postgres_url, safe_resend=False)) as town:
        town.start_all()
        hold(town, an_answer_and_a_claim, 1)
