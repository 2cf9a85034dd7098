"""Opens the configured database. If the database is unavailable when the daemon starts, the daemon reports this, waits,
and continues when the database answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

import structlog

from arvis import __version__
from arvis.config import Config
from arvis.domain.errors import DatabaseAway
from arvis.process.service_manager import notify
from arvis.store.location import Database

T = TypeVar("T")

log = structlog.get_logger(__name__)


#: While the database cannot be reached, the daemon tries again every `_PAUSE` seconds, and logs the wait every
#: `_REPEAT` seconds.
_PAUSE = 1.0
_REPEAT = 60.0


def database_of(config: Config) -> Database:
    secret = config.backup.passphrase
    passphrase = None if secret is None else secret.get_secret_value()
    return Database(config.database_file, config.postgres_url, config.data_dir, config.backup.keep, passphrase)


class Stopped(Exception):
    """The signal that the daemon was stopped before its start was complete."""


class Reaching:
    """Repeats a step of the start until the database can be reached. If `stopping` is set, the repetition ends with the
    exception `Stopped`."""

    def __init__(self, *, config: Config, say: Callable[[str], None], stopping: asyncio.Event) -> None:
        self._config = config
        self._say = say
        self._stopping = stopping

    async def until_done(self, step: Callable[[], Awaitable[T]]) -> T:
        try:
            return await step()
        except DatabaseAway as away:
            return await self._wait(step, away)

    async def _wait(self, step: Callable[[], Awaitable[T]], away: DatabaseAway) -> T:
        loop = asyncio.get_running_loop()
        since, next_line = loop.time(), 0.0
        async with AsyncExitStack() as stack:
            if "web" in self._config.roles:
                web = self._config.web
                await stack.enter_async_context(answering_while_waiting(web.host, web.port))
            first, *_ = away.why.splitlines() or [""]  # the driver adds advice on further lines
            self._say(f"Arvis waits for its database: {away.what} ({first})")
            notify("STATUS=Waiting for the database")
            while True:
                if loop.time() >= next_line:
                    next_line = loop.time() + _REPEAT
                    log.warning("database_awaited", why=away.why, fix=away.fix, seconds=round(loop.time() - since))
                await self._pause()
                try:
                    done = await step()
                except DatabaseAway as still:
                    away = still
                else:
                    log.info("database_reached", seconds=round(loop.time() - since, 1))
                    return done

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(_PAUSE):
                await self._stopping.wait()
        except TimeoutError:
            return
        raise Stopped


# The web port while the daemon waits: `/health` reports the wait, and every other path answers 503. Only the first line
# of a request is parsed, and each connection is closed after the answer.

#: The maximum size in bytes and the maximum duration in seconds of a request.
_MOST_BYTES = 16_384
_TIMEOUT = 5.0

_HEALTH = {"status": "waiting_for_database", "version": __version__}
_AWAY = {
    "error": {
        "code": "unavailable",
        "message": "The database is not available.",
        "fix": "Send the request again in a few seconds.",
    }
}


@asynccontextmanager
async def answering_while_waiting(host: str, port: int) -> AsyncIterator[None]:
    """Answer requests at this address until the end of the block. If the address is in use, do nothing: the real server
    reports it later."""
    try:
        server = await asyncio.start_server(_answer, host, port, limit=_MOST_BYTES)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        server.close()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
        async with asyncio.timeout(_TIMEOUT):
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(_response(head.split(b"\r\n", 1)[0]))
            await writer.drain()
    writer.close()


def _response(request_line: bytes) -> bytes:
    healthy = request_line.split(b" ")[:2] == [b"GET", b"/health"]
    status, document = ("200 OK", _HEALTH) if healthy else ("503 Service Unavailable", _AWAY)
    body = json.dumps(document).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nRetry-After: 5\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
