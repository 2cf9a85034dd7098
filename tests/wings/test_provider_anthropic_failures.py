"""Anthropic's models: kinds of failures, careless servers, and connections."""

from __future__ import annotations

import asyncio
import gzip
import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import CallTimeouts, RunRequest
from arvis.ports.provider import KeepsConnections
from arvis.testing.openai_server import SSE_HEADERS, Hang, Raw, ReceivedRequest
from tests.wings.anthropic_scene import (
    EMPTY_TEXT,
    KEY,
    REQUEST,
    STOP,
    Says,
    body,
    call_block,
    end,
    event,
    events,
    fails,
    message,
    open_scene,
    piece,
    says,
    start,
    text_block,
    text_piece,
)


@pytest.mark.parametrize(
    ("behaviour", "kind", "wait"),
    [
        (fails(429, "rate_limit_error", headers={"retry-after": "31"}), "rate_limit", 31.0),
        (fails(529, "overloaded_error", headers={"retry-after": "soon"}), "overloaded", None),
        (fails(500, "api_error"), "overloaded", None),
        (fails(503, "strange_error"), "overloaded", None),
        (fails(403, "permission_error"), "auth", None),
        (fails(400, "invalid_request_error", "Your credit balance is too low to access the API."), "quota", None),
        (fails(413, "request_too_large", "Request exceeds the maximum size"), "too_long", None),
        (fails(400, "invalid_request_error", "input length and `max_tokens` exceed context limit"), "too_long", None),
        (fails(404, "not_found_error", "model: claude-9"), "bad_request", None),
        (Raw((b"<html>Bad gateway</html>",), status=502), "overloaded", None),
        (Raw((b"",), status=302, headers={"Location": "http://127.0.0.1:9/"}), "bad_request", None),
        (body({}), "overloaded", None),
        (body([]), "overloaded", None),
        (body({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}), "rate_limit", None),
        (body(message(reason="end_turn")), "empty", None),
        (body(message(7)), "overloaded", None),
        (body({**message(), "content": "text"}), "overloaded", None),
        (body(message({"type": "text", "text": 7})), "overloaded", None),
        (body(message(call_block(7, {}))), "overloaded", None),
        (body(message(text_block("x"), reason=7)), "overloaded", None),
        (Raw((b'{"type": "message", ',)), "overloaded", None),
    ],
)
async def test_what_failures_mean(behaviour: Any, kind: str, wait: float | None) -> None:
    async with open_scene() as scene:
        failure = await scene.failure(behaviour)
    assert (failure.kind, failure.retry_after) == (ProviderErrorKind(kind), wait)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, "overloaded"),
        ({"type": "rate_limit_error", "message": "slow"}, "rate_limit"),
        ({"type": "invalid_request_error", "message": "prompt is too long"}, "too_long"),
        ({"type": "new_error", "message": "?"}, "overloaded"),
        (7, "overloaded"),
    ],
)
async def test_an_error_inside_a_stream(error: object, kind: str) -> None:
    async with open_scene() as scene:
        failure = await scene.stream_failure(events(start(), text_piece("half"), {"type": "error", "error": error}))
    assert failure.kind is ProviderErrorKind(kind)


@pytest.mark.parametrize(
    "document",
    [
        {"type": "message_start", "message": 7},
        {"type": "content_block_start", "index": "0", "content_block": EMPTY_TEXT},
        {"type": "content_block_delta", "index": 0, "delta": []},
        {"type": "message_delta", "delta": None},
        piece(0, {"type": "text_delta", "text": 7}),
        piece(0, {"type": "input_json_delta"}),
        {"index": 0},
    ],
)
async def test_a_stream_of_wrong_types_is_unreadable(document: dict[str, Any]) -> None:
    odd = Raw((event(start()), b"data: " + json.dumps(document).encode() + b"\n\n", event(STOP)), headers=SSE_HEADERS)
    async with open_scene() as scene:
        failure = await scene.stream_failure(odd)
    assert failure.kind is ProviderErrorKind.OVERLOADED
    assert "unreadable" in failure.what


async def test_a_refusal_gives_its_reason_without_the_key() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": f"Not that. {KEY}"}
    async with open_scene() as scene:
        failure = await scene.failure(says("half", reason="refusal", more={"stop_details": details}))
    assert failure.kind is ProviderErrorKind.REFUSED
    assert "Not that. [key]" in failure.what


@pytest.mark.parametrize("cut", [None, 400])
async def test_a_stream_without_its_end_is_no_answer(cut: int | None) -> None:
    async with open_scene() as scene:
        failure = await scene.stream_failure(events(start(), *[text_piece("half")] * 9, cut_at=cut))
    assert failure.kind is ProviderErrorKind.TIMEOUT
    assert "ended early" in failure.what


async def test_a_connection_that_breaks_behind_the_end_does_not_matter() -> None:
    told = [start(), text_piece("all"), end(usage={"output_tokens": 2})]
    size = sum(len(event(document)) for document in told)
    async with open_scene() as scene:
        result, _ = await scene.stream(events(*told, STOP, cut_at=size))
    assert (result.content, result.output_tokens) == ("all", 2)


async def test_a_whole_answer_that_is_cut_is_no_answer() -> None:
    async with open_scene() as scene:
        cut = Raw((json.dumps(message(text_block("half"))).encode(),), cut_at=30)
        failure = await scene.failure(cut)
    assert failure.kind is ProviderErrorKind.OVERLOADED
    assert "broke" in failure.what


