"""The repository of projects."""

from __future__ import annotations

from typing import Protocol

from arvis.domain.projects import Project, ProjectStatus
from arvis.ports.pages import Page


class Projects(Protocol):
    def get(self, project_id: str) -> Project | None: ...

    def by_slug(self, slug: str) -> Project | None: ...

    def hold(self, project_id: str) -> Project | None:
        """Return the project and lock it until this commit."""
        ...

    def add(self, project: Project) -> None: ...

    def update(self, project: Project) -> None: ...

    def touch(self, project_id: str, now: int) -> None:
        """Note that an agent worked on the project, regardless of the result."""
        ...

    def remove(self, project_id: str) -> bool: ...

    def active(self, agent_id: str, limit: int) -> list[Project]:
        """Return the projects on which this agent may work, the longest untouched first."""
        ...


class ProjectInsights(Protocol):
    async def projects(
        self, *, agent: str | None, status: ProjectStatus | None, limit: int, cursor: str | None
    ) -> Page[Project]:
        """Return projects, newest first. `agent` is an id or a slug."""
        ...
