"""The rules of the `Provider` port as tests: subclass `ProviderConformance` and override `scene`.

A provider passes if it returns complete texts and cuts long replies only between two characters. It raises only errors
with a kind, puts no secret into an error text, and ends a cancelled call immediately.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import pytest

from arvis.domain.dataclass import replace
from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import Account, RunRequest, Turn
from arvis.domain.tools import ToolOutput
from arvis.ports.provider import StreamingProvider

#: A text with more bytes than characters, so that a limit in bytes may cut inside a character.
TEXT = "Grüße aus Zürich, 東京 and 🚀 space.\nA second line."

NOW = "Now: Sunday, 22 November 2026, 09:05 (Europe/Berlin)"

ARGUMENTS: Mapping[str, Any] = {"word": "Straße 東京 🚀", "deep": {"list": [1, 2.5, None, True, ""]}}


class ProviderScene(Protocol):
    """A provider and its test vendor. `account` has a key if the vendor requires one."""

    @property
    def provider(self) -> StreamingProvider: ...

    @property
    def account(self) -> Account: ...

    def say(self, text: str) -> RunRequest:
        """Make the vendor answer the next call with this text, and return the request to make."""
        ...

    def fail(self, kind: ProviderErrorKind) -> RunRequest:
        """Make the vendor fail the next call with an error of this kind, and return the request to make."""
        ...

    def call(self, name: str, arguments: Mapping[str, Any]) -> RunRequest:
        """Make the vendor answer the next call with a call of this tool. Return the request to make, which offers the
        tool."""
        ...

    def hang(self) -> RunRequest:
        """Make the vendor leave the next call unanswered, and return the request to make."""
        ...

    async def called(self) -> None:
        """Wait until the hanging call has reached the vendor."""
        ...


def ignore(piece: str) -> None:
    """Ignore a piece of a streamed reply."""


class ProviderConformance:
    """Cases for every provider that streams. Override `scene`. If the vendor cannot cause all kinds of errors, also
    override `kinds`."""

    kinds: frozenset[ProviderErrorKind] = frozenset(ProviderErrorKind)
    calls_tools = True

    def scene(self) -> AbstractAsyncContextManager[ProviderScene]:
        raise NotImplementedError("a subclass must define `scene`")

    async def test_a_reply_is_the_whole_text_under_the_accounts_name(self) -> None:
        async with self.scene() as scene:
            result = await scene.provider.complete(scene.say(TEXT), scene.account)
            assert result.content == TEXT
            assert (result.account, result.provider) == (scene.account.name, scene.account.provider)
            assert result.model
            assert not result.truncated

    async def test_what_changes_in_a_prompt_may_stand_in_any(self) -> None:
        async with self.scene() as scene:
            plain = scene.say(TEXT)
            answered = await scene.provider.complete(replace(plain, changing=TEXT, now=NOW), scene.account)
            assert answered.content == TEXT
            scene.say(TEXT)
            answered = await scene.provider.complete(replace(plain, system="", changing=TEXT, now=NOW), scene.account)
            assert answered.content == TEXT

    async def test_streamed_pieces_make_up_the_reply(self) -> None:
        async with self.scene() as scene:
            pieces: list[str] = []
            result = await scene.provider.stream(scene.say(TEXT), scene.account, pieces.append)
            assert result.content == "".join(pieces) == TEXT
            assert len(pieces) > 1

    async def test_every_failure_has_its_kind_and_no_secret(self) -> None:
        async with self.scene() as scene:
            for kind in sorted(self.kinds):
                with pytest.raises(ProviderError) as whole:
                    await scene.provider.complete(scene.fail(kind), scene.account)
                with pytest.raises(ProviderError) as streamed:
                    await scene.provider.stream(scene.fail(kind), scene.account, ignore)
                assert (whole.value.kind, streamed.value.kind) == (kind, kind)
                for error in (whole.value, streamed.value):
                    assert error.what
                    assert scene.account.api_key is None or scene.account.api_key not in error.what

    async def test_a_call_of_a_tool_is_read_whole(self) -> None:
        if not self.calls_tools:
            pytest.skip("this provider does not accept tools")
        async with self.scene() as scene:
            whole = await scene.provider.complete(scene.call("look_up", ARGUMENTS), scene.account)
            streamed = await scene.provider.stream(scene.call("look_up", ARGUMENTS), scene.account, ignore)
            for result in (whole, streamed):
                assert [(call.name, call.arguments) for call in result.calls] == [("look_up", ARGUMENTS)]
                assert result.calls[0].id

    async def test_what_a_tool_gave_goes_back_to_the_model(self) -> None:
        if not self.calls_tools:
            pytest.skip("this provider does not accept tools")
        async with self.scene() as scene:
            first = scene.call("look_up", ARGUMENTS)
            asked = await scene.provider.complete(first, scene.account)
            called = Turn("assistant", asked.content, calls=asked.calls)
            gave = Turn("user", "", outputs=tuple(ToolOutput(call.id, TEXT) for call in asked.calls))
            turns = (*scene.say(TEXT).turns, *first.turns[-1:], called, gave)
            answer = await scene.provider.complete(replace(first, turns=turns, now=NOW), scene.account)
            assert TEXT in answer.content
            assert NOW not in answer.content

    async def test_a_failure_leaves_nothing_behind(self) -> None:
        async with self.scene() as scene:
            with pytest.raises(ProviderError):
                await scene.provider.stream(scene.fail(min(self.kinds)), scene.account, ignore)
            assert (await scene.provider.complete(scene.say(TEXT), scene.account)).content == TEXT

    async def test_a_blank_reply_is_an_error(self) -> None:
        async with self.scene() as scene:
            with pytest.raises(ProviderError) as caught:
                await scene.provider.complete(scene.say(" "), scene.account)
            assert caught.value.kind is ProviderErrorKind.EMPTY

    @pytest.mark.parametrize("max_bytes", range(1, len(TEXT.encode()) + 2))
    async def test_a_reply_is_cut_at_a_whole_character(self, max_bytes: int) -> None:
        async with self.scene() as scene:
            pieces: list[str] = []
            request = replace(scene.say(TEXT), max_bytes=max_bytes)
            result = await scene.provider.stream(request, scene.account, pieces.append)
            assert result.content == "".join(pieces) == TEXT.encode()[:max_bytes].decode("utf-8", "ignore")
            assert result.truncated == (max_bytes < len(TEXT.encode()))

    async def test_cancellation_ends_the_call_at_once(self) -> None:
        async with self.scene() as scene:
            call = asyncio.create_task(scene.provider.stream(scene.hang(), scene.account, ignore))
            await scene.called()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
