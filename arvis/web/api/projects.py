"""Projects over HTTP: the goals that autonomous agents work on, with the notes that these agents wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from arvis.domain.agents import SLUG
from arvis.domain.projects import LONGEST_GOAL, LONGEST_NOTES, LONGEST_TITLE, Project, ProjectStatus
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store
from arvis.services import projects
from arvis.services.agents import slugs
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import LABEL, OK, STRING, TIME, Schema, object_schema, one_of, optional, page_schema
from arvis.web.http.views import page_view

_WRITABLE: dict[str, Schema] = {
    "slug": {**STRING, "pattern": f"^{SLUG.pattern}$", "description": "Default: made from the title."},
    "agent": {**optional(STRING), "description": "Null: every autonomous agent may work on it."},
    "title": {**STRING, "maxLength": LONGEST_TITLE},
    "goal": {**STRING, "maxLength": LONGEST_GOAL},
    "status": one_of(ProjectStatus),
    "notes": {**STRING, "maxLength": LONGEST_NOTES, "description": "Your notes, and dated notes of agents."},
}
PROJECT = object_schema({"id": STRING, **_WRITABLE, "createdAt": TIME, "updatedAt": TIME})
NEW_PROJECT = object_schema(_WRITABLE, required=("title",))
CHANGED_PROJECT = object_schema(_WRITABLE, required=())
UNDONE = object_schema({"project": {**optional(PROJECT), "description": "Null: the undo removed a new project."}})

_TEXTS = ("slug", "title", "goal", "notes")


class ProjectRoutes:
    def __init__(self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        """Return the routes. A path names a project by id or slug."""
        all_, one = "/api/projects", "/api/projects/{project}"
        listed, shown, made = {200: page_schema(PROJECT)}, {200: PROJECT}, {201: PROJECT}
        query = {**PAGING, "agent": LABEL, "status": one_of(ProjectStatus)}
        return [
            Endpoint("GET", all_, "List projects, newest first", OPERATE, self._list, listed, query=query),
            Endpoint("POST", all_, "Create a project", OPERATE, self._add, made, body=NEW_PROJECT),
            Endpoint("GET", one, "Show a project", OPERATE, self._show, shown),
            Endpoint("PATCH", one, "Change the fields in the body", OPERATE, self._change, shown, body=CHANGED_PROJECT),
            Endpoint("DELETE", one, "Delete a project; undo by its id restores it", OPERATE, self._remove, {200: OK}),
            Endpoint("POST", f"{one}/undo", "Restore the previous version", OPERATE, self._undo, {200: UNDONE}),
        ]

    async def _list(self, call: Call) -> Response:
        status = call.choice("status", ProjectStatus)
        page = await self._insights.projects(
            agent=call.query("agent"),
            status=ProjectStatus(status) if status else None,
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        agents = await self._store.read(slugs)
        return answer(page_view([_view(project, agents) for project in page.items], page.next_cursor))

    async def _add(self, call: Call) -> Response:
        fields, by = await call.fields(), await self._gate.principal_id(call.identity)
        fields.required_text("title")
        blank = Project(
            id="", slug="", agent_id=None, title="", goal="", status=ProjectStatus.ACTIVE, notes="", principal_id=by,
            created_at=0, updated_at=0,
        )  # fmt: skip
        wanted = projects.with_changes(blank, _changes(fields))
        return await self._shown(await self._store.write(projects.add_project, wanted, self._clock.now()), status=201)

    async def _show(self, call: Call) -> Response:
        return await self._shown(await self._store.read(projects.find_project, call.id("project")))

    async def _change(self, call: Call) -> Response:
        fields, by = await call.fields(), await self._gate.principal_id(call.identity)
        changed = await self._store.write(
            projects.change_project, call.id("project"), _changes(fields), self._clock.now(), by=by
        )
        return await self._shown(changed)

    async def _remove(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        await self._store.write(projects.remove_project, call.id("project"), self._clock.now(), by=by)
        return answer({"ok": True})

    async def _undo(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        back = await self._store.write(projects.undo_project, call.id("project"), self._clock.now(), by=by)
        return answer({"project": None if back is None else _view(back, await self._store.read(slugs))})

    async def _shown(self, project: Project, *, status: int = 200) -> Response:
        return answer(_view(project, await self._store.read(slugs)), status)


def _changes(fields: Fields) -> dict[str, Any]:
    """Return the fields that the body sets, named as in `Project`. Null for the agent removes it."""
    changes: dict[str, Any] = {name: text for name in _TEXTS if (text := fields.text(name)) is not None}
    if fields.has("agent"):
        changes["agent_id"] = fields.label("agent")
    if (status := fields.text("status")) is not None:
        if status not in set(ProjectStatus):
            raise unusable("status", f"must be one of {', '.join(ProjectStatus)}")
        changes["status"] = ProjectStatus(status)
    return changes


def _view(project: Project, agents: Mapping[str, str]) -> dict[str, Any]:
    """Return a project. A deleted agent is shown by its id."""
    return {
        "id": project.id,
        "slug": project.slug,
        "agent": agents.get(project.agent_id, project.agent_id) if project.agent_id is not None else None,
        "title": project.title,
        "goal": project.goal,
        "status": project.status,
        "notes": project.notes,
        "createdAt": project.created_at,
        "updatedAt": project.updated_at,
    }
