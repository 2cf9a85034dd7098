"""Pages about passes through graphs. A base of `SqlInsights`."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.domain.executions import Execution
from arvis.ports.insights import ExecutionView
from arvis.ports.pages import Page
from arvis.store.executions import execution_of, step_of, wait_of
from arvis.store.queue_insights import call_of
from arvis.store.snapshots import LAST, Snapshots, page


class SqlExecutionInsights:
    """`ExecutionInsights` on either database."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def executions(
        self, *, graph: str | None, status: str | None, limit: int, cursor: str | None
    ) -> Page[Execution]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "list_executions", before=cursor or LAST, graph=graph, status=status, limit=limit + 1
            )
        return page(rows, execution_of, limit)

    async def execution_costs(
        self, *, graph: str | None, status: str | None, oldest: str, newest: str
    ) -> Mapping[str, int]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("costs_of_executions", graph=graph, status=status, oldest=oldest, newest=newest)
        return {row["id"]: int(row["micros"]) for row in rows if row["micros"]}

    async def execution(self, execution_id: str) -> ExecutionView | None:
        async with self._snapshots.snapshot() as snapshot:
            found = await snapshot.rows("get_execution", id=execution_id)
            if not found:
                return None
            return ExecutionView(
                execution_of(found[0]),
                [step_of(row) for row in await snapshot.rows("steps_of", execution_id=execution_id)],
                [wait_of(row) for row in await snapshot.rows("waits_of", execution_id=execution_id)],
                [execution_of(row) for row in await snapshot.rows("children_of", execution_id=execution_id)],
                [call_of(row) for row in await snapshot.rows("usage_of_turn", execution_id=execution_id)],
            )
