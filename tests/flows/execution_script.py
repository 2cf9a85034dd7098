"""Insights with the executions that a test gives, for tests of the web."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.executions import Execution
from arvis.ports.insights import ExecutionView
from arvis.ports.pages import Page


class GivenExecutions:
    given: tuple[ExecutionView, ...] = ()

    async def executions(
        self, *, graph: str | None, status: str | None, limit: int, cursor: str | None
    ) -> Page[Execution]:
        found = [each.execution for each in self.given]
        return Page([each for each in found if graph in {None, each.graph} and status in {None, each.status}], None)

    async def execution_costs(
        self, *, graph: str | None, status: str | None, oldest: str, newest: str
    ) -> Mapping[str, int]:
        return {
            each.execution.id: sum(call.cost_micros for call in each.calls)
            for each in self.given
            if oldest <= each.execution.id <= newest
        }

    async def execution(self, execution_id: str) -> ExecutionView | None:
        return next((each for each in self.given if each.execution.id == execution_id), None)
