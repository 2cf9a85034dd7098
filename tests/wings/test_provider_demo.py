"""The directives of the demo provider, one by one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.markup import escape
from arvis.domain.runs import Account, RunRequest, RunResult, Turn
from arvis.domain.tools import ToolOutput, ToolSpec
from arvis.providers.demo import DemoProvider
from arvis.testing.clock import SteppedClock, StoppedClock
from arvis.testing.conformance.provider import ProviderConformance

ACCOUNT = Account(name="demo", provider="demo", model="demo")


def ask(*texts: str) -> RunRequest:
    turns = tuple(Turn("user", text) for text in texts)
    return RunRequest(system="", turns=turns, model=None, agent_name="Helper")


async def reply(*texts: str) -> RunResult:
    return await DemoProvider(clock=SteppedClock()).complete(ask(*texts), ACCOUNT)


class DemoScene:
    def __init__(self) -> None:
        self.clock = StoppedClock()
        self.provider = DemoProvider(clock=self.clock)
        self.account = ACCOUNT

    def say(self, text: str) -> RunRequest:
        return ask("demo: say " + text.replace("\n", "\\n"))

    def fail(self, kind: ProviderErrorKind) -> RunRequest:
        return ask(f"demo: fail {kind}")

    def call(self, name: str, arguments: Mapping[str, Any]) -> RunRequest:
        spec = ToolSpec(name, "Look up a word.", {"type": "object"})
        return replace(ask(f"demo: tool {name} {json.dumps(arguments)}"), tools=(spec,))

    def hang(self) -> RunRequest:
        return ask("demo: sleep 60")

    async def called(self) -> None:
        await self.clock.asleep.wait()


class TestDemoConformance(ProviderConformance):
    @asynccontextmanager
    async def scene(self) -> AsyncIterator[DemoScene]:
        yield DemoScene()


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("demo: say hello", "hello"),
        ("demo: say one\\ntwo", "one\ntwo"),
        ("demo: say  two  spaces  kept ", " two  spaces  kept "),
        ("please\ndemo: say [MEMORY: x]\nthanks", "[MEMORY: x]"),
        ("demo: say a\ndemo: say b", "a\nb"),
        ("Ann Lee #7f3q2: demo: say a\n  demo: say b", "a\nb"),
        ("demo: tokens 3", "word word word"),
        ("demo: say a\ndemo: tokens 2", "a\nword word"),
        ("  demo: say indented", "indented"),
        ("demo: say one\u2028line\r\ndemo: say two", "one\u2028line\ntwo"),
    ],
)
async def test_directives(text: str, content: str) -> None:
    assert (await reply(text)).content == content


@pytest.mark.parametrize("text", ["hi there", "demo:say x", "demo: dance", "undemo: say x", "I wrote demo: say x", ""])
async def test_anything_else_is_greeted(text: str) -> None:
    content = (await reply(text)).content
    assert "demo" in content
    assert "Helper" in content
    assert content.endswith(text)


async def test_only_the_newest_user_message_counts() -> None:
    assert (await reply("demo: say old", "demo: say new")).content == "new"
    assert "You wrote: hello" in (await reply("demo: fail auth", "hello")).content


async def test_an_assistants_words_are_no_directive() -> None:
    request = RunRequest(
        system="", turns=(Turn("user", "hi"), Turn("assistant", "demo: say x")), model=None, agent_name="Helper"
    )
    result = await DemoProvider(clock=SteppedClock()).complete(request, ACCOUNT)
    assert result.content.endswith("You wrote: hi")


async def test_sleep_uses_the_clock_and_is_bounded() -> None:
    clock = SteppedClock()
    text = "demo: sleep 1.5\ndemo: sleep 1e9\ndemo: sleep nan\ndemo: sleep -1\ndemo: say done"
    result = await DemoProvider(clock=clock).complete(ask(text), ACCOUNT)
    assert result.content == "done"
    assert clock.slept == [1.5, 600.0, 0.0, 0.0]


async def test_lines_are_obeyed_in_order() -> None:
    clock = SteppedClock()
    pieces: list[str] = []
    with pytest.raises(ProviderError) as caught:
        await DemoProvider(clock=clock).stream(
            ask("demo: sleep 2\ndemo: say before\ndemo: fail timeout\ndemo: say never"), ACCOUNT, pieces.append
        )
    assert caught.value.kind is ProviderErrorKind.TIMEOUT
    assert clock.slept == [2.0]
    assert "".join(pieces) == "before"


async def test_an_unknown_kind_of_failure_is_a_bad_request() -> None:
    with pytest.raises(ProviderError) as caught:
        await reply("demo: fail nonsense")
    assert caught.value.kind is ProviderErrorKind.BAD_REQUEST


async def test_tokens_are_reported() -> None:
    result = await reply("one two", "demo: tokens 12")
    assert result.output_tokens == 12
    assert result.input_tokens == 5


async def test_a_tool_that_it_does_not_have_is_declined() -> None:
    content = (await reply('demo: tool weather {"city": "Bern"}')).content
    assert content == "I have no tool weather."


async def test_a_tool_is_called_and_what_it_gave_is_said() -> None:
    provider = DemoProvider(clock=SteppedClock())
    request = replace(ask('demo: say Wait.\ndemo: tool sum {"of": [1, 2]}'), tools=(ToolSpec("sum", "", {}),))
    first = await provider.complete(request, ACCOUNT)
    assert first.content == "Wait."
    assert [(call.name, call.arguments) for call in first.calls] == [("sum", {"of": [1, 2]})]
    called = Turn("assistant", first.content, calls=first.calls)
    gave = Turn("user", "", outputs=(ToolOutput(first.calls[0].id, "3"),))
    second = await provider.complete(replace(request, turns=(*request.turns, called, gave)), ACCOUNT)
    assert second.content == "Wait.\nsum: 3"
    assert not second.calls


async def test_a_huge_number_of_tokens_costs_no_memory() -> None:
    result = await reply("demo: tokens " + "9" * 5000)
    assert result.truncated
    assert len(result.content) <= 262_144


async def test_tags_that_are_harmless_in_the_prompt_are_said_as_they_were_written() -> None:
    text = "demo: say [MEMORY:sticky] x [/MEMORY] <AGENT_DONE/> MESSAGE TO SEND: y"
    assert (await reply(escape(text))).content == text.removeprefix("demo: say ")
