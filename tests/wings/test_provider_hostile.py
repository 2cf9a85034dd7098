"""A hostile model server: its answers are limited and cleaned, and no key appears in a result or an error."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

from arvis.domain.errors import ProviderErrorKind
from arvis.testing.openai_server import SSE_HEADERS, Behaviour, Failure, Raw, chunk_event, sse_event
from tests.wings import anthropic_scene, chat_scene
from tests.wings.chat_scene import KEY, choice


@dataclass(frozen=True, slots=True)
class Server:
    """The behaviours of a server that speaks one format."""

    scene: Callable[[], AbstractAsyncContextManager[Any]]
    #: Answer with this name of a model and this reason for the end.
    named: Callable[[str, str], Behaviour]
    #: Refuse with this text, repeated this many times.
    refusing: Callable[[str, int], Behaviour]
    #: Fail with this error text.
    failing: Callable[[str], Behaviour]


def _chat_named(model: str, reason: str) -> Behaviour:
    document = {**choice({"content": "hi"}), "model": model}
    document["choices"][0]["finish_reason"] = reason
    return chat_scene.body(document)


def _chat_refusing(text: str, number: int) -> Behaviour:
    pieces = [chunk_event("m", {"refusal": text}) for _ in range(number)]
    return chat_scene.events(*pieces, sse_event(choice({})))


def _anthropic_named(model: str, reason: str) -> Behaviour:
    return anthropic_scene.body(
        {**anthropic_scene.message({"type": "text", "text": "hi"}, reason=reason), "model": model}
    )


def _anthropic_refusing(text: str, number: int) -> Behaviour:
    end = anthropic_scene.end("refusal")
    end["delta"]["stop_details"] = {"type": "refusal", "explanation": text * number}
    return anthropic_scene.events(anthropic_scene.start(), end)


SERVERS = {
    "anthropic": Server(
        anthropic_scene.open_scene,
        _anthropic_named,
        _anthropic_refusing,
        lambda words: anthropic_scene.fails(400, "invalid_request_error", words),
    ),
    "chat": Server(chat_scene.open_scene, _chat_named, _chat_refusing, lambda words: Failure(400, None, words)),
}


@pytest.fixture(params=sorted(SERVERS))
def server(request: pytest.FixtureRequest) -> Server:
    return SERVERS[request.param]


@pytest.fixture
async def scene(server: Server) -> AsyncIterator[Any]:
    async with server.scene() as opened:
        yield opened


async def test_names_that_no_database_holds_are_cleaned(server: Server, scene: Any) -> None:
    result = await scene.complete(server.named("m\ud800\0\n" + "x" * 1000, "st\ud800\0p"))
    assert result.model == "m" + "x" * 196
    assert result.stop_reason == "stp"


async def test_a_document_that_swells_is_not_read(scene: Any) -> None:
    bomb = b'{"a":[' + b"{}," * 600_000 + b"{}]}"
    for failure in (
        await scene.failure(Raw((json.dumps({"a": [{}] * 600_000}).encode(),))),
        await scene.stream_failure(Raw((b"data: " + bomb + b"\n\n",), headers=SSE_HEADERS)),
    ):
        assert failure.kind is ProviderErrorKind.OVERLOADED
        assert "has too many values" in failure.what


async def test_an_endless_refusal_is_cut(server: Server, scene: Any) -> None:
    failure = await scene.stream_failure(server.refusing("no " * 500, 200))
    assert failure.kind is ProviderErrorKind.REFUSED
    assert len(failure.what) < 2_000


@pytest.mark.parametrize(
    "form",
    [KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode(), KEY.encode().hex()],
    ids=["plain", "address", "base64", "hex"],
)
async def test_an_error_that_repeats_the_key_in_any_form_hides_it(server: Server, scene: Any, form: str) -> None:
    failure = await scene.failure(server.failing(f"you sent {form}!"))
    assert form not in failure.what
    assert "[key]" in failure.what


@pytest.mark.parametrize("arguments", ['{"a": "x\\ud800\\u0000"}', '{"a\\udfff": [["x\\ud800"]]}'])
async def test_a_call_holds_nothing_that_no_database_holds(arguments: str) -> None:
    async with chat_scene.open_scene() as scene:
        function = {"name": "look\ud800\0up", "arguments": arguments}
        call = {"index": 0, "id": "a\0b\udfff", "type": "function", "function": function}
        result = await scene.complete(chat_scene.body(choice({"content": None, "tool_calls": [call]})))
    [made] = result.calls
    assert (made.id, made.name) == ("ab\ufffd", "look\ufffdup")
    assert made.arguments in ({"a": "x\ufffd"}, {"a\ufffd": [["x\ufffd"]]})


async def test_an_infinite_number_is_no_argument() -> None:
    async with chat_scene.open_scene() as scene:
        function = {"name": "sum", "arguments": '{"a": 1e999}'}
        call = {"index": 0, "id": "a", "type": "function", "function": function}
        result = await scene.complete(chat_scene.body(choice({"content": None, "tool_calls": [call]})))
    [made] = result.calls
    assert (made.arguments, made.written) == (None, '{"a": 1e999}')


async def test_a_key_that_comes_back_as_a_name_is_not_kept(server: Server, scene: Any) -> None:
    result = await scene.complete(server.named(f"model-{KEY}", f"because-{KEY}"))
    assert (result.model, result.stop_reason) == ("model-[key]", "because-[key]")


async def test_many_members_do_not_hold_up_the_event_loop(scene: Any) -> None:
    document = json.dumps({str(number): 0 for number in range(120_000)}).encode()
    assert "has too many values" in (await scene.failure(Raw((document,)))).what
