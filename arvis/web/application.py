"""The construction of the ASGI application from the endpoints, the pages of the dashboard, the socket and the
middleware."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp

from arvis.bus import EventBus
from arvis.domain.errors import Unprocessable
from arvis.web.auth.authorization import Authorizer
from arvis.web.event_counts import EventCounts
from arvis.web.http.endpoints import Call, Endpoint, change_by
from arvis.web.http.errors import STOPPING, Failure, attempt, failure_of_http
from arvis.web.http.idempotency import Idempotency
from arvis.web.http.identity import ANONYMOUS, PUBLIC
from arvis.web.http.limits import SMALL, BodyLimit
from arvis.web.http.static_files import Page
from arvis.web.middleware import refusal_at
from arvis.web.realtime.socket import SocketRoute

_FIRST_ERROR = 400


class EndpointHandler:
    """The handler of all endpoints. It identifies the caller, checks access, calls the endpoint, and returns errors in
    the endpoint's format."""

    def __init__(
        self, *, gate: Authorizer, counts: EventCounts, large_body: BodyLimit, idempotency: Idempotency, bus: EventBus
    ) -> None:
        self._gate = gate
        self._counts = counts
        self._large_body = large_body
        self._bus = bus
        self._idempotency = idempotency

    def route(self, path: str, endpoints: Sequence[Endpoint]) -> Route:
        """Return a single route for all methods of a path, so that the header `Allow` lists all of these methods."""
        by_method = {endpoint.method: endpoint for endpoint in endpoints}
        if "GET" in by_method:
            by_method["HEAD"] = by_method["GET"]

        async def serve(request: Request) -> Response:
            endpoint = by_method[request.method]
            try:
                found = await attempt(self._serve(endpoint, request))
            except asyncio.CancelledError:  # the server is stopping, and the request did not end in time
                found = STOPPING
            if isinstance(found, Failure):
                response = found.to_response() if endpoint.errors is None else endpoint.errors.response(found)
            else:
                response = found
            self._announce(endpoint, request, response)
            self._counts.count_request(request.method, path, response.status_code)
            return response

        deep = any(endpoint.deep for endpoint in endpoints)
        return Route(f"{path[:-1]}:path}}" if deep else path, serve, methods=sorted(by_method))

    def _announce(self, endpoint: Endpoint, request: Request, response: Response) -> None:
        """Publish the change that a successful request has made, so that open pages reload the data. For most routes
        this is the only announcement."""
        if response.status_code < _FIRST_ERROR:
            change = change_by(endpoint.method, endpoint.path, request.path_params)
            if change is not None:
                self._bus.publish(change)

    async def _serve(self, endpoint: Endpoint, request: Request) -> Response:
        """Serve a request. The body is not read before the caller is admitted."""
        identity = ANONYMOUS
        if endpoint.access != PUBLIC:
            identity = await self._gate.identify(request)
            self._gate.admit(identity, endpoint.access)
            _refuse_unknown_query(endpoint, request)
        limit = self._large_body if endpoint.large else SMALL
        return await self._idempotency.serve(endpoint, Call(request, identity, limit))


def build_application(
    *,
    handler: EndpointHandler,
    endpoints: Sequence[Endpoint],
    page: Page,
    socket: SocketRoute,
    guards: Sequence[Callable[[ASGIApp], ASGIApp]],
) -> ASGIApp:
    """Build the application. `guards` are middleware; the first guard is the outermost."""
    by_path: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, []).append(endpoint)
    routes: list[BaseRoute] = [handler.route(path, group) for path, group in sorted(by_path.items(), key=_place)]
    routes += [*page.routes(), WebSocketRoute("/ws", socket.serve)]

    async def refuse(connection: HTTPConnection, error: Exception) -> Response:
        if isinstance(connection, Request) and _is_lost_browser(connection, error):
            return await page.missing(connection)
        return await _answer_http_exception(connection, error)

    router = Starlette(routes=routes, exception_handlers={HTTPException: refuse})
    # A path with a slash at its end is not redirected, because the redirect would name `http://`, even behind TLS.
    router.router.redirect_slashes = False
    application: ASGIApp = router
    for guard in reversed(guards):
        application = guard(application)
    return application


#: The first segments of the paths that programs use. An error at such a path is never answered with a page of the
#: dashboard.
_FOR_PROGRAMS = frozenset({"api", "v1", "ws", "hooks", "mcp", "health", "ready", "metrics", "openapi.json"})


def _is_lost_browser(request: Request, error: Exception) -> bool:
    """Return whether a person used a browser to open an address that does not exist."""
    missing = isinstance(error, HTTPException) and error.status_code == HTTPStatus.NOT_FOUND
    opened = request.method == "GET" and "text/html" in request.headers.get("accept", "")
    return missing and opened and request.url.path.split("/")[1] not in _FOR_PROGRAMS


async def _answer_http_exception(connection: HTTPConnection, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    response = refusal_at(connection.url.path, failure_of_http(error))
    response.headers.update(error.headers or {})
    return response


def _refuse_unknown_query(endpoint: Endpoint, request: Request) -> None:
    """Refuse unknown query parameters. If Arvis ignored them, a misspelt filter would return the unfiltered list."""
    for name in request.query_params:
        if name not in endpoint.query:
            known = (
                f"The known parameters are {', '.join(endpoint.query)}."
                if endpoint.query
                else "This route has no parameters in the query."
            )
            raise Unprocessable(f"There is no parameter `{name[:100]}` here.", fix=known, code="unknown_parameter")


def _place(route: tuple[str, Sequence[Endpoint]]) -> tuple[bool, list[bool]]:
    """Return a sort key that puts fixed paths before paths with parameters, because the router uses the first path that
    matches. The header `Allow` then lists the methods of the fixed path."""
    path, endpoints = route
    return any(endpoint.deep for endpoint in endpoints), [part.startswith("{") for part in path.split("/")]
