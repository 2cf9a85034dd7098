"""Insights without schedules, for tests that need none."""

from __future__ import annotations

from arvis.domain.projects import Project, ProjectStatus
from arvis.domain.schedules import MadeBy, Occurrence, Schedule, ScheduleKind
from arvis.ports.pages import Page


class NoSchedules:
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
        return Page((), None)

    async def occurrences(self, schedule_id: str, *, limit: int, cursor: str | None) -> Page[Occurrence]:
        return Page((), None)

    async def projects(
        self, *, agent: str | None, status: ProjectStatus | None, limit: int, cursor: str | None
    ) -> Page[Project]:
        return Page((), None)
