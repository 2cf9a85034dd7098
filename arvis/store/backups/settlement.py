"""What a restored database must forget before anybody works with it: nothing that it was about to do is done again.

A backup is a moment in the past. What waited then has run since, in the life that is gone, and may have been sent. So
it is neither repeated nor dropped: it is failed with the reason `restored`, to be tried again by hand.
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

#: Reason code of jobs and messages.
RESTORED = "restored"

_FAILED = "the database was restored from a backup: this may have been done since"
_UNSURE = "the database was restored from a backup: this may have been sent since"


@dataclass(frozen=True, slots=True)
class Settlement:
    """How much was given up: jobs of any kind, and of them the turns; deliveries of which nobody knows."""

    jobs: int
    turns: int
    deliveries: int


def settle(connection: sqlite3.Connection, now: int) -> Settlement:
    """Give up what was under way, in one transaction. Questions to people and timers that are not due stay."""
    # Sortable, and unlike any other: no other id is made in this database before it is in place.
    ids = (encode(moment_of(now) + number) for number in itertools.count())
    session = SqliteSession(connection=connection, queries=load_queries(SqliteDialect()), new_id=lambda: next(ids))
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        return _settle(session, SqlTransaction(session), now)


def _settle(session: SqliteSession, tx: SqlTransaction, now: int) -> Settlement:
    deliveries = session.execute("doubt_unsent_deliveries", error=_UNSURE, now=now)
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
    """Stop an execution where it stands. It goes on when its job is tried again by hand (it gets one if it has none), or
    when a person answers the question that it asked."""
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
