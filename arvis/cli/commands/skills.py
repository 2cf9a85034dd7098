"""`arvis skills`: what agents are told when a message calls for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import connect
from arvis.cli.options import Commands, json_option, place_options
from arvis.cli.output import plain, print_fields, print_json, print_table, tell
from arvis.domain.errors import UsageError

_COLUMNS = ("slug", "name", "source", "description")
#: Seconds that fetching a skill may take, and a little.
_PATIENCE = 30.0


@click.group(cls=Commands)
def skills() -> None:
    """List, show, import and remove skills."""


@skills.command("list")
@json_option
@place_options
def list_skills(*, as_json: bool, config: Path | None, data: Path | None) -> None:
    """List all skills, and what was passed over."""
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
    """Show one skill: what calls for it, and its text."""
    skill = connect(config, data).get("api", "skills", slug)
    if as_json:
        print_json(skill)
        return
    print_fields({name: value for name, value in skill.items() if value and name != "body"})
    print(f"\n{plain(skill['body'])}")


@skills.command("import")
@click.argument("source", metavar="FILE|URL")
@click.option("--replace", is_flag=True, help="Also in the place of one of the house or the folder.")
@json_option
@place_options
def import_skill(*, source: str, replace: bool, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Bring a skill in from a file, or from a public address."""
    given = {"url": source} if source.lower().startswith(("http://", "https://")) else {"text": _text_of(Path(source))}
    body: dict[str, Any] = {**given, "replace": replace}
    skill = connect(config, data).post("api", "skills", body=body, patience=_PATIENCE)
    if as_json:
        print_json(skill)
        return
    print(f"The skill {skill['slug']} is imported.")
    for warning in skill["warnings"]:
        tell(plain(warning))


@skills.command()
@click.argument("slug")
@json_option
@place_options
def remove(*, slug: str, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Remove a skill that was brought in."""
    answer = connect(config, data).delete("api", "skills", slug)
    if as_json:
        print_json(answer)
    else:
        print(f"The skill {slug} is removed.")


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        why = error.strerror or "" if isinstance(error, OSError) else "it is no text in UTF-8"
        raise UsageError(f"{file} cannot be read", why=why, fix="Name a Markdown file, or an address.") from error
