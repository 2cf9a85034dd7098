"""Projects over SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from arvis.domain.projects import Project, ProjectStatus
from arvis.ports.skills import StoredSkill
from arvis.store.sql.session import Row, Session, dump

# Data that a conversation keeps between turns, over SQL.


# Imported skills, over SQL.


class SqlHandoverThreads:
    """`HandoverThreads` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, conversation_id: str, name: str) -> Mapping[str, Any] | None:
        row = self._session.one("get_thread", conversation_id=conversation_id, name=name)
        return None if row is None else _object(row["data"])

    def put(self, conversation_id: str, name: str, data: Mapping[str, Any], now: int) -> None:
        self._session.execute("put_thread", conversation_id=conversation_id, name=name, data=dump(data), now=now)

    def names(self, conversation_id: str) -> list[str]:
        return [row["name"] for row in self._session.rows("thread_names", conversation_id=conversation_id)]

    def drop_all(self, conversation_id: str) -> None:
        self._session.execute("drop_threads", conversation_id=conversation_id)


class SqlPluginAdditions:
    """`PluginAdditions` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, message_id: str, conversation_id: str, data: Mapping[str, Any]) -> None:
        fields = {"message_id": message_id, "conversation_id": conversation_id, "data": dump(data)}
        self._session.execute("put_addition", **fields)

    def of(self, conversation_id: str, limit: int) -> Sequence[tuple[str, Mapping[str, Any]]]:
        rows = self._session.rows("additions_of", conversation_id=conversation_id, limit=limit)
        return [(row["message_id"], _object(row["data"])) for row in rows]

    def drop(self, message_id: str) -> None:
        self._session.execute("drop_addition", message_id=message_id)

    def drop_all(self, conversation_id: str) -> None:
        self._session.execute("drop_additions", conversation_id=conversation_id)


def _object(text: str) -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(text)
    return data


class SqlSkills:
    """`Skills` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def all(self) -> Sequence[StoredSkill]:
        return sorted(map(skill_of, self._session.rows("all_skills")), key=lambda skill: skill.slug)

    def stamps(self) -> Mapping[str, int]:
        return {row["slug"]: row["updated_at"] for row in self._session.rows("skill_stamps")}

    def get(self, slug: str) -> StoredSkill | None:
        row = self._session.one("get_skill", slug=slug)
        return skill_of(row) if row else None

    def put(self, skill: StoredSkill) -> None:
        self._session.execute("put_skill", **asdict(skill))

    def remove(self, slug: str) -> bool:
        return self._session.execute("remove_skill", slug=slug) == 1


def skill_of(row: Row) -> StoredSkill:
    return StoredSkill(**{name: row[name] for name in StoredSkill.__slots__})


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
