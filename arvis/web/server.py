"""The web server that the daemon starts and stops. It serves the dashboard, the API and the sockets on one port."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from arvis.bus import EventBus
from arvis.config.sections import Web
from arvis.domain.errors import ConfigError
from arvis.process.on_demand import OnDemand
from arvis.web.http.limits import Timeouts

_BACKLOG = 2048
#: The address to which programs on this machine connect if the server listens on all interfaces.
_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, never bound


class Listener(Protocol):
    """A part that listens to the bus."""

    def listening(self, bus: EventBus) -> AbstractContextManager[None]:
        """Listen to the bus while the context is open."""
        ...


class Handling(Listener, Protocol):
    """The parts that serve requests."""

    @property
    def application(self) -> ASGIApp: ...

    def end_waits(self) -> None:
        """Let waiting requests return the current status."""
        ...

    async def close(self) -> None: ...


class WebServer:
    """The web server and its address. The parts that serve requests are built at the first request. `handling` returns
    the object that builds them; its argument is a function that returns the login address for a code. `listeners`
    listen to the bus while the server runs. `max_frame` is the maximum number of bytes of a frame, and `new_code`
    returns a code for one login."""

    def __init__(
        self,
        *,
        config: Web,
        bus: EventBus,
        max_frame: int,
        listeners: Sequence[Listener],
        new_code: Callable[[], Awaitable[str]],
        handling: Callable[[Callable[[str], str]], OnDemand[Handling]],
        timeouts: Timeouts | None = None,
    ) -> None:
        self._config, self._bus, self._port = config, bus, config.port
        self._timeouts, self._max_frame, self._new_code = timeouts or Timeouts(), max_frame, new_code
        self._handling, self._listeners = handling(self._link), listeners
        #: The parts that serve requests; None before the first request after the last start.
        self._handles: Handling | None = None
        self._listening = contextlib.ExitStack()
        #: The `UvicornServer` since the first connection after the last start.
        self._uvicorn: Any = None
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Bind the port and start serving. `url` is valid only after this call. Raise `ConfigError` if the address
        cannot be used. A stopped server can be started again."""
        listener = await asyncio.to_thread(_bind, self._config.host, self._config.port)
        self._port = listener.getsockname()[1]
        for each in self._listeners:
            self._listening.enter_context(each.listening(self._bus))
        self._serving = asyncio.create_task(self._serve(listener))

    async def stop(self) -> None:
        """Stop the server. Waiting requests return the current status, sockets are closed with code 1012, and the port
        is released."""
        if self._handles is not None:
            self._handles.end_waits()
        if self._serving is not None:
            if self._uvicorn is None:
                self._serving.cancel()
            else:
                self._uvicorn.stop()
            await asyncio.wait({self._serving})
            if not self._serving.cancelled():
                self._serving.result()
        if self._handles is not None:
            await self._handles.close()
        self._listening.close()
        self._handles = self._uvicorn = None

    async def _serve(self, listener: socket.socket) -> None:
        """Serve from the first connection on. Connections wait in the queue of the listening socket until the library of
        the server is loaded."""
        with contextlib.closing(listener):
            await _readable(listener)
            server: OnDemand[Any] = OnDemand(
                "arvis.web.uvicorn_server:UvicornServer",
                app=self._handle,
                max_frame=self._max_frame,
                grace=self._timeouts.closing,
                idle=self._timeouts.idle,
            )
            self._uvicorn = await server.get()
            await (await self._uvicorn.begin(listener))

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        handles = self._handles or await self._begin_handling()
        await handles.application(scope, receive, send)

    async def _begin_handling(self) -> Handling:
        found = await self._handling.get()
        if self._handles is None:
            self._listening.enter_context(found.listening(self._bus))
            self._handles = found
        return found

    async def wait_closed(self) -> None:
        """Wait until the server has stopped, whatever the reason."""
        if self._serving is not None:
            await asyncio.shield(self._serving)

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        """Return the address of the dashboard for a person on this machine."""
        host = _HERE.get(self._config.host, self._config.host)
        return f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}"

    async def login_link(self) -> str:
        """Return a new login link to the dashboard. The link is valid once, for ten minutes."""
        return self._link(await self._new_code())

    def _link(self, code: str) -> str:
        """Return a login link. The code is in the fragment, which browsers do not send, so that no log contains it."""
        base = (self._config.public_url or self.url).rstrip("/")
        return f"{base}/#login={code}"


async def _readable(listener: socket.socket) -> None:
    """Wait until a client has connected."""
    loop = asyncio.get_running_loop()
    connected = asyncio.Event()
    loop.add_reader(listener, connected.set)
    try:
        await connected.wait()
    finally:
        loop.remove_reader(listener)


def _bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. The socket is created with the protocol number of TCP. Without this number, asyncio
    would not disable Nagle's algorithm, which delays each small response by 40 ms."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise ConfigError(
            f"The web server cannot listen at {host} port {port}.",
            why=f"{error.strerror or error}.",
            fix="In config.yaml, set web.port to a free port (0: any) and web.host to an address of this machine.",
        ) from error
    return listener
