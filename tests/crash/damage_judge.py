"""Rules for the daemon's treatment of a damaged data folder."""

from __future__ import annotations

import hashlib
import sqlite3
import tarfile
import tempfile
from collections.abc import Mapping
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import Any

from tests.crash.damaged_daemon import DamagedDaemon

#: Tables whose rows are written once -> their columns that never change; the first ones are the key.
LASTING: Mapping[str, str] = {
    "messages": "id, role, content, platform, channel, event_id, user_name, created_at",
    "deliveries": "id, message_id, part, channel, seq, content, created_at",
    "steps": "execution_id || '/' || number, node, decision, changes, at",
    "usage": "id, provider, model, input_tokens, output_tokens, started_at",
    "timeline": "id, message_id, step, data, at",
    "agents": "id, slug, name, prompt",
    "principals": "id, platform, user_id, name",
    "migrations": "name, checksum",
}

Tables = Mapping[str, Mapping[str, tuple[Any, ...]]]


class Outcome(StrEnum):
    WHOLE = "everything is there"
    RESTORED = "the backup was restored"
    CUT = "the sound part of the log was kept"
    REFUSED = "refused"


def judge(daemon: DamagedDaemon) -> tuple[Outcome, list[str]]:
    """Start the daemon twice on the damaged folder. Return its reaction and the complaints."""
    truth, backup = _tables(daemon.whole / "arvis.db"), _backed_up(daemon.whole)
    before = _hashes(daemon.data)
    entries = daemon.start_again()
    if entries is None:
        return Outcome.REFUSED, _wrong_refusal(daemon, before, backup is not None)
    served = _tables(daemon.data / "arvis.db")
    events = {entry["event"]: entry for entry in entries if entry.get("event") in {"database_damaged", "log_damaged"}}
    outcome = _outcome(truth, served, events)
    wrong = [*_altered(truth, served), *_unreported(outcome, truth, served, backup, events), *_unsound(daemon.data)]
    again = daemon.start_again()
    if again is None or any(entry.get("event") in {"database_damaged", "log_damaged"} for entry in again):
        wrong.append("the start after that reported damage, too")
    return outcome, wrong


def _outcome(truth: Tables, served: Tables, events: Mapping[str, Any]) -> Outcome:
    if "database_damaged" in events:
        return Outcome.RESTORED
    if "log_damaged" in events and not truth["messages"].keys() <= served["messages"].keys():
        return Outcome.CUT
    return Outcome.WHOLE


def _altered(truth: Tables, served: Tables) -> list[str]:
    """Find rows whose values have changed. Missing and new rows are the matter of other rules."""
    return [
        f"{table} {key} is now {row}, it was {truth[table][key]}"[:400]
        for table, rows in served.items()
        for key, row in rows.items()
        if key in truth[table] and truth[table][key] != row
    ]


def _unreported(
    outcome: Outcome, truth: Tables, served: Tables, backup: Tables | None, events: Mapping[str, Any]
) -> list[str]:
    """Check that the reported loss is exactly the set of missing rows.

    New rows are allowed, because the daemon has continued its work.
    """
    old = {table: [key for key in rows if key in truth[table]] for table, rows in served.items()}
    match outcome:
        case Outcome.WHOLE:
            return [
                f"rows of {table} are missing without a report"
                for table in LASTING
                if len(old[table]) < len(truth[table])
            ]
        case Outcome.RESTORED:
            event = events["database_damaged"]
            wrong = [
                f"{table} does not have the rows of the backup"
                for table in LASTING
                if backup is None or set(old[table]) != backup[table].keys()
            ]
        case _:
            event = events["log_damaged"]
            # Messages are stored in order, so the loss must be at the end.
            beginning = [*truth["messages"]][: len(old["messages"])]
            wrong = (
                [] if old["messages"] == beginning else ["the remaining messages are not the beginning of the old ones"]
            )
    if event["level"] != "error" or not Path(str(event["report"])).read_text():
        wrong.append("the damage was not reported")
    return wrong


def _wrong_refusal(daemon: DamagedDaemon, before: Mapping[str, str], had_backup: bool) -> list[str]:
    wrong = ["refused, although there is a sound backup"] if had_backup else []
    if "there is no intact backup to replace it" not in daemon.refusal():
        wrong.append(f"refused for another reason: {daemon.refusal()[-1000:]}")
    if daemon.start_again() is not None:
        wrong.append("refused once, but not at the next start")
    if {name: digest for name, digest in _hashes(daemon.data).items() if name in before} != before:
        wrong.append("refused, but changed the files")
    return wrong


def _unsound(data: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{data / 'arvis.db'}?mode=ro", uri=True)) as connection:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        return found + [f"a reference of {row[0]} is broken" for row in connection.execute("PRAGMA foreign_key_check")]


def _tables(file: Path) -> Tables:
    with closing(sqlite3.connect(file)) as connection:
        return {
            table: {row[0]: row for row in connection.execute(f"SELECT {columns} FROM {table} ORDER BY {order}")}
            for table, columns in LASTING.items()
            for order in ["rowid" if table == "messages" else "1"]
        }


def _backed_up(data: Path) -> Tables | None:
    """Return the tables of the newest backup."""
    backups = sorted(data.glob("backups/arvis-*.tar.gz"))
    if not backups:
        return None
    with tempfile.TemporaryDirectory() as folder, tarfile.open(backups[-1]) as archive:
        (Path(folder) / "arvis.db").write_bytes(archive.extractfile("arvis.db").read())  # type: ignore[union-attr]
        return _tables(Path(folder) / "arvis.db")


def _hashes(data: Path) -> Mapping[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in data.glob("arvis.db*")}
