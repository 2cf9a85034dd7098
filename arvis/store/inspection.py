"""What `arvis doctor` asks about the database, beside a running daemon or without one. Nothing is changed here."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arvis.domain.errors import StoreError
from arvis.store.migrations import available, missing_among
from arvis.store.opening import Database, postgres_part
from arvis.store.session import SqliteDialect, load_queries

SQLITE_VERSION = sqlite3.sqlite_version_info


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """`missing` are names of migrations that have not run, `damage` is what the database's own check complains of."""

    missing: Sequence[str]
    damage: Sequence[str]


def inspect(database: Database) -> DatabaseState:
    """Open, compare the schema, let the database check itself. Raises `StoreError` when it cannot be used."""
    if database.url is not None:
        applied = postgres_part("postgres_migration").PostgresTarget(url=database.url, now=0).applied()
        return DatabaseState(_missing(applied), ())
    try:
        with contextlib.closing(_read_only(database.file)) as connection:
            rows = connection.execute(load_queries(SqliteDialect())["applied_migrations"]).fetchall()
            damage = [row["quick_check"] for row in connection.execute("PRAGMA quick_check(10)").fetchall()]
    except sqlite3.Error as error:
        raise StoreError(
            f"The database {database.file} cannot be read",
            why=str(error),
            fix=f"Restore one of the copies in {database.folder / 'backups'}.",
        ) from error
    applied = {row["name"]: row["checksum"] for row in rows}
    return DatabaseState(_missing(applied), [line for line in damage if line != "ok"])


def log_bytes(database: Database) -> int:
    """How large the write-ahead log is; 0 where there is none."""
    log = database.file.with_name(f"{database.file.name}-wal")
    return log.stat().st_size if database.url is None and log.exists() else 0


def _missing(applied: dict[str, str]) -> list[str]:
    return [migration.name for migration in missing_among(available(), applied)]


def _read_only(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    return connection
