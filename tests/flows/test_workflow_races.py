"""Simultaneous work on PostgreSQL: workers, people and a cancellation on one run, and changes of one workflow."""

from __future__ import annotations

from arvis.domain.executions import ExecutionStatus
from tests.flows.workflow_races import races, savings


async def test_a_run_ends_once_whoever_works_answers_and_cancels(postgres_url: str) -> None:
    ends = await races(postgres_url, rounds=4, seed="3")
    assert ends.total() == 4
    assert set(ends) <= {ExecutionStatus.DONE, ExecutionStatus.CANCELLED}


async def test_a_workflow_has_each_version_once_whoever_saves_it(postgres_url: str) -> None:
    assert (await savings(postgres_url, writes=160, seed="1"))["save"] > 0
