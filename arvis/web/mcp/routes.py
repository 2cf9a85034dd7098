"""`POST /mcp`: Arvis as a server of the Model Context Protocol, with the same keys and checks as the API.

Requests are stateless: there are no sessions and no open streams. The package `mcp` is loaded only at the first
request, because loading takes seconds and the package may be missing.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Sequence
from typing import Any, Protocol

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Scope

from arvis.ports.extras import install_command
from arvis.web.http.endpoints import Call, Endpoint
from arvis.web.http.errors import Failure
from arvis.web.http.identity import ANYONE, Identity
from arvis.web.http.limits import SMALL, BodyLimit
from arvis.web.http.rate_limits import ConcurrencyLimit
from arvis.web.http.requests import Fields, read_json
from arvis.web.http.schema import Schema
from arvis.web.mcp.tools import ArvisTools

#: The key of the ASGI scope under which the tools find the verified credential of a request.
IDENTITY = "arvis.identity"

#: The maximum number of concurrent requests, in total and per key. Each request can wait for minutes.
_MOST = 32
_MOST_OF_ONE = 8
#: The fields of a protocol message that are passed to the package `mcp`.
_PARTS = ("jsonrpc", "id", "method", "params")

_NO_MESSAGE = Failure(
    400,
    "invalid",
    "The body is not a request of the Model Context Protocol that this server supports.",
    "Send one JSON-RPC request with an `id` (docs/how-to/mcp.md).",
)
_FIRST_REFUSAL = 400
#: Methods that need a streamed answer, which this transport does not offer.
_NOT_OFFERED = frozenset({"subscriptions/listen"})
_METHOD_NOT_FOUND = -32601
_MESSAGE: Schema = {"type": "object", "description": "One JSON-RPC message of the Model Context Protocol."}


class McpServing(Protocol):
    """The running server of the package `mcp`."""

    async def answer(self, scope: Scope, body: bytes) -> Response: ...

    async def close(self) -> None: ...


class McpRoutes:
    """Routes of the MCP server. `message_bytes` is the maximum size of a message."""

    def __init__(self, *, tools: ArvisTools, message_bytes: int) -> None:
        self._tools = tools
        self._limit = BodyLimit(size=6 * message_bytes + SMALL.size, marks=message_bytes + SMALL.marks)
        self._serving: McpServing | None = None
        self._loading = asyncio.Lock()
        self._slots = ConcurrencyLimit(most=_MOST, most_of_one=_MOST_OF_ONE)

    def endpoints(self) -> list[Endpoint]:
        summary = "Call the Model Context Protocol (streamable HTTP, without sessions)"
        answers: dict[int, Schema] = {200: _MESSAGE, 202: {}}
        return [
            Endpoint("POST", "/mcp", summary, ANYONE, self._post, answers, body=_MESSAGE, keyed=False, refusals=(501,))
        ]

    async def close(self) -> None:
        """Close the server of the package. A later request starts it again."""
        async with self._loading:
            if self._serving is not None:
                await self._serving.close()
            self._serving = None

    async def _post(self, call: Call) -> Response:
        fields = await read_json(call.request, self._limit)
        body = _handed_on(fields)
        if fields.raw("method") in _NOT_OFFERED and isinstance(fields.raw("id"), str | int):
            return _not_offered(fields)
        serving = await self._opened()
        if serving is None:
            return _not_installed().to_response()
        with self._slots.taken(call.identity.user_id):
            answer = await serving.answer(_scope(call.request.scope, call.identity, len(body)), body)
        if answer.status_code >= _FIRST_REFUSAL and (fields.raw("id") is None or not answer.body):
            # The protocol has no response to this body, so the error has the format of the API.
            return _NO_MESSAGE.to_response()
        return answer

    async def _opened(self) -> McpServing | None:
        async with self._loading:
            if self._serving is None:
                try:
                    package: Any = await asyncio.to_thread(importlib.import_module, "arvis.web.mcp.server")
                except ImportError:
                    return None
                self._serving = await package.serve(self._tools)
            return self._serving


def _not_installed() -> Failure:
    what = "The package for the Model Context Protocol is missing."
    return Failure(501, "not_installed", what, f"Run `{install_command('mcp')}`, then start Arvis again.")


def _not_offered(fields: Fields) -> Response:
    """Return the error that the protocol defines for unsupported methods."""
    why = "Subscriptions are not supported. Request the list of tools again."
    error = {"code": _METHOD_NOT_FOUND, "message": why}
    return JSONResponse({"jsonrpc": "2.0", "id": fields.raw("id"), "error": error})


def _handed_on(fields: Fields) -> bytes:
    given = {name: fields.raw(name) for name in _PARTS}
    return json.dumps({name: value for name, value in given.items() if value is not None}).encode()


def _scope(scope: Scope, identity: Identity, length: int) -> Scope:
    """Return the ASGI scope for a call of the package `mcp`. It contains the verified identity, no credentials, and
    headers that request a single JSON response."""
    replaced = {b"content-length": str(length).encode(), b"accept": b"application/json"}
    hidden = {*replaced, b"authorization", b"cookie", b"transfer-encoding"}
    headers: Sequence[tuple[bytes, bytes]] = scope["headers"]
    kept = [(name, value) for name, value in headers if name not in hidden]
    return {**scope, "headers": [*kept, *replaced.items()], IDENTITY: identity}


class BufferedExchange:
    """The functions `receive` and `send` for one direct call of an ASGI application. `body` is the body of the request.
    After the call, `response` returns the response."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._never = asyncio.Event()
        self.status = 500
        self.headers: list[tuple[bytes, bytes]] = []
        self.content = bytearray()

    async def receive(self) -> Message:
        if self._body is None:
            await self._never.wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = list(message["headers"])
        else:
            self.content += message.get("body", b"")

    def response(self) -> Response:
        kind = next((value.decode("latin-1") for name, value in self.headers if name == b"content-type"), None)
        return Response(bytes(self.content), self.status, media_type=kind)
