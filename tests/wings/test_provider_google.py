"""Google's models: the conformance suite, the wire format, and careless servers."""

from __future__ import annotations

import base64
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Image, Turn
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec
from arvis.testing.conformance.provider import ProviderConformance, ProviderScene
from arvis.testing.openai_server import SSE_HEADERS, Raw, sse_event
from tests.wings.google_scene import KEY, USAGE, Says, body, candidate, fails, open_scene, says

SUM = ToolSpec("sum", "Add numbers.", {"type": "object", "properties": {"of": {"type": "array"}}})


class TestGoogleConformance(ProviderConformance):
    def scene(self) -> AbstractAsyncContextManager[ProviderScene]:
        return open_scene()


async def test_the_request_as_it_is_sent() -> None:
    turns = (
        Turn("user", "What is it?", images=(Image("image/png", b"\x89PNG"),)),
        Turn(
            "assistant",
            "",
            calls=(ToolCall("a", "sum", {"of": [1]}, signature="c2ln"), ToolCall("b", "sum", None, "x")),
        ),
        Turn("user", "", outputs=(ToolOutput("a", "1"), ToolOutput("b", "no object", failed=True))),
    )
    async with open_scene() as scene:
        await scene.complete(says("x"), turns=turns, tools=(SUM,), max_tokens=77)
    request = scene.server.requests[0]
    assert request.path == "/v1beta/models/gemini-2.0-flash:generateContent"
    assert request.headers["x-goog-api-key"] == KEY
    assert request.document == {
        "systemInstruction": {"parts": [{"text": "Be short."}]},
        "generationConfig": {"maxOutputTokens": 77},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}},
                    {"text": "What is it?"},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "sum", "args": {"of": [1]}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"name": "sum", "args": {}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "sum", "response": {"output": "1"}}},
                    {"functionResponse": {"name": "sum", "response": {"error": "no object"}}},
                ],
            },
        ],
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "sum", "description": "Add numbers.", "parametersJsonSchema": SUM.parameters}
                ]
            }
        ],
    }


async def test_tools_that_are_off_are_declared_and_not_to_be_called() -> None:
    async with open_scene() as scene:
        await scene.complete(says("x"), tools=(SUM,))
        await scene.complete(says("x"), tools=(SUM,), tools_off=True)
        await scene.complete(says("x"), tools_off=True)
    on, off, none = (request.document for request in scene.server.requests)
    assert off == {**on, "toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}
    assert not {"tools", "toolConfig"} & none.keys()


async def test_a_stream_is_asked_for_as_events() -> None:
    async with open_scene() as scene:
        result, pieces = await scene.stream(says("one ", "two"))
    assert scene.server.requests[0].http.query_string == "alt=sse"
    assert pieces == ["one ", "two"]
    assert (result.model, result.input_tokens, result.output_tokens, result.stop_reason) == (
        "gemini-2.0-flash-001",
        7,
        5,
        "end",
    )


async def test_thoughts_are_counted_and_not_shown() -> None:
    usage = {"usageMetadata": {**USAGE["usageMetadata"], "thoughtsTokenCount": 90, "cachedContentTokenCount": 4}}
    async with open_scene() as scene:
        result = await scene.complete(Says(({"text": "Hm.", "thought": True}, {"text": "Yes."}), usage=usage))
    assert (result.content, result.output_tokens, result.cached_tokens) == ("Yes.", 95, 4)


async def test_a_call_keeps_its_signature() -> None:
    part = {"functionCall": {"id": "f1", "name": "sum", "args": {"of": []}}, "thoughtSignature": "c2ln"}
    async with open_scene() as scene:
        result = await scene.complete(Says((part,)), tools=(SUM,))
    assert result.calls == (ToolCall("f1", "sum", {"of": []}, signature="c2ln"),)
    assert result.stop_reason == "tool_calls"


async def test_the_longest_reply_says_so() -> None:
    async with open_scene() as scene:
        assert (await scene.complete(says("half", reason="MAX_TOKENS"))).stop_reason == "length"


@pytest.mark.parametrize(
    ("behaviour", "kind", "wait"),
    [
        (fails(429, "RESOURCE_EXHAUSTED", "slow", {"@type": "RetryInfo", "retryDelay": "31s"}), "rate_limit", 31.0),
        (fails(429, "RESOURCE_EXHAUSTED", "slow", {"retryDelay": "soon"}), "rate_limit", None),
        (fails(403, "PERMISSION_DENIED"), "auth", None),
        (fails(500, "INTERNAL"), "overloaded", None),
        (fails(404, "NOT_FOUND"), "bad_request", None),
        (body({"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}}), "overloaded", None),
        (Raw((b'[{"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "no"}}]',), status=401), "auth", None),
        (body({"promptFeedback": {"blockReason": "OTHER"}}), "refused", None),
        (says("x", reason="MALFORMED_FUNCTION_CALL"), "overloaded", None),
        (body([]), "overloaded", None),
        (body({"candidates": {}}), "overloaded", None),
        (body({"candidates": [7]}), "overloaded", None),
        (body({"candidates": [{"content": 7}]}), "overloaded", None),
        (body({"candidates": [{"content": {"parts": [7]}}]}), "overloaded", None),
        (body(candidate({"text": 7})), "overloaded", None),
        (body(candidate({"functionCall": {"name": 7}})), "overloaded", None),
        (body({}), "empty", None),
    ],
)
async def test_what_failures_mean(behaviour: Any, kind: str, wait: float | None) -> None:
    async with open_scene() as scene:
        with pytest.raises(ProviderError) as caught:
            await scene.complete(behaviour)
    assert (caught.value.kind, caught.value.retry_after) == (ProviderErrorKind(kind), wait)


@pytest.mark.parametrize("cut", [None, 40])
async def test_a_stream_without_its_end_is_no_answer(cut: int | None) -> None:
    half = Raw((sse_event(candidate({"text": "half"})),), headers=SSE_HEADERS, cut_at=cut)
    async with open_scene() as scene:
        with pytest.raises(ProviderError) as caught:
            await scene.stream(half)
    assert caught.value.kind is ProviderErrorKind.TIMEOUT
