"""`arvis projects`: the projects on which agents work in their heartbeats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, all_options, json_option, page_options, place_options
from arvis.cli.output import moment, print_fields, print_json, print_table, tell_more
from arvis.domain.projects import ProjectStatus

_COLUMNS = ("slug", "status", "agent", "title", "touched")
_TIMES = ("createdAt", "updatedAt")
_STATUS = click.Choice([*map(str, ProjectStatus)])

#: The options for creating and changing a project.
_details = all_options(
    click.option("--goal", help="Its goal."),
    click.option("--notes", help="Notes; agents add their own lines."),
    click.option(
        "--agent", help="The agent that works on the project (default or `none`: every agent with a heartbeat)."
    ),
    click.option("--slug", help="Its name in commands (default: derived from the title)."),
    click.option("--status", type=_STATUS, help="Agents work only on active projects."),
)


@click.group(cls=Commands)
def projects() -> None:
    """List, show, create, update and delete projects that agents work on.

    Agents work on active projects in their heartbeats. Name a project by its slug or id."""


@projects.command("list")
@click.option("--agent", help="Only projects of this agent.")
@click.option("--status", type=_STATUS, help="Only projects with this status.")
@page_options
@json_option
@place_options
def list_projects(
    *,
    agent: str | None,
    status: str | None,
    limit: int,
    cursor: str | None,
    as_json: bool,
    config: Path | None,
    data: Path | None,
) -> None:
    """List projects, the newest first."""
    query = {"agent": agent, "status": status, "limit": limit, "cursor": cursor}
    page = connect(config, data).get("api", "projects", query=query)
    if as_json:
        print_json(page)
        return
    rows = [{**project, "touched": moment(project["updatedAt"])} for project in page["items"]]
    print_table(rows, _COLUMNS, nothing="No projects.")
    tell_more(page)


@projects.command()
@click.argument("project")
@json_option
@place_options
def show(*, project: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show a project with its notes."""
    found = connect(config, data).get("api", "projects", project)
    if as_json:
        print_json(found)
    else:
        print_fields({**found, **{name: moment(found[name]) for name in _TIMES}})


@projects.command()
@click.argument("title")
@_details
@json_option
@place_options
def create(*, title: str, as_json: bool, config: Path | None, data: Path | None, **details: Any) -> None:
    """Create a project."""
    made = connect(config, data).post("api", "projects", body={"title": title, **_given(details)})
    _tell(made, "is created", as_json=as_json)


@projects.command()
@click.argument("project")
@click.option("--title", help="The new title.")
@_details
@json_option
@place_options
def update(*, project: str, as_json: bool, config: Path | None, data: Path | None, **details: Any) -> None:
    """Change the given fields of a project."""
    body = _given(details)
    if not body:
        raise click.UsageError("Nothing to change. Give at least one option, such as --status.")
    changed = connect(config, data).patch("api", "projects", project, body=body)
    _tell(changed, "is changed", as_json=as_json)


@projects.command()
@click.argument("project")
@json_option
@place_options
def delete(*, project: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete a project; `undo` with its id restores it."""
    api = connect(config, data)
    found = api.get("api", "projects", project)
    answer = api.delete("api", "projects", found["id"])
    if as_json:
        print_json(answer)
    else:
        print(f"The project {found['slug']} is deleted. `arvis projects undo {found['id']}` restores it.")


@projects.command()
@click.argument("project")
@json_option
@place_options
def undo(*, project: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Undo the newest change of a project: a change, a note, its deletion or its creation. A second undo repeats
    the change."""
    answer = connect(config, data).post("api", "projects", project, "undo")
    if as_json:
        print_json(answer)
    elif answer["project"] is None:
        print(f"The project {project} was removed, because the last change had created it.")
    else:
        _tell(answer["project"], "was restored to its previous version", as_json=False)


def _given(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options under the names of the API."""
    given = {name: value for name, value in details.items() if value is not None}
    return {**given, "agent": None} if given.get("agent") == "none" else given


def _tell(project: Any, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(project)
    else:
        print(f"The project {project['slug']} {what}: {project['id']}")
