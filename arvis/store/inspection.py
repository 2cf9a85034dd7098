"""What `arvis doctor` asks about the database, beside a running daemon or without one. Nothing is changed here."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from arvis.domain.errors import StoreError
from arvis.store.database import Database
from arvis.store.examination import Records, read_records
from arvis.store.integrity.looking import looking_at
from arvis.store.integrity.soundness import Damaged, LogCut, Sound, examine
from arvis.store.integrity.wal import with_suffix
from arvis.store.migrations import available, missing_among
from arvis.store.opening import postgres_part
from arvis.store.session import SqliteDialect, load_queries

SQLITE_VERSION = sqlite3.sqlite_version_info

#: 0: this SQLite may be used by one thread only. We use several.
SQLITE_THREADS = sqlite3.threadsafety

#: Bytes of a database whose pages are read beside a running daemon: about a second's work.
_QUICK = 250_000_000


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL server: its `version` as its library counts (150004 is 15.4), and its settings under which a power
    cut may cost what was committed."""

    version: int
    unsafe: Sequence[str]


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """`missing` are names of migrations that have not run. `files` says whether the files are as they were left (None:
    that was not asked), `server` is None for SQLite. `rows` are there when schema and files are right, or an error where
    they cannot be read all the same."""

    missing: Sequence[str]
    files: Sound | LogCut | Damaged | None
    rows: Records | StoreError | None
    server: Server | None = None


def inspect(database: Database, *, now: int, at_rest: bool) -> DatabaseState:
    """Open, compare the schema, check the files, look at the rows. `at_rest` says that no process uses the database: then
    its files can be compared with what was left, else SQLite looks for damage. Raises `StoreError` when it cannot be
    used."""
    if database.url is not None:
        return _inspect_server(database.url, now)
    queries = load_queries(SqliteDialect())
    try:
        with looking_at(database.file, at_rest=at_rest) as connection:
            applied = {row["name"]: row["checksum"] for row in connection.execute(queries["applied_migrations"])}
            missing = _missing(applied)
            files = _examine_files(database) if at_rest else _check(connection, database.file)
            readable = not missing and not isinstance(files, Damaged)
            return DatabaseState(missing, files, _rows(connection, queries, now) if readable else None)
    except (OSError, sqlite3.Error, UnicodeError) as error:
        fix = f"Restore one of the copies in {database.backups}: `arvis restore` lists them."
        raise StoreError(f"The database {database.file} cannot be read", why=str(error), fix=fix) from error


def log_bytes(database: Database) -> int:
    """How large the write-ahead log is; 0 where there is none."""
    log = with_suffix(database.file, "-wal")
    return log.stat().st_size if database.url is None and log.exists() else 0


#: What Arvis uses of SQLite, or will: a part and a statement that needs it, in this order.
SQLITE_PARTS: Mapping[str, str] = {
    "STRICT": "CREATE TABLE plain (id TEXT PRIMARY KEY) STRICT",
    "RETURNING": "INSERT INTO plain VALUES ('a') RETURNING id",
    "FTS5": "CREATE VIRTUAL TABLE words USING fts5 (text)",
}


def sqlite_lacks(parts: Mapping[str, str] = SQLITE_PARTS) -> list[str]:
    """Those that this SQLite was built without."""
    with contextlib.closing(sqlite3.connect(":memory:")) as memory:
        return [name for name, statement in parts.items() if not _runs(memory, statement)]


def _runs(connection: sqlite3.Connection, statement: str) -> bool:
    try:
        connection.execute(statement).fetchall()
    except sqlite3.OperationalError:
        return False
    return True


def _inspect_server(url: str, now: int) -> DatabaseState:
    part = postgres_part("postgres_inspection")
    applied, server = part.survey(url)
    missing = _missing(applied)
    if missing:
        return DatabaseState(missing, None, None, server)
    with part.looking(url) as look:
        return DatabaseState(missing, None, read_records(look, now), server)


def _examine_files(database: Database) -> Sound | LogCut | Damaged:
    """As the next start will do it, but in a folder that no start uses."""
    with tempfile.TemporaryDirectory(dir=database.folder, prefix=".doctor-") as folder:
        return examine(database.file, Path(folder) / "workshop")


def _check(connection: sqlite3.Connection, file: Path) -> Sound | Damaged | None:
    """What SQLite can tell beside those who write; None where that would take long."""
    if file.stat().st_size > _QUICK:
        return None
    damage = [row[0] for row in connection.execute("PRAGMA quick_check(10)") if row[0] != "ok"]
    return Damaged(damage) if damage else Sound()


def _rows(connection: sqlite3.Connection, queries: dict[str, str], now: int) -> Records | StoreError:
    try:
        connection.execute("BEGIN")
        return read_records(
            lambda query, /, **parameters: connection.execute(queries[query], parameters).fetchall(), now
        )
    except (sqlite3.Error, UnicodeError) as error:
        return StoreError("The rows of the database cannot be read", why=str(error), fix="Restore the newest backup.")


def _missing(applied: dict[str, str]) -> list[str]:
    return [migration.name for migration in missing_among(available(), applied)]
