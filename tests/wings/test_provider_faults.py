"""Malformed answers of model servers, generated: each provider returns a result or a `ProviderError` with a kind, and
no error text of Python.

Every member of a good document is removed, made null, or given another type, in complete answers and in each event of a
stream. Other cases are bodies that are not answers, statuses with every kind of error body, and connections cut at
every offset.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, CallTimeouts, RunRequest, RunResult
from arvis.ports.sandbox import Finished
from arvis.providers.claude_cli import ClaudeCliResponse as ProgramAnswer
from arvis.providers.ollama import OllamaModel, OllamaProvider
from arvis.providers.reply import ReplyText
from arvis.testing.clock import SteppedClock
from arvis.testing.openai_server import SSE_HEADERS, Hang, Raw
from tests.wings import anthropic_scene, chat_scene, google_scene, ollama_scene

KINDS = ProviderErrorKind
_PYTHON = re.compile(
    r"Traceback|NoneType|object has no attribute|\b[A-Z]\w*Error\b(?<!HTTPError)|'dict'|not subscriptable|\.py\b"
)

_CALL = {"name": "look", "arguments": '{"a": 1}'}
_CHAT_CALLS = [{"index": 0, "id": "c1", "type": "function", "function": _CALL}]
_CHAT_USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 2}}
_GOOGLE_PARTS = [
    {"thought": True, "text": "hm"},
    {"text": "Hello"},
    {"functionCall": {"name": "look", "args": {"a": 1}, "id": "c1"}, "thoughtSignature": "c2ln"},
]
_GOOGLE = {
    "candidates": [{"content": {"role": "model", "parts": _GOOGLE_PARTS}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5, "cachedContentTokenCount": 1},
    "modelVersion": "m",
}
_OLLAMA = {
    "model": "m",
    "message": {
        "role": "assistant",
        "content": "Hello",
        "tool_calls": [{"function": {"name": "look", "arguments": {"a": 1}}}],
    },
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": 7,
    "eval_count": 5,
}
_THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


@dataclass(frozen=True, slots=True)
class Format:
    """The answers of a vendor."""

    scene: Callable[..., AbstractAsyncContextManager[Any]]
    #: The answer as one complete document.
    whole: Mapping[str, Any]
    #: The documents of a stream.
    events: Sequence[Mapping[str, Any]]
    #: Whether a stream has one document in each line instead of events.
    line: bool = False
    first: Sequence[Raw] = ()

    def wire(self, events: Sequence[object]) -> bytes:
        if self.line:
            return b"".join(json.dumps(event).encode() + b"\n" for event in events)
        return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


FORMATS: Mapping[str, Format] = {
    "anthropic": Format(
        anthropic_scene.open_scene,
        anthropic_scene.message(
            _THINKING,
            anthropic_scene.text_block("Hello"),
            anthropic_scene.call_block("look", {"a": 1}),
            reason="tool_use",
        ),
        [
            anthropic_scene.start(),
            {"type": "content_block_start", "index": 0, "content_block": _THINKING},
            anthropic_scene.piece(0, {"type": "thinking_delta", "thinking": "hm"}),
            anthropic_scene.piece(0, {"type": "signature_delta", "signature": "c2ln"}),
            {"type": "content_block_start", "index": 1, "content_block": anthropic_scene.EMPTY_TEXT},
            anthropic_scene.piece(1, {"type": "text_delta", "text": "Hello"}),
            {"type": "content_block_start", "index": 2, "content_block": anthropic_scene.call_block("look", {})},
            anthropic_scene.piece(2, {"type": "input_json_delta", "partial_json": '{"a": 1}'}),
            anthropic_scene.end("tool_use", usage={"output_tokens": 5}),
            anthropic_scene.STOP,
        ],
    ),
    "chat": Format(
        chat_scene.open_scene,
        {
            "id": "x",
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "message": {
                        "role": "assistant",
                        "content": "Hello",
                        "reasoning_content": "hm",
                        "tool_calls": _CHAT_CALLS,
                    },
                    "finish_reason": "tool_calls",
                }
            ],
            "usage": _CHAT_USAGE,
        },
        [
            {"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "reasoning_content": "hm"}}]},
            {"model": "m", "choices": [{"index": 0, "delta": {"content": "Hello"}, "finish_reason": None}]},
            {"model": "m", "choices": [{"index": 0, "delta": {"tool_calls": _CHAT_CALLS}}]},
            {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
            {"model": "m", "choices": [], "usage": _CHAT_USAGE},
        ],
    ),
    "google": Format(
        google_scene.open_scene, _GOOGLE, [{"candidates": [{"content": {"parts": [{"text": "Hel"}]}}]}, _GOOGLE]
    ),
    "ollama": Format(
        ollama_scene.open_scene,
        _OLLAMA,
        [{"model": "m", "message": {"role": "assistant", "content": "Hel"}, "done": False}, _OLLAMA],
        line=True,
    ),
}

_INSTEAD: Sequence[object] = (
    None, 5, -1, 10**30, 1.5, float("nan"), float("inf"), True, "", "x", "\ud800\0", [], [None], {}, {"a": None}, [[{}]],
)  # fmt: skip
_BODIES: Sequence[bytes] = (
    b"", b" ", b"null", b"[]", b"{}", b"5", b'"x"', b"true", b"NaN", b"[null]", b'{"error": null}', b"<html><h1>Hi</h1></html>",
    b"\xff\xfe\x00", b'{"a":', b"[" * 2000, b"data: ", b"data: {}\n\n", b"data: null\n\ndata: [DONE]\n\n", b"{}\n{}\n",
)  # fmt: skip
_ERRORS: Sequence[bytes] = (
    b"", b"null", b"<html>Bad gateway</html>", b"[]", b"{}", b'{"error": null}', b'{"error": "words"}', b'{"error": 5}',
    b'{"error": []}', b'{"error": {"message": null, "code": {}, "type": []}}', b'{"error": {"message": 5, "status": 5}}',
    b'[{"error": {"details": [null, {"retryDelay": "x"}, {"retryDelay": 5}]}}]', b'{"detail": [{"loc": ["body", 5]}]}',
)  # fmt: skip
_DATE = {"Date": "Fri, 15 Jan 2027 08:00:00 GMT", "Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT"}
_STATUSES: Sequence[tuple[int, Mapping[str, str], set[ProviderErrorKind], float | None]] = (
    (401, {}, {KINDS.AUTH}, None),
    (403, {}, {KINDS.AUTH}, None),
    (404, {}, {KINDS.BAD_REQUEST}, None),
    (409, {}, {KINDS.OVERLOADED}, None),
    (429, {}, {KINDS.RATE_LIMIT}, None),
    (429, {"Retry-After": "7"}, {KINDS.RATE_LIMIT}, 7.0),
    (429, _DATE, {KINDS.RATE_LIMIT}, 30.0),
    (429, {"Retry-After": "soon"}, {KINDS.RATE_LIMIT}, None),
    (500, {}, {KINDS.OVERLOADED}, None),
    (502, {}, {KINDS.OVERLOADED}, None),
    (503, {"Retry-After": "2"}, {KINDS.OVERLOADED}, 2.0),
    (529, {}, {KINDS.OVERLOADED}, None),
)


def mutations(document: object) -> Iterator[object]:
    """Yield the document with one member removed or replaced, for each member and each replacement."""
    for path in _paths(document):
        for instead in (*_INSTEAD, _INSTEAD):
            changed = copy.deepcopy(document)
            *above, last = path
            holder: Any = changed
            for step in above:
                holder = holder[step]
            if instead is _INSTEAD:
                del holder[last]
            elif holder[last] == instead:
                continue
            else:
                holder[last] = instead
            yield changed


def _paths(value: object, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members: Iterator[tuple[Any, object]] = iter(())
    if isinstance(value, dict):
        members = iter(value.items())
    elif isinstance(value, list):
        members = iter(enumerate(value))
    for name, member in members:
        yield (*above, name)
        yield from _paths(member, (*above, name))


@dataclass(slots=True)
class Tally:
    """The number of results and errors of all cases."""

    results: int = 0
    errors: int = 0

    @property
    def cases(self) -> int:
        return self.results + self.errors


class Asker:
    """Calls one provider and checks its result or error."""

    def __init__(self, scene: Any) -> None:
        self._scene = scene
        self.tally = Tally()

    async def ask(self, answer: Raw | Hang, *, stream: bool) -> RunResult | ProviderError:
        scene = self._scene
        scene.server.script.clear()
        if isinstance(scene.provider, OllamaProvider):
            scene.provider._models[scene.server.base_url, scene.request.model] = OllamaModel(8_192)
        scene.server.script.append(answer)
        try:
            call = scene.provider.stream(scene.request, scene.account, lambda _: None) if stream else None
            result: RunResult = await (call or scene.provider.complete(scene.request, scene.account))
        except ProviderError as error:
            self.tally.errors += 1
            return _plain(error)
        self.tally.results += 1
        _check(result)
        return result


def _plain(error: ProviderError) -> ProviderError:
    """Check that the error's text is meant for people and can be stored."""
    assert _PYTHON.search(error.what) is None, error.what
    assert "\ud800" not in error.what
    return error


