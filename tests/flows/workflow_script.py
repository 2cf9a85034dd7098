"""Insights without workflows, for tests that need none."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.domain.workflows import LogEntry, RunStatus
from arvis.ports.pages import Page
from arvis.ports.workflows import RunFigures, RunRow, RunView, VersionRow, WorkflowRow


class NoWorkflows:
    async def workflows(
        self, *, text: str | None, enabled: bool | None, limit: int, cursor: str | None
    ) -> Page[WorkflowRow]:
        return Page((), None)

    async def workflow(self, workflow_id: str) -> WorkflowRow | None:
        return None

    async def workflow_versions(self, workflow_id: str, *, limit: int, cursor: str | None) -> Page[VersionRow]:
        return Page((), None)

    async def runs(
        self, *, workflow_id: str | None, status: RunStatus | None, source: str | None, limit: int, cursor: str | None
    ) -> Page[RunRow]:
        return Page((), None)

    async def run(self, run_id: str) -> RunView | None:
        return None

    async def run_head(self, run_id: str) -> RunRow | None:
        return None

    async def run_figures(self, since: int, until: int) -> RunFigures:
        return RunFigures({}, paused=0)

    async def run_log(self, run_id: str, *, after: int, limit: int) -> Sequence[LogEntry] | None:
        return None
