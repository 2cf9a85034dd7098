"""uvicorn inside a daemon that has its own signals, sockets and clock.

It differs from uvicorn's own server in what costs an idle daemon its rest (a tick ten times a second) and in what a
client that does not read can hold up (a closing connection, and with it the stop).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol


class SocketProtocol(WebSocketsSansIOProtocol):
    """Gives up a connection whose handler has ended and whose client does not take the rest."""

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        super().on_task_complete(task)
        if self in self.connections:
            self.loop.call_later(self.config.timeout_graceful_shutdown or 0, self.transport.abort)


class UvicornServer(uvicorn.Server):
    """Serves until `stop`. Signals are the daemon's; the date of answers comes from `AnswerHeaders`. `max_frame` is in
    bytes; `grace` in seconds is what a closing socket may take, and running requests when the server stops."""

    def __init__(self, app: ASGIApp, *, max_frame: int, grace: int) -> None:
        super().__init__(
            uvicorn.Config(
                app,
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
            )
        )
        self._stopping = asyncio.Event()
        self._up = asyncio.Event()

    async def begin(self, listener: socket.socket) -> asyncio.Task[None]:
        """Serve in a task of its own; returns once connections are taken."""
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
