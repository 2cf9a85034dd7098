"""The wire between a bot and a platform's server on this machine: it forwards requests, or replaces their answers."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

#: Seconds for which a request hangs, longer than any client's timeout.
_HANGING = 600.0
_HTML = "<html><head><title>Hello</title></head><body>AttributeError: not what you asked for</body></html>"
_REST_SECONDS = 2


class Kind(StrEnum):
    """A kind of wrong answer. Those in `BODIES` have status 200."""

    NOTHING_LEFT = "missing fields"
    FIELD_LEFT_OUT = "missing field"
    TRUE = "wrong type: true"
    LIST = "wrong type: list"
    TEXT = "wrong type: text"
    NUMBER = "wrong type: number"
    INSIDE = "wrong types inside"
    NULLS = "null inside"
    NULL = "null"
    HTML = "HTML"
    EMPTY = "empty body"
    HANG = "hang"
    CUT = "cut connection"
    S401 = "401"
    S403 = "403"
    S404 = "404"
    S409 = "409"
    S429 = "429"
    S429_BARE = "429 without delay"
    S500 = "500"
    S503 = "503"
    HTML_403 = "403 HTML"
    HTML_404 = "404 HTML"
    HTML_429 = "429 HTML"
    HTML_502 = "502 HTML"


#: Kinds that change the server's answer, so the server must have carried out the request.
SPOILED = frozenset({
    Kind.NOTHING_LEFT, Kind.FIELD_LEFT_OUT, Kind.TRUE, Kind.LIST, Kind.TEXT, Kind.NUMBER, Kind.INSIDE, Kind.NULLS
})  # fmt: skip
#: Kinds that can occur whether or not the request was carried out.
EITHER = frozenset({Kind.NULL, Kind.HTML, Kind.EMPTY, Kind.HANG, Kind.CUT, Kind.S500, Kind.HTML_502})


@dataclass
class Fault:
    """Applies to the next `left` requests to `call`. With `carried_out`, the server carries out the request first."""

    call: str
    kind: Kind
    carried_out: bool = False
    left: int = 1


class Dialect(Protocol):
    """The form of a platform's answers and refusals."""

    def wrapped(self, document: Any, change: Callable[[Any], Any]) -> Any:
        """Return the document with its result changed, for platforms that wrap the result."""
        ...

    def refusal(self, status: int, rest: float | None) -> web.Response: ...


