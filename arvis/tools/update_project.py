"""Tool `update_project`: adds a line to the notes of a project and sets its status.

With this tool, an agent that works on its own records its progress for the next time.

The tool needs no approval, because an agent that works while no person is present could otherwise never record its
work. Therefore it can only add lines and set the status, and only for the agent's own projects and for projects that
all agents share. It never changes text that people wrote, and every change is a version that `arvis projects undo`
reverts. Prompts mark the lines as data.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ToolError
from arvis.domain.projects import LONGEST_NOTE, Project, ProjectStatus, with_note
from arvis.domain.text import storable
from arvis.domain.tools import Risk, ToolDeclaration
from arvis.domain.versions import Versioned
from arvis.ports.store import Transaction
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool

_LISTED = 20

DECLARATION = ToolDeclaration(risk=Risk.WRITE, own_output=True, without_approval=True)


def create(services: ToolServices) -> Tool:
    async def update_project(
        project: Annotated[str, Field(min_length=1, max_length=64, description="Slug of the project")],
        note: Annotated[str, Field(max_length=LONGEST_NOTE, description="Your work or finding, in one line")] = "",
        status: Annotated[
            Literal["active", "paused", "done"] | None,
            Field(description="The new status; omit it to leave the status unchanged"),
        ] = None,
        *,
        caller: Caller,
    ) -> str:
        """Record your work on a project: add a line to its notes, and set its status when it is done or must pause."""
        if not note.strip() and status is None:
            raise ToolError("There is nothing to record. Give a note, a status, or both.")
        now = services.clock.now()
        day = datetime.fromtimestamp(now / 1000, tz=ZoneInfo(caller.timezone)).date().isoformat()
        said = _Said(project, storable(note), status, day)
        return await services.store.write(_record, said, caller, now)

    return FunctionTool(update_project, DECLARATION)


@dataclass(frozen=True, slots=True)
class _Said:
    """The note and the status that an agent records. `day` is a date such as 2026-11-22."""

    slug: str
    note: str
    status: str | None
    day: str


def _record(tx: Transaction, said: _Said, caller: Caller, now: int) -> str:
    known = tx.projects.by_slug(said.slug)
    held = tx.projects.hold(known.id) if known is not None else None
    if held is None or not held.is_for(caller.agent.id):
        names = [each.slug for each in tx.projects.active(caller.agent.id, _LISTED)]
        raise ToolError(f"You have no project {said.slug}. Your projects: {', '.join(names) or 'none'}.")
    noted = with_note(held, said.note, said.day) if said.note.strip() else held
    if noted is None:
        raise ToolError(
            "Not recorded: the notes of this project are full, and people wrote most of them. Ask the owner to "
            "shorten the notes."
        )
    changed = replace(noted, status=ProjectStatus(said.status or held.status))
    _write(tx, held, changed, caller.principal_id, now)
    return f"Noted. The project {held.slug} is {changed.status}."


def _write(tx: Transaction, before: Project, changed: Project, by: str | None, now: int) -> None:
    if changed == before:
        return
    after = replace(changed, principal_id=by, author_id=before.author, updated_at=now)
    tx.projects.update(after)
    tx.versions.keep(Versioned.PROJECT, after.id, asdict(after), by, now, before=asdict(before))
