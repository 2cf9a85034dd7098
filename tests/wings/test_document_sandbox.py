"""The document reader under control of a malicious document: access from its sandbox, and machines without a
sandbox."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from arvis.media.reading import DocumentReader
from arvis.media.sniffing import DOCX, PDF
from arvis.process.sandbox import Bubblewrap
from arvis.process.subprocesses import GuardedPrograms
from tests.flows.media_kit import docx, pdf, pdf_bomb
from tests.parts import refused, require

#: Replaces the document library; its findings become the text of the page.
_HOSTILE = """
import os, socket

class Page:
    def extract_text(self):
        return "; ".join(name for name, attempt in ATTEMPTS.items() if works(attempt)) or "nothing"

class PdfReader:
    is_encrypted = False
    def __init__(self, data): self.pages = [Page()]

def works(attempt):
    try:
        return attempt() is not False
    except (OSError, ValueError):
        return False

ATTEMPTS = {
    "read a secret": lambda: open({secret!r}).read(),
    "list the data": lambda: bool(os.listdir({data!r})),
    "connect": lambda: socket.create_connection(("127.0.0.1", {port}), 3),
    "signal": lambda: os.kill({pid}, 0),
    "environment": lambda: "ARVIS_CANARY" in os.environ,
    "look at another process": lambda: open("/proc/{pid}/environ").read(),
}
"""


@pytest.fixture
async def sandbox(tmp_path: Path) -> Bubblewrap:
    require("bwrap", "install bubblewrap (Debian: apt-get install bubblewrap)")
    made = Bubblewrap(hidden=[tmp_path / "data"])
    if (reason := await made.refusal()) is not None:
        refused(reason)
    return made


async def test_a_reader_that_was_taken_over_reaches_nothing(sandbox: Bubblewrap, tmp_path: Path) -> None:
    data, libraries = tmp_path / "data", tmp_path / "libraries"
    data.mkdir()
    libraries.mkdir()
    (data / "arvis.db").write_text("canary", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        given = {
            "{secret!r}": repr(str(data / "arvis.db")),
            "{data!r}": repr(str(data)),
            "{port}": str(server.getsockname()[1]),
            "{pid}": str(os.getpid()),
        }
        text = _HOSTILE
        for mark, value in given.items():
            text = text.replace(mark, value)
        (libraries / "pypdf.py").write_text(text, encoding="utf-8")
        unguarded = DocumentReader(programs=GuardedPrograms(), libraries=[libraries])
        assert "read a secret; list the data; connect; signal" in (await unguarded.read(pdf("x"), PDF)).text
        guarded = DocumentReader(programs=GuardedPrograms(), sandbox=sandbox, libraries=[libraries])
        assert (await guarded.read(pdf("x"), PDF)).text == "nothing"


async def test_documents_and_bombs_are_read_in_the_sandbox(sandbox: Bubblewrap) -> None:
    reader = DocumentReader(programs=GuardedPrograms(), sandbox=sandbox)
    assert (await reader.read(pdf("Hello"), PDF)).text == "Hello"
    assert (await reader.read(docx("Hello"), DOCX)).text == "Hello"
    assert (await reader.read(b"%PDF-1.4 nothing", PDF)).problem == "the document is damaged"
    for bomb, kind in ((pdf_bomb(200_000_000), PDF), (docx("a" * 80_000_000), DOCX)):
        found = await reader.read(bomb, kind)
        assert (found.text, bool(found.problem)) == ("", True)


async def test_without_a_sandbox_documents_are_read_within_bounds_all_the_same() -> None:
    reader = DocumentReader(programs=GuardedPrograms(), sandbox=Bubblewrap(program="no-such-bwrap"))
    assert (await reader.read(pdf("Hello"), PDF)).text == "Hello"
    assert (await reader.read(pdf_bomb(200_000_000), PDF)).problem
