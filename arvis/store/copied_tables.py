"""Reads tables of SQLite files that other programs have written.

Such a file is untrusted, and its program may still have it open. So this module copies the file and its write-ahead
log, and reads the copy. It reads only ordinary tables, because a view or a virtual table could run expressions of the
file's author.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from arvis.domain.errors import Unprocessable

#: The maximum size of a file with its log, in bytes.
_LARGEST = 4_000_000_000
_KIND = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"
_COLUMNS = "SELECT name FROM pragma_table_info(?)"


def read_tables(file: Path, wanted: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each row of these tables with the name of its table, in the order of `wanted` and of the first two columns
    of each table. A missing table has no rows, and a missing column is None. Raise `Unprocessable` if the file is
    damaged; some rows may have been returned before."""
    log = file.with_name(f"{file.name}-wal")
    logs = [log] if log.is_file() and not log.is_symlink() else []
    if sum(each.stat().st_size for each in (file, *logs)) > _LARGEST:
        raise _unreadable(f"it is larger than {_LARGEST // 1_000_000} MB")
    with tempfile.TemporaryDirectory(prefix="arvis-import-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            shutil.copyfile(file, copy)
            for each in logs:
                shutil.copyfile(each, copy.with_name("copy.db-wal"))
            with contextlib.closing(_opened(copy)) as connection:
                for table, columns in wanted.items():
                    for row in _rows(connection, table, columns):
                        yield table, row
        except (sqlite3.Error, OSError) as error:
            raise _unreadable(str(error)) from None


def _opened(copy: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(copy)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    for statement in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {statement}")
    return connection


def _rows(connection: sqlite3.Connection, table: str, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    found = connection.execute(_KIND, (table,)).fetchone()
    if found is None or "VIRTUAL" in str(found["sql"]).upper().split("(")[0]:
        return
    known = {row["name"] for row in connection.execute(_COLUMNS, (table,))}
    there = [column for column in columns if column in known]
    if not there:
        return
    names = [f'"{column}"' for column in there]
    query = f'SELECT {", ".join(names)} FROM "{table}" ORDER BY {", ".join(names[:2])}'  # noqa: S608 - the names are ours
    for row in connection.execute(query):
        yield dict.fromkeys(columns) | dict(row)


def _unreadable(why: str) -> Unprocessable:
    return Unprocessable(
        "The database cannot be read.", why=why, fix="Stop the program that uses it, and copy the file again."
    )
