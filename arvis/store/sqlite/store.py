"""The store on SQLite: one writer thread, a few reader threads, snapshots for pages, and blobs in a folder.

The writer runs scripts in groups and commits each group once, so that many conversations share one fsync. A group
contains the scripts that already wait; the writer does not wait for more. If a script added or ended jobs, the writer
claims the next jobs in the same commit. The writer runs only scripts, and it ends if it is unknown whether a commit
happened. Snapshots have separate aiosqlite connections, so that a slow page delays no message.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import aiosqlite
import structlog

from arvis.domain.dataclass import dataclass
from arvis.domain.embeddings import differing_signs
from arvis.domain.errors import StoreLost
from arvis.ports.job_store import Claimer
from arvis.ports.store import Transaction
from arvis.store.blobs import Blobs
from arvis.store.sql.full_text import SqliteFullText
from arvis.store.sql.history_cache import HistoryCache
from arvis.store.sql.reference_cache import ReferenceCache
from arvis.store.sql.session import IdMaker, Notices, Row, Snapshot, SqliteDialect, load_queries
from arvis.store.sqlite.checkpoint import Sealing
from arvis.store.sqlite.errors import Emergency, as_store_error, is_fatal, is_full, is_locked, store_lost
from arvis.store.sqlite.session import SqliteSession, close_abandoned, connect
from arvis.store.transaction import SqlTransaction, claim_and_commit, run_script, store_closed


@dataclass(slots=True, eq=False)
class Submission:
    """A script that waits for its commit, and the future for which its caller waits."""

    script: Callable[[Transaction], Any] = field(repr=False)
    callers: Callers
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class Callers:
    """The callers on one event loop. A thread wakes the loop only if the loop has taken all earlier results. Waking the
    loop costs as much as two statements, so results that arrive in quick succession share one wake-up."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._ended: deque[Submission] = deque()
        self._woken = False

    def wake(self, submission: Submission) -> None:
        """Set the future of a script that has ended. Any thread may call this method."""
        self._ended.append(submission)
        if not self._woken:
            self._woken = True
            with contextlib.suppress(RuntimeError):  # the loop is closed, so no caller waits
                self.loop.call_soon_threadsafe(self._set_futures)

    def _set_futures(self) -> None:
        """Set the results and errors. Skip the futures of cancelled callers."""
        self._woken = False  # before the results are taken, so that a later result wakes the loop again
        while self._ended:
            submission = self._ended.popleft()
            if submission.future.done():
                continue
            if submission.error is not None:
                submission.future.set_exception(submission.error)
            else:
                submission.future.set_result(submission.result)


def wake(group: list[Submission]) -> None:
    for submission in group:
        submission.callers.wake(submission)


def refuse_all(error: StoreLost, group: list[Submission], waiting: queue.SimpleQueue[Submission | None]) -> None:
    """Pass the error to the callers of the group and of all later scripts, because no thread can run these scripts any
    more."""
    following: Submission | None
    for submission in group:
        submission.error = error
    wake(group)
    while (following := waiting.get()) is not None:
        following.error = error
        wake([following])


log = structlog.get_logger(__name__)

GROUP_SIZE = 64
GROUP_SECONDS = 0.010
#: The writer checkpoints SQLite's write-ahead log after more than `CHECKPOINT_BUSY` row changes. It does so after more
#: than `CHECKPOINT_IDLE` row changes if no script arrives for `MOMENT` seconds.
CHECKPOINT_IDLE = 2_000
CHECKPOINT_BUSY = 8_000
MOMENT = 0.02
#: SQLite waits at most this time (ms) for the lock of another program. Then the writer checks whether it must stop, and
#: waits again if not.
LOCK_SLICE_MS = 250
#: If the writer waits longer than this number of seconds for the lock, it logs a warning.
LOCK_PATIENCE = 5.0


class _TransactionEnded(Exception):
    """The error after which SQLite may have rolled back the transaction of a group, so that the group must run
    again."""


