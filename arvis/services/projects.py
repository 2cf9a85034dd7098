"""Changes of projects by people: create, update and remove projects within limits, and undo changes. Transaction
scripts; each change stores a version in the same commit. The changes that agents may make are in
`tools/update_project.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import count
from typing import Any

from arvis.domain.agents import SLUG, Agent
from arvis.domain.dataclass import replace
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.projects import LONGEST_GOAL, LONGEST_NOTES, LONGEST_TITLE, Project, ProjectStatus
from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.domain.versions import Versioned, version_before
from arvis.ports.store import Transaction
from arvis.services import agents
from arvis.tasks.access import author_after, authors_may_use, out_of_reach

CHANGEABLE = frozenset({"slug", "agent_id", "title", "goal", "status", "notes"})

_NOT_IN_SLUGS = regex(r"[^a-z0-9]+")
_LONGEST_SLUG = 48


def add_project(tx: Transaction, wanted: Project, now: int) -> Project:
    """Create a project. `wanted.agent_id` can be a slug. The id, the times and a missing slug are set here."""
    slug = wanted.slug or _free_slug(tx, wanted.title)
    made = replace(wanted, id=tx.new_id(), slug=slug, created_at=now, updated_at=now)
    made = _checked(tx, made)
    _check_author(tx, made)
    tx.projects.add(made)
    _keep(tx, None, made, made.principal_id, now)
    return made


def change_project(tx: Transaction, name: str, changes: Mapping[str, Any], now: int, *, by: str | None) -> Project:
    """Change the fields of `Project` that `changes` names; keep the other fields. `name` is an id or a slug, `by` the
    id of a principal."""
    known = _held(tx, find_project(tx, name))
    wanted = replace(with_changes(known, changes), principal_id=by)
    words = {"title": wanted.title, "goal": wanted.goal, "notes": wanted.notes}
    return _write(tx, known, replace(wanted, author_id=author_after(tx, words, changes, known.author, by)), now)


def remove_project(tx: Transaction, name: str, now: int, *, by: str | None) -> Project:
    """Remove a project and return it."""
    known = _held(tx, find_project(tx, name))
    tx.projects.remove(known.id)
    _keep(tx, known, None, by, now)
    return known


def undo_project(tx: Transaction, name: str, now: int, *, by: str | None) -> Project | None:
    """Restore the project's previous version and store it as a new version, so a second call reverses the first. A
    removed project is restored with its old id; `name` must then be this id. If there is no previous version, remove
    the project and return None."""
    known = _named(tx, name)
    versions = tx.versions.newest(Versioned.PROJECT, known.id if known else name, 2)
    if known is None and not versions:
        raise _no_project()
    before = version_before(versions).data
    if before is None:
        remove_project(tx, name, now, by=by)
        return None
    wanted = Project(**{**before, "status": ProjectStatus(before["status"])})
    # Restoring a version does not change its author.
    wanted = replace(wanted, principal_id=by, author_id=wanted.author)
    if known is not None:
        return _write(tx, _held(tx, known), wanted, now)
    back = replace(_checked(tx, wanted), updated_at=now)
    tx.projects.add(back)
    _keep(tx, None, back, by, now)
    return back


def with_changes(project: Project, changes: Mapping[str, Any]) -> Project:
    """Return the project with these changes. Raise `Unprocessable` for a field that cannot be changed."""
    if unknown := changes.keys() - CHANGEABLE:
        raise Unprocessable(f"`{min(unknown)}` of a project cannot be changed.", fix="Create another project.")
    return replace(project, **changes)


def find_project(tx: Transaction, name: str) -> Project:
    """Return the project with this id or slug. Raise `NotFound` if it does not exist."""
    project = _named(tx, name)
    if project is None:
        raise _no_project()
    return project


def _named(tx: Transaction, name: str) -> Project | None:
    return tx.projects.get(name) or tx.projects.by_slug(name)


def _held(tx: Transaction, known: Project) -> Project:
    held = tx.projects.hold(known.id)
    if held is None:
        raise _no_project()
    return held


def _no_project() -> NotFound:
    return NotFound("There is no such project.", fix="`arvis projects list` and GET /api/projects list the projects.")


def _write(tx: Transaction, known: Project, wanted: Project, now: int) -> Project:
    changed = replace(_checked(tx, wanted), updated_at=now)
    if changed.author != known.author or changed.agent_id != known.agent_id:
        _check_author(tx, changed)
    tx.projects.update(changed)
    _keep(tx, known, changed, changed.principal_id, now)
    return changed


def _keep(tx: Transaction, before: Project | None, after: Project | None, by: str | None, now: int) -> None:
    """Store a version of the change. Store nothing if the project is unchanged, because undoing such a version would
    have no effect."""
    row = before or after
    if row is None or (before and after and _content(before) == _content(after)):
        return
    tx.versions.keep(
        Versioned.PROJECT, row.id, asdict(after) if after else None, by, now, before=asdict(before) if before else None
    )


def _content(project: Project) -> Project:
    return replace(project, updated_at=0, principal_id=None, author_id=None)


def _free_slug(tx: Transaction, title: str) -> str:
    """Return a slug made from the title. A number is added if another project has this slug."""
    stem = _NOT_IN_SLUGS.sub("-", title.lower()).strip("-")[:_LONGEST_SLUG].rstrip("-") or "project"
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
    return next(name for name in names if tx.projects.by_slug(name) is None)


# -- rules -------------------------------------------------------------------------------------------------


def _checked(tx: Transaction, wanted: Project) -> Project:
    if not SLUG.fullmatch(wanted.slug):
        text = "`slug` must be 1 to 64 lower-case letters, digits, - and _, and begin with a letter or digit."
        raise Unprocessable(text, fix="Write for example `garden-shed`.")
    other = tx.projects.by_slug(wanted.slug)
    if other is not None and other.id != wanted.id:
        raise Conflict(f"There is a project {wanted.slug} already.", fix="Choose another slug.", code="slug_taken")
    if not (0 < len(wanted.title.strip()) <= LONGEST_TITLE and wanted.title.isprintable()):
        text = f"`title` must be 1 to {LONGEST_TITLE} printable characters."
        raise Unprocessable(text, fix="Describe the purpose of the project in one line.")
    for name, value, most in (("goal", wanted.goal, LONGEST_GOAL), ("notes", wanted.notes, LONGEST_NOTES)):
        if len(value) > most or storable(value) != value:
            raise Unprocessable(f"`{name}` must be a text of at most {most} characters.", fix="Shorten it.")
    return wanted if wanted.agent_id is None else replace(wanted, agent_id=_agent(tx, wanted.agent_id).id)


def _check_author(tx: Transaction, wanted: Project) -> None:
    """Raise an error if the author of the project may not use its agent."""
    agent = tx.agents.get(wanted.agent_id) if wanted.agent_id is not None else None
    if agent is not None and not authors_may_use(tx, agent, [wanted.author]):
        raise out_of_reach(agent, "The author of this project may not use this agent.")


def _agent(tx: Transaction, name: str) -> Agent:
    """Return the agent with this id or slug. Raise `NotFound` if it does not exist or is deleted."""
    agent = agents.find(tx, name)
    if agent is None:
        raise NotFound(
            f"There is no agent {name[:64]!r}.", fix="`arvis agents list` lists the agents.", code="unknown_agent"
        )
    return agents.present(tx, agent.id)
