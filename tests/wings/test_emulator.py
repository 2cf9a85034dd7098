"""All HTTP providers against an independent emulator; each case with and without streaming."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from arvis.domain.errors import ProviderErrorKind
from arvis.domain.reply_format import ReplyFormat
from arvis.domain.runs import Image, Turn
from arvis.domain.tools import ToolOutput, ToolSpec
from tests.wings.emulator_scene import VENDORS, Scene, open_scene, running_emulator

HELLO = "Hello from the emulator, in several pieces of text: Grüße, 東京, 🚀."
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c02"
    "0000000b4944415478da6364f80f00010501012718e3660000000049454e44ae426082"
)
WEATHER = ToolSpec(
    "get_weather",
    "The weather of a city.",
    {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "array"}}, "required": ["city"]},
)

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest.fixture(scope="module")
def emulator() -> Iterator[str]:
    with running_emulator() as address:
        yield address


@pytest.fixture(params=sorted(VENDORS))
async def scene(request: pytest.FixtureRequest, emulator: str) -> AsyncIterator[Scene]:
    async with open_scene(request.param, emulator) as opened:
        yield opened


@both_ways
async def test_a_conversation(scene: Scene, stream: bool) -> None:
    turns = (Turn("user", "Good morning"), Turn("assistant", "Hi"), Turn("user", "Please say hello"))
    result = await scene.ask(*turns, stream=stream)
    assert (result.content, result.stop_reason, result.truncated) == (HELLO, "end", False)
    assert result.model.startswith(scene.account.model)
    if stream:
        assert len(scene.pieces) > 1
        assert "".join(scene.pieces) == HELLO


@both_ways
async def test_what_it_counted(scene: Scene, stream: bool) -> None:
    result = await scene.ask(Turn("user", "say hello"), stream=stream)
    counted = (0, 0) if scene.provider.name == "ollama" else (11, 5)  # the emulator counts nothing in Ollama's format
    assert (result.input_tokens, result.output_tokens) == counted


@both_ways
async def test_a_tool_is_called_and_its_output_read(scene: Scene, stream: bool) -> None:
    asked = Turn("user", "What is the weather?")
    first = await scene.ask(asked, stream=stream, tools=(WEATHER,))
    assert [(call.name, call.arguments) for call in first.calls] == [("get_weather", {"city": "Graz", "days": [1, 2]})]
    assert first.stop_reason == "tool_calls"
    called = Turn("assistant", first.content, calls=first.calls)
    gave = Turn("user", "", outputs=tuple(ToolOutput(call.id, "sunny") for call in first.calls))
    for off in (False, True):
        answer = await scene.ask(asked, called, gave, stream=stream, tools=(WEATHER,), tools_off=off)
        assert (answer.content, answer.calls) == ("It is sunny in Graz.", ())


@both_ways
async def test_a_picture_is_taken(scene: Scene, stream: bool) -> None:
    # The emulator accepts and ignores pictures; each provider's own tests check their form.
    result = await scene.ask(Turn("user", "look at this", images=(Image("image/png", PNG),)), stream=stream)
    assert result.content == "A picture."


@both_ways
async def test_an_effort_and_a_format_are_accepted(scene: Scene, stream: bool) -> None:
    wanted = ReplyFormat({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    result = await scene.ask(Turn("user", "say hello"), stream=stream, effort="high", format=wanted, max_tokens=20_000)
    assert result.content == HELLO


@both_ways
async def test_too_many_calls(scene: Scene, stream: bool) -> None:
    failure = await scene.failure("too often", stream=stream)
    assert (failure.kind, failure.retry_after) == (ProviderErrorKind.RATE_LIMIT, 7.0)
    assert "slow down" in failure.what


@both_ways
async def test_a_server_that_is_ill(scene: Scene, stream: bool) -> None:
    failure = await scene.failure("fall over", stream=stream)
    assert failure.kind is ProviderErrorKind.OVERLOADED
    assert "oops" in failure.what


@both_ways
async def test_an_answer_that_is_no_json(scene: Scene, stream: bool) -> None:
    failure = await scene.failure("talk nonsense", stream=stream)
    # A client that accepts only a stream gets a stream without events.
    eventless = stream and scene.provider.name == "google"
    assert failure.kind is (ProviderErrorKind.TIMEOUT if eventless else ProviderErrorKind.OVERLOADED)


@both_ways
async def test_a_connection_that_is_closed_at_once(scene: Scene, stream: bool) -> None:
    assert (await scene.failure("hang up", stream=stream)).kind is ProviderErrorKind.OVERLOADED


async def test_a_stream_that_breaks_off_is_no_answer(scene: Scene) -> None:
    failure = await scene.failure("break off", stream=True)
    assert failure.kind is ProviderErrorKind.TIMEOUT
    assert "ended early" in failure.what
    assert (await scene.ask(Turn("user", "say hello"), stream=True)).content == HELLO
