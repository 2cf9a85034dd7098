"""The report for people after damage was found, stored beside the files that were set aside. It names the missing
data and the way to undo the repair."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from arvis.store.backups.restore import Restored
from arvis.store.backups.settlement import Settlement
from arvis.store.blobs import write_whole
from arvis.store.sql.session import SqliteDialect, load_queries
from arvis.store.sqlite.readonly import looking_at

REPORT = "damage.txt"

_KEPT = "The database and its log up to the damage are sound and were kept. A copy of the damaged log lies here."
_NO_WAY_BACK = "If you find the file of the database again, stop Arvis and run: arvis restore FILE"
_WAY_BACK = "If you trust the damaged database more than the backup, stop Arvis and run:"


@dataclass(frozen=True, slots=True)
class Missing:
    """Messages that only one of two databases contains, and when they arrived (ms)."""

    number: int
    oldest: int | None
    newest: int | None


def missing_messages(aside: Path, restored: Path) -> Missing | None:
    """Return the messages of the database `aside` that are newer than all in the restored one; None if it was deleted
    or is unreadable."""
    queries = load_queries(SqliteDialect())
    try:
        with looking_at(restored, at_rest=True) as connection:
            at = connection.execute(queries["newest_message"]).fetchone()["at"]
        with looking_at(aside, at_rest=True) as connection:
            return Missing(*connection.execute(queries["messages_after"], {"at": at}).fetchone())
    except (sqlite3.Error, UnicodeError, FileNotFoundError):
        return None


def write_report(folder: Path, text: str) -> Path:
    """Write the report; it is on disk when this returns."""
    path = folder / REPORT
    write_whole(path, text.encode())
    return path


def told_of_restore(
    damage: Sequence[str],
    found_at: int,
    *,
    aside: Path,
    missing: Missing | None,
    restored: Restored | None,
    written: int,
) -> str:
    """Return the report after a backup replaced a damaged database, which is now the file `aside`, last `written` at
    that time (ms). `restored` is None if a later start completed the restore, which does not know the backup."""
    way_back = [_WAY_BACK, f"arvis restore {aside.absolute()}"] if aside.exists() else [_NO_WAY_BACK]
    return _text(
        f"Arvis found its database damaged at {_time(found_at)}.",
        ("The damage", damage),
        ("What was done", [*_doings(aside, restored)]),
        ("What is missing", [_told_missing(missing, restored, written)]),
        ("The way back", way_back),
    )


def cut_report(lost: str | None, found_at: int, given_up: Settlement | None) -> str:
    """Return the report for a damaged log of which the sound part was kept; `given_up` counts the work that was
    settled because of the lost part."""
    return _text(
        f"Arvis found the write-ahead log of its database damaged at {_time(found_at)}.",
        ("What was done", [_KEPT, *([] if given_up is None else [_told_given_up(given_up)])]),
        ("What is missing", [lost or "Nothing: the database already contained all of it."]),
    )


def _text(beginning: str, *sections: tuple[str, Sequence[str]]) -> str:
    lines = [beginning]
    for title, body in sections:
        lines += ["", title, *(f"  {line}" for line in body)]
    return "\n".join(lines) + "\n"


def _doings(aside: Path, restored: Restored | None) -> Iterator[str]:
    if aside.exists():
        yield f"The damaged database was set aside whole: {aside.absolute()}"
    else:
        yield f"The damaged database was set aside: {aside.parent.absolute()}"
    if restored is None:
        yield "The newest sound backup was put in its place."
        return
    of = "" if restored.created_at is None else f" of {_time(restored.created_at)}"
    yield f"The newest sound backup was put in its place: {restored.source.name}{of}, {restored.messages} messages."
    yield from (f"Passed over: {each.path.name} ({each.why})" for each in restored.passed_over)
    yield _told_given_up(restored.given_up)


def _told_given_up(given_up: Settlement) -> str:
    return (
        f"Work that may have been done or sent already is not repeated automatically: {given_up.turns} turns, {given_up.jobs} "
        f"jobs, {given_up.deliveries} deliveries. `arvis jobs list` shows them; each can be tried again by hand."
    )


def _told_missing(missing: Missing | None, restored: Restored | None, written: int) -> str:
    if missing is None:
        since = "" if restored is None or restored.created_at is None else f", from {_time(restored.created_at)}"
        return f"It cannot be read any more: everything that came after the backup{since} to {_time(written)}, its last writing."
    if not missing.number or missing.oldest is None or missing.newest is None:
        return "No message of the damaged database is newer than those of the backup."
    span = f"{_time(missing.oldest)} to {_time(missing.newest)}"
    return f"{missing.number} messages of the damaged database are newer than the backup: from {span}."


def _time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
