"""Pages about schedules, occurrences, projects and web hooks. A base class of `SqlInsights`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from arvis.domain.projects import Project, ProjectStatus
from arvis.domain.schedules import MadeBy, Occurrence, Schedule, ScheduleKind
from arvis.domain.webhooks import Webhook
from arvis.ports.pages import Page
from arvis.store.repositories.projects import project_of
from arvis.store.repositories.schedules import occurrence_of, schedule_of
from arvis.store.repositories.webhooks import webhook_of
from arvis.store.sql.session import Row
from arvis.store.sql.snapshots import LAST, Snapshots, page

_Thing = TypeVar("_Thing")


class SqlWorkInsights:
    """`ScheduleInsights`, `ProjectInsights` and `WebhookInsights` on either database."""

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
        """`agent` is an id or a slug."""
        async with self._snapshots.snapshot() as snapshot:
            agents = await snapshot.rows("agent_by_slug", slug=agent) if agent else []
            agent_id = agents[0]["id"] if agents else agent
            rows = await snapshot.rows(query, before=cursor or LAST, agent_id=agent_id, limit=limit + 1, **filters)
        return page(rows, make, limit)
