"""`arvis export` and `arvis import`: a file with the records of the installation, such as agents and conversations."""

from __future__ import annotations

import base64
import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from arvis.cli.api_client import Api, ApiCommand
from arvis.cli.output import Output, Row, Table, file_size
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError

#: The maximum duration of the export or import of a large file, in seconds.
_TIMEOUT = 600.0
_ITEMS = Table("kind", "name", "action", "why")
_PROGRAMS = ("openclaw", "hermes", "nanobot")
_KINDS = (
    *("people", "skills", "workflows", "knowledge", "agents"),
    *("schedules", "memory", "values", "conversations", "overheard", "evaluations"),
)


@click.command(cls=ApiCommand)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--kind", "kinds", multiple=True, type=click.Choice(_KINDS), help="Only these kinds; may be repeated.")
@click.option(
    "--channel",
    metavar="PLATFORM:BOT:CHANNEL",
    help="Only the people, schedules, facts and conversations of this channel.",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
def export(*, api: Api, file: Path, kinds: tuple[str, ...], channel: str | None, force: bool) -> Output:
    """Export all records into a zip file of a documented format. The file contains no secrets, but it is not encrypted,
    so everyone who gets it can read it. `arvis people export` exports everything of a person."""
    return save(api, file, {"kinds": ",".join(kinds) or None, "channel": channel}, force=force)


def save(api: Api, file: Path, query: dict[str, Any], *, force: bool) -> Output:
    """Download an export, and write it to a file that only the current user can read."""
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


@dataclass(frozen=True, slots=True)
class Wishes:
    """The options of an import. `owner` is a pair of platform and user id."""

    dry_run: bool
    yes: bool
    replace: bool
    everything: bool
    enable_schedules: bool
    owner: tuple[str, str] | None


def shown(report: Row, *, everything: bool, notes: Iterable[str]) -> Output:
    """Return the output of an import. If `everything` is True, it also lists unchanged records."""
    items = [each for each in report["items"] if everything or each["action"] != "unchanged"]
    numbers = ", ".join(f"{number} {action}" for action, number in sorted(report["counts"].items())) or "nothing"
    words = f"{'Would do' if report['dryRun'] else 'Done'}: {numbers}."
    return Output(report, *([_ITEMS.text(items)] if items else []), words, notes=notes)


class _Source(click.Path):
    """The name of a program, or the path of a file. The shell completes both."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        programs = [CompletionItem(name) for name in _PROGRAMS if incomplete and name.startswith(incomplete)]
        return programs or super().shell_complete(ctx, param, incomplete)


def _person(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    platform, colon, user = text.partition(":")
    if not platform or not colon or not user:
        raise click.BadParameter("must be PLATFORM:USER, such as telegram:123456789")
    return platform, user


@click.command("import", cls=ApiCommand)
@click.argument("source", type=_Source(), metavar="FILE|PROGRAM")
@click.argument("home", type=click.Path(path_type=Path), required=False)
@click.option("--dry-run", is_flag=True, help="Only list what would be imported.")
@click.option(
    "--replace",
    is_flag=True,
    help="Replace agents, skills, workflows, values, documents and cases that exist and differ.",
)
@click.option("--all", "everything", is_flag=True, help="List unchanged records, too.")
@click.option("--yes", is_flag=True, help="With PROGRAM: do not ask for a confirmation.")
@click.option(
    "--owner",
    metavar="PLATFORM:USER",
    callback=_person,
    help="With PROGRAM: the person to whom its memory about its user belongs (default: the only listed person).",
)
@click.option("--enable-schedules", is_flag=True, help="With PROGRAM: turn on the schedules that are on in PROGRAM.")
def import_(
    *,
    api: Api,
    source: str,
    home: Path | None,
    dry_run: bool,
    replace: bool,
    everything: bool,
    yes: bool,
    owner: tuple[str, str] | None,
    enable_schedules: bool,
) -> Output:
    """Import the file of an export, or a copy of the home directory of another program.

    PROGRAM is openclaw, hermes or nanobot; HOME is the copy of its directory, such as ~/.openclaw. You can import
    the same copy again: existing records stay unchanged.
    """
    wishes = Wishes(dry_run, yes, replace, everything, enable_schedules, owner)
    if home is not None:
        if source not in _PROGRAMS:
            known = ", ".join(_PROGRAMS)
            raise click.UsageError(f"{source} is not a PROGRAM ({known}). To import an export, name only its FILE.")
        # The module `peers` imports the store, which the other commands of this module do not need.
        output: Output = importlib.import_module("arvis.cli.commands.peers").import_peer(api, source, home, wishes)
        return output
    if yes or owner is not None or enable_schedules:
        raise click.UsageError("--yes, --owner and --enable-schedules need a PROGRAM and its HOME.")
    file = Path(source)
    if not file.is_file():
        more = f" Name the home of {source}, too." if source in _PROGRAMS else ""
        raise click.BadParameter(f"{source} is not a file.{more}", param_hint="FILE")
    body = {"archive": base64.b64encode(file.read_bytes()).decode(), "dryRun": dry_run, "replace": replace}
    report = api.post("import", body=body, timeout=_TIMEOUT)
    return shown(report, everything=everything, notes=report["asks"])
