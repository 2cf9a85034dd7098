"""`arvis projects`: commands for the projects on which agents work in their heartbeats."""

from __future__ import annotations

from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.options import CLEARED, all_options, changes, choice, given, page_options
from arvis.cli.output import Output, Table, at, fields
from arvis.domain.projects import ProjectStatus

_PROJECTS = Table("slug", "status", "agent", "title", ("touched", at("updatedAt")), nothing="No projects.")

#: The options for creating and changing a project.
_details = all_options(
    click.option("--goal", help="Its goal."),
    click.option("--notes", help="Notes; agents add their own lines."),
    click.option(
        "--agent",
        type=lambda name: CLEARED if name == "none" else name,
        metavar="AGENT",
        help="The agent that works on the project (default or `none`: every agent with a heartbeat).",
    ),
    click.option("--slug", help="Its name in commands (default: derived from the title)."),
    click.option("--status", type=choice(ProjectStatus), help="Agents work only on active projects."),
)


@click.group(cls=ApiCommands)
def projects() -> None:
    """List, show, create, update and delete projects that agents work on.

    Agents work on active projects in their heartbeats. Name a project by its slug or id."""


@projects.command("list")
@click.option("--agent", help="Only projects of this agent.")
@click.option("--status", type=choice(ProjectStatus), help="Only projects with this status.")
@page_options
def list_projects(*, api: Api, **query: Any) -> Output:
    """List projects, the newest first."""
    return _PROJECTS.page(api.get("projects", query=query))


@projects.command()
@click.argument("project")
def show(*, api: Api, project: str) -> Output:
    """Show a project with its notes."""
    found = api.get("projects", project)
    return Output(found, fields(found, "createdAt", "updatedAt"))


@projects.command()
@click.argument("title")
@_details
def create(*, api: Api, **details: Any) -> Output:
    """Create a project."""
    return _changed(api.post("projects", body=given(details)), "is created")


@projects.command()
@click.argument("project")
@click.option("--title", help="The new title.")
@_details
def update(*, api: Api, project: str, **details: Any) -> Output:
    """Change the given fields of a project."""
    return _changed(api.patch("projects", project, body=changes(details, "--status")), "is changed")


@projects.command()
@click.argument("project")
def delete(*, api: Api, project: str) -> Output:
    """Delete a project; `undo` with its id restores it."""
    found = api.get("projects", project)
    done = f"The project {found['slug']} is deleted. `arvis projects undo {found['id']}` restores it."
    return Output(api.delete("projects", found["id"]), done)


@projects.command()
@click.argument("project")
def undo(*, api: Api, project: str) -> Output:
    """Undo the newest change of a project. The change may be new fields, a note, the deletion or the creation. A second
    undo makes the change again."""
    answer = api.post("projects", project, "undo")
    if answer["project"] is None:
        return Output(answer, f"The project {project} was removed, because the last change had created it.")
    return _changed(answer["project"], "was restored to its previous version", answer)


def _changed(project: Any, words: str, answer: Any = None) -> Output:
    return Output(answer or project, f"The project {project['slug']} {words}: {project['id']}")
