"""A model server on the loopback interface that speaks the chat-completions format, and misbehaves on demand.

It follows the public documentation of the format. Tests give it a script: each request gets the next entry as its
answer, and after the last entry every request gets the default. It is a real server on a real socket, so tests replace
no part of the client.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from typing import Any, Protocol

from aiohttp import web

from arvis.domain.dataclass import dataclass

SSE_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A received request."""

    path: str
    headers: Mapping[str, str]
    #: The parsed JSON of the body.
    document: Mapping[str, Any]
    #: The HTTP request that an entry of the script answers.
    http: web.Request = field(repr=False)

    @property
    def wants_stream(self) -> bool:
        return bool(self.document.get("stream"))

    @property
    def wants_usage(self) -> bool:
        return bool((self.document.get("stream_options") or {}).get("include_usage"))


class Behaviour(Protocol):
    """One entry of the script."""

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse: ...


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful answer whose text is sent in these pieces."""

    pieces: tuple[str, ...] = ("Hello", " from the", " loopback model.")
    #: The seconds to wait before the headers are sent.
    delay: float = 0.0
    #: The seconds to wait before each piece of a stream.
    pause: float = 0.0
    #: The tokens of the prompt and of the reply.
    usage: tuple[int, int] | None = (7, 5)
    #: The reason for the end of the reply. None: the answer does not say that the reply is complete.
    finish_reason: str | None = "stop"
    #: True if a stream ends with `[DONE]`.
    done: bool = True
    #: The number of bytes of the body after which the connection breaks.
    cut_at: int | None = None

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        await asyncio.sleep(self.delay)
        if received.wants_stream:
            return await _send(
                received.http, self._events(received), headers=SSE_HEADERS, cut_at=self.cut_at, pause=self.pause
            )
        document = json.dumps(self._document(received)).encode()
        return await _send(received.http, [document], headers={"Content-Type": "application/json"}, cut_at=self.cut_at)

    def wire(self, received: ReceivedRequest) -> bytes:
        """Return the body of a streamed answer as it is sent."""
        return b"".join(self._events(received))

    def _events(self, received: ReceivedRequest) -> Iterable[bytes]:
        model = received.document.get("model")
        yield chunk_event(model, {"role": "assistant", "content": ""})
        for piece in self.pieces:
            yield chunk_event(model, {"content": piece})
        if self.finish_reason is not None:
            yield chunk_event(model, {}, finish_reason=self.finish_reason)
        if self.usage is not None and received.wants_usage:
            yield sse_event(_envelope("chat.completion.chunk", model) | {"choices": [], "usage": _usage(self.usage)})
        if self.done:
            yield b"data: [DONE]\n\n"

    def _document(self, received: ReceivedRequest) -> dict[str, Any]:
        message = {"role": "assistant", "content": "".join(self.pieces), "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish_reason}
        document = _envelope("chat.completion", received.document.get("model")) | {"choices": [choice]}
        return document if self.usage is None else document | {"usage": _usage(self.usage)}


@dataclass(frozen=True, slots=True)
class CallsTools:
    """An answer with tool calls. Each call is a pair of the tool's name and the arguments as text. A stream sends one
    call after the other, and the arguments of a call in pieces of seven characters."""

    calls: tuple[tuple[str, str], ...]
    text: str = ""

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        if received.wants_stream:
            return await _send(received.http, self._events(received.document.get("model")), headers=SSE_HEADERS)
        message = {
            "role": "assistant",
            "content": self.text or None,
            "tool_calls": [self._call(n) for n in self._numbers],
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
        document = _envelope("chat.completion", received.document.get("model")) | {"choices": [choice]}
        return await _send(received.http, [json.dumps(document).encode()], headers={"Content-Type": "application/json"})

    @property
    def _numbers(self) -> range:
        return range(len(self.calls))

    def _call(self, number: int) -> dict[str, Any]:
        name, arguments = self.calls[number]
        return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}

    def _events(self, model: object) -> Iterable[bytes]:
        if self.text:
            yield chunk_event(model, {"content": self.text})
        for number in self._numbers:
            begin = self._call(number)
            arguments = begin["function"]["arguments"]
            begin["function"] = {**begin["function"], "arguments": ""}
            yield chunk_event(model, {"tool_calls": [{"index": number, **begin}]})
            for start in range(0, len(arguments), 7):
                piece = {"index": number, "function": {"arguments": arguments[start : start + 7]}}
                yield chunk_event(model, {"tool_calls": [piece]})
        yield chunk_event(model, {}, finish_reason="tool_calls")
        yield b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class Response:
    """A successful answer of the Responses API: a text, reasoning, and tool calls (the tool's name and the arguments as
    text)."""

    text: str = "Hello from the loopback model."
    calls: tuple[tuple[str, str], ...] = ()
    #: The encrypted reasoning; empty: none.
    reasoning: str = ""
    #: The reason why the answer is incomplete; None: it is complete.
    incomplete: str | None = None
    usage: Mapping[str, Any] = field(
        default_factory=lambda: {
            "input_tokens": 7,
            "output_tokens": 5,
            "input_tokens_details": {"cached_tokens": 3},
        }
    )

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        if received.wants_stream:
            return await _send(received.http, self._events(received), headers=SSE_HEADERS)
        document = json.dumps(self._response(received)).encode()
        return await _send(received.http, [document], headers={"Content-Type": "application/json"})

    @property
    def _output(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if self.reasoning:
            items.append({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": self.reasoning})
        if self.text:
            part = {"type": "output_text", "text": self.text, "annotations": []}
            items.append({"type": "message", "id": "msg_1", "role": "assistant", "content": [part]})
        for number, (name, arguments) in enumerate(self.calls):
            call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
            items.append({**call, "name": name, "arguments": arguments})
        return items

    def _response(self, received: ReceivedRequest) -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "model": received.document.get("model"),
            "status": "completed" if self.incomplete is None else "incomplete",
            "incomplete_details": None if self.incomplete is None else {"reason": self.incomplete},
            "error": None,
            "output": self._output,
            "usage": self.usage,
        }

    def _events(self, received: ReceivedRequest) -> Iterable[bytes]:
        response = self._response(received)
        yield sse_event({"type": "response.created", "response": {**response, "status": "in_progress", "output": []}})
        for index, item in enumerate(self._output):
            place = {"output_index": index}
            yield sse_event({"type": "response.output_item.added", **place, "item": {**item, "content": []}})
            if item["type"] == "message":
                for start in range(0, len(self.text), 7):
                    piece = self.text[start : start + 7]
                    yield sse_event({"type": "response.output_text.delta", **place, "delta": piece})
            yield sse_event({"type": "response.output_item.done", **place, "item": item})
        yield sse_event({"type": f"response.{response['status']}", "response": response})


@dataclass(frozen=True, slots=True)
class Failure:
    """An error answer with the format's error object."""

    status: int
    code: str | int | None = None
    message: str = "scripted failure"
    headers: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Any] | None = None

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        error: dict[str, Any] = {"message": self.message, "type": "error", "param": None, "code": self.code}
        if self.metadata is not None:
            error["metadata"] = self.metadata
        headers = {"Content-Type": "application/json", **self.headers}
        return await _send(received.http, [json.dumps({"error": error}).encode()], status=self.status, headers=headers)


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer with any body under any content type: malformed JSON, wrong types, errors inside a stream,
    decompression bombs."""

    chunks: tuple[bytes, ...]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    pause: float = 0.0
    cut_at: int | None = None

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        return await _send(
            received.http, self.chunks, status=self.status, headers=self.headers, cut_at=self.cut_at, pause=self.pause
        )


@dataclass(frozen=True, slots=True)
class Hang:
    """An answer that never ends. The server waits until the client disconnects, either before the headers or after the
    headers and the bytes `first`."""

    after_headers: bool = False
    first: bytes = b""

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        if self.after_headers:
            response = web.StreamResponse(headers=SSE_HEADERS)
            await response.prepare(received.http)
            if self.first:
                await response.write(self.first)
        await asyncio.Event().wait()
        raise AssertionError("only a disconnect ends this wait")


class OpenAIServer:
    """The running server. `base_url` is the address for an account."""

    def __init__(self, *, script: Iterable[Behaviour] = (), default: Behaviour | None = None) -> None:
        self.script: deque[Behaviour] = deque(script)
        self.default = default or Reply()
        self.requests: list[ReceivedRequest] = []
        self.arrived = asyncio.Event()
        self.disconnected = asyncio.Event()
        self.base_url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        received = ReceivedRequest(request.path, dict(request.headers), await request.json(), request)
        self.requests.append(received)
        self.arrived.set()
        behaviour = self.script.popleft() if self.script else self.default
        try:
            return await behaviour.answer(received)
        except asyncio.CancelledError:
            self.disconnected.set()
            raise
        except ConnectionResetError:
            self.disconnected.set()
            return web.Response()  # the client has gone


@asynccontextmanager
async def openai_server(
    *, script: Iterable[Behaviour] = (), default: Behaviour | None = None
) -> AsyncIterator[OpenAIServer]:
    """Run a server on a free port of 127.0.0.1, and close it at the end. It receives requests of both APIs."""
    async with model_server(
        "/v1/{api:chat/completions|responses}", base="/v1", script=script, default=default
    ) as server:
        yield server


@asynccontextmanager
async def model_server(
    route: str, *, base: str = "", script: Iterable[Behaviour] = (), default: Behaviour | None = None
) -> AsyncIterator[OpenAIServer]:
    """Run a server for another vendor at `route`, a route pattern of aiohttp. The entries of the script must use that
    vendor's format. `base` is the part of the path that `base_url` contains."""
    server = OpenAIServer(script=script, default=default)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post(route, server.handle)
    # Without cancellation a handler would not notice that its client has disconnected.
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        server.base_url = f"http://{host}:{port}{base}"
        yield server
    finally:
        await runner.cleanup()


