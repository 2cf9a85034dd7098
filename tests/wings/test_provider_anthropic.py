"""Anthropic's models: the conformance suite, the wire format, and careless servers."""

from __future__ import annotations

import base64
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import pairwise

import pytest

from arvis.domain.runs import Image, Turn
from arvis.domain.tools import ToolCall, ToolOutput, ToolSpec
from arvis.providers.anthropic_messages import document_of
from arvis.testing.conformance.provider import ProviderConformance, ProviderScene
from arvis.testing.openai_server import ReceivedRequest
from tests.wings.anthropic_scene import (
    KEY,
    REQUEST,
    STOP,
    Says,
    body,
    call_block,
    end,
    events,
    message,
    open_scene,
    piece,
    says,
    start,
    text_block,
)

SUM = ToolSpec("sum", "Add numbers.", {"type": "object", "properties": {"of": {"type": "array"}}})
LOOK = ToolSpec("look", "Look.", {"type": "object"})
KEPT = {"type": "ephemeral"}
MARK = b',"cache_control":{"type":"ephemeral"}'


class TestAnthropicConformance(ProviderConformance):
    def scene(self) -> AbstractAsyncContextManager[ProviderScene]:
        return open_scene()


# --- The request ---


PICTURE = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}
TURNS = (
    Turn("user", "What is it?", images=(Image("image/png", b"\x89PNG"),)),
    Turn("assistant", "Hm.", calls=(ToolCall("a", "sum", {"of": [1]}), ToolCall("b", "sum", None, "x"))),
    Turn("user", "Well?", outputs=(ToolOutput("a", "1"), ToolOutput("b", "no object", failed=True))),
)
MESSAGES = [
    {"role": "user", "content": [{"type": "image", "source": PICTURE}, {"type": "text", "text": "What is it?"}]},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Hm."},
            {"type": "tool_use", "id": "a", "name": "sum", "input": {"of": [1]}},
            {"type": "tool_use", "id": "b", "name": "sum", "input": {}, "cache_control": KEPT},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "1"},
            {"type": "tool_result", "tool_use_id": "b", "content": "no object", "is_error": True},
            {"type": "text", "text": "Well?"},
        ],
    },
]


async def test_the_request_as_it_is_sent() -> None:
    async with open_scene() as scene:
        await scene.complete(says("x"), turns=TURNS, tools=(SUM, LOOK), max_tokens=77)
    request = scene.server.requests[0]
    assert request.path == "/v1/messages"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["anthropic-version"]
    assert request.document == {
        "model": "claude-haiku-4-5",
        "max_tokens": 77,
        "stream": False,
        "system": [{"type": "text", "text": "Be short.", "cache_control": KEPT}],
        "messages": MESSAGES,
        "tools": [
            {"name": "look", "description": "Look.", "input_schema": LOOK.parameters},
            {"name": "sum", "description": "Add numbers.", "input_schema": SUM.parameters},
        ],
    }


async def test_an_account_without_a_key_sends_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-somebody-else")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "of-somebody-else")
    async with open_scene() as scene:
        account = replace(scene.account, api_key=None)
        assert (await scene.provider.complete(scene.say("hi"), account)).content == "hi"
    assert not {"authorization", "x-api-key"} & {name.lower() for name in scene.server.requests[0].headers}
    assert "of-somebody-else" not in str(scene.server.requests[0].headers)


async def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with open_scene() as scene:
        assert (await scene.complete(says("hi"))).content == "hi"


async def test_an_address_that_ends_with_the_version_is_the_same() -> None:
    async with open_scene() as scene:
        account = replace(scene.account, base_url=f"{scene.server.base_url}/v1/")
        await scene.provider.complete(scene.say("hi"), account)
    assert scene.server.requests[0].path == "/v1/messages"


async def test_tools_that_are_off_are_offered_and_not_to_be_chosen() -> None:
    async with open_scene() as scene:
        await scene.complete(says("x"), tools=(SUM,))
        await scene.complete(says("x"), tools=(SUM,), tools_off=True)
        await scene.complete(says("x"), tools_off=True)
    on, off, none = (request.document for request in scene.server.requests)
    assert off == {**on, "tool_choice": {"type": "none"}}
    assert not {"tools", "tool_choice"} & none.keys()


async def test_what_the_vendor_would_refuse_is_mended() -> None:
    long = ToolCall("functions.look:0", "häß.lich", {"a": "\ud800", "b": [{"\ud800": 1}]})
    other = ToolCall("functions/look:0", "sum", {})
    turns = (
        Turn("user", "Hi \ud800"),
        Turn("assistant", " ", calls=(long, other)),
        Turn("user", "", outputs=(ToolOutput("functions.look:0", "1"), ToolOutput("functions/look:0", "2"))),
        Turn("assistant", "\n"),
        Turn("user", "Well?"),
    )
    async with open_scene() as scene:
        await scene.complete(says("x"), turns=turns, system="", tools=(SUM,))
    sent = scene.server.requests[0].document
    first, asked, gave, newest = sent["messages"]
    assert first["content"] == [{"type": "text", "text": "Hi ?", "cache_control": KEPT}]
    assert [block["input"] for block in asked["content"]] == [{"a": "?", "b": [{"?": 1}]}, {}]
    ids = [block["id"] for block in asked["content"]]
    assert [block["tool_use_id"] for block in gave["content"]] == ids
    assert len(set(ids)) == 2
    assert all(name.replace("_", "").isascii() and name.replace("_", "").isalnum() for name in ids)
    assert asked["content"][0]["name"].startswith("h__")
    assert newest["content"] == [{"type": "text", "text": "Well?"}]
    assert "system" not in sent
    assert sent["tools"][0]["cache_control"] == KEPT


