"""The text of PDF and DOCX files, read in a child process (`arvis/media/child.py`)."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from arvis.domain.errors import ToolError
from arvis.media import child
from arvis.media.sniffing import DOCX, PDF
from arvis.ports.sandbox import Programs, Task

#: How the child calls them.
KINDS = {PDF: "pdf", DOCX: "docx"}

#: Seconds on the clock, of which the child works at most `child.SECONDS`; and bytes of text.
_PATIENCE = 20.0
_MOST_OUTPUT = 1_048_576

_PROBLEMS = {
    child.DAMAGED: "the document is damaged",
    child.LOCKED: "the document is locked with a password",
    child.BOMB: "the document unpacks to far more than a document should hold",
}


@dataclass(frozen=True, slots=True)
class Document:
    """`whole` is False when only the beginning could be read; `problem` says why there is no text."""

    text: str
    whole: bool = True
    problem: str = ""


class DocumentReader:
    def __init__(self, *, programs: Programs) -> None:
        self._programs = programs

    async def read(self, data: bytes, content_type: str) -> Document:
        """Takes a few seconds at most."""
        task = Task(
            argv=[sys.executable, "-I", "-m", child.__name__, KINDS[content_type]],
            folder=Path("/"),
            stdin=data,
            environment={"PATH": os.defpath, "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "1"},
            timeout=_PATIENCE,
            max_output=_MOST_OUTPUT,
            memory=2 * child.MEMORY,
        )
        try:
            finished = await self._programs.run(task)
        except ToolError as failed:
            return Document("", whole=False, problem=f"the program that reads documents did not start ({failed.what})")
        text = finished.stdout.decode("utf-8", "ignore").strip()
        if text:
            return Document(text, whole=finished.exit_code == 0 and not finished.truncated)
        if finished.exit_code == 0:
            return Document("", problem="there is no text in the document (it may hold scanned pages)")
        problem = _PROBLEMS.get(finished.exit_code, "the document takes too much time or memory to read")
        return Document("", whole=False, problem=problem)
