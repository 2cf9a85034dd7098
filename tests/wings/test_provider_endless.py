"""A stream that exceeds the time limit of a call: the text so far is the answer, marked as cut; without text the call
fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web

from arvis.domain.errors import ProviderErrorKind
from arvis.domain.runs import CallTimeouts
from arvis.testing.openai_server import SSE_HEADERS, ReceivedRequest, chunk_event
from tests.wings import anthropic_scene, chat_scene, google_scene, ollama_scene
from tests.wings.anthropic_scene import event as anthropic_event


@dataclass(frozen=True, slots=True)
class Endless:
    """Sends `first`, then `again` forever, with short pauses."""

    again: bytes
    first: bytes = b""

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers=SSE_HEADERS)
        await response.prepare(received.http)
        await response.write(self.first)
        while True:
            await response.write(self.again)
            await asyncio.sleep(0.02)


_TEXT_BEGINS = {"type": "content_block_start", "index": 0, "content_block": anthropic_scene.EMPTY_TEXT}
SAYING = {
    "anthropic": Endless(
        anthropic_event(anthropic_scene.text_piece("la ")),
        anthropic_event(anthropic_scene.start()) + anthropic_event(_TEXT_BEGINS),
    ),
    "chat": Endless(chunk_event("m", {"content": "la "})),
    "google": Endless(b'data: {"candidates": [{"content": {"parts": [{"text": "la "}]}}]}\n\n'),
    "ollama": Endless(b'{"message": {"role": "assistant", "content": "la "}, "done": false}\n'),
}
THINKING = {
    "anthropic": Endless(anthropic_event({"type": "ping"}), anthropic_event(anthropic_scene.start())),
    "chat": Endless(chunk_event("m", {"reasoning_content": "hm "})),
    "google": Endless(b'data: {"candidates": [{"content": {"parts": [{"thought": true, "text": "hm"}]}}]}\n\n'),
    "ollama": Endless(b'{"message": {"role": "assistant", "thinking": "hm"}, "done": false}\n'),
}
SCENES: dict[str, Callable[..., AbstractAsyncContextManager[Any]]] = {
    "anthropic": anthropic_scene.open_scene,
    "chat": chat_scene.open_scene,
    "google": google_scene.open_scene,
    "ollama": ollama_scene.open_scene,
}
_TIMES = CallTimeouts(total=1.5, silence=30)


@pytest.mark.parametrize("name", sorted(SCENES))
async def test_what_was_said_is_the_answer_and_marked_as_cut(name: str) -> None:
    async with SCENES[name](timeouts=_TIMES) as scene:
        result, _ = await scene.stream(SAYING[name])
        assert result.content.startswith("la la ")
        assert result.truncated


@pytest.mark.parametrize("name", sorted(SCENES))
async def test_a_stream_that_says_nothing_fails_and_has_spent_its_time(name: str) -> None:
    async with SCENES[name](timeouts=_TIMES) as scene:
        failure = await scene.stream_failure(THINKING[name])
        assert (failure.kind, failure.spent, failure.silent) == (ProviderErrorKind.TIMEOUT, True, False)
