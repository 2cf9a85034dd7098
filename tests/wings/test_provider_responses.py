"""The Responses API as a client of accounts, against a server on the loopback interface."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import openai
import pytest

from arvis.domain.errors import ProviderErrorKind
from arvis.domain.runs import CHAT, RESPONSES, RunRequest
from arvis.domain.tools import ToolSpec
from arvis.testing.conformance.provider import ProviderConformance
from arvis.testing.openai_server import SSE_HEADERS, Failure, Raw, Reply, Response, openai_server, sse_event
from tests.wings import chat_scene


class Scene(chat_scene.Scene):
    """An account that uses the Responses API."""

    def say(self, text: str) -> RunRequest:
        return self.then(Response(text))

    def fail(self, kind: ProviderErrorKind) -> RunRequest:
        match kind:
            case ProviderErrorKind.REFUSED:
                return self.then(Response("half", incomplete="content_filter"))
            case ProviderErrorKind.EMPTY:
                return self.then(Response(""))
        return super().fail(kind)

    def call(self, name: str, arguments: Mapping[str, Any]) -> RunRequest:
        spec = ToolSpec(name, "Look up a word.", {"type": "object"})
        return replace(self.then(Response("", calls=((name, json.dumps(arguments)),))), tools=(spec,))


@asynccontextmanager
async def open_scene() -> AsyncIterator[Scene]:
    async with chat_scene.open_scene() as plain:
        provider: Any = plain.provider
        scene = Scene(plain.server, provider)
        scene.account = replace(scene.account, api=RESPONSES)
        yield scene


class TestResponsesConformance(ProviderConformance):
    @asynccontextmanager
    async def scene(self) -> AsyncIterator[Scene]:
        async with open_scene() as scene:
            yield scene


async def test_the_server_speaks_the_format_of_the_official_client() -> None:
    async with (
        openai_server(default=Response(calls=(("look", "{}"),))) as server,
        openai.AsyncOpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client,
    ):
        whole = await client.responses.create(model="m", input="Hello")
        assert whole.output_text == "Hello from the loopback model."
        assert [item.type for item in whole.output] == ["message", "function_call"]
        stream = await client.responses.create(model="m", input="Hello", stream=True)
        events = [event async for event in stream]
        assert events[-1].type == "response.completed"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_response_that_is_cut_or_refused(stream: bool) -> None:
    async with open_scene() as scene:
        cut = Response(text="Half of", incomplete="max_output_tokens")
        result = (await scene.stream(cut))[0] if stream else await scene.complete(cut)
        assert (result.content, result.cut) == ("Half of", True)
        filtered = Response(text="Half of", incomplete="content_filter")
        assert (await scene.failure(filtered)).kind is ProviderErrorKind.REFUSED
        failed = {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "slow"}}}
        events = Raw((sse_event(failed),), headers=SSE_HEADERS)
        assert (await scene.stream_failure(events)).kind is ProviderErrorKind.RATE_LIMIT
        broken = Raw((sse_event({"type": "response.output_text.delta", "delta": "Ha"}),), headers=SSE_HEADERS)
        assert (await scene.stream_failure(broken)).kind is ProviderErrorKind.TIMEOUT
        wrong = Raw((sse_event({"type": "response.output_text.delta", "delta": 7}),), headers=SSE_HEADERS)
        assert (await scene.stream_failure(wrong)).kind is ProviderErrorKind.OVERLOADED


async def test_the_setting_of_the_account_decides() -> None:
    async with open_scene() as scene:
        await scene.stream(Response())
        assert scene.server.requests[-1].path == "/v1/responses"
        scene.account = replace(scene.account, api=CHAT)
        refusal = "Function tools are not supported for m in /v1/chat/completions. Please use /v1/responses instead."
        scene.server.script.append(Failure(400, None, refusal))
        spec = ToolSpec("look", "Look up a word.", {"type": "object"})
        result, _ = await scene.stream(Reply(), tools=(spec,), effort="high")
        assert scene.server.requests[-1].path == "/v1/chat/completions"
        assert scene.server.requests[-1].document["reasoning_effort"] == "none"
        assert result.left_out == ("effort",)


async def test_a_model_without_encrypted_reasoning_is_asked_without_it() -> None:
    async with open_scene() as scene:
        scene.server.script.append(Failure(400, None, "Encrypted content is not supported with this model."))
        await scene.stream(Response())
        assert "include" not in scene.server.requests[-1].document
