"""The repository of imported skills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredSkill:
    """`text` is the whole Markdown file with its front matter, `source` the address of its origin, or `text`. Times
    in ms."""

    slug: str
    text: str
    source: str
    by_id: str
    created_at: int
    updated_at: int


class Skills(Protocol):
    def all(self) -> Sequence[StoredSkill]:
        """Return skills in the order of their slugs."""
        ...

    def stamps(self) -> Mapping[str, int]:
        """Return when each skill was last imported: a cheap check for changes."""
        ...

    def get(self, slug: str) -> StoredSkill | None: ...

    def put(self, skill: StoredSkill) -> None:
        """Store a skill, replacing one with the same slug; the creation time stays."""
        ...

    def remove(self, slug: str) -> bool:
        """Delete a skill; return False if none has this slug."""
        ...
