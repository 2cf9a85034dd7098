"""The HTTP and WebSocket server on top of uvicorn. It is loaded at the first connection."""

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
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.protocol import State

# A uvicorn server for a daemon that itself handles signals, opens the listening socket and adds the Date header to
# responses. It differs from uvicorn's own server in four ways:
# - An idle server does not run a timer ten times a second.
# - A client that does not read cannot block the end of its connection or the stop of the server.
# - A stop that takes too long logs one line instead of the tracebacks of the cancelled requests.
# - Clients without a credential cannot keep idle connections, send large frames or occupy the event loop with many tiny
#   frames.


#: The maximum number of bytes of one read from a connection. The bytes of a read are parsed together, so a larger read
#: could contain thousands of tiny frames or chunks and block the event loop. The default of asyncio is 256 KiB.
_PIECE = 16_384

#: The highest value of `most_connections`, and the minimum seconds between two log lines about connections that cannot
#: be accepted.
_MOST_HALF_SENT = 4_096
_LOG_SECONDS = 60.0

log = structlog.get_logger(__name__)

#: The maximum size in bytes of a frame before authentication.
_UNAUTHENTICATED_FRAME = 65_536


class RequestProtocol(H11Protocol):
    """A connection that is dropped if no whole request arrives in time, or if its client does not read the response.
    uvicorn's own timeout covers only the time before the first byte of a request, so a client that sends slowly could
    occupy a connection for any length of time."""

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
            return  # the connection became a WebSocket, or `on_response_complete` will call `_look_later`
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
        """Return True if the server is not answering a request on this connection, because the client has not sent a
        whole request yet or the connection is idle between two requests."""
        return not self._answering()


def most_connections() -> int:
    """Return the maximum number of open connections without a request: half of the process's limit of open files, but
    at least 32 and at most `_MOST_HALF_SENT`."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_HALF_SENT if soft == resource.RLIM_INFINITY else max(32, min(_MOST_HALF_SENT, soft // 2))


def _make_room(newest: RequestProtocol) -> None:
    """Close the oldest connection without a request if there are too many such connections, so that a new connection is
    always accepted."""
    waiting = [
        each
        for each in newest.connections
        # A dropped connection stays in the set until the next pass of the event loop, but many new connections can
        # arrive in one pass. Connections that are closing are therefore not counted.
        if isinstance(each, RequestProtocol) and each.half_sent and not each.transport.is_closing()
    ]
    if len(waiting) > most_connections():
        min(waiting, key=lambda each: each.born).transport.abort()


class AcceptErrorLimiter:
    """An error handler of the event loop. If too many files are open, the server cannot accept connections. The handler
    limits the log lines about this error.

    asyncio itself would log thousands of lines a second.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._before = loop.get_exception_handler()
        self._logged_at = -math.inf

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not str(context.get("message", "")).startswith("socket.accept() out of system resource"):
            if self._before is None:
                loop.default_exception_handler(context)
            else:
                self._before(loop, context)
        elif loop.time() - self._logged_at >= _LOG_SECONDS:
            self._logged_at = loop.time()
            log.error(
                "no_more_connections",
                why=str(context.get("exception")),
                fix="Raise the limit of open files (ulimit -n).",
            )


class _Config(uvicorn.Config):
    """The configuration of uvicorn, without uvicorn's own time limit for a stop: at that limit, uvicorn logs an error
    and the traceback of every cancelled request. `grace` is the limit of `UvicornServer` in seconds."""

    grace: int = 0


