"""`arvis skills`: commands for skills. A skill is a text with instructions, which is added to the prompt if it matches
the message."""

from __future__ import annotations

from pathlib import Path

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.output import Output, Table, fields
from arvis.domain.errors import UsageError

_SKILLS = Table("slug", "name", "source", "description", nothing="No skills.")
#: The timeout in seconds. The daemon's own limit for fetching a skill is shorter.
_TIMEOUT = 30.0


@click.group(cls=ApiCommands)
def skills() -> None:
    """List, show, create and delete skills."""


@skills.command("list")
def list_skills(*, api: Api) -> Output:
    """List all skills and the problems of files that were skipped."""
    found = api.get("skills")
    return Output(found, _SKILLS.text(found["items"]), notes=found["problems"])


@skills.command()
@click.argument("slug")
def show(*, api: Api, slug: str) -> Output:
    """Show one skill with its triggers and text."""
    skill = api.get("skills", slug)
    return Output(skill, fields({name: value or None for name, value in skill.items()}, body=None), skill["body"])


@skills.command()
@click.argument("source", metavar="FILE|URL")
@click.option(
    "--replace", is_flag=True, help="Allow the new skill to replace a built-in skill, or a skill in the skills folder."
)
def create(*, api: Api, source: str, replace: bool) -> Output:
    """Create a skill from a file or a public address."""
    given = {"url": source} if source.lower().startswith(("http://", "https://")) else {"text": _text_of(Path(source))}
    skill = api.post("skills", body={**given, "replace": replace}, timeout=_TIMEOUT)
    return Output(skill, f"The skill {skill['slug']} is created.", notes=skill["warnings"])


@skills.command()
@click.argument("slug")
def delete(*, api: Api, slug: str) -> Output:
    """Delete a skill. Built-in skills and skills in the skills folder cannot be deleted."""
    return Output(api.delete("skills", slug), f"The skill {slug} is deleted.")


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        why = error.strerror or "" if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{file} cannot be read", why=why, fix="Name a Markdown file or an address.") from error
