"""The web server as the daemon starts and stops it; all parts of this floor meet here."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from starlette.types import ASGIApp

from arvis.config.sections import Limits, Web
from arvis.domain.errors import ConfigError
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.inbox import Inbox
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations
from arvis.ports.store import Store
from arvis.web.application import Counter, build_application
from arvis.web.assets import Page
from arvis.web.catalog import CatalogRoutes
from arvis.web.connector import WebConnector
from arvis.web.drafts import Intake
from arvis.web.endpoints import Endpoint
from arvis.web.gate import Gate
from arvis.web.greeting import Greeter
from arvis.web.guards import AnswerHeaders, Guard, known_hosts, origin_of
from arvis.web.jobs import JobRoutes
from arvis.web.keys import KeyRing
from arvis.web.limiter import LoginLimiter
from arvis.web.logins import LoginRoutes
from arvis.web.messages import MessageRoutes
from arvis.web.metrics import Metrics
from arvis.web.patience import Patience
from arvis.web.readiness import ReadinessProbe
from arvis.web.sessions import Sessions
from arvis.web.socket import SocketRoute
from arvis.web.statuses import StatusBoard
from arvis.web.system import SystemRoutes
from arvis.web.uvicorn_server import UvicornServer
from arvis.web.waits import WaitRoutes

_BACKLOG = 2048
PAGE_FOLDER = Path(__file__).parent / "page"


class WebServer:
    """Page, API and socket on one port.

    `daemon_key` is the content of `DATA/api-key`; `owners` the configuration's `owners.web`; `new_token` makes
    URL-safe texts of at least 128 random bits; `roles` says of each configured role whether it is up.
    `connector` is where deliveries to the platform `web` go.
    """

    def __init__(
        self,
        *,
        config: Web,
        limits: Limits,
        owners: tuple[str, ...],
        daemon_key: str,
        inbox: Inbox,
        insights: Insights,
        operations: Operations,
        store: Store,
        bus: Bus,
        clock: Clock,
        new_token: Callable[[], str],
        roles: Callable[[], Mapping[str, bool]],
        page_folder: Path = PAGE_FOLDER,
        patience: Patience | None = None,
    ) -> None:
        self._config = config
        self._bus = bus
        self._clock = clock
        self._patience = patience or Patience()
        self._insights = insights
        self._secure = (config.public_url or "").lower().startswith("https://")
        self.connector = WebConnector()
        self._board = StatusBoard()
        self._metrics = Metrics(sockets=lambda: self.connector.sockets)
        self._page = Page(page_folder)
        self._sessions = Sessions(store=store, clock=clock, new_token=new_token)
        self._gate = Gate(
            keys=KeyRing(daemon_key=daemon_key, keys=config.api_keys),
            sessions=self._sessions,
            store=store,
            clock=clock,
            cookie="__Host-arvis_session" if self._secure else "arvis_session",
            owners=frozenset(owners),
        )
        self._intake = Intake(inbox=inbox, limits=limits, new_token=new_token)
        self._socket = SocketRoute(
            gate=self._gate,
            greeter=Greeter(gate=self._gate, new_token=new_token),
            sessions=self._sessions,
            intake=self._intake,
            inbox=inbox,
            insights=insights,
            connector=self.connector,
            patience=self._patience,
        )
        probe = ReadinessProbe(store=store, clock=clock, roles=roles)
        self.endpoints = tuple(self._endpoints(operations, probe))
        self._app = self._application()
        self._uvicorn = self._new_uvicorn()
        self._listening = contextlib.ExitStack()
        self._serving: asyncio.Task[None] | None = None
        self._port = config.port

    async def start(self) -> None:
        """Bind and serve; from then on `url` is true. Raises `ConfigError` when the address cannot be had.
        A server that was stopped may be started again."""
        listener = await asyncio.to_thread(_bind, self._config.host, self._config.port)
        self._port = listener.getsockname()[1]
        for part in (self.connector, self._board, self._metrics):
            self._listening.enter_context(part.listening(self._bus))
        self._uvicorn = self._new_uvicorn()
        self._serving = await self._uvicorn.begin(listener)

    async def stop(self) -> None:
        """Waiting requests are answered as things stand, sockets closed with 1012, the port given back."""
        self._board.close()
        self._uvicorn.stop()
        if self._serving is not None:
            await self._serving
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
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self._config.host, self._config.host)  # noqa: S104
        return (
            f"http://[{host}]:{self._port}"
            if ":" in host.strip("[]") and "[" not in host
            else f"http://{host}:{self._port}"
        )

    async def login_link(self) -> str:
        """A one-time link to the page: good once, for ten minutes."""
        return self._link(await self._sessions.new_code())

    def _link(self, code: str) -> str:
        """The code stands in the fragment, which no browser sends and no log sees."""
        base = (self._config.public_url or self.url).rstrip("/")
        return f"{base}/#login={code}"

    def _endpoints(self, operations: Operations, probe: ReadinessProbe) -> list[Endpoint]:
        insights, clock = self._insights, self._clock
        logins = LoginRoutes(
            sessions=self._sessions,
            limiter=LoginLimiter(clock=clock),
            gate=self._gate,
            clock=clock,
            login_link=self._link,
            end_sockets=self.connector.end_session,
            secure=self._secure,
        )
        messages = MessageRoutes(
            intake=self._intake,
            insights=insights,
            gate=self._gate,
            board=self._board,
            clock=clock,
            patience=self._patience,
        )
        jobs = JobRoutes(insights=insights, operations=operations)
        waits = WaitRoutes(insights=insights, operations=operations, gate=self._gate)
        catalog = CatalogRoutes(insights=insights)
        others = [
            *messages.endpoints(),
            *jobs.endpoints(),
            *waits.endpoints(),
            *catalog.endpoints(),
            *logins.endpoints(),
        ]
        system = SystemRoutes(insights=insights, clock=clock, metrics=self._metrics, probe=probe, others=others)
        return [*system.endpoints(), *others]

    def _new_uvicorn(self) -> UvicornServer:
        return UvicornServer(self._app, max_frame=self._intake.body_limit, grace=self._patience.closing)

    def _application(self) -> ASGIApp:
        config = self._config
        guard = functools.partial(
            Guard,
            hosts=known_hosts(config.host, config.allowed_hosts, config.public_url),
            public_origin=None if config.public_url is None else origin_of(config.public_url),
            cookie=self._gate.cookie,
            open_paths=self._page.paths,
        )
        return build_application(
            counter=Counter(gate=self._gate, metrics=self._metrics, large_body=self._intake.body_limit),
            endpoints=self.endpoints,
            page=self._page,
            socket=self._socket,
            guards=[functools.partial(AnswerHeaders, clock=self._clock), guard],
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
