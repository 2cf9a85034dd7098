"""`arvis skills`: commands for skills. A skill is a directory with instructions, scripts and references."""

from __future__ import annotations

import base64
from pathlib import Path

import click

from arvis.cli.api_client import Api, ApiCommands
from arvis.cli.output import Output, Row, Table, fields
from arvis.domain.errors import UsageError
from arvis.skills.archives import LARGEST_ARCHIVE, is_archive, packed
from arvis.skills.bundle import bundle_of_folder

_SKILLS = Table("slug", "name", "source", "trusted", "description", nothing="No skills.")
#: The timeout in seconds. The daemon's own limits for fetching a skill are shorter.
_TIMEOUT = 90.0


@click.group(cls=ApiCommands)
def skills() -> None:
    """List, show, create, trust and delete skills."""


@skills.command("list")
def list_skills(*, api: Api) -> Output:
    """List all skills and the problems of files that were skipped."""
    found = api.get("skills")
    items = [{**item, "trusted": "yes" if item["trusted"] else "no"} for item in found["items"]]
    return Output(found, _SKILLS.text(items), notes=found["problems"])


@skills.command()
@click.argument("slug")
@click.option("--file", "path", metavar="PATH", help="Show this file of the skill instead.")
def show(*, api: Api, slug: str, path: str | None) -> Output:
    """Show one skill with its triggers, files, remarks and text."""
    if path is not None:
        found = api.get("skills", slug, "file", query={"path": path})
        return Output(
            found, found["text"].removesuffix("\n") if found["text"] is not None else f"{path} is not a text file."
        )
    skill = api.get("skills", slug)
    shown = {name: value or None for name, value in skill.items()}
    files = [f"{file['path']} ({file['size']} bytes)" for file in skill["files"]]
    text = fields(shown, body=None, text=None, remarks=None, files=", ".join(files) or None, trusted=_trust_of(skill))
    return Output(skill, text, skill["body"], notes=_remarks(skill))


@skills.command()
@click.argument("source", metavar="FILE|FOLDER|ARCHIVE|URL")
@click.option("--git", is_flag=True, help="The source is the https address of a git repository.")
@click.option("--directory", metavar="PATH", help="The directory of the skill in the archive or repository.")
@click.option("--trust", is_flag=True, help="Trust the skill at once. Use it only for a skill that you have read.")
@click.option(
    "--replace", is_flag=True, help="Allow the new skill to replace a built-in skill, or a skill in the skills folder."
)
def create(*, api: Api, source: str, git: bool, directory: str | None, trust: bool, replace: bool) -> Output:
    """Create a skill from a file, a folder, an archive, a public address or a git repository.

    Arvis uses a skill from a file at once, and a skill from any other source only after `arvis skills trust`."""
    body = {**_given(source, git=git), "directory": directory, "replace": replace}
    skill = api.post("skills", body={key: value for key, value in body.items() if value is not None}, timeout=_TIMEOUT)
    if trust and not skill["trusted"]:
        skill = api.post("skills", skill["slug"], "trust", body={"hash": skill["hash"]})
    words = f"The skill {skill['slug']} is created."
    if not skill["trusted"]:
        words += (
            f" It is not used yet. Read it (`arvis skills show {skill['slug']}`, with `--file` for each of its files), then run "
            f"`arvis skills trust {skill['slug']} {skill['hash']}`."
        )
    return Output(skill, words, notes=[*skill["warnings"], *_remarks(skill)])


@skills.command()
@click.argument("slug")
@click.argument("hash")
def trust(*, api: Api, slug: str, **given: str) -> Output:
    """Trust the content of a skill. HASH is shown by `arvis skills show`; it belongs to the content that you have read."""
    skill = api.post("skills", slug, "trust", body=given)
    return Output(skill, f"The skill {slug} is trusted, and agents can use it.")


@skills.command()
@click.argument("slug")
def delete(*, api: Api, slug: str) -> Output:
    """Delete a skill. Built-in skills and skills in the skills folder cannot be deleted."""
    return Output(api.delete("skills", slug), f"The skill {slug} is deleted.")


def _trust_of(skill: Row) -> str:
    if skill["trusted"]:
        return "yes"
    return "no, because its content has changed" if skill["changed"] else "no"


def _remarks(skill: Row) -> list[str]:
    lines = []
    for remark in skill["remarks"]:
        line = f", line {remark['line']}" if remark["line"] else ""
        excerpt = f": {remark['excerpt']}" if remark["excerpt"] else ""
        lines.append(f"{remark['path']}{line} {remark['text']}{excerpt}")
    return lines


def _given(source: str, *, git: bool) -> dict[str, str]:
    """Return the source as the fields of the request. A folder is sent as an archive."""
    if git:
        return {"git": source}
    if source.lower().startswith(("http://", "https://")):
        return {"url": source}
    place = Path(source)
    if place.is_dir():
        return {"archive": base64.b64encode(packed(bundle_of_folder(place.resolve()))).decode()}
    data = _read(place)
    if is_archive(data):
        return {"archive": base64.b64encode(data).decode()}
    try:
        return {"text": data.decode("utf-8-sig")}
    except UnicodeError:
        raise _unreadable(place, "it is neither UTF-8 text nor a zip or tar archive") from None


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(LARGEST_ARCHIVE + 1)
    except OSError as error:
        raise _unreadable(file, error.strerror or "") from error


def _unreadable(file: Path, why: str) -> UsageError:
    return UsageError(
        f"{file} cannot be read", why=why, fix="Name a Markdown file, a folder, an archive or an address."
    )
