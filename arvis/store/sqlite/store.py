"""The store on SQLite: one writer thread, a few reader threads, blobs beside the database."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from arvis.ports.job_store import Claimer
from arvis.ports.store import Transaction
from arvis.store.blobs import Blobs
from arvis.store.sql.scripts import store_closed
from arvis.store.sql.session import IdMaker, SqliteDialect, load_queries
from arvis.store.sqlite.checkpoint import Sealing
from arvis.store.sqlite.errors import Emergency, as_store_error, is_fatal, store_lost
from arvis.store.sqlite.session import SqliteSession, close_abandoned, connect
from arvis.store.sqlite.writer import Submission, Writer, refuse_all, wake_waiters
from arvis.store.transaction import SqlTransaction

P = ParamSpec("P")
R = TypeVar("R")

READERS = 2


class SqliteStore:
    """`Store` on one database file that no other process writes. Call `start` before use, `stop` at the end."""

    shared = False

    def __init__(self, *, path: Path, blobs: Blobs, new_id: IdMaker, emergency: Emergency) -> None:
        queries = load_queries(SqliteDialect())
        connection = connect(path, writing=True)
        self._writer = Writer(
            connection=connection,
            session=SqliteSession(connection=connection, queries=queries, new_id=new_id),
            sealing=Sealing(connection=connection, file=path),
            emergency=emergency,
        )
        self._reads: queue.SimpleQueue[Submission | None] = queue.SimpleQueue()
        self._readers = [
            Reader(
                connection=reading,
                session=SqliteSession(connection=reading, queries=queries, new_id=new_id),
                work=self._reads,
                emergency=emergency,
            )
            for reading in (connect(path, writing=False) for _ in range(READERS))
        ]
        self._blobs = blobs
        self._closed = False

    def start(self) -> None:
        self._writer.start()
        for reader in self._readers:
            reader.start()

    async def stop(self) -> None:
        """Commit waiting scripts, write the log into the database and close."""
        self._closed = True
        for _ in self._readers:
            self._reads.put(None)
        for reader in self._readers:
            await asyncio.to_thread(reader.join)
        self._writer.stop()
        await asyncio.to_thread(self._writer.join)

    async def write(self, script: Callable[Concatenate[Transaction, P], R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        submission = self._submission(script, *args, **kwargs)
        self._writer.submit(submission)
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

    def _submission(
        self, script: Callable[Concatenate[Transaction, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> Submission:
        if self._closed:
            raise store_closed()
        loop = asyncio.get_running_loop()
        return Submission(lambda transaction: script(transaction, *args, **kwargs), loop, loop.create_future())


class Reader(threading.Thread):
    """Runs read-only scripts, each in a separate snapshot that is released immediately."""

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
        self._transaction = SqlTransaction(session)
        self._work = work
        self._emergency = emergency

    def run(self) -> None:
        group: list[Submission] = []
        try:
            while (submission := self._work.get()) is not None:
                group = [submission]
                self._serve(submission)
                wake_waiters(group)
                group = []
            self._connection.close()
        except BaseException as error:  # noqa: BLE001 any error: no caller may wait for a dead reader
            lost = store_lost(error)
            self._emergency.lost(lost)
            refuse_all(lost, group, self._work)
            close_abandoned(self._connection)

    def _serve(self, submission: Submission) -> None:
        try:
            self._connection.execute("BEGIN")
            submission.run(self._transaction)
        except BaseException as error:  # whatever a script throws is its caller's: the reader lives on
            if is_fatal(error):
                raise
            submission.error = as_store_error(error)
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
