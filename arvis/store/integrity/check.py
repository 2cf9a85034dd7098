"""Checks whether the database files are in the state in which Arvis left them, before any process opens them for
writing. The check changes no file of the database.

Arvis's own checksums cover the pages of the database file, and SQLite's checksums cover the frames of its write-ahead
log. A killed process may leave an unfinished transaction at the end of the log; this is not damage. It also leaves the
log's index, which contains the number of committed frames. If the log has fewer valid frames than this number, the log
is damaged.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from arvis.domain.dataclass import dataclass
from arvis.store.sqlite.checkpoint import PageSums, SumsDamaged, kept_log, log_file, sums_file
from arvis.store.sqlite.session import looking_at
from arvis.store.sqlite.wal import HEADER_BYTES, NOWHERE, Log, Mark, committed, open_log, sound_frames, with_suffix

#: The maximum number of pages, and of messages from SQLite, that a report lists.
_NAMED = 20

_NOTHING_FOUND = "SQLite itself finds nothing wrong with the database"
_NO_SUMS = (
    "there were no page checksums: an older version of Arvis used the database, or a person copied it there. "
    f"{_NOTHING_FOUND}"
)
_BAD_SUMS = f"its page checksums were damaged. {_NOTHING_FOUND}"
_UNSURE = (
    "the log ends in an incomplete transaction. Either the last process ended while it wrote the transaction, which "
    "was then never confirmed, or the log was damaged later. Arvis cannot distinguish the two cases"
)


@dataclass(frozen=True, slots=True)
class Sound:
    """The result of a check that found all commits in the files."""

    #: Additional information.
    remark: str | None = None
    #: True if `remark` is a warning.
    warning: bool = False


@dataclass(frozen=True, slots=True)
class LogCut:
    """The result of a check that found an undamaged database file, and a write-ahead log of which only the first frames
    are valid."""

    #: A description of the commits that were lost with the invalid frames, or None if no commit was lost.
    lost: str | None
    #: True if the log must not be applied, because the file contains newer data than the valid part of the log.
    superseded: bool


@dataclass(frozen=True, slots=True)
class Damaged:
    """The result of a check that found damage in the database, so that a backup must replace it."""

    #: Descriptions of the damage.
    damage: Sequence[str]


def examine(file: Path, workshop: Path) -> Sound | LogCut | Damaged:
    """Check the files. `workshop` is the path of a temporary folder on the same disk; this function creates and removes
    it. Raise `OSError` or `sqlite3.Error` if a file cannot be read."""
    try:
        sums = PageSums.load(sums_file(file))
    except FileNotFoundError:
        if _holds_something(file):
            return _examine_without_sums(file, workshop, Sound(_NO_SUMS))
        left = [each.name for each in (log_file(file), kept_log(file)) if _holds_something(each)]
        return Damaged([f"{file.name} is missing, but its log exists ({', '.join(left)})"]) if left else Sound()
    except SumsDamaged:
        return _examine_without_sums(file, workshop, Sound(_BAD_SUMS, warning=True))
    if not _holds_something(file):
        return Damaged([f"{file.name} is empty or missing"])
    return _examine_with_sums(file, workshop, sums)


def log_to_play(file: Path) -> Path:
    """Return the path of the log that belongs to the database file. If another program closed the database and removed
    the log under its usual name, return the second name of the log. Without checksums, never return the second name,
    because the file may be a different database."""
    log, kept = log_file(file), kept_log(file)
    is_away = _holds_something(kept) and not _holds_something(log)
    return kept if is_away and sums_file(file).exists() else log


def _examine_without_sums(file: Path, workshop: Path, otherwise: Sound) -> Sound | Damaged:
    log = _examine_log(file, NOWHERE, workshop)
    damage = _complaints(file, "integrity_check") + ([log.lost] if log.lost else [])
    return Damaged(damage) if damage else otherwise


def _examine_with_sums(file: Path, workshop: Path, sums: PageSums) -> Sound | LogCut | Damaged:
    log = _examine_log(file, sums.folded, workshop)
    plays = log.size > 0 and not log.superseded
    changed = sums.differing(file, size=log.size if plays else sums.pages, beside=log.pages if plays else ())
    if changed:
        names = ", ".join(map(str, changed[:_NAMED])) + (", …" if len(changed) > _NAMED else "")
        return Damaged([f"pages that do not match their checksums: {len(changed)} ({names})"])
    if log.lost is not None or log.superseded:
        return LogCut(log.lost, log.superseded)
    if plays and (damage := _complaints(file, "quick_check")):
        return Damaged(damage)
    return Sound(log.unsure, warning=log.unsure is not None)


# -- the log -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _LogState:
    """The result of examining the log."""

    #: The numbers of the pages that the valid frames contain.
    pages: Collection[int] = ()
    #: The size of the database in pages after the valid frames, or 0 if there are none.
    size: int = 0
    #: The value for `LogCut.superseded`.
    superseded: bool = False
    #: The value for `LogCut.lost`.
    lost: str | None = None
    #: A warning about an incomplete transaction at the end of the log.
    unsure: str | None = None


def _examine_log(file: Path, folded: Mark, workshop: Path) -> _LogState:
    """Return the state of the log. `folded` is the position up to which the log's frames were already written into the
    database file."""
    path = log_to_play(file)
    counted = committed(with_suffix(file, "-shm"))
    with open_log(path) as log:
        if log is None or log.header is None:
            return _without_header(log, counted, folded)
        header = log.header
        sound = sound_frames(path, header.page_size, workshop)
        frames = list(log.frames(header.page_size))
    known = max(sound, folded.frames if folded.salts == header.salts else 0)
    behind = [frame for frame in frames[known:] if not header.is_leftover(frame)]
    lost = unsure = None
    if counted is not None and counted.salts == header.salts and counted.frames >= known:
        lost = _missing_frames(counted.frames, known)
    # A killed process leaves at most one unfinished transaction in the log.
    elif sum(frame.size > 0 and frame.salts == header.salts for frame in behind) > 1:
        lost = f"transactions after the first {known} frames of the log"
    elif behind:
        unsure = _UNSURE
    return _LogState(
        pages={frame.page for frame in frames[:sound]},
        size=frames[sound - 1].size if sound else 0,
        superseded=sound < known,
        lost=lost,
        unsure=unsure,
    )


def _without_header(log: Log | None, counted: Mark | None, folded: Mark) -> _LogState:
    """Return the state of a log that is missing or has no valid header. SQLite does not use any frame of such a log."""
    if counted is not None:
        return _LogState(lost=_missing_frames(counted.frames, folded.frames if counted.salts == folded.salts else 0))
    if log is not None and log.bytes > HEADER_BYTES:
        return _LogState(lost="all data of the log that had not been copied to the database file")
    return _LogState()


def _missing_frames(counted: int, known: int) -> str | None:
    return f"{counted - known} of {counted} frames that were committed to the log" if counted > known else None


def _holds_something(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _complaints(file: Path, check: str) -> list[str]:
    """Return the damage that SQLite's own check finds in the file and its log."""
    try:
        with _opened(file) as connection:
            found = [row[0] for row in connection.execute(f"PRAGMA {check}({_NAMED})").fetchall()]
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise
        return [str(error)]
    return [line for line in found if line != "ok"]


def _opened(file: Path) -> AbstractContextManager[sqlite3.Connection]:
    if with_suffix(file, "-journal").exists():
        # There is a rollback journal: a change was interrupted while the database was not yet in WAL mode. Only a
        # writing connection can undo that change.
        return contextlib.closing(sqlite3.connect(file))
    return looking_at(file, at_rest=True)
