"""A model server that answers immediately. It answers chat completions without parsing requests, so that it uses little
processor time beside the measured daemon. (`arvis.testing.openai_server` is the complete server.)"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_PIECES = ("Hello", " from the", " loopback", " model.")
_STREAM = re.compile(rb'"stream": ?true')
#: The text of every answer.
ANSWER = "".join(_PIECES)


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    envelope = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(envelope).encode() + b"\n\n"


_EVENTS = b"".join([*(_event({"content": piece}) for piece in _PIECES), _event({}, "stop"), b"data: [DONE]\n\n"])
_USAGE = {"prompt_tokens": 1, "completion_tokens": 4, "total_tokens": 5}
_WHOLE = {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
_COMPLETION = json.dumps(
    {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [_WHOLE], "usage": _USAGE}
).encode()


def _response(status: str, kind: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


_STREAMED = _response("200 OK", "text/event-stream", _EVENTS)
_IN_ONE_PIECE = _response("200 OK", "application/json", _COMPLETION)
_NOT_FOUND = _response(
    "404 Not Found", "application/json", b'{"error": {"message": "The server has only completions."}}'
)


class Model:
    """A running model server. `newest` is the body of the last model call, which arrived at `at` (`time.perf_counter`).
    `calls` and `received` are the number of all model calls and the size of their bodies in bytes. Every model call sets
    `arrived`."""

    def __init__(self) -> None:
        self.newest = b""
        self.at = 0.0
        self.calls = 0
        self.received = 0
        self.arrived = asyncio.Event()
        self.base_url = ""

    def answer(self, head: bytes, body: bytes) -> bytes:
        """Return the response to a request. Requests with other paths are no model calls: some programs first ask which
        models a server has."""
        if b"/chat/completions" not in head.partition(b"\r\n")[0]:
            return _NOT_FOUND
        self.at = time.perf_counter()
        self.calls += 1
        self.received += len(body)
        self.newest = body
        self.arrived.set()
        return _STREAMED if _STREAM.search(body) else _IN_ONE_PIECE


class _Connection(asyncio.Protocol):
    """One client's connection, for any number of requests, one after another. The client must send the length of each
    request with a body, and wait for its answer."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._received = b""
        self._transport = asyncio.Transport()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if end and len(body) == _length(head):
            self._received = b""
            self._transport.write(self._model.answer(head, body))


def _length(head: bytes) -> int:
    """Return the length of the request's body; 0 if the head names none."""
    _, _, rest = head.lower().partition(b"content-length:")
    return int(rest.partition(b"\r\n")[0] or 0)


@asynccontextmanager
async def running_model() -> AsyncIterator[Model]:
    model = Model()
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(model), "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        model.base_url = f"http://{host}:{port}/v1"
        yield model