def chunk_event(model: object, delta: Mapping[str, Any], *, finish_reason: str | None = None) -> bytes:
    """Return one event of a stream that contains a piece of the reply."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return sse_event(_envelope("chat.completion.chunk", model) | {"choices": [choice]})


def sse_event(document: object) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def _envelope(kind: str, model: object) -> dict[str, Any]:
    return {"id": "chatcmpl-loopback", "object": kind, "created": 1_780_000_000, "model": model}


def _usage(usage: tuple[int, int]) -> dict[str, int]:
    prompt, completion = usage
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


async def _send(
    request: web.Request,
    chunks: Iterable[bytes],
    *,
    headers: Mapping[str, str],
    status: int = 200,
    cut_at: int | None = None,
    pause: float = 0.0,
) -> web.StreamResponse:
    """Send a body piece by piece. After `cut_at` bytes, close the connection without the chunk that marks the end of a
    body."""
    response = web.StreamResponse(status=status, headers=headers)
    await response.prepare(request)
    left = cut_at
    for chunk in chunks:
        if pause:
            await asyncio.sleep(pause)
        await response.write(chunk if left is None else chunk[:left])
        if left is not None:
            left -= len(chunk)
            if left <= 0:
                break
    if cut_at is not None and request.transport is not None:
        request.transport.close()
        return response
    await response.write_eof()
    return response
