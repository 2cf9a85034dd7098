"""Projects over SQL."""

from __future__ import annotations

from arvis.domain.projects import Project, ProjectStatus
from arvis.store.session import Row, Session


class SqlProjects:
    """`Projects` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, project_id: str) -> Project | None:
        row = self._session.one("get_project", id=project_id)
        return project_of(row) if row else None

    def by_slug(self, slug: str) -> Project | None:
        row = self._session.one("project_by_slug", slug=slug)
        return project_of(row) if row else None

    def hold(self, project_id: str) -> Project | None:
        row = self._session.one("hold_project", id=project_id)
        return project_of(row) if row else None

    def add(self, project: Project) -> None:
        self._session.execute("add_project", **{name: getattr(project, name) for name in Project.__slots__})

    def update(self, project: Project) -> None:
        names = set(Project.__slots__) - {"created_at"}
        self._session.execute("update_project", **{name: getattr(project, name) for name in names})

    def touch(self, project_id: str, now: int) -> None:
        self._session.execute("touch_project", id=project_id, now=now)

    def remove(self, project_id: str) -> bool:
        return self._session.execute("remove_project", id=project_id) == 1

    def active(self, agent_id: str, limit: int) -> list[Project]:
        return [project_of(row) for row in self._session.rows("active_projects", agent_id=agent_id, limit=limit)]


def project_of(row: Row) -> Project:
    fields = {name: row[name] for name in Project.__slots__}
    return Project(**{**fields, "status": ProjectStatus(row["status"])})
