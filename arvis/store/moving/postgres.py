"""PostgreSQL as the source and as the target of a move.

The target is a separate schema, `arvis_move`, in the configured database. When it is complete, one transaction moves
its tables to the schema from which processes read their tables.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from arvis.domain.errors import Conflict, StoreError
from arvis.ports.backups import MOVED_TO
from arvis.store.moving.tables import (
    BATCH,
    NOT_COPIED,
    UNFINISHED,
    Key,
    Row,
    Table,
    greatest,
    index_all,
    quoted,
    selection,
    tables,
)
from arvis.store.postgres.errors import PROGRAM, failure, with_options
from arvis.store.postgres.migrations import PostgresTarget
from arvis.store.postgres.session import PostgresSession, Queries
from arvis.store.sql.migrations import available, migrate

#: The schema of an unfinished copy.
SCHEMA = "arvis_move"
_BY_BYTES = ' COLLATE "C"'
_CURSOR = "arvis_move"
_OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s "
    "AND pid <> ALL(%s)"
)
#: The server still lists a connection for a moment after its end. So wait up to this number of seconds for the end of
#: other connections, and check again after each pause.
_ENDING_SECONDS, _PAUSE_SECONDS = 2.0, 0.05
_TABLES_OF = "SELECT tablename FROM pg_tables WHERE schemaname = %s"

_Connection = psycopg.Connection[tuple[Any, ...]]


def address_of(url: str) -> str:
    """Return the address of a database without its password, for people."""
    parts = conninfo_to_dict(url)
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{parts.get('host') or ''}{port}/{parts.get('dbname') or parts.get('user') or ''}"


def _text(statement: str) -> LiteralString:
    """Return the statement with the type that the driver accepts. Callers pass only statements with the names of our
    own tables and columns."""
    return statement


def _batches(connection: _Connection, table: Table, after: Key | None) -> Iterator[Sequence[Row]]:
    query = selection(table, after=after is not None, parameter="%s", collation=_BY_BYTES)
    with connection.transaction(), connection.cursor(name=_CURSOR) as cursor:
        cursor.execute(_text(query), None if after is None else list(after))
        while rows := cursor.fetchmany(BATCH):
            yield rows


def _blob_names(connection: _Connection) -> Sequence[str]:
    return [name for (name,) in connection.execute('SELECT sha256 FROM blobs ORDER BY sha256 COLLATE "C"')]


def _refuse_other_processes(connection: _Connection, own: Sequence[int]) -> None:
    deadline = time.monotonic() + _ENDING_SECONDS
    while others := _connections(connection, own):
        if time.monotonic() > deadline:
            raise Conflict(
                "Other processes of Arvis are connected to the PostgreSQL database",
                why=f"the server lists {others} of their connections",
                fix="stop all processes of Arvis that use this database, then run the command again",
            )
        time.sleep(_PAUSE_SECONDS)


def _connections(connection: _Connection, own: Sequence[int]) -> int:
    """Return the number of Arvis's connections to this database, without the connections of the server processes
    `own`."""
    connection.execute("SELECT pg_stat_clear_snapshot()")  # otherwise a transaction sees its first list again
    found = connection.execute(_OTHERS, [PROGRAM, list(own)]).fetchone()
    return 0 if found is None else int(found[0])


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            "The PostgreSQL user lacks a privilege",
            why=str(error).strip(),
            fix="let the user own the database, or grant CREATE on the database and on its schema",
        ) from error
    except psycopg.Error as error:
        raise failure(error) from error


class PostgresSource:
    """Implements `Source`, with one transaction whose locks exclude all writers."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection

    def batches(self, table: Table, after: Key | None) -> Iterator[Sequence[Row]]:
        return _batches(self._connection, table, after)

    def blobs(self) -> Sequence[str]:
        return _blob_names(self._connection)

    def blob(self, sha256: str) -> bytes | None:
        found = self._connection.execute("SELECT data FROM blobs WHERE sha256 = %s", [sha256]).fetchone()
        return None if found is None else bytes(found[0])

    def mark_moved(self, target: str, now: int) -> None:
        _refuse_other_processes(self._connection, [self._connection.info.backend_pid])
        self._connection.execute(Queries()["put_key_value"], {"key": MOVED_TO, "value": target, "now": now})
        self._connection.commit()


@contextmanager
def open_source(url: str) -> Iterator[PostgresSource]:
    with _errors(), contextlib.closing(psycopg.connect(with_options(url))) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        _refuse_other_processes(connection, [connection.info.backend_pid])
        connection.rollback()
        # The locks come before the first query, so that the snapshot contains everything that others have committed.
        connection.execute("SET LOCAL lock_timeout = '5s'")
        names = ", ".join(quoted(table.name) for table in tables())
        connection.execute(_text(f"LOCK TABLE {names} IN SHARE MODE"))
        yield PostgresSource(connection)