class SocketProtocol(WebSocketsSansIOProtocol):
    """The protocol of a WebSocket. The state of the connection contains two functions for the application.
    `take_large_frames` allows large frames; before this call, only small frames are accepted. `send_now` sends a text
    without waiting, and returns False if the client does not read. The connection is dropped if the client does not
    read the remaining data after the end of the handler."""

    config: _Config

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.conn.max_message_size = _UNAUTHENTICATED_FRAME
        self._flushing = False

    async def run_asgi(self) -> None:
        self.scope["state"]["take_large_frames"] = self._take_large_frames
        self.scope["state"]["send_now"] = self._send_now
        await super().run_asgi()

    def _take_large_frames(self) -> None:
        self.conn.max_message_size = self.config.ws_max_size

    def _send_now(self, text: str) -> bool:
        """Send a frame if the client reads. All frames of one pass of the event loop are sent in one write."""
        if self.conn.state is not State.OPEN or self.disconnected or not self.writable.is_set():
            return False
        self.conn.send_text(text.encode())
        if not self._flushing:
            self._flushing = True
            self.loop.call_soon(self._flush)
        return True

    async def send(self, message: ASGISendEvent) -> None:
        """Send a frame. After a refusal before the upgrade, mark the handshake as complete, because uvicorn would
        otherwise log an error that any client could cause."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def _flush(self) -> None:
        self._flushing = False
        if not self.transport.is_closing():
            self.transport.write(b"".join(self.conn.data_to_send()))

    def shutdown(self) -> None:
        """Send a close frame if the socket is open, else close its connection. Sending a frame to a socket that is
        closing or was refused would raise an error, and the error would abort the stop of the server."""
        if self.handshake_complete and self.conn.state is not State.OPEN:
            self.transport.close()
        else:
            super().shutdown()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        if self in self.connections:
            self.loop.call_later(self.config.grace, self.transport.abort)


class UvicornServer(uvicorn.Server):
    """The uvicorn server, which serves until `stop` is called. The daemon handles signals, and `AnswerHeaders` adds the
    date to responses. `max_frame` is the maximum number of bytes of a frame. After `grace` seconds, a closing socket,
    or a request that still runs after `stop`, is aborted. After `idle` seconds, a connection without a request is
    closed."""

    def __init__(self, app: ASGIApp, *, max_frame: int, grace: int, idle: int) -> None:
        config = _Config(
            self._run,
            http=RequestProtocol,
            ws=SocketProtocol,
            ws_max_size=max_frame,
            ws_per_message_deflate=False,
            interface="asgi3",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=idle,
        )
        config.grace = grace
        super().__init__(config)
        self._app, self._grace = app, grace
        self._stopping = asyncio.Event()
        self._up = asyncio.Event()

    async def begin(self, listener: socket.socket) -> asyncio.Task[None]:
        """Start serving in a separate task, and return this task as soon as the server accepts connections."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop.get_exception_handler(), AcceptErrorLimiter):
            loop.set_exception_handler(AcceptErrorLimiter(loop))
        serving = asyncio.create_task(self.serve([listener]))
        up = asyncio.create_task(self._up.wait())
        await asyncio.wait({serving, up}, return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        return serving

    def stop(self) -> None:
        """Stop the server. Close the sockets with code 1012, and give running requests `grace` seconds to end."""
        self.should_exit = True
        self._stopping.set()

    async def main_loop(self) -> None:
        self._up.set()
        await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        ending = asyncio.get_running_loop().call_later(self._grace, self._end_requests)
        try:
            await super().shutdown(sockets)
        finally:
            ending.cancel()
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    def _end_requests(self) -> None:
        """Abort all connections, and cancel the requests and sockets that the application still handles."""
        tasks = list(self.server_state.tasks)
        if tasks:
            log.warning(
                "requests_aborted",
                number=len(tasks),
                why=f"These requests still ran {self._grace} seconds after the web server began to stop.",
            )
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        # The protocols process the abort in the next pass of the event loop. A task that is cancelled before this pass
        # would end without a response, and uvicorn would log this as an error of the application.
        for task in tasks:
            asyncio.get_running_loop().call_soon(task.cancel)
        self.force_exit = True

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application. A cancellation by `_end_requests` is no error, so that uvicorn does not log it."""
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not self.force_exit:
                raise

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
