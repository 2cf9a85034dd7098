"""The middleware around all routes. It checks the host and the origin of a request, and sets the headers of its
response. Responses of `/v1` have other headers and another error format.

Sockets are checked before the upgrade. Requests for an unknown host are refused, because an attacker can point any name
at this machine (DNS rebinding). Forwarded headers are ignored.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from email.utils import formatdate
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arvis.config.sections import Web
from arvis.domain.regex import regex
from arvis.ports.clock import Clock
from arvis.web.http.errors import Failure
from arvis.web.openai.models import MESSAGE_HEADER, refusal

# Requests to `/v1`: OpenAI's error format even for unknown paths, a request id in every response, and CORS for the
# origins in `web.allowed_origins`.

REQUEST_ID = "x-request-id"
_ROOT = "/v1"
_METHODS = "GET, POST"
_LONGEST_HEADERS = 2_000
#: The time in seconds for which a browser may cache the response to a preflight request.
_PREFLIGHT_LIFE = "600"


def is_ours(path: str) -> bool:
    return path == _ROOT or path.startswith(f"{_ROOT}/")


def refusal_at(path: str, failure: Failure) -> Response:
    """Return the error in the format of this path: OpenAI's format for `/v1`, else the format of the API."""
    return refusal(failure) if is_ours(path) else failure.to_response()


def admitted_origin(scope: Scope, origins: frozenset[str]) -> str | None:
    """Return the origin of a browser's request to `/v1` if it is in `origins`, else None. Except for a preflight, the
    request must contain a key, so that pages of other sites cannot use a cookie."""
    headers = Headers(scope=scope)
    found = headers.getlist("origin")
    if not is_ours(scope["path"]) or len(found) != 1 or found[0] not in origins:
        return None
    return found[0] if "authorization" in headers or scope["method"] == "OPTIONS" else None


class CompletionsFront:
    """The middleware for `/v1`, which runs before `Guard`. It adds the request id and the CORS headers, and answers
    preflight requests. `origins` is `web.allowed_origins`."""

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


# The middleware of the application, built from the configuration, outermost first.


_HOST = regex(r"(?P<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9._-]{1,253})(:\d{1,5})?", re.ASCII)
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_EVERYWHERE = {"0.0.0.0", "::", ""}  # noqa: S104 - compared with, never bound
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_FOREIGN_SITES = {"cross-site", "same-site"}

#: The header that programs with a cookie can send instead of `Origin`. A page of another site cannot set it.
REQUEST_HEADER = "x-arvis-request"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    # Browsers look up the hosts of links before a click, and the name of a host can carry data.
    "x-dns-prefetch-control": "off",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(self), payment=(), usb=()",
}

_WRONG_HOST = Failure(
    403, "wrong_host", "This host name is not allowed.", "Add the host name to `web.allowed_hosts` in config.yaml."
)
_WRONG_ORIGIN = Failure(
    403,
    "wrong_origin",
    "Requests from another site are not allowed.",
    "Use the dashboard of Arvis. If Arvis runs behind a proxy, set `web.public_url`.",
)
_NO_ORIGIN = Failure(
    403,
    "no_origin",
    "A request with a cookie must state its origin.",
    f"Send `Origin`, or `{REQUEST_HEADER}: 1`.",
)


def known_hosts(host: str, allowed: Sequence[str], public_url: str | None) -> frozenset[str]:
    """Return the allowed host names, without ports. Any port is allowed, because ports can be forwarded. Other names
    are refused, because they can be part of an attack (DNS rebinding)."""
    names = [*_LOOPBACK, *(_name_of(entry) for entry in allowed)]
    if host not in _EVERYWHERE:
        names.append(f"[{host.lower()}]" if ":" in host else host.lower())
    if public_url is not None:
        names.append(_name_of(urlsplit(public_url).netloc))
    return frozenset(names)


def origin_of(url: str) -> str:
    """Return the origin of a URL in the form that browsers use, without the default port of the scheme."""
    parts = urlsplit(url.lower())
    own_port = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return f"{parts.scheme}://{parts.netloc.removesuffix(own_port)}"


def _name_of(entry: str) -> str:
    match = _HOST.fullmatch(entry.strip().lower())
    return entry.lower() if match is None else match["name"]


class Guard:
    """The middleware that refuses requests for unknown hosts and from unknown origins. `cookie` is the name of the
    session cookie, and `public_origin` is the origin of `web.public_url`. Links on any site may open the paths for
    which `opens` returns True. Pages of the `origins` may call `/v1` with a key."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: frozenset[str],
        public_origin: str | None,
        cookie: str,
        opens: Callable[[str], bool],
        origins: frozenset[str] = frozenset(),
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._public_origin = public_origin
        parts = urlsplit(public_origin or "")
        self._name_over_tls = _name_of(parts.netloc) if parts.scheme == "https" else None
        self._cookie = cookie
        self._opens = opens
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        failure = self._refusal(scope)
        if failure is None:
            await self._app(scope, receive, send)
        else:
            await refusal_at(scope["path"], failure)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Failure | None:
        headers = Headers(scope=scope)
        host = _HOST.fullmatch(headers.get("host", "").lower())
        if host is None or len(headers.getlist("host")) > 1 or host["name"] not in self._hosts:
            return _WRONG_HOST
        method = "CONNECT" if scope["type"] == "websocket" else scope["method"]
        if method in _SAFE_METHODS and self._opens(scope["path"]):
            return None
        if scope["type"] == "http" and admitted_origin(scope, self._origins) is not None:
            return None
        if headers.get("sec-fetch-site", "").lower() in _FOREIGN_SITES:
            return _WRONG_ORIGIN
        return None if method in _SAFE_METHODS else self._origin_refusal(headers)

    def _origin_refusal(self, headers: Headers) -> Failure | None:
        origins = headers.getlist("origin")
        if origins:
            own = len(origins) == 1 and self._is_own(origins[0], headers["host"].lower())
            return None if own else _WRONG_ORIGIN
        with_cookie = self._cookie in headers.get("cookie", "") and "authorization" not in headers
        return _NO_ORIGIN if with_cookie and REQUEST_HEADER not in headers else None

    def _is_own(self, origin: str, host: str) -> bool:
        """Return whether the origin is the dashboard itself. If the public address uses TLS, a page with the same host
        name but without TLS is not the dashboard, because any machine on the network could have sent this page."""
        if origin == self._public_origin:
            return True
        return origin == f"http://{host}" and _name_of(host) != self._name_over_tls


class AnswerHeaders:
    """The middleware that adds the security headers and the date to every response. It keeps headers that a handler has
    set."""

    def __init__(self, app: ASGIApp, *, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"].endswith("http.response.start"):
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
                headers.setdefault("date", formatdate(self._clock.now() / 1000, usegmt=True))
            await send(message)

        await self._app(scope, receive, send_with_headers)


def guards_of(
    config: Web, *, cookie: str, opens: Callable[[str], bool], clock: Clock, new_token: Callable[[], str]
) -> Sequence[Callable[[ASGIApp], ASGIApp]]:
    origins = frozenset(origin_of(each) for each in config.allowed_origins)
    return [
        functools.partial(AnswerHeaders, clock=clock),
        functools.partial(CompletionsFront, origins=origins, new_token=new_token),
        functools.partial(
            Guard,
            hosts=known_hosts(config.host, config.allowed_hosts, config.public_url),
            public_origin=None if config.public_url is None else origin_of(config.public_url),
            cookie=cookie,
            opens=opens,
            origins=origins,
        ),
    ]
