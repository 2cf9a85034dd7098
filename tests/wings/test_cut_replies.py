"""A reply that reaches the output limit has the same stop reason with every vendor, and an incomplete call is not
made."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.runs import LENGTH, RunResult
from arvis.testing.openai_server import SSE_HEADERS, Raw, Reply, sse_event
from tests.wings import anthropic_scene, chat_scene, claude_scene, google_scene, ollama_scene

TEXT = "The first half of"


def openai(reason: str) -> tuple[Any, Any]:
    return chat_scene.open_scene(), Reply(pieces=(TEXT,), finish_reason=reason)


def ollama(reason: str) -> tuple[Any, Any]:
    return ollama_scene.open_scene(), ollama_scene.says(TEXT, end={**ollama_scene.END, "done_reason": reason})


SCENES: Mapping[str, Callable[[str], tuple[Any, Any]]] = {
    "length": openai,
    "max_tokens": openai,
    "model_length": openai,
    "incomplete": openai,
    "anthropic": lambda _: (anthropic_scene.open_scene(), anthropic_scene.says(TEXT, reason="max_tokens")),
    "google": lambda _: (google_scene.open_scene(), google_scene.says(TEXT, reason="MAX_TOKENS")),
    "ollama": lambda _: ollama("length"),
    "claude": lambda _: (claude_scene.open_scene(), claude_scene.says(TEXT, stop_reason="max_tokens")),
}


@pytest.mark.parametrize("name", SCENES)
async def test_every_vendor_says_that_a_reply_was_cut(name: str) -> None:
    opened, behaviour = SCENES[name](name)
    async with opened as scene:
        whole: RunResult = await scene.complete(behaviour)
        streamed: RunResult = await scene.provider.stream(scene.then(behaviour), scene.account, lambda _: None)
    for result in (whole, streamed):
        assert (result.content, result.stop_reason, result.cut) == (TEXT, LENGTH, True)


def _is_scripted(name: str) -> bool:
    return name == "claude" or isinstance(SCENES[name](name)[1], Reply)


@pytest.mark.parametrize("name", [*filter(_is_scripted, SCENES)])
async def test_a_limit_that_leaves_no_word_is_no_reason_to_ask_again(name: str) -> None:
    opened, behaviour = SCENES[name](name)
    if name == "claude":
        behaviour = claude_scene.says("", stop_reason="max_tokens")
    else:
        assert isinstance(behaviour, Reply)
        behaviour = replace(behaviour, pieces=())
    async with opened as scene:
        result: RunResult = await scene.complete(behaviour)
    assert (result.content, result.cut) == ("", True)


def chunks(*calls: dict[str, Any], reason: str) -> Raw:
    deltas = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
    return Raw(tuple(sse_event(each) for each in (*deltas, end)), headers=SSE_HEADERS)


def written(index: int, arguments: str) -> dict[str, Any]:
    return {"index": index, "id": f"c{index}", "function": {"name": "look", "arguments": arguments}}


async def test_half_a_call_of_a_cut_reply_has_no_arguments() -> None:
    async with chat_scene.open_scene() as scene:
        behaviour = chunks(written(0, '{"words": "a"}'), written(1, '{"words": "b'), reason="length")
        result, _ = await scene.stream(behaviour)
        begun, _ = await scene.stream(chunks(written(0, ""), reason="length"))
        whole, _ = await scene.stream(chunks(written(0, ""), reason="tool_calls"))
    assert [(call.arguments, call.partial) for call in result.calls] == [({"words": "a"}, False), (None, True)]
    assert [(call.arguments, call.partial) for call in begun.calls] == [(None, True)]
    assert [(call.arguments, call.partial) for call in whole.calls] == [({}, False)]
    assert (result.stop_reason, begun.cut, whole.cut) == (LENGTH, True, False)


async def test_half_a_call_of_anthropic_has_no_arguments() -> None:
    start = {"type": "content_block_start", "index": 0, "content_block": anthropic_scene.call_block("look", {})}
    half = anthropic_scene.piece(0, {"type": "input_json_delta", "partial_json": '{"words": "b'})
    behaviour = anthropic_scene.events(
        anthropic_scene.start(), start, half, anthropic_scene.end("max_tokens"), anthropic_scene.STOP
    )
    async with anthropic_scene.open_scene() as scene:
        result, _ = await scene.stream(behaviour)
    assert [(call.name, call.arguments, call.partial) for call in result.calls] == [("look", None, True)]
    assert (result.stop_reason, json.loads(json.dumps(result.to_json()))["stop_reason"]) == (LENGTH, LENGTH)


async def test_a_character_whose_halves_come_in_two_pieces_stays_whole() -> None:
    halves = [
        b'data: {"choices":[{"index":0,"delta":{"content":"' + each + b'"}}]}\n\n'
        for each in (b"a\\ud83d", b"\\ude00b")
    ]
    end = b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    async with chat_scene.open_scene() as scene:
        result, pieces = await scene.stream(Raw((*halves, end), headers=SSE_HEADERS))
    assert result.content == "".join(pieces) == "a\U0001f600b"


async def test_so_it_does_in_the_arguments_of_a_call() -> None:
    pieces = [
        {"index": 0, "id": "c0", "function": {"name": "look", "arguments": '{"words": "\ud83d'}},
        {"index": 0, "function": {"arguments": '\ude00"}'}},
    ]
    async with chat_scene.open_scene() as scene:
        result, _ = await scene.stream(chunks(*pieces, reason="tool_calls"))
    assert result.calls[0].arguments == {"words": "\U0001f600"}