# --- The vendor's prompt cache ---


async def sent(received: ReceivedRequest) -> bytes:
    return await received.http.read()


def kept_part(whole: bytes) -> bytes:
    """Return the cached part, up to the last mark among the messages. The marks are not part of the cache."""
    messages = whole[: whole.index(b'"model"')]
    return messages[: messages.rindex(MARK)].replace(MARK, b"")


def growing() -> list[tuple[Turn, ...]]:
    """Return a conversation as it is at each of its calls; one of its turns calls a tool."""
    asked = Turn("assistant", "", calls=(ToolCall("c1", "sum", {"of": [1, 2], "and": {"b": 1, "a": 2}}),))
    whole = (
        Turn("user", "Hello"),
        Turn("assistant", "Hi"),
        Turn("user", "Look: 東京", images=(Image("image/png", b"\x89PNG"),)),
        asked,
        Turn("user", "", outputs=(ToolOutput("c1", "3"),)),
        Turn("assistant", "Three."),
        Turn("user", "Thanks"),
    )
    return [whole[:length] for length in (3, 5, 7)]


async def test_a_growing_conversation_begins_with_the_same_bytes() -> None:
    async with open_scene() as scene:
        for turns, tools in zip(growing(), ((SUM, LOOK), (LOOK, SUM), (SUM, LOOK)), strict=True):
            await scene.complete(says("x"), turns=turns, tools=tools)
        bodies = [await sent(received) for received in scene.server.requests]
    for before, after in pairwise(bodies):
        prefix = kept_part(before)
        assert prefix.endswith((b"}", b'"'))
        assert after.replace(MARK, b"").startswith(prefix)
        # Tools and system come after the messages in the document, and before them in the vendor's cache.
        assert before[before.index(b'"model"') :] == after[after.index(b'"model"') :]
    assert b'"text":"Hi"' in kept_part(bodies[0])
    assert b'"id":"c1"' in kept_part(bodies[1])
    assert b"Three." in kept_part(bodies[2])
    assert all(whole.count(MARK) <= 4 for whole in bodies), "more marks than the vendor accepts"


async def test_the_newest_message_is_not_kept() -> None:
    for turns in growing():
        document = document_of(replace(REQUEST, turns=turns), "m")
        assert "cache_control" not in str(document["messages"][-1])
        assert "cache_control" in str(document["messages"][-2])


# --- The answer ---


async def test_a_stream_is_read_to_its_end() -> None:
    async with open_scene() as scene:
        result, pieces = await scene.stream(says("one ", "two"))
    assert scene.server.requests[0].document["stream"] is True
    assert "".join(pieces) == result.content == "one two"
    assert (result.model, result.input_tokens, result.output_tokens, result.stop_reason) == (
        "claude-haiku-4-5-20251001",
        7,
        5,
        "end",
    )


async def test_the_input_counts_what_is_read_from_the_cache_and_put_into_it() -> None:
    usage = {
        "input_tokens": 7,
        "output_tokens": 5,
        "cache_read_input_tokens": 4000,
        "cache_creation_input_tokens": 300,
        "cache_creation": {"ephemeral_5m_input_tokens": 300},
        "service_tier": "standard",
    }
    async with open_scene() as scene:
        whole = await scene.complete(says("x", usage=usage))
        streamed, _ = await scene.stream(says("x", usage=usage))
    for result in (whole, streamed):
        assert (result.input_tokens, result.cached_tokens, result.written_tokens) == (4307, 4000, 300)
        assert result.output_tokens == 5


async def test_a_server_that_counts_nothing() -> None:
    async with open_scene() as scene:
        result = await scene.complete(
            body(message(text_block("x"), usage={"input_tokens": True, "output_tokens": "5"}))
        )
    assert (result.input_tokens, result.output_tokens, result.cached_tokens) == (None, None, 0)


async def test_text_and_calls_and_thoughts() -> None:
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    blocks = (thought, text_block("Let me see."), call_block("sum", {"of": [1]}), call_block("look", {}, "toolu_02"))
    async with open_scene() as scene:
        whole = await scene.complete(Says(blocks, reason="tool_use"), tools=(SUM,))
        streamed, pieces = await scene.stream(Says(blocks, reason="tool_use"), tools=(SUM,))
    assert whole == streamed
    assert whole.content == "".join(pieces) == "Let me see."
    assert whole.calls == (ToolCall("toolu_01", "sum", {"of": [1]}), ToolCall("toolu_02", "look", {}))
    assert whole.stop_reason == "tool_calls"


async def test_a_call_that_was_cut_off_keeps_what_was_written() -> None:
    begun = {"type": "content_block_start", "index": 0, "content_block": call_block("sum", {})}
    half = piece(0, {"type": "input_json_delta", "partial_json": '{"of": [1'})
    async with open_scene() as scene:
        result, _ = await scene.stream(events(start(), begun, half, end("max_tokens"), STOP), tools=(SUM,))
    assert result.calls == (ToolCall("toolu_01", "sum", None, '{"of": [1', partial=True),)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "pause_turn"),
        ("st\ud800\0p", "stp"),
    ],
)
async def test_why_a_reply_ended(reason: str, expected: str) -> None:
    async with open_scene() as scene:
        assert (await scene.complete(says("x", reason=reason))).stop_reason == expected
        assert (await scene.stream(says("x", reason=reason)))[0].stop_reason == expected


async def test_a_server_that_cannot_stream_answers_whole() -> None:
    async with open_scene() as scene:
        result, pieces = await scene.stream(body(message(text_block("whole"))))
    assert (result.content, pieces) == ("whole", ["whole"])
