"""`arvis backup`: make a backup, beside a running daemon or without one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from arvis.app.database import database_of
from arvis.cli.api_client import connect
from arvis.cli.options import json_option, place_options
from arvis.cli.output import megabytes, print_json, tell
from arvis.config import load
from arvis.domain.errors import DataFolderInUse
from arvis.process.clock import SystemClock
from arvis.process.data_folder import lock_data_folder
from arvis.store.backups.making import back_up_to, make_backup, no_database, refuse_server
from arvis.store.backups.swap import finish_restore
from arvis.store.location import Database
from arvis.web.http.views import backup_view

#: Seconds that the daemon may take: it is as long as the data is large.
_TIMEOUT = 24 * 3600.0


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@json_option
@place_options
def backup(*, file: Path | None, as_json: bool, config: Path | None, data: Path | None) -> None:
    """Make a backup of the database and of the files that came with messages.

    It goes to the backups in the data folder, of which the newest stay, or to FILE.
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
        # Reading beside the daemon is safe. But the daemon manages the backups in the data folder, so it makes those.
        if file is not None:
            made = _make(database, file, at_rest=False)
        else:
            made = connect(config, data).post("api", "backups", timeout=_TIMEOUT)
    _show(made, as_json=as_json)


def _make(database: Database, file: Path | None, *, at_rest: bool) -> Any:
    now = SystemClock().now()
    if file is None:
        return backup_view(make_backup(database, now, at_rest=at_rest))
    return backup_view(back_up_to(database, file.absolute(), now, at_rest=at_rest))


def _show(made: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(made)
    else:
        print(f"{made['path']} holds {made['messages']} messages in {megabytes(made['bytes'])}.")
    if made["missingAttachments"]:
        tell(
            f"{made['missingAttachments']} attached files are not in it: their bytes are gone from the data folder, or changed."
        )
