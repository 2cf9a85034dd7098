"""The short form of `python -m tests.crash.workflows`."""

from __future__ import annotations

from tests.crash.campaign import fresh_seed
from tests.crash.workflows import play


def test_a_few_kills_lose_no_run_and_repeat_no_node() -> None:
    report = play(fresh_seed(), runs=4, kills=5)
    assert not report.faults, str(report)
    assert (report.runs, report.kills) == (4, 5)
