"""`arvis move`: moves all data between SQLite and PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from arvis.app.database import database_of
from arvis.cli.options import PrintingCommand
from arvis.cli.output import Output, tell
from arvis.config import load
from arvis.config.environment import PREFIX
from arvis.process.clock import SystemClock
from arvis.process.data_folder import lock_data_folder
from arvis.store.integrity.repair import make_sound
from arvis.store.moving.move import Moved
from arvis.store.moving.move import move as move_database

_VARIABLE = f"{PREFIX}DATABASE"


@click.command(cls=PrintingCommand)
@click.option(
    "--to",
    required=True,
    metavar="DATABASE",
    help="sqlite, or env:NAME with the variable of a postgresql:// address, or the address itself.",
)
def move(*, to: str, config: Path | None, data: Path | None) -> Output:
    """Move all data from the configured database to another one, and compare every table.

    Stop all processes of Arvis first. The target must be empty. An interrupted move continues when the command is run
    again. Afterwards set `database` in the configuration to the target; the old database is kept and marked, so that no
    daemon uses it by mistake.
    """
    source = load(config, data, os.environ)
    target = load(config, data, {**os.environ, _VARIABLE: to})
    now = SystemClock().now()
    with lock_data_folder(source.data_dir):
        if (finding := make_sound(database_of(source), now)) is not None:
            tell(f"The database was examined: {finding.what}." + (f" See {finding.report}" if finding.report else ""))
        moved = move_database(database_of(source), database_of(target), now, tell)
    return Output(_view(moved), "\n".join(_lines(moved, _setting(to))))


def _setting(to: str) -> str:
    """Return the value for the configuration. The password of an address is not shown."""
    return to if "://" not in to else "env:NAME, with the address in the environment variable NAME"


def _view(moved: Moved) -> Any:
    return {
        "from": moved.source,
        "to": moved.target,
        "tables": moved.rows,
        "attachments": moved.blobs,
        "missingAttachments": moved.missing_blobs,
        "resumed": moved.resumed,
    }


def _lines(moved: Moved, setting: str) -> Iterator[str]:
    filled = {name: rows for name, rows in moved.rows.items() if rows}
    width = max(map(len, filled), default=0)
    yield from (f"{name.ljust(width)}  {rows}" for name, rows in filled.items())
    yield (
        f"All rows of {len(moved.rows)} tables and {moved.blobs} files of messages are now in {moved.target}. "
        "Arvis compared every table and found no difference."
    )
    if moved.missing_blobs:
        yield f"{moved.missing_blobs} attached files were not moved, because they were already missing or changed."
    yield f"Next: write `database: {setting}` in config.yaml (or set {_VARIABLE}), then start the daemon."
    yield f"The old data stays in {moved.source}. Delete it when you no longer need it."
