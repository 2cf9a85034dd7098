"""Makes the web application of its parts: one table of endpoints, the page, the socket, and the guards around them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp

from arvis.web.assets import Page
from arvis.web.bodies import SMALL, BodyLimit
from arvis.web.endpoints import Call, Endpoint
from arvis.web.errors import STOPPING, Failure, answer_http_exception, attempt
from arvis.web.gate import Gate
from arvis.web.identity import NOBODY, PUBLIC
from arvis.web.metrics import Metrics
from arvis.web.socket import SocketRoute


class Counter:
    """The door of each endpoint: recognises, admits, calls the handler, and answers errors in the one form."""

    def __init__(self, *, gate: Gate, metrics: Metrics, large_body: BodyLimit) -> None:
        self._gate = gate
        self._metrics = metrics
        self._large_body = large_body

    def route(self, path: str, endpoints: Sequence[Endpoint]) -> Route:
        """One route for all methods of a path, so that `Allow` names them all."""
        by_method = {endpoint.method: endpoint for endpoint in endpoints}
        if "GET" in by_method:
            by_method["HEAD"] = by_method["GET"]

        async def serve(request: Request) -> Response:
            endpoint = by_method[request.method]
            try:
                found = await attempt(self._serve(endpoint, request))
            except asyncio.CancelledError:  # only a stop whose grace is over cancels a request
                found = STOPPING
            response = found.to_response() if isinstance(found, Failure) else found
            self._metrics.count_request(request.method, path, response.status_code)
            return response

        deep = any(endpoint.deep for endpoint in endpoints)
        return Route(f"{path[:-1]}:path}}" if deep else path, serve, methods=sorted(by_method))

    async def _serve(self, endpoint: Endpoint, request: Request) -> Response:
        """Nothing of the body is read before the asker is admitted."""
        identity = NOBODY
        if endpoint.access != PUBLIC:
            identity = await self._gate.identify(request)
            self._gate.admit(identity, endpoint.access)
        limit = self._large_body if endpoint.large else SMALL
        return await endpoint.handler(Call(request, identity, limit))


def build_application(
    *,
    counter: Counter,
    endpoints: Sequence[Endpoint],
    page: Page,
    socket: SocketRoute,
    guards: Sequence[Callable[[ASGIApp], ASGIApp]],
) -> ASGIApp:
    """`guards` are laid around the application, the first one outermost."""
    by_path: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, []).append(endpoint)
    routes: list[BaseRoute] = [counter.route(path, group) for path, group in by_path.items()]
    routes += [*page.routes(), WebSocketRoute("/ws", socket.serve)]
    application: ASGIApp = Starlette(routes=routes, exception_handlers={HTTPException: answer_http_exception})
    for guard in reversed(guards):
        application = guard(application)
    return application
