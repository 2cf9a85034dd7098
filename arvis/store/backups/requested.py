"""Restores that a person requests in the dashboard. The running daemon has its database open, so the next start of the
daemon restores the backup. The request is a file in the data folder. The outcome of the restore replaces the content of
this file.

If the start is interrupted, the next start carries out the request again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from arvis.domain.errors import ArvisError
from arvis.ports.backups import RestoreOutcome, RestoreState
from arvis.store.backups.restore import restore
from arvis.store.blobs import disk_trouble, write_whole
from arvis.store.location import Database


def request_restore(database: Database, path: Path, now: int) -> None:
    """Store the request that the next start restores this backup. The caller has verified the backup."""
    with disk_trouble("The restore cannot be requested"):
        _write(database, RestoreOutcome(RestoreState.REQUESTED, path.name, now))


def carry_out_request(database: Database, now: int) -> RestoreOutcome | None:
    """Restore the requested backup and return the outcome. Return None if no restore is requested. If the backup cannot
    be restored, do not change the present database."""
    wanted = last_restore(database)
    if database.url is not None or wanted is None or wanted.state is not RestoreState.REQUESTED:
        return None
    try:
        restored = restore(database, database.backups / wanted.name, now)
    except ArvisError as error:
        outcome = RestoreOutcome(RestoreState.FAILED, wanted.name, now, error=(error.what, error.why, error.fix))
    else:
        aside = None if restored.aside is None else str(restored.aside)
        outcome = RestoreOutcome(RestoreState.DONE, wanted.name, now, messages=restored.messages, aside=aside)
    with disk_trouble("The outcome of the restore cannot be stored"):
        _write(database, outcome)
    return outcome


def last_restore(database: Database) -> RestoreOutcome | None:
    """Return the last request or its outcome. Return None if there is no request, or if its file is unreadable."""
    try:
        match json.loads(_file(database).read_bytes()):
            case {
                "state": str(state),
                "name": str(name),
                "at": int(at),
                "messages": None | int() as messages,
                "aside": None | str() as aside,
                "error": [str(what), str(why), str(fix)],
            } if "/" not in name and state in list(RestoreState):
                return RestoreOutcome(RestoreState(state), name, at, messages, aside, (what, why, fix))
    except (OSError, ValueError):
        return None
    return None


def _write(database: Database, outcome: RestoreOutcome) -> None:
    fields: dict[str, Any] = {
        "state": outcome.state,
        "name": outcome.name,
        "at": outcome.at,
        "messages": outcome.messages,
        "aside": outcome.aside,
        "error": outcome.error,
    }
    write_whole(_file(database), json.dumps(fields).encode())


def _file(database: Database) -> Path:
    return database.folder / "restore.json"
