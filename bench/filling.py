"""Make large queues and long histories with plain statements, in seconds. The store's scripts would write the same rows
in minutes."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import psycopg

from arvis.domain.jobs import JobKind, JobStatus, Pool, Priority, rank_of
from arvis.process.clock import SystemClock
from arvis.store.open import Database, bring_up_to_date
from arvis.store.sqlite.checkpoint import kept_log, sums_file

_JOBS = """
INSERT INTO jobs (
    id, kind, status, pool, priority, rank, lane, position, ready, run_at, key_live, attempts, crashes, claim, tokens,
    payload, created_at, started_at, finished_at
)
SELECT {id}, '{kind}', '{status}', '{pool}', {priority}, {rank} + n, 'job:' || {id}, 1, {ready}, {now}, 0, 0, 0, {claim},
    0, '{{}}', {now}, {ended}, {ended}
FROM {numbers}
"""
_LANES = "INSERT INTO lanes (lane, tail, live) SELECT lane, 1, 1 FROM jobs WHERE ready = 1"


def fill(database: Database, count: int, *, finished: bool) -> None:
    """Add this number of waiting jobs, or of ended ones if `finished`, each in its own lane. The database must be empty
    and not in use."""
    if database.url is not None:
        _fill_postgres(database.url, count, finished=finished)
    else:
        _fill_sqlite(database, count, finished=finished)


def _fill_sqlite(database: Database, count: int, *, finished: bool) -> None:
    numbers = f"(WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT {count}) SELECT n FROM counted)"
    with closing(sqlite3.connect(database.file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        for statement in _statements(count, "printf('%026d', n)", numbers, finished=finished):
            connection.execute(statement)
        connection.execute("PRAGMA journal_mode = WAL")
    # Otherwise the system would write its cached data during the measurement.
    with database.file.open("rb") as file:
        os.fsync(file.fileno())
    # Without these files the next start computes the checksums of the pages again.
    sums_file(database.file).unlink(missing_ok=True)
    kept_log(database.file).unlink(missing_ok=True)
    bring_up_to_date(database, SystemClock().now())


def _fill_postgres(url: str, count: int, *, finished: bool) -> None:
    numbers = f"generate_series(1, {count}) AS counted (n)"
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in _statements(count, "lpad(n::text, 26, '0')", numbers, finished=finished):
            connection.execute(statement.encode())
        connection.execute("VACUUM (ANALYZE) jobs")
        connection.execute("VACUUM (ANALYZE) lanes")
        connection.execute("CHECKPOINT")


def _statements(count: int, new_id: str, numbers: str, *, finished: bool) -> list[str]:
    """Return the statements. The jobs are older than all jobs that are added later, so they are claimed first."""
    now = SystemClock().now()
    jobs = _JOBS.format(
        id=new_id,
        numbers=numbers,
        kind=JobKind.ADVANCE,
        status=JobStatus.DONE if finished else JobStatus.PENDING,
        pool=Pool.INTERACTIVE,
        priority=int(Priority.MESSAGE),
        rank=rank_of(Priority.MESSAGE, now) - count,
        ready=0 if finished else 1,
        claim=1 if finished else 0,
        now=now,
        ended=now if finished else "NULL",
    )
    return [jobs] if finished else [jobs, _LANES]
