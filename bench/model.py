"""A model server that answers immediately. It streams chat completions without parsing requests, so that it uses little
processor time beside the measured daemon. (`arvis.testing.openai_server` is the complete server.)"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_PIECES = ("Hello", " from the", " loopback", " model.")


def _event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    envelope = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(envelope).encode() + b"\n\n"


_EVENTS = b"".join([*(_event({"content": piece}) for piece in _PIECES), _event({}, "stop"), b"data: [DONE]\n\n"])
_ANSWER = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(_EVENTS)) + _EVENTS


class Model:
    """A running model server. `newest` is the body of the last request, which arrived at `at` (`time.perf_counter`).
    Every request sets `arrived`."""

    def __init__(self) -> None:
        self.newest = b""
        self.at = 0.0
        self.arrived = asyncio.Event()
        self.base_url = ""


class _Connection(asyncio.Protocol):
    """One client's connection, for any number of requests, one after another. The client must send the length of each
    request and wait for its answer."""

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
            self._model.at = time.perf_counter()
            self._model.arrived.set()
            self._model.newest, self._received = body, b""
            self._transport.write(_ANSWER)


def _length(head: bytes) -> int:
    return int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])


@asynccontextmanager
async def running_model() -> AsyncIterator[Model]:
    model = Model()
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(model), "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()[:2]
        model.base_url = f"http://{host}:{port}/v1"
        yield model