def _check(result: RunResult) -> None:
    """Check that the result can be stored and counted."""
    assert result.content.strip() or result.calls
    json.dumps(result.to_json(), allow_nan=False).encode("ascii")
    assert "\0" not in json.dumps(result.to_json(), ensure_ascii=False)
    for count in (result.input_tokens, result.output_tokens, result.cached_tokens, result.written_tokens):
        assert count is None or (type(count) is int and 0 <= count < 1 << 32)


@pytest.fixture(params=sorted(FORMATS))
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
async def asker(name: str) -> AsyncIterator[Asker]:
    async with FORMATS[name].scene(timeouts=CallTimeouts(total=20, silence=20)) as scene:
        yield Asker(scene)


async def test_any_member_of_a_whole_answer_may_be_wrong(name: str, asker: Asker) -> None:
    for document in mutations(FORMATS[name].whole):
        await asker.ask(Raw((json.dumps(document).encode(),)), stream=False)
    assert asker.tally.cases > 200
    assert asker.tally.results > 0


async def test_any_member_of_any_event_may_be_wrong(name: str, asker: Asker) -> None:
    events = FORMATS[name].events
    for place, event in enumerate(events):
        for changed in mutations(event):
            wire = FORMATS[name].wire([*events[:place], changed, *events[place + 1 :]])
            await asker.ask(Raw((wire,), headers=SSE_HEADERS), stream=True)
    assert asker.tally.cases > 300
    assert asker.tally.results > 0


