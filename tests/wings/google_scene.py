"""The Google provider against a server on the loopback interface that speaks `generateContent`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web

from arvis.domain.errors import ProviderErrorKind
from arvis.domain.runs import Account, CallTimeouts, RunRequest, Turn
from arvis.domain.tools import ToolSpec
from arvis.net.client import open_http_client
from arvis.providers.google import GoogleProvider, create
from arvis.testing.clock import SteppedClock
from arvis.testing.openai_server import (
    SSE_HEADERS,
    Behaviour,
    OpenAIServer,
    Raw,
    ReceivedRequest,
    model_server,
    sse_event,
)
from arvis.testing.providers import provider_services
from tests.wings.scene import HttpScene

KEY = "no-usual-shape-0123456789"
KINDS = ProviderErrorKind
REQUEST = RunRequest(
    system="Be short.",
    turns=(Turn("user", "Hello"), Turn("assistant", "Hi"), Turn("user", "How are you?")),
    model="gemini-2.0-flash",
    agent_name="Helper",
)
ROUTE = "/v1beta/models/{model}:{method}"


def candidate(*parts: Mapping[str, Any], reason: str | None = None) -> dict[str, Any]:
    """Return a document with one candidate."""
    found: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    if reason is not None:
        found["finishReason"] = reason
    return {"candidates": [found], "modelVersion": "gemini-2.0-flash-001"}


USAGE = {"usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}}


@dataclass(frozen=True, slots=True)
class Says:
    """A successful answer. When it is streamed, each part has its own document, and the last one has the end."""

    parts: tuple[Mapping[str, Any], ...]
    reason: str | None = "STOP"
    usage: Mapping[str, Any] = field(default_factory=lambda: USAGE)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        end = {**candidate(*self.parts[-1:], reason=self.reason), **self.usage}
        if "streamGenerateContent" in received.path:
            events = [sse_event(candidate(part)) for part in self.parts[:-1]]
            return await Raw((*events, sse_event(end)), headers=SSE_HEADERS).answer(received)
        whole = {**candidate(*self.parts, reason=self.reason), **self.usage}
        return await body(whole).answer(received)


def says(*texts: str, **more: Any) -> Says:
    return Says(tuple({"text": text} for text in texts), **more)


def fails(status: int, name: str, message: str = "no", *details: Mapping[str, Any]) -> Raw:
    error = {"code": status, "message": message, "status": name, "details": list(details)}
    return Raw((json.dumps({"error": error}).encode(),), status=status)


def body(document: object) -> Raw:
    return Raw((json.dumps(document).encode(),))


class Scene(HttpScene):
    """The provider and its server."""

    def __init__(self, server: OpenAIServer, provider: GoogleProvider) -> None:
        base = f"{server.base_url}/v1beta"
        account = Account(name="main", provider="google", model="own-model", api_key=KEY, base_url=base)
        super().__init__(server=server, provider=provider, account=account, request=REQUEST)

    def say(self, text: str) -> RunRequest:
        middle = len(text) // 2
        return self.then(says(text[:middle], text[middle:]))

    def fail(self, kind: ProviderErrorKind) -> RunRequest:
        echo = f"no: API key {KEY} not valid"
        failures: dict[ProviderErrorKind, Behaviour] = {
            KINDS.AUTH: fails(400, "INVALID_ARGUMENT", echo, {"reason": "API_KEY_INVALID"}),
            KINDS.QUOTA: fails(402, "PAYMENT_REQUIRED", echo),
            KINDS.RATE_LIMIT: fails(429, "RESOURCE_EXHAUSTED", echo),
            KINDS.OVERLOADED: fails(503, "UNAVAILABLE", echo),
            KINDS.TIMEOUT: fails(504, "DEADLINE_EXCEEDED", echo),
            KINDS.TOO_LONG: fails(400, "INVALID_ARGUMENT", f"The input token count (9) exceeds the maximum. {echo}"),
            KINDS.REFUSED: body({"promptFeedback": {"blockReason": "SAFETY"}}),
            KINDS.BAD_REQUEST: fails(400, "INVALID_ARGUMENT", echo),
            KINDS.EMPTY: says(""),
        }
        if kind is KINDS.REFUSED:
            return self.then(says("half", reason="SAFETY"))
        return self.then(failures[kind])

    def call(self, name: str, arguments: Mapping[str, Any]) -> RunRequest:
        spec = ToolSpec(name, "Look up a word.", {"type": "object"})
        called = Says(({"functionCall": {"name": name, "args": arguments}},))
        return replace(self.then(called), tools=(spec,))


@asynccontextmanager
async def open_scene(timeouts: CallTimeouts | None = None) -> AsyncIterator[Scene]:
    async with model_server(ROUTE) as server, open_http_client() as http:
        yield Scene(server, create("google", provider_services(http, SteppedClock(), timeouts=timeouts)))
