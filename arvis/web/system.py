"""What tells machines how the daemon does: health, readiness, metrics, and the description of the API."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.responses import Response

from arvis import __version__
from arvis.web.endpoints import Call, Endpoint, answer
from arvis.web.identity import PUBLIC, READ
from arvis.web.metrics import Metrics
from arvis.web.openapi import describe
from arvis.web.readiness import ReadinessProbe
from arvis.web.schemas import HEALTH, READY, STRING

_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class SystemRoutes:
    """`others` are the endpoints of all other parts, for the description."""

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
            Endpoint("GET", "/health", "The process is up", PUBLIC, self._health, {200: HEALTH}),
            Endpoint("GET", "/ready", "Everything is up", PUBLIC, self._ready, {200: READY, 503: READY}),
            Endpoint(
                "GET",
                "/metrics",
                "Figures as Prometheus text",
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
