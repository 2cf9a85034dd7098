"""The port of a daemon that waits for its database: `/health` reports this, and every other path answers 503.

It parses only the first line of a request and keeps no connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from arvis import __version__

#: The maximum size in bytes and the maximum time in seconds of a request.
_MOST_BYTES = 16_384
_TIMEOUT = 5.0

_HEALTH = {"status": "waiting_for_database", "version": __version__}
_AWAY = {
    "error": {
        "code": "unavailable",
        "message": "The database is not available.",
        "fix": "Send it again in a moment.",
    }
}


@asynccontextmanager
async def answering_while_waiting(host: str, port: int) -> AsyncIterator[None]:
    """Answer on this address until the block ends. If the address is in use, the real server reports it later."""
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
