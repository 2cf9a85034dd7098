"""Translates SQLite's errors. The result tells the caller to retry, to free space, to report the error, or to end the
process."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import DatabaseAway, DiskFull, StoreError, StoreLost


@dataclass(frozen=True, slots=True)
class Emergency:
    """Callbacks for emergencies. The store calls them on its own threads."""

    #: Frees the disk space that was reserved for the case that the disk is full.
    make_room: Callable[[], None]
    #: Ends the process. The store calls this if the state of the database is unknown. After this, the store refuses
    #: every call.
    lost: Callable[[StoreLost], None]


#: Callbacks that do nothing, for commands, which have no daemon to end.
ALONE = Emergency(make_room=lambda: None, lost=lambda _: None)


#: A mask for SQLite's error codes: the lower byte is the kind of error, the upper bytes are details.
_FAMILY = 0xFF
#: The codes for a full disk. SQLite reports an I/O error if there is no space for the index of the log.
_NO_ROOM = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE})
#: Errors after which the process must restart. After a failed write or sync, the kernel may have dropped the unwritten
#: data, and a retry would only seem to succeed. A restart reads what is really on the disk, and repairs damage.
_FATAL = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
#: Damage to a search index. It affects only searches.
_HARMLESS = frozenset({sqlite3.SQLITE_CORRUPT_VTAB})


def is_full(error: BaseException | None) -> bool:
    """Return True if the disk was full. Nothing was written, and a retry can succeed when there is more space."""
    return _code(error) in _NO_ROOM


def is_locked(error: BaseException | None) -> bool:
    """Return True if another connection held the lock for writing."""
    return _code(error) & _FAMILY == sqlite3.SQLITE_BUSY


def is_fatal(error: BaseException | None) -> bool:
    """Return True if the error leaves the content of the file unknown. No write can then be confirmed before a
    restart."""
    code = _code(error)
    return code & _FAMILY in _FATAL and code not in _NO_ROOM | _HARMLESS


def as_store_error(error: BaseException) -> BaseException:
    """Return the error for the caller of a script. An error of SQLite becomes a `StoreError`; any other error is
    unchanged."""
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
    """Convert errors of SQLite in the block to `StoreError`."""
    try:
        yield
    except sqlite3.Error as error:
        raise as_store_error(error) from error


def store_lost(error: BaseException) -> StoreLost:
    """Return the error for all calls after `error` has ended a thread of the store."""
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
        fix="restart Arvis; if the error repeats, report it together with the log",
    )


def _code(error: BaseException | None) -> int:
    """Return SQLite's extended error code, or 0 if the error does not come from SQLite."""
    return int(getattr(error, "sqlite_errorcode", 0) or 0)
