"""Speech: words from sound and sound from words (implemented in `arvis/providers`, handed over by `app`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class SpeechError(Exception):
    """What was said could not be made out, or not be spoken; the text is for people. `permanent`: trying again is no
    use."""

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
        """What is said in it; empty when nothing is. Raises `SpeechError`."""
        ...

    async def close(self) -> None: ...


class Speaker(Protocol):
    async def speak(self, text: str) -> Sound:
        """The text, spoken. Raises `SpeechError`."""
        ...

    async def close(self) -> None: ...
