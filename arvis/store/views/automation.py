"""Queries for the pages about workflows and their runs, schedules, projects and webhooks. `SqlInsights` inherits from
the classes of this module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from arvis.domain.executions import ExecutionStatus, WaitKind
from arvis.domain.projects import Project, ProjectStatus
from arvis.domain.schedules import MadeBy, Occurrence, Schedule, ScheduleKind
from arvis.domain.webhooks import Webhook
from arvis.domain.workflows import ENDS, LogEntry, RunStatus
from arvis.ports.pages import Page
from arvis.ports.workflows import (
    MOST_LIVE,
    LastRun,
    OpenQuestion,
    Place,
    RunChild,
    RunFigures,
    RunRetry,
    RunRow,
    RunView,
    VersionRow,
    WorkflowRow,
)
from arvis.store.repositories.automation import occurrence_of, project_of, schedule_of, webhook_of
from arvis.store.repositories.executions import execution_of
from arvis.store.repositories.workflows import entry_of, run_of, workflow_of
from arvis.store.sql.session import LAST, Row, Snapshot, Snapshots, page
from arvis.store.views.conversations import pattern_of

#: A number that is higher than every version number.
_NEWEST = 2**31 - 1
#: The maximum number of child executions that the page of a run shows.
_MOST_CHILDREN = 500
_LIVE = frozenset({ExecutionStatus.RUNNING, ExecutionStatus.PAUSED})
#: The status of a run's execution, for each status of an ended run.
_OVER: Mapping[RunStatus, ExecutionStatus] = {ended: stored for stored, ended in ENDS.items()}


class SqlWorkflowInsights:
    """Implements the port `WorkflowInsights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def workflows(
        self, *, text: str | None, enabled: bool | None, limit: int, cursor: str | None
    ) -> Page[WorkflowRow]:
        filters = {
            "pattern": None if text is None else pattern_of(text),
            "enabled": None if enabled is None else int(enabled),
        }
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("list_workflows", before=cursor or LAST, limit=limit + 1, **filters)
            shown = [await _workflow(snapshot, row) for row in rows[:limit]]
        return Page(shown, shown[-1].workflow.id if len(rows) > limit else None)

    async def workflow(self, workflow_id: str) -> WorkflowRow | None:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("shown_workflow", id=workflow_id)
            return await _workflow(snapshot, rows[0]) if rows else None

    async def workflow_versions(self, workflow_id: str, *, limit: int, cursor: str | None) -> Page[VersionRow]:
        before = int(cursor) if cursor is not None and cursor.isdecimal() else _NEWEST
        bounds = {"before": min(before, _NEWEST), "limit": limit + 1}
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("list_workflow_versions", workflow_id=workflow_id, **bounds)
        shown = [
            VersionRow(row["version"], row["problems"], row["note"], row["principal_name"], row["at"])
            for row in rows[:limit]
        ]
        return Page(shown, str(shown[-1].version) if len(rows) > limit else None)

    async def runs(
        self,
        *,
        workflow_id: str | None,
        status: RunStatus | None,
        source: str | None,
        limit: int,
        cursor: str | None,
    ) -> Page[RunRow]:
        pattern = None if source is None else f"{pattern_of(source)[1:-1]}:%"
        given = {"before": cursor or LAST, "source": source, "pattern": pattern, "limit": limit + 1}
        async with self._snapshots.snapshot() as snapshot:
            if status is not None and status not in _OVER:
                shown = await _live_runs(snapshot, status, {**given, "workflow_id": workflow_id})
            else:
                given["status"] = _OVER[status] if status is not None else None
                if workflow_id is not None:
                    rows = await snapshot.rows("list_runs_of", workflow_id=workflow_id, **given)
                else:
                    rows = await snapshot.rows("list_runs", **given)
                shown = [await _run(snapshot, row) for row in rows]
        return Page(shown[:limit], shown[limit - 1].run.execution_id if len(shown) > limit else None)

    async def run(self, run_id: str) -> RunView | None:
        async with self._snapshots.snapshot() as snapshot:
            found = await snapshot.rows("one_run", execution_id=run_id)
            if not found:
                return None
            places = await snapshot.rows("places_of", execution_id=run_id)
            visits = await snapshot.rows("visits_of", execution_id=run_id)
            children = await snapshot.rows("children_of_run", execution_id=run_id, limit=_MOST_CHILDREN)
            asked = await snapshot.rows("messages_of_turn", execution_id=run_id)
            return RunView(
                row=await _run(snapshot, found[0]),
                execution=execution_of((await snapshot.rows("get_execution", id=run_id))[0]),
                places=[Place(row["node"], row["kind"] and WaitKind(row["kind"])) for row in places],
                visits={row["node"]: int(row["visits"]) for row in visits},
                children=[_child(row) for row in children],
                message_id=asked[-1]["id"] if asked else None,
            )

    async def run_head(self, run_id: str) -> RunRow | None:
        async with self._snapshots.snapshot() as snapshot:
            found = await snapshot.rows("one_run", execution_id=run_id)
            return await _run(snapshot, found[0]) if found else None

    async def run_log(self, run_id: str, *, after: int, limit: int) -> Sequence[LogEntry] | None:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("run_entries", run_id=run_id, after=after, limit=limit)
            if not rows and not await snapshot.rows("get_workflow_run", execution_id=run_id):
                return None
        return [entry_of(row) for row in rows]

    async def run_figures(self, since: int, until: int) -> RunFigures:
        async with self._snapshots.snapshot() as snapshot:
            (ended,) = await snapshot.rows("count_ended_runs", since=since, until=until)
            (sleeping,) = await snapshot.rows("count_sleeping_runs")
        return RunFigures({status: int(ended[status]) for status in _OVER}, sleeping["count"])


async def _workflow(snapshot: Snapshot, row: Row) -> WorkflowRow:
    workflow = workflow_of(row)
    triggers = await snapshot.rows("trigger_kinds_of", workflow_id=workflow.id)
    last = await snapshot.rows("last_run_of", workflow_id=workflow.id)
    newest = (
        await _run(snapshot, (await snapshot.rows("one_run", execution_id=last[0]["execution_id"]))[0])
        if last
        else None
    )
    live = await snapshot.rows("count_live_runs", graph=workflow.graph, limit=MOST_LIVE)
    return WorkflowRow(
        workflow=workflow,
        problems=row["problems"],
        triggers=list(dict.fromkeys(each["kind"] for each in triggers)),
        last_run=LastRun(newest.run.execution_id, newest.status, newest.run.created_at) if newest else None,
        live=int(live[0]["count"]),
    )


async def _live_runs(snapshot: Snapshot, status: RunStatus, given: Mapping[str, Any]) -> list[RunRow]:
    """Return the runs of a page that have this status, and one more run if there is a next page. `status` is a status
    of runs that have not ended. The database does not store such a status: it is computed from the questions and jobs
    of each run."""
    wanted, before, found = int(given["limit"]), str(given["before"]), list[RunRow]()
    while rows := await snapshot.rows("list_live_runs", **{**given, "before": before}):
        shown = [await _run(snapshot, row) for row in rows]
        found += [each for each in shown if each.status is status]
        if len(found) >= wanted or len(rows) < wanted:
            break
        before = shown[-1].run.execution_id
    return found[:wanted]


async def _run(snapshot: Snapshot, row: Row) -> RunRow:
    """Return a run. If another execution called the run, compute its costs as the sum of its model calls. Otherwise
    read the stored costs, as for a turn."""
    run, stored = run_of(row), ExecutionStatus(row["status"])
    micros = row["micros"] or 0
    if row["parent_wait"] is not None:
        micros = (await snapshot.rows("costs_below", execution_id=run.execution_id))[0]["micros"]
    asked = []
    if stored in _LIVE:
        asked = list(await snapshot.rows("questions_of_run", execution_id=run.execution_id, limit=MOST_LIVE))
    return RunRow(
        run=run,
        slug=row["slug"],
        name=row["name"],
        status=status_of(stored, row["steps"], at_work=bool(row["calls"] or row["queued"]) and not asked),
        error=row["error"],
        ended_at=None if stored in _LIVE else row["updated_at"],
        open_questions=[OpenQuestion(each["id"], each["node"]) for each in asked],
        cost_micros=int(micros),
    )


def status_of(stored: ExecutionStatus, steps: int, *, at_work: bool) -> RunStatus:
    """Return the status of a run. `at_work` means two things: no question is open, and the run will continue because it
    has a job or waits for an execution that it called. A paused run that is at work is shown as running."""
    match stored:
        case ExecutionStatus.RUNNING:
            return RunStatus.RUNNING if steps else RunStatus.PENDING
        case ExecutionStatus.PAUSED:
            return RunStatus.RUNNING if at_work else RunStatus.PAUSED
        case _:
            return ENDS[stored]


def _child(row: Row) -> RunChild:
    status = ExecutionStatus(row["status"])
    retry = None
    if row["attempts"] and status in _LIVE:
        retry = RunRetry(row["attempts"], row["run_at"], row["error"] or row["reason"] or "")
    return RunChild(row["id"], row["graph"], status, row["created_at"], row["node"], retry)


_Thing = TypeVar("_Thing")


class SqlWorkInsights:
    """Implements the ports `ScheduleInsights`, `ProjectInsights` and `WebhookInsights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def schedules(
        self,
        *,
        kind: ScheduleKind | None,
        agent: str | None,
        limit: int,
        cursor: str | None,
        created_by: MadeBy | None = None,
        enabled: bool | None = None,
    ) -> Page[Schedule]:
        on = None if enabled is None else int(enabled)
        filters = {"kind": kind, "created_by": created_by, "enabled": on}
        return await self._page("list_schedules", schedule_of, agent, limit, cursor, **filters)

    async def occurrences(self, schedule_id: str, *, limit: int, cursor: str | None) -> Page[Occurrence]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "list_occurrences", schedule_id=schedule_id, before=cursor or LAST, limit=limit + 1
            )
        return page(rows, occurrence_of, limit)

    async def projects(
        self, *, agent: str | None, status: ProjectStatus | None, limit: int, cursor: str | None
    ) -> Page[Project]:
        return await self._page("list_projects", project_of, agent, limit, cursor, status=status)

    async def webhooks(self, *, agent: str | None, limit: int, cursor: str | None) -> Page[Webhook]:
        return await self._page("list_webhooks", webhook_of, agent, limit, cursor)

    async def _page(
        self,
        query: str,
        make: Callable[[Row], _Thing],
        agent: str | None,
        limit: int,
        cursor: str | None,
        **filters: str | int | None,
    ) -> Page[_Thing]:
        """Return a page of the rows of one agent, or of all agents if `agent` is None. `agent` is an id or a slug."""
        async with self._snapshots.snapshot() as snapshot:
            agents = await snapshot.rows("agent_by_slug", slug=agent) if agent else []
            agent_id = agents[0]["id"] if agents else agent
            rows = await snapshot.rows(query, before=cursor or LAST, agent_id=agent_id, limit=limit + 1, **filters)
        return page(rows, make, limit)
