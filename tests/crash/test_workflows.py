"""The short form of `python -m tests.crash workflows`."""

from __future__ import annotations

from tests.crash.builds import copied
from tests.crash.campaign import fresh_seed
from tests.crash.report import explain
from tests.crash.workflows import WorkflowPlan, play_one


async def test_a_few_kills_lose_no_run_and_repeat_no_node() -> None:
    with copied() as code:
        result = await play_one(WorkflowPlan(fresh_seed(), 5, code, runs=4))
    assert not result.violations, explain(result)
    assert (result.runs, result.kills) == (4, 5)
