"""The one writer: a thread that runs transaction scripts in groups and commits each group once.

Group commit gives one fsync for many chats. The writer takes what waits and never lingers for more; when jobs were
added or settled it claims the next ones in the same commit. It must never run anything but scripts.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from arvis.ports.job_store import Claimer
from arvis.ports.store import Transaction
from arvis.store.scripts import claim_and_commit, run_script
from arvis.store.sqlite_session import SqliteSession, told
from arvis.store.transaction import SqlTransaction

GROUP_SIZE = 64
GROUP_SECONDS = 0.010
#: Row changes after which the log is folded back into the database: soon when idle, at the latest under load.
CHECKPOINT_IDLE = 2_000
CHECKPOINT_BUSY = 20_000


@dataclass(slots=True, eq=False)
class Submission:
    """A script that waits for its commit, and whom to tell."""

    script: Callable[[Transaction], Any] = field(repr=False)
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    def run(self, transaction: Transaction) -> None:
        self.result = self.error = None
        self.result = run_script(self.script, transaction)

    def resolve(self) -> None:
        """On the event loop. A waiter that was cancelled must not strand the others."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class _TransactionEnded(Exception):
    """SQLite itself ended the transaction: nothing of the group was kept."""


class Writer(threading.Thread):
    """Owns the writing connection for its whole life."""

    def __init__(self, *, connection: sqlite3.Connection, session: SqliteSession) -> None:
        super().__init__(name="arvis-writer", daemon=True)
        self._connection = connection
        self._session = session
        self._transaction = SqlTransaction(session)
        self._waiting: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self._claimer: Claimer | None = None
        self._changes_at_checkpoint = 0

    def submit(self, submission: Submission) -> None:
        self._waiting.put(submission)

    def attend(self, claimer: Claimer | None) -> None:
        self._claimer = claimer

    def stop(self) -> None:
        """Finish what waits, then end."""
        self._waiting.put(None)

    def run(self) -> None:
        while (first := self._waiting.get()) is not None:
            group = [first]
            try:
                self._commit_group(group)
            except Exception:  # noqa: BLE001 locked, full, a bug: whatever it was, nobody of the group was answered yet
                self._roll_back()
                self._commit_singly(group)
            wake_waiters(group)
            if self._changes() > (CHECKPOINT_IDLE if self._waiting.empty() else CHECKPOINT_BUSY):
                self._checkpoint("PASSIVE")
        self._checkpoint("TRUNCATE")
        self._connection.close()

    # -- one group -----------------------------------------------------------------------------------------

    def _commit_group(self, group: list[Submission]) -> None:
        """Run the first script and all that wait with it, then commit once."""
        self._begin()
        deadline = time.monotonic() + GROUP_SECONDS
        self._run_in_savepoint(group[0])
        while len(group) < GROUP_SIZE and time.monotonic() < deadline:
            try:
                following = self._waiting.get_nowait()
            except queue.Empty:
                break
            if following is None:
                self._waiting.put(None)
                break
            group.append(following)
            self._run_in_savepoint(following)
        self._claim_and_commit()

    def _run_in_savepoint(self, submission: Submission) -> None:
        mark = self._session.notices.mark()
        self._connection.execute("SAVEPOINT script")
        try:
            submission.run(self._transaction)
        except BaseException as error:  # whatever a script throws is its caller's: the writer lives on
            if not self._connection.in_transaction:
                raise _TransactionEnded from error
            self._connection.execute("ROLLBACK TO script")
            self._session.notices.back_to(mark)
            submission.error = told(error)
        self._connection.execute("RELEASE script")

    def _commit_singly(self, group: list[Submission]) -> None:
        """Each script alone, so that the one that cannot be committed takes nobody with it."""
        for submission in group:
            try:
                self._begin()
                submission.run(self._transaction)
                self._claim_and_commit()
            except BaseException as error:  # noqa: BLE001 as above
                self._roll_back()
                submission.error = told(error)

    def _begin(self) -> None:
        self._session.notices.clear()
        self._connection.execute("BEGIN IMMEDIATE")

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):  # then SQLite has done so itself
                self._connection.execute("ROLLBACK")

    def _claim_and_commit(self) -> None:
        commit = partial(self._connection.execute, "COMMIT")
        claim_and_commit(self._claimer, self._session.notices, self._transaction.jobs, commit)

    def _changes(self) -> int:
        return self._connection.total_changes - self._changes_at_checkpoint

    def _checkpoint(self, mode: str) -> None:
        """Fold the log into the database. What cannot be folded now is as safe in the log."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        self._changes_at_checkpoint = self._connection.total_changes


def wake_waiters(group: list[Submission]) -> None:
    """Wake each event loop once for all of its submissions."""
    for loop in {submission.loop for submission in group}:
        mine = [submission for submission in group if submission.loop is loop]
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_resolve_all, mine)


def _resolve_all(submissions: list[Submission]) -> None:
    for submission in submissions:
        submission.resolve()
