"""`arvis backup` and `arvis restore`: commands that work on the database itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from arvis.app.database import database_of
from arvis.cli.api_client import Api
from arvis.cli.options import PrintingCommand
from arvis.cli.output import Output, Row, Table, at, file_size, moment, tell
from arvis.config import load
from arvis.domain.errors import DataFolderInUse
from arvis.process.clock import SystemClock
from arvis.process.data_folder import lock_data_folder
from arvis.store.backups.folder import list_backups
from arvis.store.backups.making import back_up_to, make_backup, no_database, refuse_server
from arvis.store.backups.restore import Restored
from arvis.store.backups.restore import restore as restore_database
from arvis.store.backups.swap import finish_restore
from arvis.store.location import Database
from arvis.web.http.views import BackupView

#: The timeout in seconds of a backup by the daemon. A large database takes long.
_TIMEOUT = 24 * 3600.0


@click.command(cls=PrintingCommand)
@click.argument("file", required=False, type=click.Path(path_type=Path))
def backup(*, file: Path | None, config: Path | None, data: Path | None) -> Output:
    """Make a backup of the database and of the files that came with messages.

    The backup is written to FILE. Without FILE, it is written to the data folder, which keeps only the newest backups.
    """
    settings = load(config, data, os.environ)
    database = database_of(settings)
    refuse_server(database)
    if not settings.data_dir.is_dir():
        raise no_database(database)
    try:
        with lock_data_folder(settings.data_dir):
            finish_restore(database)
            made = _make(database, file, at_rest=True)
    except DataFolderInUse:
        # With FILE, this process makes the backup, because it may read the database while the daemon runs. Without
        # FILE, the daemon makes the backup, because the daemon manages the backups in the data folder.
        if file is not None:
            made = _make(database, file, at_rest=False)
        else:
            made = Api(config, data).post("backups", timeout=_TIMEOUT)
    if made["missingAttachments"]:
        tell(
            f"{made['missingAttachments']} attached files are missing in the backup, because they were deleted "
            "from the data folder or changed."
        )
    size = file_size(made["bytes"])
    return Output(made, f"The backup {made['path']} contains {made['messages']} messages and has {size}.")


def _make(database: Database, file: Path | None, *, at_rest: bool) -> Any:
    now = SystemClock().now()
    if file is None:
        return BackupView.of(make_backup(database, now, at_rest=at_rest)).to_json()
    return BackupView.of(back_up_to(database, file.absolute(), now, at_rest=at_rest)).to_json()


def _note(backup: Row) -> str | None:
    if backup["messages"] is None:
        return "cannot be read"
    return f"before {backup['migration']}" if backup["migration"] else None


_BACKUPS = Table(
    "name",
    ("created", at("createdAt")),
    "messages",
    ("size", lambda backup: file_size(backup["bytes"])),
    ("note", _note),
)


@click.command(cls=PrintingCommand)
@click.argument("file", required=False, type=click.Path(path_type=Path))
def restore(*, file: Path | None, config: Path | None, data: Path | None) -> Output:
    """Replace the data with a backup. The current database is moved to the folder `aside`, not deleted.

    FILE is the path of a backup, the name of a backup in the data folder, or a database in the folder `aside`. Without
    FILE, the backups are listed.
    """
    settings = load(config, data, os.environ)
    database = database_of(settings)
    refuse_server(database)
    if file is None:
        return _list(database)
    with lock_data_folder(settings.data_dir):
        restored = restore_database(database, _found(database, file), SystemClock().now())
    return Output(_view(restored), "\n".join(_lines(restored)))


def _found(database: Database, file: Path) -> Path:
    """Return the path of a backup. If `file` is only a name and the working folder has no such file, search the backups
    in the data folder."""
    listed = database.backups / file.name
    return listed if not file.exists() and file.name == str(file) and listed.exists() else file.absolute()


def _list(database: Database) -> Output:
    backups = [BackupView.of(backup).to_json() for backup in list_backups(database)]
    page = {"items": backups, "nextCursor": None}
    if not backups:
        return Output(page, f"There are no backups in {database.backups}.")
    notes = ["To restore a backup, stop the daemon and run: arvis restore NAME"]
    return Output(page, _BACKUPS.text(backups), notes=notes)


def _view(restored: Restored) -> Any:
    given_up = restored.given_up
    return {
        "path": str(restored.source),
        "createdAt": restored.created_at,
        "messages": restored.messages,
        "messagesBefore": restored.messages_before,
        "aside": None if restored.aside is None else str(restored.aside),
        "missingAttachments": restored.missing,
        "givenUp": {"jobs": given_up.jobs, "executions": given_up.executions, "deliveries": given_up.deliveries},
    }


def _lines(restored: Restored) -> Iterator[str]:
    made = f", made {moment(restored.created_at)}," if restored.created_at is not None else ""
    yield f"The backup {restored.source}{made} was restored. It contains {restored.messages} messages."
    if restored.aside is not None:
        held = "cannot be read" if restored.messages_before is None else f"{restored.messages_before} messages"
        yield f"The previous database ({held}) was moved to {restored.aside}."
    if restored.missing:
        yield f"{restored.missing} attached files are missing."
    given_up = restored.given_up
    if given_up.jobs or given_up.deliveries:
        yield (
            f"When the backup was made, {given_up.jobs} jobs and {given_up.deliveries} parts of deliveries were "
            "unfinished. They"
            " may have finished since, so Arvis does not repeat them. `arvis jobs list --status failed` shows them."
        )
    yield "All logins have ended: start the daemon, then run `arvis login`."
