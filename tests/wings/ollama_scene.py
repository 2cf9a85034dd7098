"""The Ollama provider against a server on the loopback interface that speaks Ollama's native chat format."""

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
from arvis.providers.ollama import OllamaProvider, create
from arvis.testing.clock import SteppedClock
from arvis.testing.openai_server import Behaviour, OpenAIServer, Raw, ReceivedRequest, model_server
from arvis.testing.providers import provider_services
from tests.wings.scene import HttpScene

KINDS = ProviderErrorKind
REQUEST = RunRequest(
    system="Be short.",
    turns=(Turn("user", "Hello"), Turn("assistant", "Hi"), Turn("user", "How are you?")),
    model="llama3",
    agent_name="Helper",
)
LINES = {"Content-Type": "application/x-ndjson"}
END = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 5}


@dataclass(frozen=True, slots=True)
class Says:
    """A successful answer with these messages, one line for each when it is streamed. Without `end` it has no end
    mark."""

    messages: tuple[Mapping[str, Any], ...]
    end: Mapping[str, Any] | None = field(default_factory=lambda: END)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        model = {"model": received.document["model"], "created_at": "2026-11-22T00:00:00Z"}
        if received.wants_stream:
            parts = [{**model, "message": {"role": "assistant", **m}, "done": False} for m in self.messages]
            if self.end is not None:
                parts.append({**model, "message": {"role": "assistant", "content": ""}, **self.end})
            return await Raw(tuple(json.dumps(part).encode() + b"\n" for part in parts), headers=LINES).answer(received)
        text = "".join(m.get("content", "") for m in self.messages)
        calls = [call for m in self.messages for call in m.get("tool_calls", ())]
        message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
        return await body({**model, "message": message, **(self.end or {})}).answer(received)


def says(*texts: str, **more: Any) -> Says:
    return Says(tuple({"content": text} for text in texts), **more)


def calls(name: str, arguments: object) -> Says:
    return Says(({"content": "", "tool_calls": [{"function": {"name": name, "arguments": arguments}}]},))


def fails(status: int, text: str) -> Raw:
    return Raw((json.dumps({"error": text}).encode(),), status=status)


def body(document: object) -> Raw:
    return Raw((json.dumps(document).encode(),))


def shows(context: int | None) -> Raw:
    """Return the answer of `/api/show` for a model with this context size."""
    info = {"general.architecture": "llama"} | ({} if context is None else {"llama.context_length": context})
    return body({"model_info": info, "details": {"family": "llama"}})


class Scene(HttpScene):
    """The provider and its server, whose model has a context of 8,192 tokens."""

    def __init__(self, server: OpenAIServer, provider: OllamaProvider) -> None:
        account = Account(name="main", provider="ollama", model="own-model", base_url=server.base_url)
        super().__init__(server=server, provider=provider, account=account, request=REQUEST)
        server.script.append(shows(8_192))

    def say(self, text: str) -> RunRequest:
        middle = len(text) // 2
        return self.then(says(text[:middle], text[middle:]))

    def fail(self, kind: ProviderErrorKind) -> RunRequest:
        failures: dict[ProviderErrorKind, Behaviour] = {
            KINDS.AUTH: fails(401, "unauthorized"),
            KINDS.RATE_LIMIT: fails(429, "too many requests"),
            KINDS.OVERLOADED: fails(503, "server busy, please try again"),
            KINDS.TIMEOUT: fails(408, "timed out"),
            KINDS.TOO_LONG: fails(400, "the request exceeds the available context size"),
            KINDS.BAD_REQUEST: fails(404, "model 'llama3' not found"),
            KINDS.EMPTY: says(""),
        }
        return self.then(failures[kind])

    def call(self, name: str, arguments: Mapping[str, Any]) -> RunRequest:
        spec = ToolSpec(name, "Look up a word.", {"type": "object"})
        return replace(self.then(calls(name, arguments)), tools=(spec,))


@asynccontextmanager
async def open_scene(timeouts: CallTimeouts | None = None) -> AsyncIterator[Scene]:
    async with model_server("/api/{method}") as server, open_http_client() as http:
        yield Scene(server, create("ollama", provider_services(http, SteppedClock(), timeouts=timeouts)))
