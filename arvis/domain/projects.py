"""Projects: work that takes days. People assign it, and agents add notes about their progress."""

from __future__ import annotations

from enum import StrEnum

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.regex import regex

#: Limits in characters. Prompts contain all notes of a project, and each change stores all of them as a new version, so
#: the notes are limited to about a page.
LONGEST_TITLE = 200
LONGEST_GOAL = 4_000
LONGEST_NOTES = 8_000
LONGEST_NOTE = 1_000

#: A line that an agent wrote: `- 2026-11-22: Found two papers.`
_OWN_LINE = regex(r"- \d{4}-\d\d-\d\d: (.*)")
#: The number of last lines that are compared with a new note. If one of them contains the same text, the note is not
#: added.
_LOOKED_AT = 3


class ProjectStatus(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Project:
    """Work that takes days. Times in ms."""

    id: str
    slug: str
    #: The agent that works on the project. None means any agent that works autonomously.
    agent_id: str | None
    title: str
    goal: str
    status: ProjectStatus
    notes: str
    #: The person who last changed the project, directly or by an agent's tool.
    principal_id: str | None
    created_at: int
    updated_at: int
    #: The person who last wrote the texts of the project; None means the person `principal_id`.
    author_id: str | None = None

    @property
    def author(self) -> str | None:
        """The principal who last wrote the title, the goal or the notes of people."""
        return self.author_id or self.principal_id

    def is_for(self, agent_id: str) -> bool:
        return self.agent_id is None or self.agent_id == agent_id


def with_note(project: Project, text: str, day: str) -> Project | None:
    """Return the project with an agent's note as a new line. `day` has the form 2026-11-22. If the notes become too
    long, remove the oldest lines of agents. Return None if the lines of people leave no space for the note. If one of
    the last lines contains the same note, return the project unchanged. So a call that is repeated after a crash
    changes nothing."""
    note = " ".join(text.split())[:LONGEST_NOTE]
    lines = project.notes.splitlines()
    if any((own := _OWN_LINE.fullmatch(line)) and own[1] == note for line in lines[-_LOOKED_AT:]):
        return project
    lines.append(f"- {day}: {note}")
    while sum(len(line) + 1 for line in lines) > LONGEST_NOTES:
        oldest = next((place for place, line in enumerate(lines[:-1]) if _OWN_LINE.fullmatch(line)), None)
        if oldest is None:
            return None
        del lines[oldest]
    return replace(project, notes="\n".join(lines))
