"""Read one file: its type, and the content that an agent can use."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from arvis.domain.messages import FileKind
from arvis.domain.text import storable
from arvis.media.documents import KINDS, DocumentReader
from arvis.media.measures import picture_problem, sound_seconds
from arvis.media.sniffing import PICTURES, sniff, text_of
from arvis.ports.sandbox import Programs, Sandbox
from arvis.ports.transcriber import Sound, SpeechError, Transcriber

#: Maximum characters of one file; the whole file is in the agent's folder.
LONGEST_TEXT = 200_000

_NO_SPEECH_ENGINE = "voice messages cannot be transcribed here: no speech engine is set up"
_UNREADABLE = "this kind of file cannot be read"


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a file. `content` is its text, `problem` why there is none. `again`: a later try may
    succeed."""

    content_type: str
    kind: FileKind
    content: str = ""
    problem: str = ""
    again: bool = False


class MediaReader:
    """Reads files. `transcriber` exists if a speech engine is set up; a sound may last at most `minutes`. Documents
    are read in the `sandbox` if the machine has one."""

    def __init__(
        self,
        *,
        programs: Programs,
        sandbox: Sandbox | None = None,
        transcriber: Transcriber | None = None,
        minutes: float = 10.0,
    ) -> None:
        self._documents = DocumentReader(programs=programs, sandbox=sandbox)
        self._transcriber = transcriber
        self._minutes = minutes

    async def read(self, data: bytes, filename: str, *, spoken: bool = False) -> Reading:
        """Read a file. `spoken`: a voice message, whose text is the sender's own."""
        content_type = await asyncio.to_thread(sniff, data, filename)
        if content_type in PICTURES:
            problem = await asyncio.to_thread(picture_problem, data)
            return Reading(content_type, FileKind.IMAGE, problem=problem)
        if content_type.startswith("audio/"):
            return await self._transcribed(Sound(data, content_type, filename), spoken=spoken)
        if content_type in KINDS:
            return await self._document(data, content_type)
        text = await asyncio.to_thread(text_of, data)
        if text is None:
            return Reading(content_type, FileKind.OTHER, problem=_UNREADABLE)
        return Reading(content_type, FileKind.DOCUMENT, _cut(text, whole=True))

    async def _document(self, data: bytes, content_type: str) -> Reading:
        found = await self._documents.read(data, content_type)
        content = _cut(found.text, whole=found.whole) if found.text else ""
        return Reading(content_type, FileKind.DOCUMENT, content, found.problem)

    async def _transcribed(self, sound: Sound, *, spoken: bool) -> Reading:
        kind = FileKind.VOICE if spoken else FileKind.DOCUMENT
        if self._transcriber is None:
            return Reading(sound.content_type, kind, problem=_NO_SPEECH_ENGINE)
        seconds = sound_seconds(sound.data, sound.content_type)
        if seconds is not None and seconds > self._minutes * 60:
            problem = f"it lasts {seconds / 60:.0f} minutes, and {self._minutes:.0f} can be transcribed"
            return Reading(sound.content_type, kind, problem=problem)
        try:
            transcript = storable(await self._transcriber.transcribe(sound)).strip()
        except SpeechError as failed:
            return Reading(sound.content_type, kind, problem=str(failed), again=not failed.permanent)
        if not transcript:
            return Reading(sound.content_type, kind, problem="no speech could be recognised in it")
        return Reading(sound.content_type, kind, transcript[:LONGEST_TEXT])


def lost(why: str) -> Reading:
    """Return the result for a file whose bytes are missing."""
    return Reading("", FileKind.OTHER, problem=why)


def _cut(text: str, *, whole: bool) -> str:
    """Return the beginning of a long text, with a note about the length of the missing part."""
    missing, text = len(text) - LONGEST_TEXT, storable(text[:LONGEST_TEXT])
    if missing > 0:
        return f"{text}\n[… {missing} more characters are left out]"
    return text if whole else f"{text}\n[… the rest of the document could not be read]"
