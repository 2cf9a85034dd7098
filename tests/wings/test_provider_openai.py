"""The chat-completions provider against a server on the loopback interface that misbehaves on demand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import openai
import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import CallTimeouts
from arvis.testing.conformance.provider import ProviderConformance
from arvis.testing.openai_server import (
    SSE_HEADERS,
    Behaviour,
    Failure,
    Hang,
    Raw,
    Reply,
    chunk_event,
    openai_server,
    sse_event,
)
from tests.wings.chat_scene import KEY, KINDS, REQUEST, Scene, body, choice, events, open_scene


class TestOpenAIConformance(ProviderConformance):
    @asynccontextmanager
    async def scene(self) -> AsyncIterator[Scene]:
        async with open_scene() as scene:
            yield scene


async def test_the_server_speaks_the_format_of_the_official_client() -> None:
    async with openai_server() as server:
        client = openai.AsyncOpenAI(api_key=KEY, base_url=server.base_url, max_retries=0)
        async with client:
            messages: list[Any] = [{"role": "user", "content": "Hello"}]
            whole = await client.chat.completions.create(model="m", messages=messages)
            assert whole.choices[0].message.content == "Hello from the loopback model."
            assert whole.usage is not None
            assert whole.usage.total_tokens == 12
            stream = await client.chat.completions.create(
                model="m", messages=messages, stream=True, stream_options={"include_usage": True}
            )
            chunks = [chunk async for chunk in stream]
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
            assert text == "Hello from the loopback model."
            assert chunks[-1].usage is not None
            server.script.append(Failure(429, "rate_limit_exceeded", headers={"Retry-After": "1"}))
            with pytest.raises(openai.RateLimitError) as caught:
                await client.chat.completions.create(model="m", messages=messages)
            assert caught.value.code == "rate_limit_exceeded"


async def test_the_request_on_the_wire(scene: Scene) -> None:
    await scene.complete(Reply())
    await scene.stream(Reply(), model=None, max_tokens=9)
    whole, streamed = scene.server.requests
    assert whole.path == "/v1/chat/completions"
    assert whole.headers["Authorization"] == f"Bearer {KEY}"
    assert whole.document == {
        "model": "gpt-4o-mini",
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hi"},
            {"role": "user", "content": "How are you?"},
        ],
        "max_tokens": 4096,
    }
    assert streamed.document["model"] == "own-model"
    assert streamed.document["max_tokens"] == 9
    assert streamed.document["stream"] is True
    assert streamed.document["stream_options"] == {"include_usage": True}


async def test_the_key_is_optional_and_the_slash_too(scene: Scene) -> None:
    scene.account = replace(scene.account, api_key=None, base_url=scene.account.base_url + "/")  # type: ignore[operator]
    await scene.complete(Reply())
    assert "Authorization" not in scene.server.requests[0].headers
    assert scene.server.requests[0].path == "/v1/chat/completions"


async def test_blanks_around_a_key_are_no_part_of_it(scene: Scene) -> None:
    scene.account = replace(scene.account, api_key=f" {KEY}\n")
    await scene.complete(Reply())
    assert scene.server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


async def test_openrouter_is_told_who_asks() -> None:
    async with open_scene("openrouter") as scene:
        await scene.complete(Reply())
        headers = scene.server.requests[0].headers
        assert headers["X-Title"] == "Arvis"
        assert headers["HTTP-Referer"]


async def test_custom_needs_an_address() -> None:
    async with open_scene("custom") as scene:
        scene.account = replace(scene.account, base_url=None)
        with pytest.raises(ProviderError, match="base_url") as caught:
            await scene.complete(Reply())
        assert caught.value.kind is KINDS.BAD_REQUEST


async def test_a_key_that_no_header_can_carry(scene: Scene) -> None:
    scene.account = replace(scene.account, api_key="sk-\nsecret")
    with pytest.raises(ProviderError) as caught:
        await scene.complete(Reply())
    assert caught.value.kind is KINDS.AUTH
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("stream", [True, False])
async def test_usage_and_model_are_taken_over(scene: Scene, stream: bool) -> None:
    result = (await scene.stream(Reply()))[0] if stream else await scene.complete(Reply())
    assert (result.input_tokens, result.output_tokens) == (7, 5)
    assert (result.model, result.stop_reason) == ("gpt-4o-mini", "end")
    bare = (await scene.stream(Reply(usage=None)))[0] if stream else await scene.complete(Reply(usage=None))
    assert (bare.input_tokens, bare.output_tokens) == (None, None)


async def test_the_models_own_limit_is_a_stop_reason(scene: Scene) -> None:
    result, _ = await scene.stream(Reply(finish_reason="length"))
    assert result.stop_reason == "length"
    assert not result.truncated


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure(400), KINDS.BAD_REQUEST),
        (Failure(400, "context_length_exceeded"), KINDS.TOO_LONG),
        (Failure(400, None, "This model's maximum context length is 8192 tokens"), KINDS.TOO_LONG),
        (Failure(400, "content_policy_violation"), KINDS.REFUSED),
        (Failure(401), KINDS.AUTH),
        (Failure(402), KINDS.QUOTA),
        (Failure(403), KINDS.AUTH),
        (Failure(403, 403, "flagged", metadata={"flagged_input": "x", "reasons": []}), KINDS.REFUSED),
        (Failure(404, "model_not_found"), KINDS.BAD_REQUEST),
        (Failure(408), KINDS.TIMEOUT),
        (Failure(413), KINDS.TOO_LONG),
        (Failure(422), KINDS.BAD_REQUEST),
        (Failure(429), KINDS.RATE_LIMIT),
        (Failure(429, "rate_limit_exceeded"), KINDS.RATE_LIMIT),
        (Failure(429, "insufficient_quota"), KINDS.QUOTA),
        (Failure(500), KINDS.OVERLOADED),
        (Failure(502), KINDS.OVERLOADED),
        (Failure(503), KINDS.OVERLOADED),
        (Failure(504), KINDS.TIMEOUT),
        (Failure(529), KINDS.OVERLOADED),
        (Failure(307, headers={"Location": "http://127.0.0.1:1/"}), KINDS.BAD_REQUEST),
        (Raw((b"<html>Bad gateway</html>",), status=502), KINDS.OVERLOADED),
        (Raw((b'{"error": "just words"}',), status=401), KINDS.AUTH),
        (Raw((b'["error"]',), status=500), KINDS.OVERLOADED),
        (Raw((b"",), status=429), KINDS.RATE_LIMIT),
        (Raw((b'{"error": {"message": 3, "code": []}}',), status=400), KINDS.BAD_REQUEST),
        (Raw((b'{"error"',), status=401, cut_at=4), KINDS.AUTH),
    ],
)
async def test_error_answers(scene: Scene, failure: Behaviour, kind: ProviderErrorKind) -> None:
    assert (await scene.failure(failure)).kind is kind


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT", "Date": "Fri, 15 Jan 2027 08:00:00 GMT"}, 30.0),
        ({"Retry-After": "Fri, 15 Jan 2027 07:00:00 GMT", "Date": "Fri, 15 Jan 2027 08:00:00 GMT"}, 0.0),
        ({"Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT", "Date": "soon"}, 30.0),  # the clock shows 08:00:00
        ({"Retry-After": "1e12"}, 86_400.0),
        ({"Retry-After": "inf"}, 86_400.0),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Fri, 15 Jan 99999999999 08:00:30 GMT"}, None),
        ({"Retry-After": "Fri, 15 Jan 2027 08:00:30 +99999999999999"}, None),
        ({}, None),
    ],
)
async def test_retry_after(scene: Scene, headers: dict[str, str], seconds: float | None) -> None:
    assert (await scene.failure(Failure(429, headers=headers))).retry_after == seconds


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 502, "message": "Upstream is down"}, KINDS.OVERLOADED),
        ({"code": 429, "message": "slow down"}, KINDS.RATE_LIMIT),
        ({"code": 7, "message": "?"}, KINDS.OVERLOADED),
        ({"code": "insufficient_quota", "message": "pay"}, KINDS.QUOTA),
        ({"type": "server_error"}, KINDS.OVERLOADED),
        ("words", KINDS.OVERLOADED),
    ],
)
async def test_an_error_inside_a_success(scene: Scene, error: object, kind: ProviderErrorKind) -> None:
    assert (await scene.failure(body({"error": error}))).kind is kind
    chunks = events(chunk_event("m", {"content": "Half"}), sse_event({"error": error, "choices": []}))
    assert (await scene.stream_failure(chunks)).kind is kind


@pytest.mark.parametrize(
    "answer",
    [
        Raw((b"",)),
        Raw((b"<html>",)),
        Raw((b'{"choices": [',)),
        Raw((b"\xff\xfe\xff",)),
        Raw((b"[" * 200_000,)),
        Raw((b'{"choices": ' + b"9" * 10_000 + b"}",)),
        body([]),
        body("text"),
        body(None),
        body({"choices": "text"}),
        body({"choices": {"0": {}}}),
        body({"choices": ["text"]}),
        body({"choices": [None]}),
        body(choice("text")),
        body(choice(["text"])),
        body(choice({"content": 5})),
        body(choice({"content": {"text": "x"}})),
        body({"choices": [{"message": {"content": "x"}, "finish_reason": 5}]}),
    ],
)
async def test_unreadable_answers_may_pass(scene: Scene, answer: Raw) -> None:
    assert (await scene.failure(answer)).kind is KINDS.OVERLOADED


async def test_unreadable_events(scene: Scene) -> None:
    for data in (
        b"data: {\n\n",
        b"data: []\n\n",
        b'data: {"choices": [5]}\n\n',
        b'data: {"choices": [{"delta": 5}]}\n\n',
    ):
        error = await scene.stream_failure(events(chunk_event("m", {"content": "x"}), data))
        assert error.kind is KINDS.OVERLOADED


@pytest.mark.parametrize(
    "usage", [None, 5, [], {}, {"prompt_tokens": 1 << 63, "completion_tokens": -1}, {"prompt_tokens": 1}]
)
async def test_strange_usage_is_left_out(scene: Scene, usage: object) -> None:
    result = await scene.complete(body(choice({"content": "Hi"}) | {"usage": usage, "model": 5}))
    assert (result.content, result.input_tokens, result.output_tokens) == ("Hi", None, None)
    assert result.model == "gpt-4o-mini"


async def test_nan_and_true_are_no_token_counts(scene: Scene) -> None:
    raw = json.dumps(choice({"content": "Hi"}))[:-1] + ', "usage": {"prompt_tokens": NaN, "completion_tokens": true}}'
    result = await scene.complete(Raw((raw.encode(),)))
    assert (result.input_tokens, result.output_tokens) == (None, None)


@pytest.mark.parametrize(
    "document", [{"choices": []}, {}, choice(None), choice({"content": None}), choice({"content": "\n"})]
)
async def test_empty_replies(scene: Scene, document: object) -> None:
    assert (await scene.failure(body(document))).kind is KINDS.EMPTY


async def test_a_refusal_is_no_reply(scene: Scene) -> None:
    error = await scene.failure(body(choice({"content": None, "refusal": "I cannot help with that."})))
    assert error.kind is KINDS.REFUSED
    assert "I cannot help" in error.what


async def test_text_that_no_store_holds_is_cleaned(scene: Scene) -> None:
    raw = b'{"choices": [{"message": {"content": "a\\u0000b\\ud800c"}, "finish_reason": "stop"}]}'
    assert (await scene.complete(Raw((raw,)))).content == "ab?c"


async def test_a_server_that_cannot_stream_answers_whole(scene: Scene) -> None:
    result, pieces = await scene.stream(body(choice({"content": "All at once"})))
    assert result.content == "All at once"
    assert pieces == ["All at once"]


async def test_a_stream_under_a_wrong_content_type(scene: Scene) -> None:
    chunks = (chunk_event("m", {"content": "Hi"}), b": comment\n\n", b"data: [DONE]\n\n")
    result, _ = await scene.stream(Raw(chunks, headers={"Content-Type": "text/plain"}))
    assert result.content == "Hi"


@pytest.mark.parametrize(("finish_reason", "done"), [("stop", False), (None, True), ("stop", True)])
async def test_either_mark_ends_a_stream(scene: Scene, finish_reason: str | None, done: bool) -> None:
    result, _ = await scene.stream(Reply(finish_reason=finish_reason, done=done))
    assert result.content == "Hello from the loopback model."


async def test_a_stream_without_end_is_a_timeout(scene: Scene) -> None:
    error = await scene.stream_failure(Reply(finish_reason=None, done=False, usage=None))
    assert error.kind is KINDS.TIMEOUT


async def test_a_stream_cut_at_any_byte_is_whole_or_an_error(scene: Scene) -> None:
    await scene.stream(Reply(pieces=("Hé", "llo")))
    wire = Reply(pieces=("Hé", "llo")).wire(scene.server.requests[0])
    for cut in range(len(wire) + 1):
        try:
            result, _ = await scene.stream(Reply(pieces=("Hé", "llo"), cut_at=cut))
        except ProviderError as error:
            assert error.kind is KINDS.TIMEOUT  # noqa: PT017 (both ends are correct)
            assert b"finish_reason" not in wire[:cut] or b'"stop"}]}\n\n' not in wire[:cut]
        else:
            assert result.content == "Héllo"


async def test_an_answer_in_one_piece_that_is_cut(scene: Scene) -> None:
    with pytest.raises(ProviderError) as caught:
        await scene.complete(Reply(cut_at=20))
    assert caught.value.kind is KINDS.OVERLOADED


async def test_a_reply_of_ten_megabytes_is_cut(scene: Scene) -> None:
    huge = tuple("0123456789abcdef" * 4096 for _ in range(160))
    whole = await scene.complete(Reply(pieces=huge))
    streamed, pieces = await scene.stream(Reply(pieces=huge))
    single, _ = await scene.stream(Reply(pieces=("".join(huge),)))
    for result in (whole, streamed, single):
        assert result.truncated
        assert len(result.content) == REQUEST.max_bytes
    assert "".join(pieces) == streamed.content


async def test_reading_stops_at_the_limit(scene: Scene) -> None:
    endless = Raw((chunk_event("m", {"content": "x" * 1000}),) * 20, headers=SSE_HEADERS, pause=0.001)
    result, _ = await scene.stream(endless, max_bytes=2500)
    assert result.truncated
    assert len(result.content) == 2500
    await scene.server.disconnected.wait()


async def test_an_answer_beyond_any_reason_is_unreadable(scene: Scene) -> None:
    blank = Raw((b" " * (1 << 20),) * 17)
    assert (await scene.failure(blank)).kind is KINDS.OVERLOADED
    line = Raw((b"data: " + b"x" * (1 << 20),) + (b"x" * (1 << 20),) * 17, headers=SSE_HEADERS)
    assert (await scene.stream_failure(line)).kind is KINDS.OVERLOADED


@pytest.mark.parametrize("hang", [Hang(), Hang(after_headers=True), Hang(after_headers=True, first=b": wait\n\n")])
async def test_silence_is_a_timeout(hang: Hang) -> None:
    async with open_scene(timeouts=CallTimeouts(total=0.1, silence=0.1)) as scene:
        assert (await scene.failure(hang)).kind is KINDS.TIMEOUT


async def test_nobody_there(scene: Scene) -> None:
    scene.account = replace(scene.account, base_url="http://127.0.0.1:1/v1")
    error = await scene.failure(Reply())
    assert error.kind is KINDS.OVERLOADED
    assert "127.0.0.1:1" in error.what


@pytest.mark.parametrize("hang", [Hang(), Hang(after_headers=True, first=chunk_event("m", {"content": "Hal"}))])
async def test_the_server_sees_a_cancellation(scene: Scene, hang: Hang) -> None:
    call = asyncio.create_task(scene.stream(hang))
    await scene.called()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await scene.server.disconnected.wait()


@pytest.mark.parametrize(
    "message",
    [f"bad key {KEY}", "bad key sk-proj-abc***xyz9", f"header was Authorization: Bearer {'x' * 40}", f"{KEY}\n" * 200],
)
async def test_error_texts_are_short_lines_without_keys(scene: Scene, message: str) -> None:
    error = await scene.failure(Failure(401, None, message))
    assert KEY not in error.what
    assert "xyz9" not in error.what
    assert "xxxx" not in error.what
    assert "\n" not in error.what
    assert len(error.what) <= 300
