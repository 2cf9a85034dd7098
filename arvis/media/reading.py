"""Reads one file: its type, the text for the agent, and its path in the folder of the conversation.

A separate program (`arvis/media/child.py`) reads the text of PDF and DOCX files. It runs in the sandbox, where it can
read only its own files and the libraries. On a machine without a sandbox, only the program's own limits of time and
memory apply.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.domain.messages import Attachment, FileKind
from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.media import child
from arvis.media.sniffing import DOCX, PDF, PICTURES, picture_problem, sniff, sound_seconds, text_of
from arvis.ports.sandbox import Finished, Programs, Sandbox, Task
from arvis.ports.transcriber import Sound, SpeechError, Transcriber

#: For each media type: the argument that names the type to the child program.
KINDS = {PDF: "pdf", DOCX: "docx"}
_STRUCTURED = {PDF: "pages", DOCX: "markdown"}

#: The time limit of the child program in seconds. At most `child.SECONDS` of these seconds may be CPU time.
_PATIENCE = 20.0
#: The maximum number of bytes of text that the child program may write.
_MOST_OUTPUT = 1_048_576
#: The time limit and the maximum output for documents whose structure is read.
_SLOW_PATIENCE, _SLOW_OUTPUT = 240.0, 16_777_216

#: The maximum memory of the child process in bytes. It is larger than `child.MEMORY`, because it also includes the
#: memory of the interpreter and its libraries.
_MEMORY = 4 * child.MEMORY
_SLOW_MEMORY = 2 * child.SLOW_MEMORY

#: The Python interpreter outside the virtual environment, and its folders.
_INTERPRETER = Path(sys.base_exec_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}").resolve()
_PREFIXES = (Path(sys.base_prefix).resolve(), Path(sys.base_exec_prefix).resolve())
_CHILD, _PAGE = Path(child.__file__).resolve(), Path(child.PAGE)

_PROBLEMS = {
    child.DAMAGED: "the document is damaged",
    child.LOCKED: "the document is locked with a password",
    child.BOMB: "the document expands to far more than a document should contain",
}


_PAGE_PROBLEMS = {
    child.DAMAGED: "the page cannot be parsed",
    child.BOMB: "the page needs too much memory",
}


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document."""

    text: str
    #: False if only the beginning could be read.
    whole: bool = True
    #: The reason why there is no text.
    problem: str = ""
    title: str = ""