class Wire:
    """`asked` counts requests by call; `hits` counts wrong answers."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._fault: Fault | None = None
        self.asked: Counter[str] = Counter()
        self.hits = 0

    def spoil(self, fault: Fault | None) -> None:
        self._fault = fault

    @property
    def is_sound(self) -> bool:
        """Return whether no further answer will be wrong."""
        return self._fault is None or self._fault.left <= 0

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        call = call_of(request)
        self.asked[call] += 1
        fault = self._fault
        if fault is None or fault.left <= 0 or fault.call != call:
            return await handler(request)
        fault.left -= 1
        self.hits += 1
        await request.read()
        answered = await handler(request) if fault.carried_out else None
        return await self._spoiled(request, fault.kind, answered)

    async def _spoiled(
        self, request: web.Request, kind: Kind, answered: web.StreamResponse | None
    ) -> web.StreamResponse:
        match kind:
            case Kind.HANG:
                await asyncio.sleep(_HANGING)
                return web.Response()
            case Kind.CUT:
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case Kind.NULL:
                return _document(None)
            case Kind.HTML:
                return web.Response(text=_HTML, content_type="text/html")
            case Kind.EMPTY:
                return web.Response(body=b"", content_type="application/json")
            case Kind.HTML_403 | Kind.HTML_404 | Kind.HTML_429 | Kind.HTML_502:
                return web.Response(text=_HTML, status=int(kind.value[:3]), content_type="text/html")
            case Kind.S429:
                return self._dialect.refusal(429, _REST_SECONDS)
            case Kind.S429_BARE:
                return self._dialect.refusal(429, None)
            case Kind.S401 | Kind.S403 | Kind.S404 | Kind.S409 | Kind.S500 | Kind.S503:
                return self._dialect.refusal(int(kind.value), None)
            case _:
                return self._changed(kind, answered)

    def _changed(self, kind: Kind, answered: web.StreamResponse | None) -> web.Response:
        body = answered.body if isinstance(answered, web.Response) and isinstance(answered.body, bytes) else b""
        try:
            document = json.loads(body)
        except ValueError:
            document = {"id": "1"}
        return _document(self._dialect.wrapped(document, _CHANGES[kind]))


def call_of(request: web.Request) -> str:
    """Return the name of a call: the method on Telegram and Slack, otherwise the route."""
    if method := request.match_info.get("method"):
        return method if "." in method else method.lower()
    resource = request.match_info.route.resource
    path = resource.canonical if resource is not None else request.path
    return f"{request.method} {path.removeprefix('/api/v10')}"


def _document(document: Any) -> web.Response:
    return web.Response(body=json.dumps(document).encode(), content_type="application/json")


def _nothing_left(result: Any) -> Any:
    return [{}] if isinstance(result, list) else {}


def _left_out(result: Any) -> Any:
    """Return the result without its identifying field."""
    if isinstance(result, list):
        return [_left_out(one) for one in result]
    if not isinstance(result, dict):
        return None
    names = (
        "id",
        "message_id",
        "update_id",
        "ts",
        "url",
        "file_path",
        "user",
        "user_id",
        "upload_url",
        "messages",
        "username",
    )
    found = next((name for name in names if name in result), next(iter(result), ""))
    return {key: value for key, value in result.items() if key != found}


def _inside(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def changed(result: Any) -> Any:
        if isinstance(result, list):
            return [changed(one) for one in result] or [change("")]
        if isinstance(result, dict):
            return {key: change(value) for key, value in result.items()}
        return change(result)

    return changed


def _other(value: Any) -> Any:
    match value:
        case bool():
            return "yes"
        case str():
            return {"was": "text"}
        case int() | float():
            return [value]
        case _:
            return 7


_CHANGES: dict[Kind, Callable[[Any], Any]] = {
    Kind.NOTHING_LEFT: _nothing_left,
    Kind.FIELD_LEFT_OUT: _left_out,
    Kind.TRUE: lambda _: True,
    Kind.LIST: lambda _: [1, "two", None],
    Kind.TEXT: lambda _: "KeyError: 'text'",
    Kind.NUMBER: lambda _: 17,
    Kind.INSIDE: _inside(_other),
    Kind.NULLS: _inside(lambda _: None),
}


class TelegramDialect:
    def wrapped(self, document: Any, change: Callable[[Any], Any]) -> Any:
        return (
            {**document, "result": change(document.get("result"))} if isinstance(document, dict) else change(document)
        )

    def refusal(self, status: int, rest: float | None) -> web.Response:
        texts = {401: "Unauthorized", 403: "Forbidden: bot was kicked", 404: "Not Found", 409: "Conflict: terminated"}
        document: dict[str, Any] = {"ok": False, "error_code": status, "description": texts.get(status, "Trouble")}
        if rest is not None:
            document["parameters"] = {"retry_after": int(rest)}
        return web.json_response(document, status=status)


class SlackDialect:
    def wrapped(self, document: Any, change: Callable[[Any], Any]) -> Any:
        """All fields except `ok` are the result. A changed result that is not a mapping replaces the document."""
        if not isinstance(document, dict):
            return change(document)
        changed = change({key: value for key, value in document.items() if key != "ok"})
        return {"ok": True, **changed} if isinstance(changed, dict) else changed

    def refusal(self, status: int, rest: float | None) -> web.Response:
        if status == 429 or status >= 500:
            headers = {} if rest is None else {"Retry-After": str(int(rest))}
            return web.json_response(
                {"ok": False, "error": "ratelimited"} if status == 429 else {}, status=status, headers=headers
            )
        errors = {401: "invalid_auth", 403: "missing_scope", 404: "unknown_method", 409: "fatal_error"}
        return web.json_response({"ok": False, "error": errors[status]})


class DiscordDialect:
    def wrapped(self, document: Any, change: Callable[[Any], Any]) -> Any:
        return change(document)

    def refusal(self, status: int, rest: float | None) -> web.Response:
        texts = {401: "401: Unauthorized", 403: "Missing Permissions", 404: "Unknown Channel", 409: "Conflict"}
        codes = {403: 50013, 404: 10003}
        document: dict[str, Any] = {"message": texts.get(status, "Trouble"), "code": codes.get(status, 0)}
        headers = {"Via": "1.1 google"}
        if status == 429:
            document = {"message": "You are being rate limited."}
            if rest is not None:
                document |= {"retry_after": rest, "global": False}
                headers["Retry-After"] = str(int(rest))
        return web.Response(
            body=json.dumps(document).encode(), status=status, content_type="application/json", headers=headers
        )
