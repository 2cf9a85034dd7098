"""The text of PDF and DOCX files, read by a separate program (`arvis/media/child.py`).

It runs in the sandbox, where it sees only the libraries. On a machine without a sandbox, only its own limits of time
and memory apply.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from arvis.domain.errors import ToolError
from arvis.media import child
from arvis.media.sniffing import DOCX, PDF
from arvis.ports.sandbox import Finished, Programs, Sandbox, Task

#: The child's names of the types.
KINDS = {PDF: "pdf", DOCX: "docx"}

#: Timeout in seconds, of which the child works at most `child.SECONDS`; and maximum bytes of text.
_PATIENCE = 20.0
_MOST_OUTPUT = 1_048_576

#: The child limits its work (`child.MEMORY`); this also covers the interpreter and its libraries.
_MEMORY = 4 * child.MEMORY

#: The interpreter from which this environment was made, and its prefixes.
_INTERPRETER = Path(sys.base_exec_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}").resolve()
_PREFIXES = (Path(sys.base_prefix).resolve(), Path(sys.base_exec_prefix).resolve())
_CHILD = Path(child.__file__).resolve()

_PROBLEMS = {
    child.DAMAGED: "the document is damaged",
    child.LOCKED: "the document is locked with a password",
    child.BOMB: "the document expands to far more than a document should contain",
}


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document. `whole` is False when only the beginning could be read; `problem` says why there is no
    text."""

    text: str
    whole: bool = True
    problem: str = ""


class DocumentReader:
    """Reads documents. `libraries` are the folders with the libraries; None: those of this process."""

    def __init__(
        self, *, programs: Programs, sandbox: Sandbox | None = None, libraries: Sequence[Path] | None = None
    ) -> None:
        self._programs = programs
        self._sandbox = sandbox
        self._libraries = _libraries() if libraries is None else libraries

    async def read(self, data: bytes, content_type: str) -> Document:
        """Read a document, which takes a few seconds at most."""
        try:
            with await asyncio.to_thread(TemporaryDirectory, prefix="arvis-document-") as folder:
                finished = await self._run(self._task(data, KINDS[content_type], Path(folder)))
        except ToolError as failed:
            return Document("", whole=False, problem=f"the program that reads documents did not start ({failed.what})")
        text = finished.stdout.decode("utf-8", "ignore").strip()
        if text:
            return Document(text, whole=finished.exit_code == 0 and not finished.truncated)
        if finished.exit_code == 0:
            return Document("", problem="there is no text in the document (it may contain scanned pages)")
        problem = _PROBLEMS.get(finished.exit_code, "the document takes too much time or memory to read")
        return Document("", whole=False, problem=problem)

    async def _run(self, task: Task) -> Finished:
        if self._sandbox is None or await self._sandbox.refusal() is not None:
            return await self._programs.run(task)
        return await self._sandbox.run(task)

    def _task(self, data: bytes, kind: str, folder: Path) -> Task:
        return Task(
            argv=[str(_INTERPRETER), "-I", "-B", str(_CHILD), kind, *map(str, self._libraries)],
            folder=folder,
            stdin=data,
            environment={"PATH": os.defpath, "LANG": "C.UTF-8", "MALLOC_ARENA_MAX": "1"},
            readable=[_CHILD, *_beyond_the_system((*_PREFIXES, *self._libraries))],
            timeout=_PATIENCE,
            max_output=_MOST_OUTPUT,
            memory=_MEMORY,
        )


def _libraries() -> Sequence[Path]:
    """Return the folders of the libraries that the child needs, without loading them."""
    specs = [find_spec(name) for name in child.LIBRARIES]
    return sorted({Path(spec.origin).resolve().parents[1] for spec in specs if spec is not None and spec.origin})


def _beyond_the_system(paths: Sequence[Path]) -> list[Path]:
    """Return the folders that a sandbox does not show by default."""
    return sorted({path for path in paths if not path.is_relative_to("/usr")})