@pytest.mark.parametrize(("status", "says"), [(200, "is compressed"), (500, "HTTP 500: no further explanation")])
async def test_an_answer_that_could_swell_is_not_read(status: int, says: str) -> None:
    swollen = gzip.compress(b" " * 10_000_000)
    packed = Raw((swollen,), status=status, headers={"Content-Encoding": "gzip", "Content-Type": "text/json"})
    async with open_scene() as scene:
        failure = await scene.failure(packed)
        assert scene.server.requests[0].headers["Accept-Encoding"] == "identity"
    assert failure.kind is ProviderErrorKind.OVERLOADED
    assert says in failure.what


async def test_an_endless_error_is_left() -> None:
    async with open_scene() as scene:
        failure = await scene.failure(Raw((b"x" * 1000,) * 50_000, status=400))
        async with asyncio.timeout(10):
            await scene.server.disconnected.wait()
    assert failure.kind is ProviderErrorKind.BAD_REQUEST
    assert "no further explanation" in failure.what


async def test_a_server_that_is_not_there() -> None:
    async with open_scene() as scene:
        away = replace(scene.account, base_url="http://user:secret@127.0.0.1:9")
        with pytest.raises(ProviderError) as caught:
            await scene.provider.complete(REQUEST, away)
    assert caught.value.kind is ProviderErrorKind.OVERLOADED
    assert "no connection to 127.0.0.1:9" in caught.value.what
    assert "secret" not in caught.value.what


@pytest.mark.parametrize("address", ["http://[", "ftp://127.0.0.1", "nowhere", "http://127.0.0.1:99999"])
async def test_an_address_that_is_none(address: str) -> None:
    async with open_scene() as scene:
        with pytest.raises(ProviderError):
            await scene.provider.complete(REQUEST, replace(scene.account, base_url=address))


async def test_a_key_that_no_header_can_carry() -> None:
    async with open_scene() as scene:
        with pytest.raises(ProviderError) as caught:
            await scene.provider.complete(REQUEST, replace(scene.account, api_key="key\nof two lines"))
    assert caught.value.kind is ProviderErrorKind.AUTH


@pytest.mark.parametrize(
    "timeouts", [CallTimeouts(total=0.3), CallTimeouts(total=60, silence=0.3)], ids=["in all", "silence"]
)
@pytest.mark.parametrize("hang", [Hang(), Hang(after_headers=True, first=event(start()))], ids=["at once", "later"])
async def test_a_silent_server_is_not_waited_for(timeouts: CallTimeouts, hang: Hang) -> None:
    async with open_scene(timeouts) as scene:
        failure = await scene.stream_failure(hang)
    assert failure.kind is ProviderErrorKind.TIMEOUT


# --- Connections ---


async def test_cancellation_gets_through_in_the_middle_of_a_stream() -> None:
    async with open_scene() as scene:
        seen = asyncio.Event()
        request = scene.then(Hang(after_headers=True, first=event(start()) + event(text_piece("half"))))
        call = asyncio.create_task(scene.provider.stream(request, scene.account, lambda _: seen.set()))
        await seen.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await scene.server.disconnected.wait()


@dataclass(frozen=True, slots=True)
class Noting:
    """An answer that records the address of each caller."""

    says: Says
    callers: set[object] = field(default_factory=set)
    #: The connections, in order.
    lines: dict[asyncio.Transport, None] = field(default_factory=dict)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        self.callers.add(received.http.get_extra_info("peername"))
        if received.http.transport is not None:
            self.lines[received.http.transport] = None
        return await self.says.answer(received)


async def test_one_connection_serves_calls_that_follow_one_another() -> None:
    noting = Noting(says("hi"))
    async with open_scene() as scene:
        for _ in range(3):
            await scene.stream(noting)
            await scene.complete(noting)
    assert len(noting.callers) == 1


async def test_an_answer_whose_connection_stays_open_is_there_at_once() -> None:
    told = b"".join(event(document) for document in (start(), text_piece("all"), end(), STOP))
    async with open_scene(CallTimeouts(total=5, silence=5)) as scene:
        result, _ = await scene.stream(Hang(after_headers=True, first=told))
    assert result.content == "all"


async def test_calls_at_once_share_a_client_and_keep_their_answers() -> None:
    async with open_scene() as scene:
        requests: list[RunRequest] = [scene.say("same") for _ in range(8)]
        results = await asyncio.gather(*(scene.provider.complete(request, scene.account) for request in requests))
    assert [result.content for result in results] == ["same"] * 8


async def test_a_provider_that_was_closed_opens_again() -> None:
    async with open_scene() as scene:
        await scene.complete(says("one"))
        assert isinstance(scene.provider, KeepsConnections)
        await scene.provider.aclose()
        assert (await scene.complete(says("two"))).content == "two"


@dataclass(frozen=True, slots=True)
class Late:
    """An answer that waits until `go` is set."""

    says: Says
    come: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        self.come.set()
        await self.go.wait()
        return await self.says.answer(received)


async def test_connections_of_old_keys_are_closed_and_calls_under_way_are_not() -> None:
    late, noting = Late(says("late")), Noting(says("hi"))
    async with open_scene() as scene:

        async def ask(number: int) -> int:
            """Make a call and return the number of connections so far."""
            account = replace(scene.account, api_key=f"key-{number}")
            await scene.provider.complete(scene.then(noting), account)
            return len(noting.callers)

        first = asyncio.create_task(scene.provider.complete(scene.then(late), scene.account))
        await late.come.wait()
        assert [await ask(number) for number in range(20)] == list(range(1, 21))
        async with asyncio.timeout(10):
            while sum(not line.is_closing() for line in noting.lines) > 15:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)
        # Calls with these keys are not tried: the SDK opens another connection if the last one was idle for five seconds.
        assert [line.is_closing() for line in noting.lines] == [True] * 5 + [False] * 15
        assert await ask(4) == 21
        late.go.set()
        assert (await first).content == "late"
