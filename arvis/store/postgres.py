"""The store on PostgreSQL, for when one machine is outgrown: the same scripts, the same SQL, real concurrency.

Each script is a transaction of its own at READ COMMITTED; the server groups the commits. A deadlock or a lost race
for a unique key runs the script again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg
from psycopg.rows import DictRow, dict_row

from arvis.domain.errors import StoreError, Unavailable
from arvis.ports.job_store import Claimer
from arvis.ports.store import Transaction
from arvis.store.scripts import claim_and_commit, run_script, store_closed
from arvis.store.session import IdMaker, Notices, PostgresDialect, Row, load_queries
from arvis.store.transaction import SqlTransaction

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
A = ParamSpec("A")

CONNECTIONS = 8
ATTEMPTS = 20
CHANNEL = "arvis_queue"
#: One notification for all that commits within this time (seconds): one inside each commit serialises them.
BURST = 0.02

AGAIN = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure, psycopg.errors.UniqueViolation)


class PostgresSession:
    """The session of one connection."""

    locks_rows = True

    def __init__(self, *, connection: psycopg.Connection[DictRow], queries: Mapping[str, str], new_id: IdMaker) -> None:
        self.connection = connection
        self._queries = queries
        self.new_id = new_id
        self.notices = Notices()
        self.committing = False

    def rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        return self._run(query, parameters).fetchall()

    def one(self, query: str, **parameters: Any) -> Row | None:
        return self._run(query, parameters).fetchone()

    def execute(self, query: str, **parameters: Any) -> int:
        return self._run(query, parameters).rowcount

    def commit(self) -> None:
        """From here on nobody knows whether the transaction happened, until the server says so."""
        self.committing = True
        self.connection.commit()

    def _run(self, query: str, parameters: Mapping[str, Any]) -> psycopg.Cursor[DictRow]:
        values = {name: value.value if isinstance(value, Enum) else value for name, value in parameters.items()}
        return self.connection.execute(self._queries[query].encode(), values)


class PostgresStore:
    """`Store` on a server that other processes use, too, which share no folder with us: blobs lie in a table. `name`
    (the boot id) marks our own notifications."""

    shared = True

    def __init__(self, *, url: str, name: str, new_id: IdMaker) -> None:
        self._url = url
        self._name = name
        self._new_id = new_id
        self._queries = load_queries(PostgresDialect())
        self._threads = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="arvis-postgres")
        self._local = threading.local()
        self._sessions: list[PostgresSession] = []
        self._claimer: Claimer | None = None
        self._listener: psycopg.AsyncConnection[Any] | None = None
        self._announcing = False
        self._closed = False
        self._announcement: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Connections are made by the threads that need them."""

    async def stop(self) -> None:
        """Finish what waits, tell the others what is left to do, and close."""
        self._closed = True
        if self._announcing:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._notify)
        await asyncio.to_thread(self._threads.shutdown)
        for session in self._sessions:
            session.connection.close()
        if self._listener is not None:
            await self._listener.close()

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        result, left = await self._in_thread(self._write, lambda tx: script(tx, *args, **kwargs))
        if left and not self._announcing:
            self._announcing = True
            loop = asyncio.get_running_loop()
            loop.call_later(BURST, self._announce, loop)
        return result

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
            raise _unreachable(error) from error
        return False

    async def put_blob(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        await self._in_thread(self._put_blob, name, data)
        return name

    async def get_blob(self, sha256: str) -> bytes | None:
        return await self._in_thread(self._get_blob, sha256)

    async def _in_thread(self, work: Callable[A, T], *args: A.args, **kwargs: A.kwargs) -> T:
        if self._closed:
            raise store_closed()
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(work, *args, **kwargs))

    # -- in the threads ------------------------------------------------------------------------------------

    def _write(self, script: Callable[[Transaction], R]) -> tuple[R, bool]:
        """What the script returned, and whether there is something to do for other processes."""
        for attempt in range(ATTEMPTS):
            session = self._session()
            try:
                return self._attempt(session, script)
            except AGAIN as error:
                self._leave(session)
                if attempt == ATTEMPTS - 1:
                    raise _refused(error) from error
                time.sleep(random.uniform(0, 0.005 * (attempt + 1)))  # noqa: S311 spreads rivals, keeps no secret
            except psycopg.OperationalError as error:
                self._leave(session)
                # The server went away before the commit was sent: nothing was done, a new connection may do it.
                if session.committing or not session.connection.closed:
                    raise _refused(error) from error
            except psycopg.Error as error:
                self._leave(session)
                raise _refused(error) from error
            except BaseException:
                self._leave(session)
                raise
        raise StoreError("PostgreSQL keeps closing its connections", fix="look into the server's log")

    def _attempt(self, session: PostgresSession, script: Callable[[Transaction], R]) -> tuple[R, bool]:
        session.committing = False
        notices = session.notices
        notices.clear()
        transaction = SqlTransaction(session)
        result = run_script(script, transaction)
        claimed = claim_and_commit(self._claimer, notices, transaction.jobs, session.commit)
        return result, notices.heads > len(claimed)

    def _read(self, script: Callable[[Transaction], R]) -> R:
        session = self._session()
        try:
            session.connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return run_script(script, SqlTransaction(session))
        except psycopg.Error as error:
            raise _refused(error) from error
        finally:
            self._leave(session)

    def _put_blob(self, name: str, data: bytes) -> None:
        session = self._session()
        try:
            session.execute("put_blob", sha256=name, data=data)
            session.commit()
        except psycopg.Error as error:
            raise _refused(error) from error
        finally:
            self._leave(session)

    def _get_blob(self, name: str) -> bytes | None:
        session = self._session()
        try:
            row = session.one("get_blob", sha256=name)
            session.commit()
            return None if row is None else bytes(row["data"])
        except psycopg.Error as error:
            raise _refused(error) from error
        finally:
            self._leave(session)

    def _session(self) -> PostgresSession:
        """This thread's connection, made anew when the last one broke."""
        session: PostgresSession | None = getattr(self._local, "session", None)
        if session is None or session.connection.closed:
            try:
                connection = psycopg.connect(self._url, row_factory=dict_row)
            except psycopg.Error as error:
                raise _unreachable(error) from error
            session = PostgresSession(connection=connection, queries=self._queries, new_id=self._new_id)
            self._local.session = session
            self._sessions.append(session)
        return session

    def _leave(self, session: PostgresSession) -> None:
        """End the transaction; a connection that cannot even roll back is closed."""
        try:
            session.connection.rollback()
        except psycopg.Error:
            session.connection.close()
        if session.connection.closed:
            self._sessions.remove(session)

    # -- notifications -------------------------------------------------------------------------------------

    def _announce(self, loop: asyncio.AbstractEventLoop) -> None:
        self._announcing = False
        with contextlib.suppress(RuntimeError):  # the threads are already shut down
            self._announcement = loop.run_in_executor(self._threads, self._notify)

    def _notify(self) -> None:
        # A lost notice costs the others five seconds, not a message: they look by themselves.
        with contextlib.suppress(psycopg.Error, StoreError):
            session = self._session()
            session.connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, self._name))
            session.connection.commit()


def _unreachable(error: psycopg.Error) -> Unavailable:
    return Unavailable("PostgreSQL cannot be reached", why=str(error), fix="check `database` in the configuration")


def _refused(error: psycopg.Error) -> StoreError:
    return StoreError("The database refused a statement", why=str(error), fix="run `arvis doctor`")
