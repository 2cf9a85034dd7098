"""A server that accepts a request and sends nothing: each HTTP provider gives up early enough for another account to
answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from arvis.domain.errors import ProviderError, ProviderErrorKind
from arvis.domain.runs import CallTimeouts
from arvis.testing.openai_server import Hang
from tests.wings import anthropic_scene, chat_scene, google_scene, ollama_scene

SCENES: dict[str, Callable[..., AbstractAsyncContextManager[Any]]] = {
    "anthropic": anthropic_scene.open_scene,
    "chat": chat_scene.open_scene,
    "google": google_scene.open_scene,
    "ollama": ollama_scene.open_scene,
}


@pytest.mark.parametrize("hang", [Hang(), Hang(after_headers=True)], ids=["no headers", "no body"])
@pytest.mark.parametrize("name", sorted(SCENES))
async def test_no_first_byte_in_time(name: str, hang: Hang) -> None:
    async with SCENES[name](timeouts=CallTimeouts(total=60, silence=60)) as scene:
        with pytest.raises(ProviderError, match="sent no answer") as caught:
            await scene.stream(hang, begin_within=0.3)
        assert (caught.value.kind, caught.value.silent) == (ProviderErrorKind.TIMEOUT, True)


@pytest.mark.parametrize("name", sorted(SCENES))
async def test_a_stream_that_has_begun_has_the_longer_time(name: str) -> None:
    async with SCENES[name](timeouts=CallTimeouts(total=60, silence=1.5)) as scene:
        failure = await _failure(scene, Hang(after_headers=True, first=b"\n"))
        assert (failure.kind, failure.silent) == (ProviderErrorKind.TIMEOUT, False)


@pytest.mark.parametrize("name", sorted(SCENES))
async def test_silence_to_the_end_is_told_apart_from_a_stream_that_stops(name: str) -> None:
    async with SCENES[name](timeouts=CallTimeouts(total=60, silence=0.2)) as scene:
        assert (await scene.stream_failure(Hang(after_headers=True))).silent


async def _failure(scene: Any, hang: Hang) -> Any:
    with pytest.raises(ProviderError) as caught:
        await scene.stream(hang, begin_within=1.0)
    return caught.value
