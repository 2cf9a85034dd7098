"""Reads long documents together with their structure, for knowledge bases: pages of PDF files, headings and tables of
DOCX files and web pages, rows of tables in text files."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Iterator

from arvis.domain.dataclass import dataclass
from arvis.domain.knowledge import LONGEST_DOCUMENT, LONGEST_TITLE
from arvis.domain.text import storable
from arvis.media.reading import KINDS, DocumentReader
from arvis.media.sniffing import BINARY, DOCX, sniff, text_of
from arvis.media.web_files import HTML, WebFileReader, kind_of
from arvis.ports.http import Fetched
from arvis.ports.sandbox import Programs, Sandbox

_MARKDOWN = "text/markdown"
_DELIMITERS = {"text/csv": ",", "text/tab-separated-values": "\t"}
_OK = 200
_NO_TEXT = "there is no text in it"
_UNREADABLE = "this kind of file cannot be read"
_CUT = "only its beginning could be read"


@dataclass(frozen=True, slots=True)
class Structured:
    """The text of a document. If `markdown` is True, the text is Markdown with headings. Form feeds separate pages."""

    content_type: str
    text: str = ""
    title: str = ""
    markdown: bool = False
    #: The reason why there is no text, or why a part of it is missing, as a part of a sentence.
    problem: str = ""


class StructureReader:
    """Reads documents for knowledge bases. Documents and pages are read in the `sandbox` if the machine supports a
    sandbox."""

    def __init__(self, *, programs: Programs, sandbox: Sandbox | None = None) -> None:
        self._documents = DocumentReader(programs=programs, sandbox=sandbox)
        self._pages = WebFileReader(programs=programs, sandbox=sandbox)

    async def read(self, data: bytes, filename: str) -> Structured:
        """Read a file. The ending of its name decides how a text is read."""
        kind = await asyncio.to_thread(sniff, data, filename)
        if kind in KINDS:
            return await self._document(data, kind)
        if kind in HTML:
            return await self._page(Fetched("", _OK, kind, None, data, truncated=False))
        if kind == BINARY or not kind.startswith(("text/", "application/")):
            return Structured(kind, problem=_UNREADABLE)
        text = await asyncio.to_thread(text_of, data)
        if text is None:
            return Structured(kind, problem=_UNREADABLE)
        return await asyncio.to_thread(_structured, kind, text)

    async def read_answer(self, answer: Fetched) -> Structured:
        """Read the answer of a web server."""
        kind = await asyncio.to_thread(kind_of, answer)
        if kind in KINDS:
            if answer.truncated:
                return Structured(kind, problem=f"it is larger than {len(answer.body):,} bytes")
            return await self._document(answer.body, kind)
        return await self._page(answer)

    async def _document(self, data: bytes, kind: str) -> Structured:
        found = await self._documents.read_structure(data, kind)
        if not found.text:
            return Structured(kind, problem=found.problem)
        return await asyncio.to_thread(_structured, kind, found.text, whole=found.whole)

    async def _page(self, answer: Fetched) -> Structured:
        found = await self._pages.read(answer)
        if found.image or (found.problem and not found.text):
            return Structured(found.content_type, problem=found.problem or _UNREADABLE)
        return await asyncio.to_thread(_structured, found.content_type, found.text, found.title, whole=found.whole)


def _structured(kind: str, text: str, title: str = "", *, whole: bool = True) -> Structured:
    if (delimiter := _DELIMITERS.get(kind)) is not None:
        text = _with_rows(text, delimiter)
    problem = "" if text.strip() else _NO_TEXT
    if not whole or len(text) > LONGEST_DOCUMENT:
        problem = _CUT
    markdown = kind in {*HTML, _MARKDOWN, DOCX}
    line = " ".join(storable(title).split())[:LONGEST_TITLE]
    return Structured(kind, storable(text[:LONGEST_DOCUMENT]), line, markdown, problem)


def _with_rows(text: str, delimiter: str) -> str:
    """Return a text of separated values as the rows of a table; the text itself if it is malformed."""
    try:
        return "\n".join(_rows(text, delimiter))
    except csv.Error:
        return text


def _rows(text: str, delimiter: str) -> Iterator[str]:
    for row in csv.reader(text.splitlines(), delimiter=delimiter):
        yield " | ".join(" ".join(cell.split()) for cell in row)