async def test_an_event_may_be_missing_or_something_else(name: str, asker: Asker) -> None:
    events = FORMATS[name].events
    for place in range(len(events)):
        for instead in ([], *([each] for each in _INSTEAD)):
            wire = FORMATS[name].wire([*events[:place], *instead, *events[place + 1 :]])
            await asker.ask(Raw((wire,), headers=SSE_HEADERS), stream=True)


async def test_bodies_that_are_no_answer(name: str, asker: Asker) -> None:
    for body in _BODIES:
        for stream in (False, True):
            for headers in ({"Content-Type": "application/json"}, {"Content-Type": "text/html"}, SSE_HEADERS):
                assert isinstance(await asker.ask(Raw((body,), headers=headers), stream=stream), ProviderError)


async def test_every_status_has_its_kind_and_its_wait_whatever_its_body(name: str, asker: Asker) -> None:
    for status, headers, kinds, wait in _STATUSES:
        for body in _ERRORS:
            for stream in (False, True):
                error = await asker.ask(Raw((body,), status=status, headers=dict(headers)), stream=stream)
                assert isinstance(error, ProviderError)
                assert (error.kind in kinds, error.retry_after) == (True, wait), (status, body, error.kind)


async def test_a_connection_may_break_anywhere(name: str, asker: Asker) -> None:
    wire = FORMATS[name].wire(FORMATS[name].events)
    for offset in range(0, len(wire), 7):
        await asker.ask(Raw((wire,), headers=SSE_HEADERS, cut_at=offset), stream=True)
    whole = json.dumps(FORMATS[name].whole).encode()
    for offset in range(0, len(whole), 7):
        error = await asker.ask(Raw((whole,), cut_at=offset), stream=False)
        assert isinstance(error, ProviderError)
        assert error.kind in {KINDS.OVERLOADED, KINDS.TIMEOUT}


@pytest.mark.parametrize("stream", [False, True])
async def test_a_server_may_never_answer(name: str, stream: bool) -> None:
    async with FORMATS[name].scene(timeouts=CallTimeouts(total=0.3, silence=0.2)) as scene:
        for hang in (Hang(), Hang(after_headers=True), Hang(after_headers=True, first=b"\n")):
            error = await Asker(scene).ask(hang, stream=stream)
            assert isinstance(error, ProviderError)
            assert error.kind is KINDS.TIMEOUT


# -- the program -------------------------------------------------------------------------------------------

_LINES: Sequence[Mapping[str, Any]] = (
    {"type": "system", "subtype": "init"},
    {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1_800_000_600}},
    {
        "type": "stream_event",
        "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    },
    {"type": "assistant", "message": {"model": "m", "content": [{"type": "text", "text": "Hello"}]}},
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "Hello",
        "stop_reason": "end_turn",
        "errors": ["one"],
        "api_error_status": None,
        "terminal_reason": "completed",
        "usage": {
            "input_tokens": 7,
            "output_tokens": 5,
            "cache_read_input_tokens": 1,
            "cache_creation_input_tokens": 1,
        },
    },
)
_PROGRAM = Account(name="main", provider="claude_cli", model="m")
_REQUEST = RunRequest(system="", turns=(), model="m", agent_name="Helper")


def test_any_member_of_what_the_program_says_may_be_wrong() -> None:
    cases = 0
    for place, line in enumerate(_LINES):
        for changed in (*mutations(line), *_INSTEAD):
            _program_says([*_LINES[:place], changed, *_LINES[place + 1 :]])
            cases += 1
    assert cases > 300


def test_the_program_may_end_anywhere() -> None:
    wire = b"".join(json.dumps(line).encode() + b"\n" for line in _LINES)
    for offset in range(len(wire)):
        _program_writes(wire[:offset])


def _program_says(lines: Sequence[object]) -> None:
    _program_writes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def _program_writes(wire: bytes) -> None:
    answer = ProgramAnswer(reply=ReplyText(max_bytes=1_000), account=_PROGRAM, clock=SteppedClock(), max_bytes=1_000)
    try:
        answer.feed(wire)
        _check(answer.result(_REQUEST, Finished(0, b"", b"", False)))
    except ProviderError as error:
        _plain(error)
