"""The reasoning of a model before a tool call goes back to the same model at the same server, and to no other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import RunRequest, RunResult, Turn
from arvis.domain.tools import ToolOutput, ToolSpec
from arvis.testing.openai_server import SSE_HEADERS, Behaviour, Failure, Raw, Reply, chunk_event
from tests.wings import anthropic_scene, chat_scene

LOOK = ToolSpec("look", "Look up a word.", {"type": "object"})
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
THINKING = {"type": "thinking", "thinking": "Hm, Straße.", "signature": "c2lnbmVk"}
REDACTED = {"type": "redacted_thinking", "data": "aGlkZGVu"}


def calling(field: str, text: str) -> Raw:
    """Return a streamed tool call after reasoning in two pieces."""
    middle = len(text) // 2
    return Raw(
        (
            chunk_event("m", {"role": "assistant", field: text[:middle]}),
            chunk_event("m", {field: text[middle:]}),
            chunk_event("m", {"tool_calls": [{"index": 0, **CALL}]}),
            chunk_event("m", {}, finish_reason="tool_calls"),
            b"data: [DONE]\n\n",
        ),
        headers=SSE_HEADERS,
    )


def goes_on(request: RunRequest, asked: RunResult) -> dict[str, Any]:
    """Return the changes of a request for the next round of the turn, after the tool calls."""
    called = Turn("assistant", asked.content, calls=asked.calls, thoughts=asked.thoughts)
    gave = Turn("user", "", outputs=tuple(ToolOutput(call.id, "a word") for call in asked.calls))
    return {"turns": (*request.turns, called, gave), "tools": (LOOK,)}


def called_in(scene: chat_scene.Scene) -> Mapping[str, Any]:
    """Return the message of the newest request in which the model calls its tool."""
    messages = scene.server.requests[-1].document["messages"]
    found: Mapping[str, Any] = next(message for message in messages if message.get("tool_calls"))
    return found


async def ask(scene: chat_scene.Scene, behaviour: Behaviour) -> RunResult:
    return (await scene.stream(behaviour, tools=(LOOK,)))[0]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_reasoning_goes_back_with_the_call_under_its_own_name(field: str) -> None:
    async with chat_scene.open_scene() as scene:
        asked = await ask(scene, calling(field, "They want a word."))
        kept = RunResult.from_json(json.loads(json.dumps(asked.to_json())))
        await scene.stream(Reply(), **goes_on(scene.request, kept))
        assert called_in(scene)[field] == "They want a word."


async def test_an_empty_reasoning_is_reasoning_too() -> None:
    async with chat_scene.open_scene() as scene:
        asked = await ask(scene, calling("reasoning_content", ""))
        await scene.stream(Reply(), **goes_on(scene.request, asked))
        assert called_in(scene)["reasoning_content"] == ""


async def test_reasoning_is_for_the_model_that_wrote_it() -> None:
    async with chat_scene.open_scene() as scene:
        asked = await ask(scene, calling("reasoning_content", "mine"))
        await scene.stream(Reply(), **goes_on(scene.request, asked), model="another-model")
        assert "reasoning_content" not in called_in(scene)
        await scene.stream(Reply(), turns=(*scene.request.turns, Turn("assistant", "Hi"), Turn("user", "And?")))
        assert "mine" not in json.dumps(scene.server.requests[-1].document)


async def test_a_server_that_refuses_reasoning_is_asked_without_it_from_then_on() -> None:
    refusal = "'messages.1' : for 'role:assistant' the following must be satisfied[property 'reasoning_content' is unsupported]"
    async with chat_scene.open_scene() as scene:
        asked = await ask(scene, calling("reasoning_content", "mine"))
        scene.server.script += [Failure(400, None, refusal)]
        result, _ = await scene.stream(Reply(), **goes_on(scene.request, asked))
        assert result.content == "Hello from the loopback model."
        assert "reasoning_content" not in called_in(scene)
        await scene.stream(Reply(), **goes_on(scene.request, asked))
        assert "reasoning_content" not in called_in(scene)
        assert len(scene.server.requests) == 4


async def test_a_validation_error_names_the_field_anywhere() -> None:
    error = {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 1, "assistant", "reasoning_content"]}]}
    async with chat_scene.open_scene() as scene:
        asked = await ask(scene, calling("reasoning_content", "mine"))
        scene.server.script.append(Raw((json.dumps(error).encode(),), status=422))
        await scene.stream(Reply(), **goes_on(scene.request, asked))
        assert "reasoning_content" not in called_in(scene)


@pytest.mark.parametrize(
    "words",
    [
        "The reasoning_content in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2",
    ],
)
async def test_a_server_that_wants_reasoning_for_a_foreign_call_gets_an_empty_one(words: str) -> None:
    async with chat_scene.open_scene() as scene:
        asked = replace(await ask(scene, calling("nothing", "")), thoughts=None)
        scene.server.script.append(Failure(400, None, words))
        await scene.stream(Reply(), **goes_on(scene.request, asked))
        assert called_in(scene)["reasoning_content"] == ""


async def test_a_refusal_that_leaving_out_does_not_change_is_told() -> None:
    async with chat_scene.open_scene() as scene:
        scene.server.script += [Failure(400, None, "max_tokens is too large"), Failure(400, None, "no")]
        failure = await scene.stream_failure(Failure(400, None, "not used"))
        assert failure.kind is ProviderErrorKind.BAD_REQUEST
        assert len(scene.server.requests) == 2


# -- the name of the limit ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "field"),
    [
        ("gpt-4o-mini", "max_tokens"),
        ("llama3", "max_tokens"),
        ("gpt-5.2", "max_completion_tokens"),
        ("o3-mini", "max_completion_tokens"),
        ("openai/gpt-5-mini", "max_completion_tokens"),
    ],
)
async def test_newer_models_have_the_new_name_of_the_limit_at_any_address(model: str, field: str) -> None:
    async with chat_scene.open_scene() as scene:
        await scene.complete(Reply(), model=model)
        document = scene.server.requests[-1].document
        assert {"max_tokens", "max_completion_tokens"} & document.keys() == {field}


@pytest.mark.parametrize(
    ("model", "refused", "then"),
    [
        ("new-thing", "max_tokens", "max_completion_tokens"),
        ("gpt-5", "max_completion_tokens", "max_tokens"),
    ],
)
async def test_a_server_that_refuses_one_name_is_asked_by_the_other_and_remembered(
    model: str, refused: str, then: str
) -> None:
    async with chat_scene.open_scene() as scene:
        words = f"Unsupported parameter: '{refused}' is not supported with this model. Use '{then}' instead."
        scene.server.script.append(Failure(400, "unsupported_parameter", words))
        for _ in range(2):
            await scene.complete(Reply(), model=model)
            assert scene.server.requests[-1].document[then] == 4096
            assert refused not in scene.server.requests[-1].document
        assert len(scene.server.requests) == 3


async def test_a_server_that_does_not_know_stream_options_is_asked_without() -> None:
    async with chat_scene.open_scene() as scene:
        scene.server.script.append(Failure(400, None, "Unrecognized request argument supplied: stream_options"))
        result, _ = await scene.stream(Reply())
        assert (result.content, result.input_tokens) == ("Hello from the loopback model.", None)
        assert "stream_options" not in scene.server.requests[-1].document


# -- the messages format -----------------------------------------------------------------------------------


def thinking_events(*blocks: Mapping[str, Any]) -> Raw:
    """Return a streamed tool call after these blocks; their texts and signatures come in pieces."""
    documents: list[Mapping[str, Any]] = [anthropic_scene.start()]
    for index, block in enumerate(blocks):
        if block["type"] == "thinking":
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            documents.append({"type": "content_block_start", "index": index, "content_block": empty})
            text, signature = block["thinking"], block["signature"]
            documents += [anthropic_scene.piece(index, {"type": "thinking_delta", "thinking": each}) for each in text]
            documents.append(anthropic_scene.piece(index, {"type": "signature_delta", "signature": signature}))
        else:
            documents.append({"type": "content_block_start", "index": index, "content_block": block})
        documents.append({"type": "content_block_stop", "index": index})
    call = anthropic_scene.call_block("look", {})
    documents += [
        {"type": "content_block_start", "index": len(blocks), "content_block": call},
        {"type": "content_block_stop", "index": len(blocks)},
        anthropic_scene.end("tool_use"),
        anthropic_scene.STOP,
    ]
    return anthropic_scene.events(*documents)


@pytest.mark.parametrize("streamed", [True, False])
async def test_thinking_blocks_go_back_unchanged_before_the_call(streamed: bool) -> None:
    async with anthropic_scene.open_scene() as scene:
        if streamed:
            asked, pieces = await scene.stream(thinking_events(THINKING, REDACTED), tools=(LOOK,))
            assert pieces == []
        else:
            blocks = (THINKING, REDACTED, anthropic_scene.call_block("look", {}))
            asked = await scene.complete(anthropic_scene.body(anthropic_scene.message(*blocks, reason="tool_use")))
        kept = RunResult.from_json(json.loads(json.dumps(asked.to_json())))
        await scene.stream(anthropic_scene.says("A word."), **goes_on(scene.request, kept))
        messages = scene.server.requests[-1].document["messages"]
        content = messages[-2]["content"]
        assert content[:2] == [THINKING, REDACTED]
        assert content[2]["type"] == "tool_use"
        assert [block["type"] for block in messages[-1]["content"]] == ["tool_result"]


async def test_thinking_of_another_model_stays_away() -> None:
    async with anthropic_scene.open_scene() as scene:
        asked, _ = await scene.stream(thinking_events(THINKING), tools=(LOOK,))
        await scene.stream(anthropic_scene.says("A word."), **goes_on(scene.request, asked), model="claude-other")
        assert "thinking" not in json.dumps(scene.server.requests[-1].document)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": None, "signature": 5},
        {"type": "thinking"},
        {"type": "redacted_thinking", "data": []},
        {"type": "server_tool_use", "name": "x"},
    ],
)
async def test_strange_thoughts_do_not_harm_the_answer(block: Mapping[str, Any]) -> None:
    async with anthropic_scene.open_scene() as scene:
        whole = anthropic_scene.message(block, anthropic_scene.call_block("look", {}), reason="tool_use")
        asked = await scene.complete(anthropic_scene.body(whole))
        assert [call.name for call in asked.calls] == ["look"]


async def test_thoughts_without_end_are_dropped_whole() -> None:
    async with anthropic_scene.open_scene() as scene:
        long = {**THINKING, "thinking": "x" * 400_000}
        whole = anthropic_scene.message(long, anthropic_scene.call_block("look", {}), reason="tool_use")
        assert (await scene.complete(anthropic_scene.body(whole))).thoughts is None


async def test_a_failure_is_a_provider_error() -> None:
    async with chat_scene.open_scene() as scene:
        with pytest.raises(ProviderError):
            await scene.complete(Failure(400, None, "reasoning is bad"))
