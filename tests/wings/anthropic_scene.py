"""The Anthropic provider with its real SDK, against a server on the loopback interface."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from arvis.domain.errors import ProviderErrorKind
from arvis.domain.runs import Account, CallTimeouts, RunRequest, Turn
from arvis.domain.tools import ToolSpec
from arvis.net.client import open_http_client
from arvis.providers.anthropic import AnthropicProvider, create
from arvis.testing.clock import SteppedClock
from arvis.testing.openai_server import (
    SSE_HEADERS,
    Behaviour,
    OpenAIServer,
    Raw,
    ReceivedRequest,
    model_server,
)
from arvis.testing.providers import provider_services
from tests.wings.scene import HttpScene

KEY = "no-usual-shape-0123456789"
KINDS = ProviderErrorKind
MODEL = "claude-haiku-4-5"
REQUEST = RunRequest(
    system="Be short.",
    turns=(Turn("user", "Hello"), Turn("assistant", "Hi"), Turn("user", "How are you?")),
    model=MODEL,
    agent_name="Helper",
)
USAGE: Mapping[str, int] = {"input_tokens": 7, "output_tokens": 5}


def event(document: Mapping[str, Any]) -> bytes:
    return f"event: {document['type']}\ndata: {json.dumps(document)}\n\n".encode()


def events(*documents: Mapping[str, Any], cut_at: int | None = None) -> Raw:
    return Raw(tuple(event(document) for document in documents), headers=SSE_HEADERS, cut_at=cut_at)


def body(document: object) -> Raw:
    return Raw((json.dumps(document).encode(),))


def message(*content: Any, reason: Any = "end_turn", usage: Any = USAGE, **more: Any) -> dict[str, Any]:
    """Return a complete message with these content blocks."""
    return {
        "id": "msg_loopback",
        "type": "message",
        "role": "assistant",
        "model": f"{MODEL}-20251001",
        "content": list(content),
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
        **more,
    }


def start(**more: Any) -> dict[str, Any]:
    begun = message(reason=None, usage={**USAGE, "output_tokens": 1}, **more)
    return {"type": "message_start", "message": begun}


def piece(index: int, delta: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def text_piece(text: str) -> dict[str, Any]:
    return piece(0, {"type": "text_delta", "text": text})


def end(reason: str = "end_turn", **more: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, **more}


STOP = {"type": "message_stop"}
EMPTY_TEXT = {"type": "text", "text": ""}


@dataclass(frozen=True, slots=True)
class Says:
    """A successful answer with these blocks. When it is streamed, each text and each call's input comes in two
    pieces."""

    blocks: tuple[Mapping[str, Any], ...]
    reason: str = "end_turn"
    usage: Mapping[str, Any] = field(default_factory=lambda: USAGE)
    more: Mapping[str, Any] = field(default_factory=dict)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        if not received.wants_stream:
            whole = message(*self.blocks, reason=self.reason, usage=self.usage, **self.more)
            return await body(whole).answer(received)
        begin = message(reason=None, usage={**self.usage, "output_tokens": 1})
        last = {"stop_reason": self.reason, "stop_sequence": None, **self.more}
        documents: list[Mapping[str, Any]] = [
            {"type": "message_start", "message": begin},
            {"type": "ping"},
            *(document for index, block in enumerate(self.blocks) for document in _streamed(index, block)),
            {"type": "message_delta", "delta": last, "usage": {"output_tokens": self.usage["output_tokens"]}},
            STOP,
        ]
        return await events(*documents).answer(received)


def _streamed(index: int, block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    empty: Mapping[str, Any]
    deltas: list[dict[str, Any]]
    match block:
        case {"type": "text", "text": str(whole)}:
            empty, deltas = EMPTY_TEXT, [{"type": "text_delta", "text": half} for half in _halves(whole)]
        case {"type": "tool_use", "input": arguments}:
            written = json.dumps(arguments, ensure_ascii=False)
            empty = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": half} for half in ("", *_halves(written))]
        case _:
            empty, deltas = dict(block), []
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    yield from (piece(index, delta) for delta in deltas)
    yield {"type": "content_block_stop", "index": index}


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def call_block(name: Any, arguments: Any, id: Any = "toolu_01") -> dict[str, Any]:  # noqa: A002 - its name
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def says(*texts: str, **more: Any) -> Says:
    return Says(tuple(text_block(text) for text in texts), **more)


def fails(status: int, name: str, words: str = "no", headers: Mapping[str, str] | None = None) -> Raw:
    document = {"type": "error", "error": {"type": name, "message": words}, "request_id": "req_loopback"}
    sent = {"Content-Type": "application/json", **(headers or {})}
    return Raw((json.dumps(document).encode(),), status=status, headers=sent)


class Scene(HttpScene):
    """The provider and its server."""

    def __init__(self, server: OpenAIServer, provider: AnthropicProvider) -> None:
        account = Account(name="main", provider="anthropic", model="own-model", api_key=KEY, base_url=server.base_url)
        super().__init__(server=server, provider=provider, account=account, request=REQUEST)

    def say(self, text: str) -> RunRequest:
        return self.then(says(text))

    def fail(self, kind: ProviderErrorKind) -> RunRequest:
        echo = f"no: invalid x-api-key {KEY}"
        failures: dict[ProviderErrorKind, Behaviour] = {
            KINDS.AUTH: fails(401, "authentication_error", echo),
            KINDS.QUOTA: fails(402, "billing_error", echo),
            KINDS.RATE_LIMIT: fails(429, "rate_limit_error", echo),
            KINDS.OVERLOADED: fails(529, "overloaded_error", echo),
            KINDS.TIMEOUT: fails(504, "timeout_error", echo),
            KINDS.TOO_LONG: fails(400, "invalid_request_error", f"prompt is too long: 9 tokens > 8 maximum {echo}"),
            KINDS.REFUSED: says("half", reason="refusal", more={"stop_details": {"type": "refusal"}}),
            KINDS.BAD_REQUEST: fails(400, "invalid_request_error", echo),
            KINDS.EMPTY: says(""),
        }
        return self.then(failures[kind])

    def call(self, name: str, arguments: Mapping[str, Any]) -> RunRequest:
        spec = ToolSpec(name, "Look up a word.", {"type": "object"})
        return replace(self.then(Says((call_block(name, arguments),), reason="tool_use")), tools=(spec,))


@asynccontextmanager
async def open_scene(timeouts: CallTimeouts | None = None) -> AsyncIterator[Scene]:
    async with model_server("/v1/messages") as server, open_http_client() as http:
        made = create("anthropic", provider_services(http, SteppedClock(), timeouts=timeouts))
        async with aclosing(made) as provider:
            yield Scene(server, provider)
