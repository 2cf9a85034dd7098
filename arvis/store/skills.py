"""Skills that were brought in from outside, over SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from arvis.ports.skills import StoredSkill
from arvis.store.session import Row, Session


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
