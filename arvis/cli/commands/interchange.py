"""`arvis export` and `arvis import`: a file with agents, skills, workflows, schedules, people, memory and conversations."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import click

from arvis.cli.api_client import Api, ApiCommand
from arvis.cli.output import Output, Table, file_size
from arvis.domain.errors import ConfigError

#: The seconds for which a large file may take.
_TIMEOUT = 600.0
_ITEMS = Table("kind", "name", "action", "why", nothing="The file contains no records.")
_KINDS = ("people", "skills", "workflows", "agents", "schedules", "memory", "conversations")


@click.command(cls=ApiCommand)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only these kinds; may be repeated.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def export(*, api: Api, file: Path, kinds: tuple[str, ...], force: bool) -> Output:
    """Export all records into a zip file of a documented format. It contains no secrets, and is readable for everyone
    who gets it."""
    return save(api, file, {"kinds": ",".join(kinds) or None}, force=force)


def save(api: Api, file: Path, query: dict[str, Any], *, force: bool) -> Output:
    """Write the export to a file that only this user can read."""
    if file.exists() and not force:
        raise ConfigError(f"{file} exists already", why="an export does not replace files", fix="Add --force.")
    data = api.download("export", query=query, timeout=_TIMEOUT)
    try:
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_bytes(data)
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be written", why=error.strerror or str(error), fix="Choose another file."
        ) from error
    return Output({"file": str(file), "bytes": len(data)}, f"{file} is written ({file_size(len(data))}).")


@click.command("import", cls=ApiCommand)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--dry-run", is_flag=True, help="Only list what would be imported.")
@click.option("--replace", is_flag=True, help="Replace agents, skills and workflows that exist and differ.")
@click.option("--all", "everything", is_flag=True, help="List unchanged records, too.")
def import_(*, api: Api, file: Path, dry_run: bool, replace: bool, everything: bool) -> Output:
    """Import the file of an export. The whole file is checked first. An import can run again: records that exist already
    stay as they are."""
    body = {"archive": base64.b64encode(file.read_bytes()).decode(), "dryRun": dry_run, "replace": replace}
    report = api.post("import", body=body, timeout=_TIMEOUT)
    shown = [each for each in report["items"] if everything or each["action"] != "unchanged"]
    numbers = ", ".join(f"{number} {action}" for action, number in sorted(report["counts"].items())) or "nothing"
    words = f"{'Would do' if dry_run else 'Done'}: {numbers}."
    return Output(report, *([_ITEMS.text(shown)] if shown else []), words, notes=report["asks"])
