"""Projects over HTTP: the goals that autonomous agents work on, with the notes that these agents wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.domain.agents import SLUG
from arvis.domain.projects import LONGEST_GOAL, LONGEST_NOTES, LONGEST_TITLE, Project, ProjectStatus
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store
from arvis.services import projects
from arvis.services.agents import slugs
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE
from arvis.web.http.models import CLEARING, MEMBER, About, Body, Label, OkView, Page, Time, View
from arvis.web.http.schema import LABEL, one_of

_SLUG = "Default: made from the title."
_AGENT = "Null: every autonomous agent may work on it."
_NOTES = "Your notes, and dated notes of agents."
_Slug = Annotated[str, About(pattern=f"^{SLUG.pattern}$")]
_Title = Annotated[str, About(maxLength=LONGEST_TITLE)]
_Goal = Annotated[str, About(maxLength=LONGEST_GOAL)]
_Notes = Annotated[str, About(maxLength=LONGEST_NOTES)]


class ProjectView(View):
    id: str
    slug: Annotated[_Slug, About(_SLUG)]
    agent: Annotated[str | None, About(_AGENT)]
    title: _Title
    goal: _Goal
    status: ProjectStatus
    notes: Annotated[_Notes, About(_NOTES)]
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, project: Project, agents: Mapping[str, str]) -> Self:
        """Return a project. A deleted agent is shown by its id."""
        agent_id = project.agent_id
        return cls.showing(project, agent=None if agent_id is None else agents.get(agent_id, agent_id))


class UndoneProjectView(View):
    project: Annotated[ProjectView | None, About("Null: the undo removed a new project.")]


class ChangedProject(Body):
    slug: Annotated[_Slug | None, About(_SLUG)] = None
    agent: Annotated[Label | None, CLEARING, About(_AGENT)] = None
    title: _Title | None = None
    goal: _Goal | None = None
    status: Annotated[ProjectStatus | None, MEMBER] = None
    notes: Annotated[_Notes | None, About(_NOTES)] = None

    def written(self) -> dict[str, Any]:
        """Return the fields that the body sets, named as in `Project`."""
        return {"agent_id" if name == "agent" else name: value for name, value in self.sent().items()}


class NewProject(ChangedProject):
    title: _Title


#: A path names a project by id or slug.
_ALL, _ONE = "/api/projects", "/api/projects/{project}"


class ProjectRoutes(Routes):
    def __init__(self, *, insights: Insights, store: Store, gate: Authorizer, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock

    @route(
        "GET",
        _ALL,
        "List projects, newest first",
        OPERATE,
        {200: Page[ProjectView]},
        query={**PAGING, "agent": LABEL, "status": one_of(ProjectStatus)},
    )
    async def _list(self, call: Call) -> Response:
        status = call.choice("status", ProjectStatus)
        page = await self._insights.projects(
            agent=call.query("agent"),
            status=ProjectStatus(status) if status else None,
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        agents = await self._store.read(slugs)
        return answer_page([ProjectView.of(project, agents) for project in page.items], page.next_cursor)

    @route("POST", _ALL, "Create a project", OPERATE, {201: ProjectView}, body=NewProject)
    async def _add(self, call: Call) -> Response:
        body, by = await call.read(NewProject), await self._gate.principal_id(call.identity)
        blank = Project(
            id="", slug="", agent_id=None, title="", goal="", status=ProjectStatus.ACTIVE, notes="", principal_id=by,
            created_at=0, updated_at=0,
        )  # fmt: skip
        wanted = projects.with_changes(blank, body.written())
        return await self._shown(await self._store.write(projects.add_project, wanted, self._clock.now()), status=201)

    @route("GET", _ONE, "Show a project", OPERATE, {200: ProjectView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(await self._store.read(projects.find_project, call.id("project")))

    @route("PATCH", _ONE, "Change the fields in the body", OPERATE, {200: ProjectView}, body=ChangedProject)
    async def _change(self, call: Call) -> Response:
        body, by = await call.read(ChangedProject), await self._gate.principal_id(call.identity)
        changed = await self._store.write(
            projects.change_project, call.id("project"), body.written(), self._clock.now(), by=by
        )
        return await self._shown(changed)

    @route("DELETE", _ONE, "Delete a project; undo by its id restores it", OPERATE, {200: OkView})
    async def _remove(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        await self._store.write(projects.remove_project, call.id("project"), self._clock.now(), by=by)
        return done()

    @route("POST", f"{_ONE}/undo", "Restore the previous version", OPERATE, {200: UndoneProjectView})
    async def _undo(self, call: Call) -> Response:
        by = await self._gate.principal_id(call.identity)
        back = await self._store.write(projects.undo_project, call.id("project"), self._clock.now(), by=by)
        shown = None if back is None else ProjectView.of(back, await self._store.read(slugs))
        return answer(UndoneProjectView(project=shown))

    async def _shown(self, project: Project, *, status: int = 200) -> Response:
        return answer(ProjectView.of(project, await self._store.read(slugs)), status)
