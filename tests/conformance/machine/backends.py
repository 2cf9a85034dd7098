"""The two databases as the machine drives them: one transaction at a time, with the claim in its commit, as in the
product's store. A commit may fail.

On PostgreSQL two transactions can also run against each other (`race.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import psycopg
from psycopg.rows import dict_row

from arvis.domain.errors import DiskFull, StoreError
from arvis.ports.job_store import Claimer, JobStore
from arvis.ports.store import Transaction
from arvis.store.location import Database
from arvis.store.postgres.session import PostgresSession, Queries
from arvis.store.sql.migrations import available, migrate
from arvis.store.sql.session import IdMaker, Notices, Row, Session
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import SqliteSession, connect
from arvis.store.transaction import SqlTransaction, claim_and_commit, run_script
from tests.conformance.databases import emptied
from tests.conformance.machine.job_model import Call
from tests.conformance.machine.loop import START

Script = Callable[[Transaction], Any]


class Fate(Enum):
    """The result of a commit or of an external call."""

    KEPT = "kept"
    REFUSED = "refused"  # it did not happen, and its caller receives an error
    FULL = "full"  # it did not happen, because the disk is full for now
    LOST = "lost"  # it happened, but its caller receives an error


@dataclass(slots=True)
class Outcome:
    """The result of a transaction."""

    result: Any = None  # what its caller receives
    error: BaseException | None = None
    calls: Sequence[Call] = ()  # the calls of the job store; none if nothing was committed
    left: bool = False  # whether it left work for other processes


class RecordedJobs:
    """A `JobStore` that records its calls."""

    def __init__(self, jobs: JobStore, progress: Callable[[], Mapping[str, int]]) -> None:
        self._jobs = jobs
        self._progress = progress
        self.calls: list[Call] = []

    def __getattr__(self, name: str) -> Any:
        return partial(self._call, name, getattr(self._jobs, name))

    def _call(self, name: str, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if name == "rescue":
            options["progress"] = self._progress()
        result = method(*args, **{key: value for key, value in options.items() if key != "progress"})
        self.calls.append(Call(name, args, result, options))
        return result


class RecordedTransaction:
    """A transaction that records its calls of the job store."""

    def __init__(self, session: Session, progress: Callable[[], Mapping[str, int]]) -> None:
        self._transaction = SqlTransaction(session)
        self.recorded = RecordedJobs(self._transaction.jobs, progress)
        self.jobs = cast(JobStore, self.recorded)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transaction, name)


@dataclass(slots=True)
class Attempt:
    """One run of a script in one session. `commit` and `roll_back` belong to the session."""

    session: Session
    commit: Callable[[], object]
    roll_back: Callable[[], object]
    fate: Fate = Fate.KEPT
    committed: bool = field(default=False, init=False)

    def run(self, script: Script, claimer: Claimer | None) -> Outcome:
        """Run the script as the stores do. Errors of the database, such as a deadlock, are raised."""
        notices = self.session.notices = Notices()
        transaction = RecordedTransaction(self.session, self._progress)
        outcome = Outcome()
        try:
            outcome.result = run_script(script, cast(Transaction, transaction))
            claimed = claim_and_commit(claimer, notices, transaction.jobs, self._commit)
            outcome.left = notices.heads > len(claimed)
        except (psycopg.Error, sqlite3.Error):
            self.roll_back()
            raise
        except BaseException as error:  # noqa: BLE001 whatever a script throws is its caller's
            outcome.error = error
        if self.committed:
            outcome.calls = transaction.recorded.calls
        else:
            self.roll_back()
        return outcome

    def _progress(self) -> Mapping[str, int]:
        """Count the steps and the finished effects of each execution, as this transaction sees them."""
        session: Any = self.session
        connection = session.connection if isinstance(session, PostgresSession) else session._connection
        rows = connection.execute(
            "SELECT e.id, e.steps + (SELECT count(*) FROM effects f WHERE f.execution_id = e.id AND f.state = 'finished')"
            " AS progress FROM executions e"
        ).fetchall()
        return {row["id"]: row["progress"] for row in rows}

    def _commit(self) -> None:
        if self.fate is Fate.REFUSED:
            raise StoreError("refused")
        if self.fate is Fate.FULL:
            raise DiskFull("full")
        self.commit()
        self.committed = True
        if self.fate is Fate.LOST:
            raise StoreError("the answer was lost")


class Backend(Protocol):
    """A database under test."""

    def write(self, script: Script, claimer: Claimer | None, fate: Fate) -> Outcome: ...

    def read(self, script: Script) -> Any: ...

    def rows(self, query: str) -> Sequence[Row]:
        """Run a query for the invariants."""
        ...

    def close(self) -> None: ...


class SqliteBackend:
    """An SQLite database in memory."""

    def __init__(self, new_id: IdMaker) -> None:
        self._connection = connect(Path(":memory:"), writing=True)
        migrate(SqliteTarget(connection=self._connection, now=START), available())
        self._session = SqliteSession(connection=self._connection, new_id=new_id)

    def write(self, script: Script, claimer: Claimer | None, fate: Fate) -> Outcome:
        self._connection.execute("BEGIN IMMEDIATE")
        commit = partial(self._connection.execute, "COMMIT")
        roll_back = partial(self._connection.execute, "ROLLBACK")
        return Attempt(self._session, commit, roll_back, fate).run(script, claimer)

    def read(self, script: Script) -> Any:
        return script(SqlTransaction(self._session))

    def rows(self, query: str) -> Sequence[Row]:
        return self._connection.execute(query).fetchall()

    def close(self) -> None:
        self._connection.close()


class PostgresBackend:
    """A database on a PostgreSQL server.

    It has three `sessions`: two, so that two transactions can be open at once, and one for reads.
    """

    def __init__(self, url: str, new_id: IdMaker) -> None:
        emptied(Database(Path("unused"), url, Path("unused")))
        self.queries = Queries()
        self._eyes = psycopg.connect(url, row_factory=dict_row, autocommit=True)
        self.sessions = [
            PostgresSession(
                connection=psycopg.connect(url, row_factory=dict_row),
                queries=self.queries,
                new_id=new_id,
                name=new_id(),
            )
            for _ in range(3)
        ]
        for session in self.sessions:
            session.connection.execute("SET deadlock_timeout = '20ms'")
            session.connection.commit()

    def write(self, script: Script, claimer: Claimer | None, fate: Fate) -> Outcome:
        connection = self.sessions[0].connection
        return Attempt(self.sessions[0], connection.commit, connection.rollback, fate).run(script, claimer)

    def read(self, script: Script) -> Any:
        try:
            return script(SqlTransaction(self.sessions[2]))
        finally:
            self.sessions[2].connection.rollback()

    def rows(self, query: str) -> Sequence[Row]:
        return self._eyes.execute(query.encode()).fetchall()

    def is_blocked(self, pid: int) -> bool:
        """Return whether this server process waits for another session's lock."""
        found = self._eyes.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0 AS blocked", (pid,)).fetchone()
        return found is not None and found["blocked"]

    def close(self) -> None:
        for connection in (self._eyes, *(session.connection for session in self.sessions)):
            connection.close()


@contextmanager
def database_of(url: str | None, new_id: IdMaker) -> Iterator[Backend]:
    """Open SQLite, or the PostgreSQL database at this address, which is emptied."""
    with closing(SqliteBackend(new_id) if url is None else PostgresBackend(url, new_id)) as backend:
        yield backend
