"""Translates SQLite's error codes: retry, free space, give up, or end the process."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from arvis.domain.errors import DatabaseAway, DiskFull, StoreError, StoreLost

# The handlers that the store calls if the disk fails (reliability.md, H24).


@dataclass(frozen=True, slots=True)
class Emergency:
    """Handlers that the store calls on its own threads. `make_room` frees the space reserved for a full disk. `lost`
    is called when the state of the database is unknown: it should end the process, and until then the store refuses
    every call."""

    make_room: Callable[[], None]
    lost: Callable[[StoreLost], None]


#: Handlers for read-only users, which have no daemon to end.
ALONE = Emergency(make_room=lambda: None, lost=lambda _: None)


#: The upper bytes of a code only tell where it happened.
_FAMILY = 0xFF
#: No space for the index of the log, which SQLite reports as an I/O error.
_NO_ROOM = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
#: After a failed write or sync the kernel may have dropped the unwritten data, and a second try would "succeed": only
#: a restart reads the real content of the disk. Damage is also left to the next start, which can repair it.
_FATAL = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
#: Damage to a search index only affects searches.
_HARMLESS = frozenset({sqlite3.SQLITE_CORRUPT_VTAB})


def is_full(error: BaseException | None) -> bool:
    """Return whether the disk is full: nothing was written, and with more space the write can succeed."""
    return _code(error) in _NO_ROOM


def is_locked(error: BaseException | None) -> bool:
    """Return whether another connection is writing."""
    return _code(error) & _FAMILY == sqlite3.SQLITE_BUSY


def is_fatal(error: BaseException | None) -> bool:
    """Return whether the content of the file is unknown: then no write may be confirmed, and only a restart may
    continue."""
    code = _code(error)
    return code & _FAMILY in _FATAL and code not in _NO_ROOM | _HARMLESS


def as_store_error(error: BaseException) -> BaseException:
    """Return a script's failure for its caller: errors of the database become our errors."""
    if not isinstance(error, sqlite3.Error):
        return error
    if is_full(error):
        what, why, fix = "Nothing can be written", "the disk is full", "free some space; Arvis resumes by itself"
        return DiskFull(what, why=why, fix=fix)
    if is_locked(error):
        fix = "Stop the other program that writes to the database of Arvis."
        return DatabaseAway("The database is locked", why=str(error), fix=fix)
    if is_fatal(error):
        return _lost(error)
    return StoreError("The database refused a statement", why=str(error), fix="run `arvis doctor`")


@contextlib.contextmanager
def store_errors() -> Iterator[None]:
    """Convert database errors inside the block to our errors."""
    try:
        yield
    except sqlite3.Error as error:
        raise as_store_error(error) from error


def store_lost(error: BaseException) -> StoreLost:
    """Return the error after the writer ended, for whatever cause."""
    return _lost(error) if isinstance(error, sqlite3.Error) and is_fatal(error) else _broken(error)


def _lost(error: sqlite3.Error) -> StoreLost:
    return StoreLost(
        "The database failed, and it is unknown whether the last commit is on disk",
        why=f"{error} ({getattr(error, 'sqlite_errorname', 'unknown')})",
        fix=(
            "Check the disk and the kernel log for errors, then restart Arvis. It continues with the data that is on "
            "disk."
        ),
    )


def _broken(error: BaseException) -> StoreLost:
    return StoreLost(
        "The thread that writes the database has ended, so nothing can be stored",
        why=f"{type(error).__name__}: {error}",
        fix="start Arvis again; if it happens again, report it with the log",
    )


def _code(error: BaseException | None) -> int:
    """Return SQLite's extended code; 0 for other errors."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0)
