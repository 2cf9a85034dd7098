"""Speech: text from audio, and audio from text. `arvis/providers` implements both."""

from __future__ import annotations

from typing import Protocol

from arvis.domain.dataclass import dataclass


class SpeechError(Exception):
    """The failure of a transcription or a speech synthesis. The text is for people. `permanent`: a retry is useless."""

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
        """Return the transcript of a recording; "" if it contains no speech. Raise `SpeechError` if this fails."""
        ...

    async def close(self) -> None: ...


class Speaker(Protocol):
    async def speak(self, text: str) -> Sound:
        """Return a recording of the spoken text. Raise `SpeechError` if this fails."""
        ...

    async def close(self) -> None: ...