class Writer(threading.Thread):
    """The thread that uses the writing connection. While it runs, no other thread uses the connection."""

    def __init__(
        self,
        *,
        connection: sqlite3.Connection,
        session: SqliteSession,
        work: queue.SimpleQueue[Submission | None],
        sealing: Sealing,
        emergency: Emergency,
    ) -> None:
        super().__init__(name="arvis-writer", daemon=True)
        self._connection = connection
        self._session = session
        self._work = work
        self._sealing = sealing
        self._emergency = emergency
        self._transaction = SqlTransaction(session)
        self._claimer: Claimer | None = None
        self._changes_at_checkpoint = 0
        self._stopping = threading.Event()
        #: The calls that wait until the log is empty.
        self._emptying: queue.SimpleQueue[Submission] = queue.SimpleQueue()

    def empty_log(self, submission: Submission) -> None:
        """Empty the write-ahead log as soon as the waiting scripts are committed. The result of the submission is False
        if another reader still needs the log."""
        self._emptying.put(submission)

    def attend(self, claimer: Claimer | None) -> None:
        self._claimer = claimer

    def stop(self) -> None:
        """Tell the writer to finish the waiting scripts and to end. From now on it does not wait for another program's
        lock."""
        self._stopping.set()
        self._work.put(None)

    def run(self) -> None:
        group: list[Submission] = []
        try:
            self._connection.execute(f"PRAGMA busy_timeout = {LOCK_SLICE_MS}")
            while (first := self._next()) is not None:
                group = [first]
                try:
                    self._commit_group(group)
                except Exception as error:  # noqa: BLE001 any error: no caller has a result yet
                    self._serve_again(group, error.__cause__ if isinstance(error, _TransactionEnded) else error)
                wake(group)
                group = []
                if self._changes() > CHECKPOINT_BUSY:
                    self._checkpoint()
                self._empty_log()
            self._sealing.close()
        except BaseException as error:  # noqa: BLE001 any error: without a writer the daemon must end
            lost = store_lost(error)
            self._emergency.lost(lost)
            refuse_all(lost, group, self._work)
            close_abandoned(self._connection)

    def _next(self) -> Submission | None:
        if self._changes() > CHECKPOINT_IDLE:
            with contextlib.suppress(queue.Empty):
                return self._work.get(timeout=MOMENT)
            self._checkpoint()
        return self._work.get()

    # -- one group -----------------------------------------------------------------------------------------

    def _serve_again(self, group: list[Submission], error: BaseException | None) -> None:
        """Raise `error`, which ended the group, if it is fatal. Otherwise roll back the group and run its scripts one
        by one."""
        if error is not None and is_fatal(error):
            raise error
        self._roll_back()
        if is_locked(error):  # only while the store stops: do not wait again
            self._connection.execute("PRAGMA busy_timeout = 0")
        if is_full(error):
            self._emergency.make_room()
        self._commit_singly(group)

    def _commit_group(self, group: list[Submission]) -> None:
        """Run the first script and the scripts that already wait, then commit once."""
        self._begin()
        deadline = time.monotonic() + GROUP_SECONDS
        self._run_in_savepoint(group[0], first=True)
        while len(group) < GROUP_SIZE and time.monotonic() < deadline:
            try:
                following = self._work.get_nowait()
            except queue.Empty:
                break
            if following is None:
                self._work.put(None)
                break
            group.append(following)
            self._run_in_savepoint(following)
        claim_and_commit(self._claimer, self._session.notices, self._transaction.jobs, self._session.commit)

    def _run_in_savepoint(self, submission: Submission, *, first: bool = False) -> None:
        """Run a script of a group so that its error affects no other script. The first script needs no savepoint: if it
        fails, the transaction contains nothing else and begins again."""
        mark = self._session.notices.mark()
        if not first:
            self._connection.execute("SAVEPOINT script")
        try:
            submission.result = run_script(submission.script, self._transaction)
        except BaseException as error:  # a script's error goes to its caller, and the writer continues
            if not self._connection.in_transaction or is_full(error) or is_fatal(error):
                raise _TransactionEnded from error
            submission.error = as_store_error(error)
            if first:
                self._roll_back()
                self._begin()
            else:
                self._connection.execute("ROLLBACK TO script")
                self._session.notices.back_to(mark)
        if not first:
            self._connection.execute("RELEASE script")

    def _commit_singly(self, group: list[Submission]) -> None:
        """Run and commit each script separately, so that a script that cannot be committed does not affect the
        others."""
        for submission in group:
            submission.error = None
            try:
                self._begin()
                submission.result = run_script(submission.script, self._transaction)
                claim_and_commit(self._claimer, self._session.notices, self._transaction.jobs, self._session.commit)
            except BaseException as error:  # a script's error goes to its caller, unless it is fatal
                if is_fatal(error):
                    raise
                self._roll_back()
                submission.error = as_store_error(error)

    def _begin(self) -> None:
        """Begin a transaction. If another program holds the lock, wait and try again."""
        self._session.notices = Notices()
        since, said = time.monotonic(), False
        while True:
            try:
                self._session.begin_write()
                break
            except sqlite3.OperationalError as error:
                if not is_locked(error) or self._stopping.is_set():
                    raise
            if not said and time.monotonic() - since >= LOCK_PATIENCE:
                said = True
                log.warning("database_locked", why="another program has locked the database", fix="Stop that program.")
        if said:
            log.info("database_unlocked", seconds=round(time.monotonic() - since, 1))

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _changes(self) -> int:
        return self._connection.total_changes - self._changes_at_checkpoint

    def _empty_log(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                submission = self._emptying.get_nowait()
                submission.result = self._sealing.empty_log()
                wake([submission])

    def _checkpoint(self) -> None:
        self._sealing.fold()
        self._changes_at_checkpoint = self._connection.total_changes


CONNECTIONS = 2


class SqliteSnapshots:
    """Implements `Snapshots` for one database file. Each connection is opened when a page first needs it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queries = load_queries(SqliteDialect())
        self._idle: asyncio.LifoQueue[aiosqlite.Connection | None] = asyncio.LifoQueue()
        for _ in range(CONNECTIONS):
            self._idle.put_nowait(None)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Snapshot]:
        connection = await self._idle.get()
        try:
            if connection is None:
                connection = await self._open()
            try:
                # This is inside the `try`, because a caller that is cancelled here may already have begun a
                # transaction.
                await connection.execute("BEGIN")
                yield _SqliteSnapshot(connection, self._queries)
            finally:
                await connection.rollback()
        finally:
            self._idle.put_nowait(connection)

    async def close(self) -> None:
        for _ in range(CONNECTIONS):
            connection = await self._idle.get()
            if connection is not None:
                await connection.close()

    async def _open(self) -> aiosqlite.Connection:
        connection = await aiosqlite.connect(self._path, isolation_level=None)
        connection.row_factory = sqlite3.Row
        try:
            await connection.create_function("differing_signs", 2, differing_signs, deterministic=True)
            await connection.execute("PRAGMA query_only = ON")
            await connection.execute("PRAGMA busy_timeout = 5000")
        except BaseException:  # including a cancellation: no other code has the connection yet
            await connection.close()
            raise
        return connection


class _SqliteSnapshot:
    full_text = SqliteFullText()

    def __init__(self, connection: aiosqlite.Connection, queries: Mapping[str, str]) -> None:
        self._connection = connection
        self._queries = queries

    async def rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        return list(await self._connection.execute_fetchall(self._queries[query], parameters))


P = ParamSpec("P")
R = TypeVar("R")

READERS = 2


class SqliteStore:
    """Implements `Store` on a database file that no other process writes. Call `start` before use and `stop` at the
    end."""

    shared = False

    def __init__(self, *, path: Path, blobs: Blobs, new_id: IdMaker, emergency: Emergency) -> None:
        cache, histories = ReferenceCache(), HistoryCache()

        def session_of(connection: sqlite3.Connection) -> SqliteSession:
            return SqliteSession(connection=connection, new_id=new_id, cache=cache, histories=histories)

        connection = connect(path, writing=True)
        self._writes: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self._writer = Writer(
            connection=connection,
            session=session_of(connection),
            work=self._writes,
            sealing=Sealing(connection=connection, file=path),
            emergency=emergency,
        )
        self._reads: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self._readers = [
            Reader(
                connection=reading,
                session=session_of(reading),
                work=self._reads,
                emergency=emergency,
            )
            for reading in (connect(path, writing=False) for _ in range(READERS))
        ]
        self._blobs = blobs
        self._cache, self._histories = cache, histories
        self._callers: Callers | None = None
        self._closed = False

    def start(self) -> None:
        self._writer.start()
        for reader in self._readers:
            reader.start()

    async def stop(self) -> None:
        """Finish the waiting scripts, write the write-ahead log into the database file, and close the database."""
        self._closed = True
        for _ in self._readers:
            self._reads.put(None)
        for reader in self._readers:
            await asyncio.to_thread(reader.join)
        self._writer.stop()
        await asyncio.to_thread(self._writer.join)

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        submission = self._submission(script, *args, **kwargs)
        self._writes.put(submission)
        result: R = await submission.future
        return result

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        submission = self._submission(script, *args, **kwargs)
        self._reads.put(submission)
        result: R = await submission.future
        return result

    def attend(self, claimer: Claimer | None) -> None:
        self._writer.attend(claimer)

    async def wait_for_change(self, timeout: float) -> bool:
        await asyncio.sleep(timeout)
        return False

    async def put_blob(self, data: bytes) -> str:
        return await self._blobs.put(data)

    async def get_blob(self, sha256: str) -> bytes | None:
        return await self._blobs.get(sha256)

    async def delete_blob(self, sha256: str) -> None:
        await asyncio.to_thread(self._blobs.delete, sha256)

    async def overwrite_deleted(self) -> bool:
        """Empty the caches and the write-ahead log, which still contain deleted texts. SQLite itself overwrites deleted
        rows in the database file (`secure_delete`). Return False if another reader still needs the log."""
        self._histories.forget()
        self._cache.forget()
        submission = self._submission(lambda _: None)
        self._writer.empty_log(submission)
        await self.write(lambda _: None)
        emptied: bool = await submission.future
        return emptied

    def _submission(
        self, script: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> Submission:
        if self._closed:
            raise store_closed()
        loop = asyncio.get_running_loop()
        callers = self._callers
        if callers is None or callers.loop is not loop:
            callers = self._callers = Callers(loop)
        return Submission(lambda transaction: script(transaction, *args, **kwargs), callers, loop.create_future())


class Reader(threading.Thread):
    """A thread that runs read-only scripts. Each script has its own snapshot, which ends with the script."""

    def __init__(
        self,
        *,
        connection: sqlite3.Connection,
        session: SqliteSession,
        work: queue.SimpleQueue[Submission | None],
        emergency: Emergency,
    ) -> None:
        super().__init__(name="arvis-reader", daemon=True)
        self._connection = connection
        self._session = session
        self._transaction = SqlTransaction(session)
        self._work = work
        self._emergency = emergency

    def run(self) -> None:
        group: list[Submission] = []
        try:
            while (submission := self._work.get()) is not None:
                group = [submission]
                self._serve(submission)
                wake(group)
                group = []
            self._connection.close()
        except BaseException as error:  # noqa: BLE001 any error: callers must not wait for a reader that has ended
            lost = store_lost(error)
            self._emergency.lost(lost)
            refuse_all(lost, group, self._work)
            close_abandoned(self._connection)

    def _serve(self, submission: Submission) -> None:
        try:
            self._session.begin_read()
            submission.result = run_script(submission.script, self._transaction)
        except BaseException as error:  # a script's error goes to its caller, and the reader continues
            if is_fatal(error):
                raise
            submission.error = as_store_error(error)
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
