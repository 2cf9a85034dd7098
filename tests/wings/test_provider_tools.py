"""Tools and pictures in the chat-completions format: requests, and careless servers."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Image, RunResult, Turn
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec
from arvis.testing.openai_server import CallsTools, Raw, Reply, chunk_event
from tests.wings.chat_scene import body, choice, events, open_scene

SUM = ToolSpec("sum", "Add numbers.", {"type": "object", "properties": {"of": {"type": "array"}}, "required": ["of"]})


async def test_tools_pictures_and_outputs_as_they_are_sent() -> None:
    picture = Image("image/png", b"\x89PNG")
    turns = (
        Turn("user", "What is it?", images=(picture,)),
        Turn("assistant", "", calls=(ToolCall("a", "sum", {"of": [1]}), ToolCall("b", "sum", None, "{oops"))),
        Turn("user", "", outputs=(ToolOutput("a", "1"), ToolOutput("b", "Error: no object", failed=True))),
        Turn("assistant", "One."),
        Turn("user", "Thanks"),
    )
    async with open_scene() as scene:
        await scene.complete(Reply(), turns=turns, tools=(SUM,))
    sent = scene.server.requests[0].document
    url = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()
    assert sent["tools"] == [
        {"type": "function", "function": {"name": "sum", "description": "Add numbers.", "parameters": SUM.parameters}}
    ]
    assert sent["messages"][1:] == [
        {
            "role": "user",
            "content": [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "sum", "arguments": '{"of": [1]}'}},
                {"id": "b", "type": "function", "function": {"name": "sum", "arguments": "{oops"}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no object"},
        {"role": "assistant", "content": "One."},
        {"role": "user", "content": "Thanks"},
    ]


async def test_without_tools_none_are_mentioned() -> None:
    async with open_scene() as scene:
        await scene.complete(Reply())
    assert "tools" not in scene.server.requests[0].document


async def test_tools_that_are_off_are_offered_and_not_to_be_chosen() -> None:
    async with open_scene() as scene:
        await scene.complete(Reply(), tools=(SUM,))
        await scene.complete(Reply(), tools=(SUM,), tools_off=True)
        await scene.complete(Reply(), tools_off=True)
    on, off, none = (request.document for request in scene.server.requests)
    assert off == {**on, "tool_choice": "none"}
    assert not {"tools", "tool_choice"} & none.keys()


async def test_text_and_several_calls_in_one_answer() -> None:
    behaviour = CallsTools(
        (("sum", '{"of": [1, 2]}'), ("sum", ""), ("sum", "[1]"), ("sum", '{"of": NaN}')), text="Let me see."
    )
    async with open_scene() as scene:
        whole = await scene.complete(behaviour, tools=(SUM,))
        streamed, pieces = await scene.stream(behaviour, tools=(SUM,))
    assert whole.calls == streamed.calls
    assert [(call.id, call.arguments, call.written) for call in whole.calls] == [
        ("call_0", {"of": [1, 2]}, ""),
        ("call_1", {}, ""),
        ("call_2", None, "[1]"),
        ("call_3", None, '{"of": NaN}'),
    ]
    assert whole.content == "".join(pieces) == "Let me see."
    assert whole.stop_reason == "tool_calls"


def calls(*given: Any) -> Raw:
    return body(choice({"content": None, "tool_calls": list(given)}))


def call(name: Any = "sum", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **more}


async def test_ids_that_are_missing_or_used_twice_are_replaced() -> None:
    async with open_scene() as scene:
        result = await scene.complete(calls(call(id="x"), call(id="x"), call(), call(id="")), tools=(SUM,))
    ids = [call.id for call in result.calls]
    assert ids[0] == "x"
    assert len(set(ids)) == 4
    assert all(ids)


@pytest.mark.parametrize(
    "given",
    [
        calls(call(name="")),
        calls(call(name=7)),
        calls(call(arguments={"of": []})),
        calls("call"),
        calls({"id": "x"}),
        body(choice({"content": None, "tool_calls": "many"})),
        calls(*[call(id=str(number)) for number in range(65)]),
    ],
)
async def test_calls_that_none_can_be_made_of_are_an_unreadable_answer(given: Raw) -> None:
    async with open_scene() as scene:
        with pytest.raises(ProviderError) as caught:
            await scene.complete(given, tools=(SUM,))
    assert caught.value.kind is ProviderErrorKind.OVERLOADED


async def test_arguments_without_end_are_not_collected() -> None:
    piece = {"tool_calls": [{"index": 0, "function": {"name": "sum", "arguments": "x" * 1000}}]}
    async with open_scene() as scene:
        with pytest.raises(ProviderError, match="too long"):
            await scene.stream(events(*[chunk_event("m", piece)] * 20), max_bytes=10_000, tools=(SUM,))


async def test_cached_tokens_are_told() -> None:
    usage = {"prompt_tokens": 90, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 64}}
    async with open_scene() as scene:
        result = await scene.complete(body(choice({"content": "x"}) | {"usage": usage}))
    assert (result.input_tokens, result.cached_tokens) == (90, 64)


def test_a_result_with_calls_survives_the_store() -> None:
    calls = (ToolCall("a", "sum", {"of": [1]}), ToolCall("b", "sum", None, "oops"))
    result = RunResult("", model="m", provider="p", account="a", calls=calls)
    assert RunResult.from_json(json.loads(json.dumps(result.to_json()))) == result
