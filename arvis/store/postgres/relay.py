"""Sends notices between processes with PostgreSQL's LISTEN and NOTIFY. This needs no table and does not wait for the
disk. Notices that arrive while others are being sent are sent together afterwards, which saves transactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager

import psycopg

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import DatabaseAway, StoreError
from arvis.ports.bus import Topic
from arvis.store.postgres.errors import with_options

#: PostgreSQL limits payloads to less than 8,000 bytes.
_PAYLOAD_BYTES = 7_900
#: After this number of seconds without a notification, the relay checks the connection. A connection whose other end
#: has vanished reports no error by itself.
_SILENCE = 30.0


@dataclass(frozen=True, slots=True)
class _Waiting:
    topic: Topic
    notice: str
    sent: asyncio.Future[None] | None


class PostgresRelay:
    """Implements the port `Relay` with two separate connections: one sends, the other listens. `name` (the boot id)
    marks the notices of this process. The process ignores the notices with its own name."""

    def __init__(self, *, url: str, name: str) -> None:
        self._url = with_options(url)
        self._name = name
        self._waiting: list[_Waiting] = []
        self._sending: asyncio.Task[None] | None = None
        self._connection: psycopg.AsyncConnection | None = None

    def post(self, topic: Topic, notice: str) -> None:
        self._send(_Waiting(topic, notice, None))

    async def tell(self, topic: Topic, notice: str) -> None:
        sent = asyncio.get_running_loop().create_future()
        self._send(_Waiting(topic, notice, sent))
        await sent

    @asynccontextmanager
    async def listen(self, topics: Collection[Topic]) -> AsyncIterator[AsyncIterator[Sequence[str]]]:
        try:
            async with await psycopg.AsyncConnection.connect(self._url, autocommit=True) as connection:
                for topic in topics:
                    await connection.execute(f"LISTEN {_channel(topic)}")
                yield self._heard(connection)
        except psycopg.Error as error:
            raise _broken(error) from error

    async def close(self) -> None:
        """Send the waiting notices, then disconnect."""
        if self._sending is not None:
            await self._sending
        if self._connection is not None:
            await self._connection.close()

    async def _heard(self, connection: psycopg.AsyncConnection) -> AsyncIterator[Sequence[str]]:
        while True:
            async for notification in connection.notifies(timeout=_SILENCE):
                name, *notices = notification.payload.split("\n")
                if name != self._name:
                    yield notices
            await connection.execute("SELECT 1")

    def _send(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_all())

    async def _send_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await self._notify(batch)
            except psycopg.Error as error:
                failure: StoreError | None = _broken(error)
            else:
                failure = None
            for waiting in batch:
                _resolve(waiting.sent, failure)

    async def _notify(self, batch: Sequence[_Waiting]) -> None:
        if self._connection is None or self._connection.closed:
            self._connection = await psycopg.AsyncConnection.connect(self._url, autocommit=True)
        payloads = list(_packed(batch, self._name))
        await self._connection.execute(
            "SELECT pg_notify(channel, payload) FROM unnest(%s::text[], %s::text[]) AS packed (channel, payload)",
            ([_channel(topic) for topic, _ in payloads], [payload for _, payload in payloads]),
        )


def _packed(batch: Sequence[_Waiting], name: str) -> Iterator[tuple[Topic, str]]:
    """Yield the notices as payloads, as few as possible and in order within each topic. A payload consists of the name
    of the sender and the notices, one on each line."""
    for topic in Topic:
        payload, size = [name], len(name)
        for notice in (waiting.notice for waiting in batch if waiting.topic is topic):
            length = len(notice.encode()) + 1
            if size + length > _PAYLOAD_BYTES:
                yield topic, "\n".join(payload)
                payload, size = [name], len(name)
            payload.append(notice)
            size += length
        if len(payload) > 1:
            yield topic, "\n".join(payload)


def _resolve(sent: asyncio.Future[None] | None, failure: StoreError | None) -> None:
    """Wake the caller of `tell` that waits for the end of this transmission. `sent` is None for a notice from `post`.
    `sent` is already done if the caller was cancelled."""
    if sent is None or sent.done():
        return
    if failure is not None:
        sent.set_exception(failure)
    else:
        sent.set_result(None)


def _channel(topic: Topic) -> str:
    return f"arvis_{topic}"


def _broken(error: psycopg.Error) -> StoreError:
    """Return the error for a broken connection. A new connection is opened for the next notices."""
    return DatabaseAway(
        "Processes cannot notify one another through PostgreSQL", why=str(error), fix="check the PostgreSQL server"
    )
