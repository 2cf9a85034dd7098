"""Opens the configured engines for speech to text and text to speech. Each engine is loaded at its first use."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from arvis.config.speech import Speech as Settings
from arvis.domain.dataclass import dataclass
from arvis.domain.runs import Account
from arvis.ports.clock import Clock
from arvis.ports.http import HttpClient
from arvis.ports.transcriber import Speaker, Transcriber
from arvis.process.subprocesses import GuardedPrograms, GuardedWorkers
from arvis.providers.speech import (
    BASE_URL,
    ApiAccess,
    ApiSpeaker,
    ApiTranscriber,
    CommandSpeaker,
    CommandTranscriber,
    LocalTranscriber,
)
from arvis.providers.speech_worker import DEFAULT_MODEL

_API_MODEL = "whisper-1"
_MB = 1_048_576


@dataclass(frozen=True, slots=True)
class Speech:
    """The speech engines; an engine is None if it is not configured. `minutes` is the maximum length of a voice message
    in minutes."""

    transcriber: Transcriber | None
    speaker: Speaker | None
    minutes: float


@asynccontextmanager
async def open_speech(
    settings: Settings, *, http: HttpClient, accounts: Callable[[], Sequence[Account]], clock: Clock
) -> AsyncIterator[Speech]:
    """Yield the engines, and close them at the end. The daemon opens the engines before the roles, so that the engines
    stay open until the roles have drained. `accounts` returns the current accounts."""

    def access() -> ApiAccess:
        account = next((each for each in accounts() if each.provider == "openai"), None)
        key = settings.api_key.get_secret_value() if settings.api_key else None
        if account is None:
            return ApiAccess(settings.base_url or BASE_URL, key)
        return ApiAccess(settings.base_url or account.base_url or BASE_URL, key or account.api_key)

    async with AsyncExitStack() as stack:
        transcriber = _transcriber(settings, http, access, clock)
        speaker = _speaker(settings, http, access)
        for each in (transcriber, speaker):
            if each is not None:
                stack.push_async_callback(each.close)
        yield Speech(transcriber, speaker, settings.minutes)


def _transcriber(
    settings: Settings, http: HttpClient, access: Callable[[], ApiAccess], clock: Clock
) -> Transcriber | None:
    match settings.stt.engine:
        case "none":
            return None
        case "openai-api":
            model = settings.stt.model or _API_MODEL
            return ApiTranscriber(http=http, access=access, model=model, language=settings.stt.language)
        case "command":
            return CommandTranscriber(
                programs=GuardedPrograms(),
                command=settings.stt.command or "",
                environ=os.environ,
                memory=settings.memory_mb * _MB,
            )
        case engine:
            return LocalTranscriber(
                workers=GuardedWorkers(),
                clock=clock,
                engine=engine,
                model=settings.stt.model or DEFAULT_MODEL,
                language=settings.stt.language,
                environ=os.environ,
                memory=settings.memory_mb * _MB,
            )


def _speaker(settings: Settings, http: HttpClient, access: Callable[[], ApiAccess]) -> Speaker | None:
    match settings.tts.engine:
        case "none":
            return None
        case "openai-api":
            return ApiSpeaker(http=http, access=access, model=settings.tts.model, voice=settings.tts.voice)
        case _:
            return CommandSpeaker(
                programs=GuardedPrograms(),
                command=settings.tts.command or "",
                environ=os.environ,
                memory=settings.memory_mb * _MB,
            )
