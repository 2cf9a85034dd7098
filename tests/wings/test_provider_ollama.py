"""Models on an Ollama server: the conformance suite, the wire format, the context size, and careless servers."""

from __future__ import annotations

import base64
import json
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Image, Turn
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec
from arvis.testing.conformance.provider import ProviderConformance, ProviderScene
from arvis.testing.openai_server import Behaviour, Raw
from tests.wings.ollama_scene import END, KINDS, LINES, REQUEST, body, calls, fails, open_scene, says, shows

SUM = ToolSpec("sum", "Add numbers.", {"type": "object"})


class TestOllamaConformance(ProviderConformance):
    kinds = frozenset(ProviderErrorKind) - {KINDS.QUOTA, KINDS.REFUSED}

    def scene(self) -> AbstractAsyncContextManager[ProviderScene]:
        return open_scene()


async def test_the_request_as_it_is_sent() -> None:
    turns = (
        Turn("user", "What is it?", images=(Image("image/png", b"\x89PNG"),)),
        Turn("assistant", "", calls=(ToolCall("a", "sum", {"of": [1]}),)),
        Turn("user", "", outputs=(ToolOutput("a", "1"),)),
    )
    async with open_scene() as scene:
        await scene.complete(says("x"), turns=turns, tools=(SUM,), max_tokens=77)
    assert [request.path for request in scene.server.requests] == ["/api/show", "/api/chat"]
    assert scene.server.requests[1].document == {
        "model": "llama3",
        "stream": False,
        "options": {"num_ctx": 4096, "num_predict": 77},
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "What is it?", "images": [base64.b64encode(b"\x89PNG").decode()]},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": "sum", "arguments": {"of": [1]}}}],
            },
            {"role": "tool", "tool_name": "sum", "content": "1"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {"name": "sum", "description": "Add numbers.", "parameters": {"type": "object"}},
            }
        ],
    }


async def test_tools_that_are_off_are_left_out() -> None:
    async with open_scene() as scene:
        await scene.complete(says("x"), tools=(SUM,), tools_off=True)
    assert "tools" not in scene.server.requests[-1].document


async def test_a_model_is_asked_once_what_it_holds() -> None:
    async with open_scene() as scene:
        await scene.complete(says("x"))
        await scene.stream(says("x"))
        scene.server.script.append(shows(None))
        await scene.complete(says("x"), model="other")
    paths = [request.path for request in scene.server.requests]
    assert paths == ["/api/show", "/api/chat", "/api/chat", "/api/show", "/api/chat"]


@pytest.mark.parametrize(
    ("characters", "context"), [(10, 8192), (9_000, 8192), (12_000, 16_384), (60_000, 32_768), (77_000, 32_768)]
)
async def test_the_context_grows_with_the_prompt_up_to_what_the_model_holds(characters: int, context: int) -> None:
    async with open_scene() as scene:
        scene.server.script[0] = shows(32_768)
        await scene.complete(says("x"), turns=(Turn("user", "x" * characters),))
    assert scene.server.requests[1].document["options"]["num_ctx"] == context


async def test_a_prompt_that_the_model_cannot_hold_is_not_sent() -> None:
    async with open_scene() as scene:
        with pytest.raises(ProviderError, match="8192") as caught:
            await scene.provider.complete(replace(REQUEST, turns=(Turn("user", "x" * 40_000),)), scene.account)
    assert caught.value.kind is KINDS.TOO_LONG
    assert len(scene.server.requests) == 1


async def test_a_reply_tells_what_the_model_holds() -> None:
    async with open_scene() as scene:
        scene.server.script[0] = shows(32_768)
        whole = await scene.complete(says("x"))
        streamed, _ = await scene.stream(says("x"))
    assert (whole.window, streamed.window) == (32_768, 32_768)


async def test_a_prompt_that_may_fit_is_sent() -> None:
    """The runner has counted the prompt with the model's own counter; a coarse count must not refuse it."""
    async with open_scene() as scene:
        await scene.complete(says("x"), turns=(Turn("user", "x" * 30_000),))
    assert scene.server.requests[1].document["options"]["num_ctx"] == 8192


async def test_figures_of_the_end() -> None:
    async with open_scene() as scene:
        result, pieces = await scene.stream(says("one ", "two", end={**END, "done_reason": "length"}))
    assert pieces == ["one ", "two"]
    assert (result.model, result.input_tokens, result.output_tokens, result.stop_reason) == ("llama3", 7, 5, "length")


async def test_an_address_may_lack_its_scheme() -> None:
    async with open_scene() as scene:
        account = replace(scene.account, base_url=scene.server.base_url.removeprefix("http://") + "/")
        assert (await scene.provider.complete(scene.say("hello"), account)).content == "hello"


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (fails(500, "llama runner process has terminated"), "overloaded"),
        (body({"error": "out of memory"}), "overloaded"),
        (body({"error": "prompt exceeds context length"}), "too_long"),
        (body([]), "overloaded"),
        (body({"message": 7}), "overloaded"),
        (body({"message": {"content": 7}}), "overloaded"),
        (calls("", {}), "overloaded"),
        (body({"message": {"content": "", "tool_calls": [7]}}), "overloaded"),
        (body({}), "empty"),
    ],
)
async def test_what_failures_mean(behaviour: Any, kind: str) -> None:
    async with open_scene() as scene:
        with pytest.raises(ProviderError) as caught:
            await scene.complete(behaviour)
    assert caught.value.kind == kind


async def test_an_error_in_the_middle_of_a_stream() -> None:
    lines = [{"message": {"content": "half"}}, {"error": "an error was encountered while running the model"}]
    async with open_scene() as scene:
        with pytest.raises(ProviderError, match="while running") as caught:
            await scene.stream(Raw(tuple(json.dumps(line).encode() + b"\n" for line in lines), headers=LINES))
    assert caught.value.kind is KINDS.OVERLOADED


@pytest.mark.parametrize("text", [b'{"message": {"content": "half"}}\n', b'{"message": {"content": "half"}', b""])
async def test_a_stream_without_its_end_is_no_answer(text: bytes) -> None:
    async with open_scene() as scene:
        with pytest.raises(ProviderError):
            await scene.stream(Raw((text,), headers=LINES))


@pytest.mark.parametrize(
    "answer",
    [
        fails(404, "404 page not found"),
        Raw((b"404 page not found",), status=404),
        Raw((b"<html>Not found</html>",), status=404),
        Raw((b"",), status=405),
        Raw((b"not implemented",), status=501),
        Raw((b"<html>Welcome</html>",)),
    ],
)
async def test_a_server_that_cannot_show_its_models_is_asked_all_the_same(answer: Behaviour) -> None:
    request = replace(REQUEST, turns=(Turn("user", "word " * 30_000),))
    async with open_scene() as scene:
        scene.server.script.clear()
        scene.server.script += [answer, says("Hello"), says("Again")]
        result = await scene.provider.complete(request, scene.account)
        assert (result.content, result.window) == ("Hello", None)
        assert scene.server.requests[-1].document["options"]["num_ctx"] == 65_536
        assert (await scene.provider.complete(request, scene.account)).content == "Again"
        assert len(scene.server.requests) == 3
