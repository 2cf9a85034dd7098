"""The web server as the daemon starts and stops it: one port for page, API and socket."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from arvis.domain.errors import ConfigError
from arvis.web.assembly import Assembly
from arvis.web.endpoints import Endpoint
from arvis.web.surroundings import Surroundings
from arvis.web.uvicorn_server import UvicornServer

_BACKLOG = 2048
#: What to dial where a server listens everywhere.
_HERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, never bound


class WebServer:
    """Start, stop, and what the daemon wants to know in between."""

    def __init__(self, *, around: Surroundings) -> None:
        config = around.config
        self._config, self._patience, self._bus, self._port = config, around.patience, around.bus, config.port
        self._parts = Assembly(around, login_link=self._link)
        self._uvicorn, self._listening = self._new_uvicorn(), contextlib.ExitStack()
        self._serving: asyncio.Task[None] | None = None

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        return self._parts.endpoints

    async def start(self) -> None:
        """Bind and serve; from then on `url` is true. Raises `ConfigError` when the address cannot be had.
        A server that was stopped may be started again."""
        listener = await asyncio.to_thread(_bind, self._config.host, self._config.port)
        self._port = listener.getsockname()[1]
        parts = self._parts
        for part in (parts.access, parts.connector, parts.board, parts.metrics, parts.watching, parts.pace):
            self._listening.enter_context(part.listening(self._bus))
        self._uvicorn = self._new_uvicorn()
        self._serving = await self._uvicorn.begin(listener)

    async def stop(self) -> None:
        """Waiting requests are answered as things stand, sockets closed with 1012, the port given back."""
        self._parts.board.close()
        self._uvicorn.stop()
        if self._serving is not None:
            await self._serving
        await self._parts.mcp.close()
        self._listening.close()

    async def wait_closed(self) -> None:
        """Until the server has stopped, for whatever reason."""
        if self._serving is not None:
            await asyncio.shield(self._serving)

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        """Where a person on this machine finds the page."""
        host = _HERE.get(self._config.host, self._config.host)
        return f"http://[{host}]:{self._port}" if ":" in host else f"http://{host}:{self._port}"

    async def login_link(self) -> str:
        """A one-time link to the page: good once, for ten minutes."""
        return self._link(await self._parts.sessions.new_code())

    def _link(self, code: str) -> str:
        """The code stands in the fragment, which no browser sends and no log sees."""
        base = (self._config.public_url or self.url).rstrip("/")
        return f"{base}/#login={code}"

    def _new_uvicorn(self) -> UvicornServer:
        return UvicornServer(
            self._parts.application,
            max_frame=self._parts.intake.body_limit.size,
            grace=self._patience.closing,
            idle=self._patience.idle,
        )


def _bind(host: str, port: int) -> socket.socket:
    """A listening socket. It is made with its protocol's number, without which asyncio would leave small answers to
    Nagle's algorithm, 40 ms each."""
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
            fix="Set web.port in config.yaml to a free port (0 takes any), and web.host to an address of this machine.",
        ) from error
    return listener
