"""`arvis skills`: instructions that are added to a prompt when a message matches them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, place_options
from arvis.cli.output import plain, print_fields, print_json, print_table, tell
from arvis.domain.errors import UsageError

_COLUMNS = ("slug", "name", "source", "description")
#: The timeout in seconds. The daemon's own limit for fetching a skill is shorter.
_TIMEOUT = 30.0


@click.group(cls=Commands)
def skills() -> None:
    """List, show, create and delete skills."""


@skills.command("list")
@json_option
@place_options
def list_skills(*, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List all skills and the problems of files that were skipped."""
    found = connect(config, data).get("api", "skills")
    if as_json:
        print_json(found)
        return
    print_table(found["items"], _COLUMNS, nothing="No skills.")
    for problem in found["problems"]:
        tell(plain(problem))


@skills.command()
@click.argument("slug")
@json_option
@place_options
def show(*, slug: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Show one skill with its triggers and text."""
    skill = connect(config, data).get("api", "skills", slug)
    if as_json:
        print_json(skill)
        return
    print_fields({name: value for name, value in skill.items() if value and name != "body"})
    print(f"\n{plain(skill['body'])}")


@skills.command()
@click.argument("source", metavar="FILE|URL")
@click.option(
    "--replace", is_flag=True, help="Allow the new skill to replace a built-in skill, or a skill in the skills folder."
)
@json_option
@place_options
def create(*, source: str, replace: bool, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Create a skill from a file or a public address."""
    given = {"url": source} if source.lower().startswith(("http://", "https://")) else {"text": _text_of(Path(source))}
    body: dict[str, Any] = {**given, "replace": replace}
    skill = connect(config, data).post("api", "skills", body=body, timeout=_TIMEOUT)
    if as_json:
        print_json(skill)
        return
    print(f"The skill {skill['slug']} is created.")
    for warning in skill["warnings"]:
        tell(plain(warning))


@skills.command()
@click.argument("slug")
@json_option
@place_options
def delete(*, slug: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Delete a skill. Built-in skills and skills in the skills folder cannot be deleted."""
    answer = connect(config, data).delete("api", "skills", slug)
    if as_json:
        print_json(answer)
    else:
        print(f"The skill {slug} is deleted.")


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        why = error.strerror or "" if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{file} cannot be read", why=why, fix="Name a Markdown file or an address.") from error
