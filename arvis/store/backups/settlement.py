"""Settles work under way in a restored database before any process uses it, so that nothing is done twice.

A backup is a past state. Jobs that were waiting then have run since, in the replaced database, and their results may
have been sent. So they are neither repeated nor dropped: they fail with the reason `restored`, and a person can retry
them.
"""

from __future__ import annotations

import itertools
import sqlite3
from dataclasses import dataclass

from arvis.domain.executions import ExecutionStatus
from arvis.domain.ids import encode, moment_of
from arvis.domain.jobs import NewJob
from arvis.domain.messages import MessageStatus
from arvis.ports.backups import RESTORED_AT
from arvis.store.sql.session import Row, SqliteDialect, load_queries
from arvis.store.sqlite.session import SqliteSession
from arvis.store.transaction import SqlTransaction

#: The reason code of settled jobs and messages.
RESTORED = "restored"

_FAILED = "the database was restored from a backup: this may have been done since"
_UNSURE = "the database was restored from a backup: this may have been sent since"


@dataclass(frozen=True, slots=True)
class Settlement:
    """Counts of settled work: jobs of any kind, and of them the turns; deliveries with an unknown state."""

    jobs: int
    turns: int
    deliveries: int


def settle(connection: sqlite3.Connection, now: int) -> Settlement:
    """Settle the work under way, in one transaction. Questions to people and timers that are not due stay."""
    # Sortable and unique: no other process creates ids in this database before it is in place.
    ids = (encode(moment_of(now) + number) for number in itertools.count())
    session = SqliteSession(connection=connection, queries=load_queries(SqliteDialect()), new_id=lambda: next(ids))
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        return _settle(session, SqlTransaction(session), now)


def _settle(session: SqliteSession, tx: SqlTransaction, now: int) -> Settlement:
    deliveries = session.execute("mark_unsent_deliveries_unknown", error=_UNSURE, now=now)
    interrupted = session.rows("interrupted_executions", now=now)
    for row in interrupted:
        _interrupt(tx, row, now)
    jobs = session.execute("fail_live_jobs", error=_FAILED, reason=RESTORED, now=now)
    session.execute("empty_lanes")
    session.execute("raise_seqs", seq=now)
    session.execute("end_sessions")
    session.execute("drop_login_codes")
    tx.kv.put(RESTORED_AT, str(now), now)
    return Settlement(jobs, len(interrupted), deliveries)


def _interrupt(tx: SqlTransaction, row: Row, now: int) -> None:
    """Stop an execution at its current step. It continues when a person retries its job (it gets one if it has none)
    or answers its question."""
    execution = tx.executions.get(row["id"])
    if execution is None:
        return
    if not row["has_job"]:
        principal = execution.principal_id
        tx.jobs.add(NewJob.advance(execution.id, execution.lane, execution.priority, principal_id=principal), now)
    if row["asks"]:
        tx.executions.set_status(execution.id, ExecutionStatus.PAUSED, None, now)
        tx.messages.mark_turn(execution.id, MessageStatus.WAITING)
    else:
        tx.executions.set_status(execution.id, ExecutionStatus.FAILED, _FAILED, now)
        tx.messages.mark_turn(execution.id, MessageStatus.FAILED, RESTORED)
