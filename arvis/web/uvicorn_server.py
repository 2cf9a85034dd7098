"""uvicorn inside a daemon that has its own signals, sockets and clock.

It differs from uvicorn's own server in what costs an idle daemon its rest (a tick ten times a second), in what a
client that does not read can hold up (a closing connection, and with it the stop), and in what strangers may take:
a connection without a request, a large frame before they said who they are, the event loop for many tiny frames.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import resource
import socket
from asyncio.transports import BaseTransport
from collections.abc import Iterator
from typing import Any

import structlog
import uvicorn
from starlette.types import ASGIApp
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

#: Bytes that are read from a connection at once: what they hold is taken apart in one go, and thousands of tiny
#: frames or chunks would hold up the event loop. asyncio's own number is 256 KiB.
_PIECE = 16_384

#: Connections without a request, at most; and how often (seconds) it is said that none can be accepted.
_MOST_HALF_SENT = 4_096
_TELL_SECONDS = 60.0

log = structlog.get_logger(__name__)

#: Bytes of a frame from a client that has not said who it is.
_STRANGERS_FRAME = 65_536


class RequestProtocol(H11Protocol):
    """Gives up a connection on which no request arrives, however slowly its bytes do, and one whose client does not
    take its answer. uvicorn's own time limit ends with the first byte."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.born = self.loop.time()
        _make_room(self)
        transport.max_size = _PIECE  # type: ignore[attr-defined]
        self._untaken = 0
        self._next_look = self.loop.call_later(self.timeout_keep_alive, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._next_look.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._look_later()
        super().on_response_complete()

    def _look(self) -> None:
        if self not in self.connections or self._answering():
            return  # it became a socket, or the end of the response will look again
        before, self._untaken = self._untaken, self.transport.get_write_buffer_size()
        if self._untaken and self._untaken != before:
            self._look_later()
        else:
            self.transport.abort()

    def _look_later(self) -> None:
        self._next_look.cancel()
        self._next_look = self.loop.call_later(self.timeout_keep_alive, self._look)

    def _answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    @property
    def half_sent(self) -> bool:
        """Whether it has brought no whole request yet, or rests between two."""
        return not self._answering()


def most_connections() -> int:
    """Return how many connections may be open without a request: what the process may open, less what the rest of it needs."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_HALF_SENT if soft == resource.RLIM_INFINITY else max(32, min(_MOST_HALF_SENT, soft // 2))


def _make_room(newest: RequestProtocol) -> None:
    """Give up the oldest connection without a request where there are too many, so that the newest is always heard."""
    waiting = [
        each
        for each in newest.connections
        # One that was given up stays in the set until the event loop's next pass; many connections can come in one pass.
        if isinstance(each, RequestProtocol) and each.half_sent and not each.transport.is_closing()
    ]
    if len(waiting) > most_connections():
        min(waiting, key=lambda each: each.born).transport.abort()


class QuietAccepting:
    """The event loop's handler of errors: that no connection can be accepted because too many files are open is said once in a
    while. asyncio itself says it thousands of times a second, and tries again every second."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._before = loop.get_exception_handler()
        self._told = -math.inf

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not str(context.get("message", "")).startswith("socket.accept() out of system resource"):
            if self._before is None:
                loop.default_exception_handler(context)
            else:
                self._before(loop, context)
        elif loop.time() - self._told >= _TELL_SECONDS:
            self._told = loop.time()
            log.error(
                "no_more_connections",
                why=str(context.get("exception")),
                fix="Raise the limit of open files (ulimit -n).",
            )


class SocketProtocol(WebSocketsSansIOProtocol):
    """Takes small frames until the application calls `take_large_frames` of the connection's state. Gives up a
    connection whose handler has ended and whose client does not take the rest."""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.conn.max_message_size = _STRANGERS_FRAME

    async def run_asgi(self) -> None:
        self.scope["state"]["take_large_frames"] = self._take_large_frames
        await super().run_asgi()

    def _take_large_frames(self) -> None:
        self.conn.max_message_size = self.config.ws_max_size

    async def send(self, message: ASGISendEvent) -> None:
        """A refusal before the upgrade is whole, and no error that strangers could write into the log."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def shutdown(self) -> None:
        """Says goodbye to open sockets only: one that closes already, or was refused, takes no frame and would end the stop
        with an error."""
        if self.handshake_complete and self.conn.state is not State.OPEN:
            self.transport.close()
        else:
            super().shutdown()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        if self in self.connections:
            self.loop.call_later(self.config.timeout_graceful_shutdown or 0, self.transport.abort)


class UvicornServer(uvicorn.Server):
    """Serves until `stop`. Signals are the daemon's; the date of answers comes from `AnswerHeaders`. `max_frame` is in
    bytes; `grace` in seconds is what a closing socket may take, and running requests when the server stops;
    `idle` in seconds is how long a connection may be open without a request."""

    def __init__(self, app: ASGIApp, *, max_frame: int, grace: int, idle: int) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=RequestProtocol,
                ws=SocketProtocol,
                ws_max_size=max_frame,
                ws_per_message_deflate=False,
                lifespan="off",
                log_config=None,
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_graceful_shutdown=grace,
                timeout_keep_alive=idle,
            )
        )
        self._stopping = asyncio.Event()
        self._up = asyncio.Event()

    async def begin(self, listener: socket.socket) -> asyncio.Task[None]:
        """Serve in a task of its own; returns once connections are taken."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop.get_exception_handler(), QuietAccepting):
            loop.set_exception_handler(QuietAccepting(loop))
        serving = asyncio.create_task(self.serve([listener]))
        up = asyncio.create_task(self._up.wait())
        await asyncio.wait({serving, up}, return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        return serving

    def stop(self) -> None:
        """Sockets are closed with 1012 and running requests get a few seconds."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        self._up.set()
        await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
