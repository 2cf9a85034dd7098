"""Endpoints for machines: health, readiness, metrics and the OpenAPI document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from arvis import __version__
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.web.http.endpoints import Call, Endpoint, answer
from arvis.web.http.identity import PUBLIC, READ
from arvis.web.http.schema import HEALTH, READY, STRING
from arvis.web.monitoring.metrics import Metrics
from arvis.web.openapi import describe

# Readiness: roles up, database writable, space on the disk, event loop responsive.


#: The time for which a database check is cached, and the time it may take, in seconds.
_FRESH = 1.0
_TIMEOUT = 2.0

#: The loop is asked to return after `_NAP` seconds and must not be later than `_LATE`.
_NAP = 0.005
_LATE = 0.5


@dataclass(frozen=True, slots=True)
class Readiness:
    """The readiness of the daemon. `bots` may be down while the daemon is ready, because an outage of a platform is
    not ours."""

    roles: Mapping[str, bool]
    bots: Mapping[str, bool]
    database: bool
    disk: bool
    event_loop: bool

    @property
    def ready(self) -> bool:
        return all(self.roles.values()) and self.database and self.disk and self.event_loop


class ReadinessProbe:
    """Checks readiness. `roles` returns for each configured role whether it is up, `bots` for each bot. `room`
    returns whether the disk has space for new work."""

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
        """Return whether the database accepts writes, checked at most once a second for all callers."""
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
    """Write nothing. This script shows that the writer accepts work and commits."""


_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class SystemRoutes:
    """Routes for machines. `others` are the endpoints of all other parts, for the OpenAPI document."""

    def __init__(
        self,
        *,
        metrics: Metrics,
        probe: ReadinessProbe,
        others: Sequence[Endpoint],
    ) -> None:
        self._metrics = metrics
        self._probe = probe
        self._others = others

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("GET", "/health", "Check that the process is up", PUBLIC, self._health, {200: HEALTH}),
            Endpoint("GET", "/ready", "Check that the daemon can work", PUBLIC, self._ready, {200: READY, 503: READY}),
            Endpoint(
                "GET",
                "/metrics",
                "Return metrics as Prometheus text",
                READ,
                self._figures,
                {200: STRING},
                media="text/plain",
            ),
            Endpoint("GET", "/openapi.json", "This document", READ, self._openapi, {200: {"type": "object"}}),
        ]

    async def _health(self, _: Call) -> Response:
        stalls = self._metrics.stalls()
        loop = {"blocked": stalls.count, "longestMs": round(stalls.longest * 1000)}
        return answer({"status": "ok", "version": __version__, "eventLoop": loop})

    async def _ready(self, _: Call) -> Response:
        found = await self._probe.look()
        body = {
            "ready": found.ready,
            "roles": dict(found.roles),
            "bots": dict(found.bots),
            "database": found.database,
            "disk": found.disk,
            "eventLoop": found.event_loop,
        }
        return answer(body, 200 if found.ready else 503)

    async def _figures(self, _: Call) -> Response:
        return Response(await self._metrics.text(), media_type=_PROMETHEUS)

    async def _openapi(self, _: Call) -> Response:
        return answer(describe([*self._others, *self.endpoints()]))
