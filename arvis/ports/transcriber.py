"""Speech: text from audio and audio from text (implemented in `arvis/providers`, passed in by `app`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class SpeechError(Exception):
    """Transcription or speech synthesis failed; the text is for people. `permanent`: a retry is useless."""

    def __init__(self, text: str, *, permanent: bool = False) -> None:
        super().__init__(text)
        self.permanent = permanent


@dataclass(frozen=True, slots=True)
class Sound:
    data: bytes
    content_type: str
    filename: str


class Transcriber(Protocol):
    async def transcribe(self, sound: Sound) -> str:
        """Return the transcript; empty if there is no speech. Raises `SpeechError`."""
        ...

    async def close(self) -> None: ...


class Speaker(Protocol):
    async def speak(self, text: str) -> Sound:
        """Return the text as speech. Raises `SpeechError`."""
        ...

    async def close(self) -> None: ...