class PostgresCopy:
    """Implements `Target`. `now` is in ms."""

    def __init__(self, *, url: str, source: str, now: int) -> None:
        self._url = url
        options = f"{conninfo_to_dict(url).get('options', '')} -c search_path={SCHEMA}".strip()
        self._inside = make_conninfo(url, options=options)
        self._source = source
        self._now = now
        self._connection: _Connection = psycopg.connect(with_options(self._inside), autocommit=True)
        try:
            with psycopg.connect(with_options(url)) as outside:
                self._home = _home_of(outside)
            self.resumed = self._begun_by() == source
            if not self.resumed:
                self._refuse_another_copy()
                self.start_again()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def start_again(self) -> None:
        self._connection.execute(_text(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"))
        self._connection.execute(_text(f"CREATE SCHEMA {SCHEMA}"))
        self.resumed = False
        migrate(PostgresTarget(url=self._inside, now=self._now), available())
        self._put(UNFINISHED, self._source)

    def last_key(self, table: Table) -> Key | None:
        return self._connection.execute(_text(greatest(table, _BY_BYTES))).fetchone()

    def add(self, table: Table, rows: Sequence[Row]) -> None:
        statement = _text(f"COPY {quoted(table.name)} ({table.names}) FROM STDIN")
        with self._connection.transaction(), self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)

    def batches(self, table: Table, after: Key | None) -> Iterator[Sequence[Row]]:
        return _batches(self._connection, table, after)

    def blobs(self) -> Sequence[str]:
        return _blob_names(self._connection)

    def put_blob(self, data: bytes) -> None:
        statement = "INSERT INTO blobs (sha256, data) VALUES (encode(sha256(%(data)s), 'hex'), %(data)s)"
        self._connection.execute(_text(f"{statement} ON CONFLICT (sha256) DO NOTHING"), {"data": data})

    def index_messages(self) -> None:
        with contextlib.closing(
            psycopg.connect(with_options(self._inside), autocommit=True, row_factory=psycopg.rows.dict_row)
        ) as connection:
            connection.execute("ANALYZE messages")
            # `new_id` is not called, because the rows of the index need no new ids.
            session = PostgresSession(connection=connection, queries=Queries(), new_id=str, name=_CURSOR)
            index_all(session, connection.transaction)

    def finish(self, now: int) -> None:
        """Move the tables to their schema. If this schema contains tables whose data was moved away earlier, keep these
        tables in another schema."""
        connection = self._connection
        with connection.transaction():
            if _is_used(connection, self._home):
                raise StoreError(
                    "The PostgreSQL database was used during the move",
                    why=f"its schema {self._home} contains new tables of Arvis",
                    fix="stop all processes, drop these tables, then run the command again",
                )
            old = _tables_of(connection, self._home)
            if old:
                self._set_aside(old, datetime.fromtimestamp(now / 1000, UTC).strftime("arvis_moved_%Y%m%d%H%M%S"))
            connection.execute(Queries()["delete_key_value"], {"key": UNFINISHED})
            for name in [*_tables_of(connection, SCHEMA)]:
                self._set_schema(SCHEMA, name, self._home)
            connection.execute(_text(f"DROP SCHEMA {SCHEMA}"))
        connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(self._home)))
        for table in tables():
            connection.execute(_text(f"ANALYZE {quoted(table.name)}"))

    def _set_aside(self, names: Sequence[str], schema: str) -> None:
        self._connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        for name in names:
            self._set_schema(self._home, name, schema)

    def _set_schema(self, old: str, name: str, new: str) -> None:
        statement = sql.SQL("ALTER TABLE {} SET SCHEMA {}")
        self._connection.execute(statement.format(sql.Identifier(old, name), sql.Identifier(new)))

    def _put(self, key: str, value: str) -> None:
        self._connection.execute(Queries()["put_key_value"], {"key": key, "value": value, "now": self._now})

    def _begun_by(self) -> str | None:
        """Return the source of the unfinished copy. Return None if there is no copy, or if it cannot be continued."""
        if not {"kv", "migrations"} <= {*_tables_of(self._connection, SCHEMA)}:
            return None
        applied = {name for name, _ in self._connection.execute(Queries()["applied_migrations"])}
        found = self._connection.execute(Queries()["get_key_value"], {"key": UNFINISHED}).fetchone()
        return found[0] if found is not None and applied == {each.name for each in available()} else None

    def _refuse_another_copy(self) -> None:
        other = self._begun_by()
        if other is not None:
            raise Conflict(
                f"The PostgreSQL database contains an unfinished copy of {other}",
                why="an earlier move from that database was interrupted",
                fix="run `arvis move` for that database again, or remove the copy: DROP SCHEMA arvis_move CASCADE",
            )


def is_used(url: str) -> bool:
    """Return True if a database contains data of Arvis that was not moved to another database."""
    with _errors(), psycopg.connect(with_options(url)) as connection:
        return _is_used(connection, _home_of(connection))


def _is_used(connection: _Connection, home: str) -> bool:
    there = _tables_of(connection, home)
    if "kv" not in there:
        return bool(there)
    statement = sql.SQL("SELECT count(*) FROM {} WHERE key = %s").format(sql.Identifier(home, "kv"))
    found = connection.execute(statement, [MOVED_TO]).fetchone()
    return found is None or not found[0]


def _tables_of(connection: _Connection, schema: str) -> list[str]:
    """Return the names of the tables of Arvis in a schema."""
    names = {table.name for table in tables()} | NOT_COPIED
    return sorted(name for (name,) in connection.execute(_TABLES_OF, [schema]) if name in names)


def _home_of(connection: _Connection) -> str:
    """Return the schema in which processes with this address find their tables."""
    found = connection.execute("SELECT current_schema()").fetchone()
    if found is None or found[0] is None:
        raise StoreError(
            "The PostgreSQL database has no schema for tables",
            why="no schema of the search path exists",
            fix="create the schema `public`, or set search_path for the user",
        )
    return str(found[0])


@contextmanager
def open_copy(url: str, source: str, now: int) -> Iterator[PostgresCopy]:
    """Open the copy that will become this database. Continue an unfinished copy of the same source."""
    with _errors(), contextlib.closing(PostgresCopy(url=url, source=source, now=now)) as copy:
        yield copy
