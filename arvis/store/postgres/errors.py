"""Translates PostgreSQL's errors into two cases: the server is temporarily unavailable, so that the work can be
retried; or the server refused a statement."""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from arvis.domain.errors import DatabaseAway, DiskFull, StoreError

#: The name under which the server lists the connections of Arvis, unless the address sets another name.
PROGRAM = "arvis"

#: Options of every connection, unless the address sets them. They are in seconds, except `tcp_user_timeout` (ms). With
#: the driver's defaults, it takes a quarter of an hour to notice that a server has vanished from the network.
_OPTIONS: Mapping[str, str | int] = {
    "connect_timeout": 5,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "fallback_application_name": PROGRAM,
}

#: Errors that a concurrent transaction caused. The store runs the script again after them.
AGAIN = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure, psycopg.errors.UniqueViolation)

#: Temporary errors: a conflict with a concurrent transaction, a lock that is held too long, a server that became a
#: standby, or a connection that the server ended because it was idle.
_PASSING = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.ReadOnlySqlTransaction,
    psycopg.errors.IdleInTransactionSessionTimeout,
)
#: The first two characters of the codes of temporary errors: lost connections (08), missing resources (53),
#: intervention of an operator (57), and errors of the server's system, such as its disk (58).
_PASSING_CLASSES = frozenset({"08", "53", "57", "58"})

#: Texts in the error messages of a server that was reached and refuses the connection permanently. The messages are
#: compared because a failed connection has no error code.
_REFUSALS = ("authentication failed", "no pg_hba.conf entry", 'role "', 'database "', "permission denied")


def with_options(url: str) -> str:
    """Return the address with `_OPTIONS` added. Options that the address sets itself are kept."""
    given = conninfo_to_dict(url)
    return make_conninfo(url, **{name: value for name, value in _OPTIONS.items() if name not in given})


def failure(error: psycopg.Error) -> StoreError:
    """Return the `StoreError` for an error of the driver."""
    if isinstance(error, psycopg.errors.DiskFull):
        return DiskFull("Nothing can be written", why=_why(error), fix="free some space on the database server")
    if is_away(error):
        return unreachable(error)
    return StoreError("The database refused a statement", why=_why(error), fix="run `arvis doctor`")


def unreachable(error: psycopg.Error) -> DatabaseAway:
    fix = "check the server and `database` in the configuration; Arvis continues by itself when the server is back"
    return DatabaseAway("PostgreSQL cannot be reached", why=_why(error), fix=fix)


def is_away(error: psycopg.Error) -> bool:
    """Return True if the error is temporary, so that a retry may succeed without any change."""
    if isinstance(error, _PASSING):
        return True
    if error.sqlstate is not None:
        return error.sqlstate[:2] in _PASSING_CLASSES
    return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)


def must_reconnect(error: psycopg.Error) -> bool:
    """Return True if the connection must be closed because its server became a standby, which accepts no writes."""
    return isinstance(error, psycopg.errors.ReadOnlySqlTransaction)


def refuses_for_good(why: str) -> bool:
    """Return True if the error text `why` says that the server refused the user, the password or the database."""
    return "FATAL" in why and any(words in why for words in _REFUSALS)


def _why(error: psycopg.Error) -> str:
    return str(error).strip()
