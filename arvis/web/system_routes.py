"""Endpoints for machines: health, readiness, Prometheus metrics and the OpenAPI document."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from starlette.responses import Response

from arvis import __version__
from arvis.domain.dataclass import dataclass
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.process.on_demand import OnDemand
from arvis.process.stalls import Stalls
from arvis.web.http.endpoints import Call, Endpoint, Routes, answer, route
from arvis.web.http.identity import PUBLIC, READ
from arvis.web.http.models import View
from arvis.web.http.schema import STRING

# Readiness: the roles are up, the database is writable, the disk has space, and the event loop is responsive.


#: The time for which the result of a database check is cached, and the maximum duration of a check, in seconds.
_FRESH = 1.0
_TIMEOUT = 2.0

#: The event loop is responsive if a sleep of `_NAP` seconds ends less than `_LATE` seconds too late.
_NAP = 0.005
_LATE = 0.5


@dataclass(frozen=True, slots=True)
class Readiness:
    """The readiness of the daemon. The daemon is ready even if `bots` are down, because a platform can have an
    outage."""

    roles: Mapping[str, bool]
    bots: Mapping[str, bool]
    database: bool
    disk: bool
    event_loop: bool

    @property
    def ready(self) -> bool:
        return all(self.roles.values()) and self.database and self.disk and self.event_loop


class ReadinessProbe:
    """The check of readiness. `roles` returns the configured roles, and `bots` returns the enabled bots. The value of
    each is True if it is up. `room` returns whether the disk has space for new work."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        roles: Callable[[], Mapping[str, bool]],
        bots: Callable[[], Mapping[str, bool]],
        room: Callable[[], bool],
    ) -> None:
        self._store = store
        self._room = room
        self._clock = clock
        self._roles = roles
        self._bots = bots
        self._lock = asyncio.Lock()
        self._database = (False, float("-inf"))

    async def look(self) -> Readiness:
        return Readiness(
            roles=dict(self._roles()),
            bots=dict(self._bots()),
            database=await self._database_writable(),
            disk=self._room(),
            event_loop=await self._loop_in_time(),
        )

    async def _database_writable(self) -> bool:
        """Return whether the database accepts writes. The check runs at most once a second for all callers."""
        async with self._lock:
            writable, at = self._database
            if not 0 <= self._clock.monotonic() - at < _FRESH:
                writable = await self._write()
                self._database = (writable, self._clock.monotonic())
            return writable

    async def _write(self) -> bool:
        write = asyncio.ensure_future(self._store.write(_nothing))
        done, _ = await asyncio.wait({write}, timeout=_TIMEOUT)
        if not done:
            write.cancel()
            return False
        return write.exception() is None

    async def _loop_in_time(self) -> bool:
        begin = self._clock.monotonic()
        await self._clock.sleep(_NAP)
        return self._clock.monotonic() - begin - _NAP < _LATE


def _nothing(_: Transaction) -> None:
    """Write nothing. If this script succeeds, the database can begin and commit transactions."""


_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class LoopView(View):
    blocked: int
    longest_ms: int


class HealthView(View):
    status: str
    version: str
    event_loop: LoopView


class ReadyView(View):
    ready: bool
    roles: dict[str, bool]
    bots: dict[str, bool]
    database: bool
    disk: bool
    event_loop: bool


class Metrics(Protocol):
    async def text(self) -> bytes:
        """Return the metrics in Prometheus' format."""
        ...


class SystemRoutes(Routes):
    """Routes for machines. `others` are the endpoints of all other parts, for the OpenAPI document."""

    def __init__(
        self,
        *,
        metrics: OnDemand[Metrics],
        stalls: Callable[[], Stalls],
        probe: ReadinessProbe,
        others: Sequence[Endpoint],
    ) -> None:
        self._metrics = metrics
        self._stalls = stalls
        self._probe = probe
        self._others = others

    @route("GET", "/health", "Check that the process is up", PUBLIC, {200: HealthView})
    async def health(self, _: Call) -> Response:
        stalls = self._stalls()
        loop = LoopView(blocked=stalls.count, longest_ms=round(stalls.longest * 1000))
        return answer(HealthView(status="ok", version=__version__, event_loop=loop))

    @route("GET", "/ready", "Check that the daemon can work", PUBLIC, {200: ReadyView, 503: ReadyView})
    async def ready(self, _: Call) -> Response:
        found = await self._probe.look()
        return answer(
            ReadyView.showing(found, roles=dict(found.roles), bots=dict(found.bots)), 200 if found.ready else 503
        )

    @route("GET", "/metrics", "Return metrics as Prometheus text", READ, {200: STRING}, media="text/plain")
    async def metrics(self, _: Call) -> Response:
        metrics = await self._metrics.get()
        return Response(await metrics.text(), media_type=_PROMETHEUS)

    @route("GET", "/openapi.json", "Show this document", READ, {200: {"type": "object"}})
    async def openapi(self, _: Call) -> Response:
        # Building the document takes a fifth of a second. A thread builds it, so that the event loop can serve other
        # requests.
        openapi = await asyncio.to_thread(importlib.import_module, "arvis.web.openapi")
        return answer(await asyncio.to_thread(openapi.describe, [*self._others, *self.endpoints()]))
