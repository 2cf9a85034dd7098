"""The store on PostgreSQL, for loads beyond one machine: the same scripts and SQL as on SQLite, but concurrent writers.

Each script is a separate transaction at READ COMMITTED. The script runs again after a deadlock, after a conflict over a
unique key, and after a connection that broke before the commit. If the connection broke during the commit, the store
waits until the server can be reached again, and asks it whether the commit happened (`was_committed`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import psycopg

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import DatabaseAway, StoreError
from arvis.ports.job_store import Claimer
from arvis.ports.store import Transaction
from arvis.store.postgres.errors import AGAIN, failure, must_reconnect, unreachable, with_options
from arvis.store.postgres.session import Mark, PostgresSession, Queries, connect
from arvis.store.sql.session import IdMaker, Notices
from arvis.store.transaction import Claim, CommitUnknown, SqlTransaction, claim_and_commit, run_script, store_closed

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
A = ParamSpec("A")

CONNECTIONS = 8
ATTEMPTS = 20
#: The number of connections that may break during one script before the script fails.
BREAKS = 3
CHANNEL = "arvis_queue"
#: Commits within this number of seconds share one notification to other processes. If each commit contained a
#: notification, the commits would wait for one another.
BURST = 0.02
#: After a failed attempt to connect, other attempts within this number of seconds fail at once with the same error.
DIAL_PAUSE = 0.25
#: The number of seconds between two queries that ask whether a commit happened.
ASK_PAUSE = 0.25


@dataclass(frozen=True, slots=True)
class _Written(Generic[R]):
    """The result of a script, and the state of its commit."""

    result: R
    #: True if the commit left jobs that other processes can claim.
    left: bool
    #: None if the commit happened. If its outcome is unknown: a future whose result is True if the commit happened.
    settled: Future[bool] | None = None


class PostgresStore:
    """Implements `Store` on a server that several processes share. Blobs are in a table, because these processes share
    no folder. `name` (the boot id) marks the notifications of this process, so that the process ignores its own
    notifications."""

    shared = True

    def __init__(self, *, url: str, name: str, new_id: IdMaker) -> None:
        self._url = with_options(url)
        self._name = name
        self._new_id = new_id
        self._queries = Queries()
        self._threads = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="arvis-postgres")
        self._local = threading.local()
        self._sessions: list[PostgresSession] = []
        self._numbers = itertools.count(1)
        self._undialled: tuple[float, psycopg.Error] | None = None
        self._claimer: Claimer | None = None
        self._listener: psycopg.AsyncConnection[Any] | None = None
        self._announcing = False
        self._closed = False
        self._announcement: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Do nothing: each thread opens its connection before its first script."""

    async def stop(self) -> None:
        """Finish the waiting scripts, notify other processes of the jobs that can be claimed, and close all
        connections."""
        self._closed = True
        if self._announcing:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._notify)
        await asyncio.to_thread(self._threads.shutdown)
        for session in self._sessions:
            session.close()
        if self._listener is not None:
            await self._listener.close()

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        loop = asyncio.get_running_loop()
        while True:
            written = await self._in_thread(self._write, lambda tx: script(tx, *args, **kwargs), loop)
            if written.settled is None or await asyncio.shield(asyncio.wrap_future(written.settled)):
                break
        if written.left and not self._announcing:
            self._announcing = True
            loop.call_later(BURST, self._announce, loop)
        return written.result

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._in_thread(self._read, lambda tx: script(tx, *args, **kwargs))

    def attend(self, claimer: Claimer | None) -> None:
        self._claimer = claimer

    async def wait_for_change(self, timeout: float) -> bool:
        try:
            if self._listener is None or self._listener.closed:
                self._listener = await psycopg.AsyncConnection.connect(self._url, autocommit=True)
                await self._listener.execute(f"LISTEN {CHANNEL}")
            async for notice in self._listener.notifies(timeout=timeout):
                if notice.payload != self._name:
                    return True
        except psycopg.Error as error:
            raise unreachable(error) from error
        return False

    async def put_blob(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        await self._in_thread(self._alone, lambda session: session.execute("put_blob", sha256=name, data=data))
        return name

    async def get_blob(self, sha256: str) -> bytes | None:
        row = await self._in_thread(self._alone, lambda session: session.one("get_blob", sha256=sha256))
        return None if row is None else bytes(row["data"])

    async def delete_blob(self, sha256: str) -> None:
        await self._in_thread(self._alone, lambda session: session.execute("erase_blob", sha256=sha256))

    async def overwrite_deleted(self) -> bool:
        """Remove deleted rows from the tables. PostgreSQL reuses their space and does not overwrite it at once."""
        await self._in_thread(self._alone, lambda session: session.vacuum())
        return True

    async def _in_thread(self, work: Callable[A, T], *args: A.args, **kwargs: A.kwargs) -> T:
        if self._closed:
            raise store_closed()
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))

    # -- in the threads ------------------------------------------------------------------------------------

    def _write(self, script: Callable[[Transaction], R], loop: asyncio.AbstractEventLoop) -> _Written[R]:
        for attempt in range(ATTEMPTS):
            try:
                return self._unbroken(partial(self._attempt, script, loop))
            except AGAIN as error:
                if attempt == ATTEMPTS - 1:
                    raise failure(error) from error
                time.sleep(random.uniform(0, 0.005 * (attempt + 1)))  # noqa: S311 a delay, not a secret
        raise AssertionError("the last attempt returns or raises")

    def _attempt(
        self, script: Callable[[Transaction], R], loop: asyncio.AbstractEventLoop, session: PostgresSession
    ) -> _Written[R]:
        notices = session.notices = Notices()
        session.begin()
        transaction = SqlTransaction(session)
        result = run_script(script, transaction)
        try:
            claimed = claim_and_commit(self._claimer, notices, transaction.jobs, session.commit)
        except CommitUnknown as unknown:
            # This thread starts `_settle`, because the claim must be settled even if the caller of the script was
            # cancelled.
            settled = asyncio.run_coroutine_threadsafe(self._settle(session.mark, unknown.claim), loop)
            taken = len(unknown.claim.jobs) if unknown.claim else 0
            return _Written(result, notices.heads > taken, settled)
        return _Written(result, notices.heads > len(claimed))

    def _read(self, script: Callable[[Transaction], R]) -> R:
        def attempt(session: PostgresSession) -> R:
            session.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return run_script(script, SqlTransaction(session))

        try:
            return self._unbroken(attempt)
        except AGAIN as error:
            raise failure(error) from error

    def _alone(self, work: Callable[[PostgresSession], T]) -> T:
        """Run a single statement as a separate transaction. The statement must be safe to repeat."""
        return self._unbroken(work)

    def _unbroken(self, work: Callable[[PostgresSession], T]) -> T:
        """Run `work` on this thread's connection. If the connection breaks before the commit, run `work` again on a new
        connection. Errors that a concurrent transaction caused (`AGAIN`) are raised unchanged."""
        breaks = 0
        while True:
            session = self._session()
            try:
                return work(session)
            except AGAIN:
                raise
            except psycopg.Error as error:
                breaks += 1
                if not session.connection.closed or breaks > BREAKS:
                    if must_reconnect(error):
                        session.close()
                    raise failure(error) from error
            finally:
                if not session.leave() and session in self._sessions:  # closed by `leave`
                    self._sessions.remove(session)

    def _session(self) -> PostgresSession:
        """Return the session of this thread. If the thread has no session, or if the connection broke, open a new
        session."""
        session: PostgresSession | None = getattr(self._local, "session", None)
        if session is None or session.connection.closed:
            session = self._dial()
            self._local.session = session
            self._sessions.append(session)
        return session

    def _dial(self) -> PostgresSession:
        if self._undialled is not None and time.monotonic() < self._undialled[0]:
            raise unreachable(self._undialled[1])
        try:
            session = connect(self._url, self._queries, self._new_id, f"{self._name}:{next(self._numbers)}")
        except psycopg.Error as error:
            self._undialled = time.monotonic() + DIAL_PAUSE, error
            raise unreachable(error) from error
        self._undialled = None
        return session

    # -- commits whose outcome is unknown --------------------------------------------------------------------

    async def _settle(self, mark: Mark, claim: Claim | None) -> bool:
        """Ask the server until it answers whether the commit happened. Then settle the claim and return the answer."""
        committed = False
        try:
            while True:
                try:
                    committed = await self._in_thread(self._was_committed, mark)
                except DatabaseAway:
                    await asyncio.sleep(ASK_PAUSE)
                else:
                    return committed
        finally:
            if claim is not None:
                claim.settle(committed=committed)

    def _was_committed(self, mark: Mark) -> bool:
        try:
            return self._unbroken(lambda session: session.was_committed(mark))
        except AGAIN as error:
            raise unreachable(error) from error

    # -- notifications -------------------------------------------------------------------------------------

    def _announce(self, loop: asyncio.AbstractEventLoop) -> None:
        self._announcing = False
        with contextlib.suppress(RuntimeError):  # the threads were shut down
            self._announcement = loop.run_in_executor(self._threads, self._notify)

    def _notify(self) -> None:
        # If a notification is lost, the other processes find the jobs at their next regular check, within five seconds.
        with contextlib.suppress(psycopg.Error, StoreError):
            session = self._session()
            session.connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, self._name))
