"""`update_project`: what an agent that works on its own has to say about a project, kept for the next time.

It changes something in the house, and no person is asked first: an agent that works while nobody is there could never record
what it did. It may therefore add lines and set the status, of projects that are its own or everybody's, and nothing else.
What people wrote is never touched, and every change is a version that `arvis projects undo` takes back. Lines are data: prompts
show them as such.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.projects import LONGEST_NOTE, Project, ProjectStatus, with_note
from arvis.domain.text import storable
from arvis.domain.tools import Risk
from arvis.domain.versions import Versioned
from arvis.ports.store import Transaction
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool

_LISTED = 20


def create(services: ToolServices) -> Tool:
    async def update_project(
        project: Annotated[str, Field(min_length=1, max_length=64, description="Its slug.")],
        note: Annotated[str, Field(max_length=LONGEST_NOTE, description="What you did or found out, in a line.")] = "",
        status: Annotated[Literal["active", "paused", "done"] | None, Field(description="Left out: as it is.")] = None,
        *,
        caller: Caller,
    ) -> str:
        """Record your work on a project: add a line to its notes, and say when it is done or has to pause."""
        if not note.strip() and status is None:
            raise ToolError("There is nothing to record. Give a note, a status, or both.")
        now = services.clock.now()
        day = datetime.fromtimestamp(now / 1000, tz=ZoneInfo(caller.timezone)).date().isoformat()
        said = _Said(project, storable(note), status, day)
        return await services.store.write(_record, said, caller, now)

    return FunctionTool(update_project, risk=Risk.WRITE)


@dataclass(frozen=True, slots=True)
class _Said:
    """What is to be recorded; `day` as 2026-11-22."""

    slug: str
    note: str
    status: str | None
    day: str


def _record(tx: Transaction, said: _Said, caller: Caller, now: int) -> str:
    known = tx.projects.by_slug(said.slug)
    held = tx.projects.hold(known.id) if known is not None else None
    if held is None or not held.is_for(caller.agent.id):
        names = [each.slug for each in tx.projects.active(caller.agent.id, _LISTED)]
        raise ToolError(f"You have no project {said.slug}. There are: {', '.join(names) or 'none'}.")
    noted = with_note(held, said.note, said.day) if said.note.strip() else held
    if noted is None:
        raise ToolError("The notes of this project are full of what people wrote. Tell them to shorten these.")
    changed = replace(noted, status=ProjectStatus(said.status or held.status))
    _write(tx, held, changed, caller.principal_id, now)
    return f"Noted. The project {held.slug} is {changed.status}."


def _write(tx: Transaction, before: Project, changed: Project, by: str | None, now: int) -> None:
    if changed == before:
        return
    after = replace(changed, principal_id=by, author_id=before.author, updated_at=now)
    tx.projects.update(after)
    tx.versions.keep(Versioned.PROJECT, after.id, asdict(after), by, now, before=asdict(before))
