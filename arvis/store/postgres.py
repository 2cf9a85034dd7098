"""The store on PostgreSQL, for when one machine is outgrown: the same scripts, the same SQL, real concurrency.

Each script is a transaction of its own at READ COMMITTED; the server groups the commits. A deadlock or a lost race
for a unique key runs the script again.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg
from psycopg.rows import DictRow, dict_row

from arvis.domain.errors import StoreError
from arvis.domain.jobs import Job
from arvis.ports.job_store import Claimer, Slots
from arvis.ports.store import Transaction
from arvis.store.blobs import Blobs
from arvis.store.session import IdMaker, Notices, PostgresDialect, Row, load_queries
from arvis.store.transaction import SqlTransaction
from arvis.store.writer import checked

P = ParamSpec("P")
R = TypeVar("R")

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

    def rows(self, query: str, **parameters: Any) -> Sequence[Row]:
        return self._run(query, parameters).fetchall()

    def one(self, query: str, **parameters: Any) -> Row | None:
        return self._run(query, parameters).fetchone()

    def execute(self, query: str, **parameters: Any) -> int:
        return self._run(query, parameters).rowcount

    def _run(self, query: str, parameters: Mapping[str, Any]) -> psycopg.Cursor[DictRow]:
        values = {name: value.value if isinstance(value, Enum) else value for name, value in parameters.items()}
        return self.connection.execute(self._queries[query].encode(), values)


class PostgresStore:
    """`Store` on a server that other processes use, too. `name` (the boot id) marks our own notifications."""

    shared = True

    def __init__(self, *, url: str, name: str, blobs: Blobs, new_id: IdMaker) -> None:
        self._url = url
        self._name = name
        self._blobs = blobs
        self._new_id = new_id
        self._queries = load_queries(PostgresDialect())
        self._threads = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="arvis-postgres")
        self._local = threading.local()
        self._sessions: list[PostgresSession] = []
        self._claimer: Claimer | None = None
        self._listener: psycopg.AsyncConnection[Any] | None = None
        self._announcing = False
        self._announcement: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Connections are made by the threads that need them."""

    async def stop(self) -> None:
        await asyncio.to_thread(self._threads.shutdown)
        for session in self._sessions:
            session.connection.close()
        if self._listener is not None:
            await self._listener.close()

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        loop = asyncio.get_running_loop()
        result, touched = await loop.run_in_executor(
            self._threads, self._write, lambda transaction: script(transaction, *args, **kwargs)
        )
        if touched and not self._announcing:
            self._announcing = True
            loop.call_later(BURST, self._announce, loop)
        return result

    async def read(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._threads, self._read, lambda transaction: script(transaction, *args, **kwargs)
        )

    def attend(self, claimer: Claimer | None) -> None:
        self._claimer = claimer

    async def wait_for_change(self, timeout: float) -> bool:
        if self._listener is None or self._listener.closed:
            self._listener = await psycopg.AsyncConnection.connect(self._url, autocommit=True)
            await self._listener.execute(f"LISTEN {CHANNEL}")
        async for notice in self._listener.notifies(timeout=timeout):
            if notice.payload != self._name:
                return True
        return False

    async def put_blob(self, data: bytes) -> str:
        return await self._blobs.put(data)

    # -- in the threads ------------------------------------------------------------------------------------

    def _write(self, script: Callable[[Transaction], R]) -> tuple[R, bool]:
        for attempt in range(ATTEMPTS):
            session = self._session()
            try:
                return self._attempt(session, script), session.notices.touched
            except AGAIN as error:
                session.connection.rollback()
                if attempt == ATTEMPTS - 1:
                    raise StoreError("The database refused a statement", why=str(error)) from error
                time.sleep(random.uniform(0, 0.005 * (attempt + 1)))  # noqa: S311 spreads rivals, keeps no secret
            except psycopg.Error as error:
                self._give_up(session)
                raise StoreError("The database refused a statement", why=str(error)) from error
            except BaseException:
                session.connection.rollback()
                raise
        raise AssertionError

    def _attempt(self, session: PostgresSession, script: Callable[[Transaction], R]) -> R:
        notices = session.notices
        notices.clear()
        transaction = SqlTransaction(session)
        result: R = checked(script(transaction))
        claimer = self._claimer if notices.touched or notices.ended else None
        reserved = claimer.reserve(notices.ended) if claimer else Slots(0, 0, 0)
        jobs: list[Job] = []
        try:
            if claimer and reserved:
                claimed = transaction.jobs.claim(reserved, *claimer.lease())
                session.connection.commit()
                jobs = claimed
            else:
                session.connection.commit()
        finally:
            if claimer:
                claimer.deliver(reserved, jobs)
        if self._claimer and notices.due_at is not None:
            self._claimer.due(notices.due_at)
        return result

    def _read(self, script: Callable[[Transaction], R]) -> R:
        session = self._session()
        try:
            session.connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return checked(script(SqlTransaction(session)))  # type: ignore[no-any-return]
        except psycopg.Error as error:
            self._give_up(session)
            raise StoreError("The database refused a statement", why=str(error)) from error
        finally:
            if not session.connection.closed:
                session.connection.rollback()

    def _session(self) -> PostgresSession:
        """This thread's connection, made anew when the last one broke."""
        session: PostgresSession | None = getattr(self._local, "session", None)
        if session is None or session.connection.closed:
            try:
                connection = psycopg.connect(self._url, row_factory=dict_row)
            except psycopg.Error as error:
                raise StoreError(
                    "PostgreSQL cannot be reached", why=str(error), fix="check `database` in the configuration"
                ) from error
            session = PostgresSession(connection=connection, queries=self._queries, new_id=self._new_id)
            self._local.session = session
            self._sessions.append(session)
        return session

    def _give_up(self, session: PostgresSession) -> None:
        """Leave the failed transaction; a connection that cannot even roll back is closed."""
        try:
            session.connection.rollback()
        except psycopg.Error:
            session.connection.close()
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