class DocumentReader:
    """The reader of PDF and DOCX files and of web pages. `libraries` are the folders with the libraries (None: the libraries of this
    process)."""

    def __init__(
        self, *, programs: Programs, sandbox: Sandbox | None = None, libraries: Sequence[Path] | None = None
    ) -> None:
        self._programs = programs
        self._sandbox = sandbox
        self._libraries = _libraries() if libraries is None else libraries

    async def read(self, data: bytes, content_type: str) -> Document:
        """Read a document, within at most `_PATIENCE` seconds."""
        finished = await self._run(data, KINDS[content_type])
        return finished if isinstance(finished, Document) else _document_of(finished)

    async def read_structure(self, data: bytes, content_type: str) -> Document:
        """Read a long document, within at most `_SLOW_PATIENCE` seconds. Form feeds separate the pages of a PDF; the text of a
        DOCX file is Markdown."""
        finished = await self._run(data, _STRUCTURED[content_type])
        return finished if isinstance(finished, Document) else _document_of(finished)

    async def read_page(self, html: str, url: str) -> Document:
        """Read a web page, within at most `_PATIENCE` seconds. The text is Markdown; it may be empty."""
        finished = await self._run(f"{url}\n{html}".encode("utf-8", "replace"), "html")
        if isinstance(finished, Document):
            return finished
        title, _, text = finished.stdout.decode("utf-8", "ignore").partition("\n")
        if finished.exit_code == 0:
            return Document(text.strip("\n"), whole=not finished.truncated, title=title)
        problem = _PAGE_PROBLEMS.get(finished.exit_code, "the page takes too much time or memory to read")
        return Document("", whole=False, problem=problem, title=title)

    async def _run(self, data: bytes, kind: str) -> Finished | Document:
        """Run the child program. Return a document with the problem if the program did not start."""
        try:
            with await asyncio.to_thread(TemporaryDirectory, prefix="arvis-document-") as folder:
                task = self._task(data, kind, Path(folder))
                if self._sandbox is not None and await self._sandbox.refusal() is None:
                    return await self._sandbox.run(task)
                return await self._programs.run(task)
        except ToolError as failed:
            return Document("", whole=False, problem=f"the program that reads documents did not start ({failed.what})")

    def _task(self, data: bytes, kind: str, folder: Path) -> Task:
        slow = kind in _STRUCTURED.values()
        shown = (*_PREFIXES, *self._libraries)  # every sandbox contains /usr
        return Task(
            argv=[str(_INTERPRETER), "-I", "-B", str(_CHILD), kind, *map(str, self._libraries)],
            folder=folder,
            stdin=data,
            environment={"PATH": os.defpath, "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "1"},
            readable=[_CHILD, _PAGE, *sorted({path for path in shown if not path.is_relative_to("/usr")})],
            timeout=_SLOW_PATIENCE if slow else _PATIENCE,
            max_output=_SLOW_OUTPUT if slow else _MOST_OUTPUT,
            memory=_SLOW_MEMORY if slow else _MEMORY,
        )


def _document_of(finished: Finished) -> Document:
    # Form feeds at the beginning stay, because they mark empty pages, which count as pages.
    text = finished.stdout.decode("utf-8", "ignore").rstrip().lstrip(" \n")
    if text.strip():
        return Document(text, whole=finished.exit_code == 0 and not finished.truncated)
    if finished.exit_code == 0:
        return Document("", problem="there is no text in the document (it may contain scanned pages)")
    problem = _PROBLEMS.get(finished.exit_code, "the document takes too much time or memory to read")
    return Document("", whole=False, problem=problem)


def _libraries() -> Sequence[Path]:
    """Return the folders of the libraries that the child program needs. Do not load the libraries."""
    specs = [find_spec(name) for name in child.LIBRARIES]
    return sorted({Path(spec.origin).resolve().parents[1] for spec in specs if spec is not None and spec.origin})


_FOLDER = "files"
_LONGEST = 60
_ODD = regex(r"[^\w.\- ]+")
_MARK = 6


def path_of(file: Attachment) -> str:
    """Return the path of a file in the folder of the conversation. The path contains only safe characters of the
    sender's file name, and a part of the file's hash, so that different files have different paths."""
    name = _ODD.sub("_", file.filename.replace("\\", "/").rpartition("/")[2]).strip(" .") or "file"
    stem, dot, suffix = name.rpartition(".")
    if dot and len(suffix) < _LONGEST // 2:
        name = f"{stem[: _LONGEST - len(suffix)]}.{suffix}"
    return f"{_FOLDER}/{file.sha256[:_MARK]}-{name[: _LONGEST + 1]}"


#: The maximum number of characters of a file's text. The whole file is in the folder of the conversation.
LONGEST_TEXT = 200_000

_NO_SPEECH_ENGINE = "voice messages cannot be transcribed here: no speech engine is set up"
_UNREADABLE = "this kind of file cannot be read"


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a file."""

    content_type: str
    kind: FileKind
    #: The text of the file.
    content: str = ""
    #: The reason why the file cannot be used.
    problem: str = ""
    #: True if a later attempt may succeed.
    again: bool = False


class MediaReader:
    """The reader of files. `transcriber` is None if no speech engine is set up. `minutes` is the maximum length of a
    sound. Documents are read in the `sandbox` if the machine supports a sandbox."""

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
        """Read a file. `spoken` is True for a voice message, whose transcript counts as the sender's own words."""
        content_type = await asyncio.to_thread(sniff, data, filename)
        if content_type in PICTURES:
            problem = await asyncio.to_thread(picture_problem, data)
            return Reading(content_type, FileKind.IMAGE, problem=problem)
        if content_type.startswith("audio/"):
            return await self._transcribed(Sound(data, content_type, filename), spoken=spoken)
        if content_type in KINDS:
            found = await self._documents.read(data, content_type)
            content = _cut(found.text, whole=found.whole) if found.text else ""
            return Reading(content_type, FileKind.DOCUMENT, content, found.problem)
        text = await asyncio.to_thread(text_of, data)
        if text is None:
            return Reading(content_type, FileKind.OTHER, problem=_UNREADABLE)
        return Reading(content_type, FileKind.DOCUMENT, _cut(text, whole=True))

    async def _transcribed(self, sound: Sound, *, spoken: bool) -> Reading:
        kind = FileKind.VOICE if spoken else FileKind.DOCUMENT
        if self._transcriber is None:
            return Reading(sound.content_type, kind, problem=_NO_SPEECH_ENGINE)
        seconds = sound_seconds(sound.data, sound.content_type)
        if seconds is not None and seconds > self._minutes * 60:
            problem = f"it is {seconds / 60:.0f} minutes long, and the limit is {self._minutes:.0f} minutes"
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
    """Return at most `LONGEST_TEXT` characters of a text, with a note if a part is missing. `whole` is False if the end
    of the document could not be read."""
    missing, text = len(text) - LONGEST_TEXT, storable(text[:LONGEST_TEXT])
    if missing > 0:
        return f"{text}\n[… {missing} more characters are left out]"
    return text if whole else f"{text}\n[… the rest of the document could not be read]"
