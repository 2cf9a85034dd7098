"""The parts of `/v1` outside its routes: OpenAI-style errors also for unknown paths, a request id in every response,
and CORS for the origins that the configuration names."""

from __future__ import annotations

from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arvis.web.http.errors import Failure
from arvis.web.openai.models import MESSAGE_HEADER, refusal

REQUEST_ID = "x-request-id"
_ROOT = "/v1"
_METHODS = "GET, POST"
_LONGEST_HEADERS = 2_000
#: The time in seconds for which a browser may cache the answer.
_PREFLIGHT_LIFE = "600"


def is_ours(path: str) -> bool:
    return path == _ROOT or path.startswith(f"{_ROOT}/")


def refusal_at(path: str, failure: Failure) -> Response:
    """Return the error in the format that clients of this path expect."""
    return refusal(failure) if is_ours(path) else failure.to_response()


def admitted_origin(scope: Scope, origins: frozenset[str]) -> str | None:
    """Return the origin of a browser request to `/v1` if it is allowed. Such a request needs a key: a cookie without
    one is refused as everywhere else."""
    headers = Headers(scope=scope)
    found = headers.getlist("origin")
    if not is_ours(scope["path"]) or len(found) != 1 or found[0] not in origins:
        return None
    return found[0] if "authorization" in headers or scope["method"] == "OPTIONS" else None


class CompletionsFront:
    """Middleware outside all checks. `origins` are those of `web.allowed_origins`."""

    def __init__(self, app: ASGIApp, *, origins: frozenset[str], new_token: Callable[[], str]) -> None:
        self._app = app
        self._origins = origins
        self._new_token = new_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not is_ours(scope["path"]):
            await self._app(scope, receive, send)
            return
        origin = admitted_origin(scope, self._origins)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = f"req_{self._new_token()}"
                if origin is not None:
                    headers["access-control-allow-origin"] = origin
                    headers["access-control-expose-headers"] = f"{REQUEST_ID}, {MESSAGE_HEADER}, retry-after"
                if self._origins:
                    headers.add_vary_header("origin")
            await send(message)

        asked = Headers(scope=scope)
        if origin is not None and scope["method"] == "OPTIONS" and "access-control-request-method" in asked:
            await _preflight(asked)(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)


def _preflight(asked: Headers) -> Response:
    wanted = asked.get("access-control-request-headers", "")[:_LONGEST_HEADERS]
    headers = {"access-control-allow-methods": _METHODS, "access-control-max-age": _PREFLIGHT_LIFE}
    return Response(None, 204, {**headers, **({"access-control-allow-headers": wanted} if wanted else {})})
