"""Reads the database from outside without leaving a trace: a log that a crash has left, and its index, tell the next
start which data must be there."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from arvis.store.sqlite.session import read_only
from arvis.store.sqlite.wal import link_or_copy, with_suffix


@contextlib.contextmanager
def looking_at(file: Path, *, at_rest: bool) -> Iterator[sqlite3.Connection]:
    """Yield a connection that can change nothing. `at_rest`: no process uses the database. To read its log, SQLite
    would rebuild the log's index, so it gets other names of the same files, in a separate folder."""
    log = with_suffix(file, "-wal")
    if not at_rest:
        with contextlib.closing(read_only(file)) as connection:
            yield connection
    elif not (log.exists() and log.stat().st_size):
        with contextlib.closing(read_only(file, immutable=True)) as connection:
            yield connection
    else:
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".look-") as folder:
            other = Path(folder) / file.name
            link_or_copy(file, other)
            link_or_copy(log, with_suffix(other, "-wal"))
            with contextlib.closing(read_only(other)) as connection:
                yield connection
