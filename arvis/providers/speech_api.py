"""Speech over an API that speaks OpenAI's format: `/audio/transcriptions` and `/audio/speech`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from arvis.ports.http import FormFile, HttpClient, HttpError, HttpResponse
from arvis.ports.transcriber import Sound, SpeechError
from arvis.providers.speech import name_of

BASE_URL = "https://api.openai.com/v1"

_SECONDS = 300.0
_MOST_ANSWER = 2_097_152
_MOST_SOUND = 20_971_520
#: The maximum length in characters that the vendor reads aloud at once.
_MOST_TEXT = 4_096

#: Statuses of temporary faults; every other error status is final.
_PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
_KEY_REFUSED = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The address of the API, and its key (None: it needs none)."""

    base_url: str
    api_key: str | None = field(default=None, repr=False)


class ApiTranscriber:
    """Implements `Transcriber`. `access` is called before every request, because accounts change while the daemon
    runs."""

    def __init__(
        self, *, http: HttpClient, access: Callable[[], ApiAccess], model: str, language: str | None = None
    ) -> None:
        self._http = http
        self._access = access
        self._fields = {"model": model, "response_format": "json", **({"language": language} if language else {})}

    async def transcribe(self, sound: Sound) -> str:
        access = self._access()
        try:
            async with self._http.post_form(
                f"{access.base_url.rstrip('/')}/audio/transcriptions",
                headers=_headers(access),
                fields=self._fields,
                files=[FormFile("file", name_of(sound), sound.content_type, sound.data)],
                timeout=_SECONDS,
                idle_timeout=_SECONDS,
                max_bytes=_MOST_ANSWER,
            ) as response:
                _check(response)
                return _text_in(await response.body())
        except HttpError as error:
            raise SpeechError(f"the speech service does not answer: {error}") from None

    async def close(self) -> None: ...


class ApiSpeaker:
    """Implements `Speaker`. A text that is too long is cut to the vendor's limit."""

    def __init__(self, *, http: HttpClient, access: Callable[[], ApiAccess], model: str, voice: str) -> None:
        self._http = http
        self._access = access
        self._model = model
        self._voice = voice

    async def speak(self, text: str) -> Sound:
        access = self._access()
        document = {"model": self._model, "voice": self._voice, "input": text[:_MOST_TEXT], "response_format": "opus"}
        try:
            async with self._http.post(
                f"{access.base_url.rstrip('/')}/audio/speech",
                headers=_headers(access),
                json=document,
                timeout=_SECONDS,
                idle_timeout=_SECONDS,
                max_bytes=_MOST_SOUND,
            ) as response:
                _check(response)
                data = await response.body()
        except HttpError as error:
            raise SpeechError(f"the speech service does not answer: {error}") from None
        if not data:
            raise SpeechError("the speech service gave no sound")
        return Sound(data, "audio/ogg", "answer.ogg")

    async def close(self) -> None: ...


def _headers(access: ApiAccess) -> dict[str, str]:
    return {"Authorization": f"Bearer {access.api_key}"} if access.api_key else {}


def _check(response: HttpResponse) -> None:
    status = response.status
    if status in range(200, 300):
        return
    if status in _KEY_REFUSED:
        raise SpeechError("the speech service does not accept its key", permanent=True)
    raise SpeechError(f"the speech service refused it (HTTP {status})", permanent=status not in _PASSING)


def _text_in(body: bytes) -> str:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    text = document.get("text") if isinstance(document, dict) else None
    if not isinstance(text, str):
        raise SpeechError("the speech service sent an answer in an unexpected format", permanent=True)
    return text
