"""The chat-completions provider against a server on the loopback interface that misbehaves on demand."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from arvis.domain.errors import ProviderErrorKind
from arvis.domain.runs import Account, CallTimeouts, RunRequest, Turn
from arvis.domain.tools import ToolSpec
from arvis.net.client import open_http_client
from arvis.providers.openai import ChatCompletionsProvider, create
from arvis.testing.clock import SteppedClock
from arvis.testing.openai_server import (
    SSE_HEADERS,
    Behaviour,
    CallsTools,
    Failure,
    OpenAIServer,
    Raw,
    Reply,
    openai_server,
)
from arvis.testing.providers import provider_services
from tests.wings.scene import HttpScene

KEY = "no-usual-shape-0123456789"
REQUEST = RunRequest(
    system="Be short.",
    turns=(Turn("user", "Hello"), Turn("assistant", "Hi"), Turn("user", "How are you?")),
    model="gpt-4o-mini",
    agent_name="Helper",
)
KINDS = ProviderErrorKind


class Scene(HttpScene):
    """The provider and its server."""

    def __init__(self, server: OpenAIServer, provider: ChatCompletionsProvider) -> None:
        account = Account(name="main", provider="openai", model="own-model", api_key=KEY, base_url=server.base_url)
        super().__init__(server=server, provider=provider, account=account, request=REQUEST)

    def say(self, text: str) -> RunRequest:
        middle = len(text) // 2
        return self.then(Reply(pieces=(text[:middle], text[middle:])))

    def fail(self, kind: ProviderErrorKind) -> RunRequest:
        echo = f"no: Incorrect API key provided: {KEY}"
        failures: dict[ProviderErrorKind, Behaviour] = {
            KINDS.AUTH: Failure(401, "invalid_api_key", echo),
            KINDS.QUOTA: Failure(402, None, echo),
            KINDS.RATE_LIMIT: Failure(429, None, echo),
            KINDS.OVERLOADED: Failure(503, None, echo),
            KINDS.TIMEOUT: Failure(408, None, echo),
            KINDS.TOO_LONG: Failure(400, "context_length_exceeded", echo),
            KINDS.REFUSED: Reply(finish_reason="content_filter"),
            KINDS.BAD_REQUEST: Failure(400, None, echo),
            KINDS.EMPTY: Reply(pieces=()),
        }
        return self.then(failures[kind])

    def call(self, name: str, arguments: Mapping[str, Any]) -> RunRequest:
        spec = ToolSpec(name, "Look up a word.", {"type": "object"})
        return replace(self.then(CallsTools(((name, json.dumps(arguments)),))), tools=(spec,))


@asynccontextmanager
async def open_scene(name: str = "openai", timeouts: CallTimeouts | None = None) -> AsyncIterator[Scene]:
    async with openai_server() as server, open_http_client() as http:
        provider = create(name, provider_services(http, SteppedClock(), timeouts=timeouts))
        yield Scene(server, provider)


def body(document: object) -> Raw:
    return Raw((json.dumps(document).encode(),))


def events(*chunks: bytes) -> Raw:
    return Raw(chunks, headers=SSE_HEADERS)


def choice(message: object) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
