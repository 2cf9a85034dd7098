"""The engine that the configuration names is used."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiohttp import web

from arvis.app.speech import open_speech
from arvis.config.speech import Speech
from arvis.domain.runs import Account
from arvis.net.client import open_http_client
from arvis.ports.transcriber import Sound
from arvis.process.clock import SystemClock


@pytest.mark.parametrize(
    ("settings", "hears", "speaks"),
    [
        ({}, None, None),
        ({"stt": {"engine": "openai-api"}, "tts": {"engine": "openai-api"}}, "ApiTranscriber", "ApiSpeaker"),
        ({"stt": {"engine": "faster-whisper"}}, "LocalTranscriber", None),
        ({"stt": {"engine": "openai-whisper"}}, "LocalTranscriber", None),
        (
            {"stt": {"engine": "command", "command": "cat"}, "tts": {"engine": "command", "command": "cat"}},
            "CommandTranscriber",
            "CommandSpeaker",
        ),
    ],
)
async def test_the_engine_is_the_one_that_is_named(
    settings: dict[str, Any], hears: str | None, speaks: str | None
) -> None:
    async with (
        open_http_client() as http,
        open_speech(Speech(**settings), http=http, accounts=list, clock=SystemClock()) as speech,
    ):
        assert (speech.transcriber and type(speech.transcriber).__name__) == hears
        assert (speech.speaker and type(speech.speaker).__name__) == speaks


async def test_the_key_is_that_of_the_first_openai_account_unless_there_is_one_for_speech() -> None:
    keys: list[str | None] = []

    async def answer(request: web.Request) -> web.Response:
        keys.append(request.headers.get("Authorization"))
        return web.json_response({"text": ""})

    app = web.Application()
    app.router.add_post("/audio/transcriptions", answer)
    runner = web.AppRunner(app)
    async with AsyncExitStack() as stack:
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        http = await stack.enter_async_context(open_http_client())
        accounts = [Account("a", "anthropic", "m", "other"), Account("o", "openai", "m", "account's", url)]
        for more in ({}, {"base_url": url, "api_key": "own"}):
            settings = Speech(stt={"engine": "openai-api"}, **more)  # type: ignore[arg-type]
            opened = open_speech(settings, http=http, accounts=lambda: accounts, clock=SystemClock())
            speech = await stack.enter_async_context(opened)
            assert speech.transcriber is not None
            await speech.transcriber.transcribe(Sound(b"x", "audio/ogg", "x"))
    assert keys == ["Bearer account's", "Bearer own"]
