"""Workflows and their runs over SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from arvis.domain.executions import Execution
from arvis.domain.ids import first_id_at
from arvis.domain.triggers import Trigger, TriggerIndex
from arvis.domain.workflows import PREFIX, LogEntry, Workflow, WorkflowRun, WorkflowVersion
from arvis.store.repositories.executions import execution_of
from arvis.store.sql.session import Row, Session, dump
from arvis.store.sql.unreadable import lenient, object_of


class SqlWorkflows:
    """Implements the port `Workflows` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, workflow_id: str) -> Workflow | None:
        row = self._session.one("get_workflow", id=workflow_id)
        return workflow_of(row) if row else None

    def by_slug(self, slug: str) -> Workflow | None:
        row = self._session.one("workflow_by_slug", slug=slug)
        return workflow_of(row) if row else None

    def hold(self, workflow_id: str) -> Workflow | None:
        row = self._session.one("hold_workflow", id=workflow_id)
        return workflow_of(row) if row else None

    def add(self, workflow: Workflow) -> None:
        fields = {name: getattr(workflow, name) for name in Workflow.__slots__}
        self._session.execute("add_workflow", **{**fields, "enabled": int(workflow.enabled)})

    def update(self, workflow: Workflow) -> None:
        names = set(Workflow.__slots__) - {"principal_id", "created_at"}
        fields = {name: getattr(workflow, name) for name in names}
        self._session.execute("update_workflow", **{**fields, "enabled": int(workflow.enabled)})

    def keep_version(self, version: WorkflowVersion) -> None:
        fields = {name: getattr(version, name) for name in WorkflowVersion.__slots__}
        self._session.execute("add_workflow_version", **{**fields, "document": dump(version.document)})

    def version(self, workflow_id: str, version: int) -> WorkflowVersion | None:
        row = self._session.one("get_workflow_version", workflow_id=workflow_id, version=version)
        return version_of(row) if row else None

    def set_triggers(self, workflow_id: str, triggers: Sequence[Trigger]) -> None:
        self._session.execute("drop_workflow_triggers", workflow_id=workflow_id)
        for trigger in triggers:
            fields = {name: getattr(trigger, name) for name in Trigger.__slots__}
            self._session.execute("add_workflow_trigger", **fields)

    def triggers(self, kind: str, limit: int) -> TriggerIndex:
        return self._session.held("workflow_triggers_of_kind", _index_of, kind=kind, limit=limit)

    def begun_by(self, workflow: Workflow) -> set[str]:
        names = {"by_id": workflow.graph, "by_slug": f"{PREFIX}{workflow.slug}"}
        return {row["kind"] for row in self._session.rows("rows_that_begin_workflow", **names)}

    def all(self) -> list[Workflow]:
        return [workflow_of(row) for row in self._session.rows("all_workflows")]

    def count(self) -> int:
        row = self._session.one("count_workflows")
        return int(row["count"]) if row else 0


class SqlWorkflowRuns:
    """Implements the port `WorkflowRuns` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, run: WorkflowRun) -> None:
        self._session.execute("add_workflow_run", **{name: getattr(run, name) for name in WorkflowRun.__slots__})

    def get(self, execution_id: str) -> WorkflowRun | None:
        row = self._session.one("get_workflow_run", execution_id=execution_id)
        return run_of(row) if row else None

    def of_request(self, request: str) -> WorkflowRun | None:
        row = self._session.one("workflow_run_of_request", request=request)
        return run_of(row) if row else None

    def log(self, run_id: str, entries: Sequence[tuple[str, str, str]], now: int) -> int:
        counted = self._session.one("count_run_entries", execution_id=run_id, count=len(entries))
        if counted is None:
            return 0
        last = int(counted["entries"])
        for number, (node_id, kind, content) in enumerate(entries, last - len(entries) + 1):
            self._session.execute(
                "add_run_entry", run_id=run_id, number=number, at=now, node_id=node_id, type=kind, content=content
            )
        return last

    def entries(self, run_id: str, after: int, limit: int) -> list[LogEntry]:
        return [entry_of(row) for row in self._session.rows("run_entries", run_id=run_id, after=after, limit=limit)]

    def live(self, workflow_id: str, limit: int) -> list[str]:
        rows = self._session.rows("live_runs", graph=f"{PREFIX}{workflow_id}", limit=limit)
        return [row["execution_id"] for row in rows]

    def at_work(self, limit: int) -> list[Execution]:
        return [execution_of(row) for row in self._session.rows("live_workflow_runs", limit=limit)]

    def prune(self, before: int, limit: int) -> int:
        bounds = {"oldest": first_id_at(before), "before": before, "limit": limit}
        old = [row["execution_id"] for row in self._session.rows("old_runs", **bounds)]
        for run_id in old:
            self._session.execute("forget_run_log", execution_id=run_id)
            self._session.execute("forget_run_entries", execution_id=run_id)
        return len(old)


def workflow_of(row: Row) -> Workflow:
    return Workflow(**{**{name: row[name] for name in Workflow.__slots__}, "enabled": bool(row["enabled"])})


def version_of(row: Row) -> WorkflowVersion:
    """Return the version of a row. If its document is unreadable, return a version with an empty document and a
    problem; such a version cannot run."""
    return lenient("workflow_versions", "workflow_id", row, sound_version, _emptied)


def sound_version(row: Row) -> WorkflowVersion:
    """Return the version of a row. Raise one of `UNREADABLE` if a value is malformed."""
    fields = {name: row[name] for name in WorkflowVersion.__slots__}
    document = object_of(json.loads(row["document"]))
    object_of(document.get("settings", {}))
    for part in ("nodes", "connections"):
        entries = document.get(part, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ValueError(f"`{part}` of its document is not a list of objects")
    return WorkflowVersion(**{**fields, "document": document})


def _emptied(row: Row) -> WorkflowVersion:
    fields = {name: row[name] for name in WorkflowVersion.__slots__}
    note = "This version cannot be read. Restore an older version, or save the workflow again."
    document: dict[str, Any] = {"nodes": [], "connections": [], "settings": {}}
    return WorkflowVersion(**{**fields, "document": document, "problems": max(1, row["problems"]), "note": note})


def trigger_of(row: Row) -> Trigger:
    return Trigger(**{name: row[name] for name in Trigger.__slots__})


def run_of(row: Row) -> WorkflowRun:
    return WorkflowRun(**{name: row[name] for name in WorkflowRun.__slots__})


def entry_of(row: Row) -> LogEntry:
    return LogEntry(**{name: row[name] for name in LogEntry.__slots__})


def _index_of(rows: Sequence[Row]) -> TriggerIndex:
    return TriggerIndex([trigger_of(row) for row in rows])
