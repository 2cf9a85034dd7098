"""Reads files that were fetched from the web: pages, texts, documents and images.

The type of a binary file is detected from its content. The type of a page or text is the type that the server declares.
The child program (`arvis/media/child.py`) converts pages and documents.
"""

from __future__ import annotations

import asyncio
import codecs
import re

from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.media.reading import KINDS, DocumentReader
from arvis.media.sniffing import BINARY, GIF, JPEG, PDF, PICTURES, PNG, WEBP, picture_problem, sniff
from arvis.ports.http import Fetched
from arvis.ports.reading import WebText
from arvis.ports.sandbox import Programs, Sandbox

HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = regex(r"text/.*|.*[/+](json|xml|yaml|x-yaml|javascript|x-javascript|x-ndjson|toml|sql)|application/x-sh")
_UNKNOWN = frozenset({"", BINARY, "binary/octet-stream", "application/unknown"})
_LOOKS_LIKE_HTML = regex(rb"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_META_CHARSET = regex(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_META_WITHIN = 4096
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
#: The encodings of pages. Python's other codecs do not produce text, or their time grows with the square of the length.
_ENCODINGS = regex(r"(utf-(8|16|32)|ascii|iso|cp|koi8|gb|big5|shift_jis|euc|mac|tis|johab|hz)[\w-]*")
#: Pages that declare one of these encodings are decoded as Windows code page 1252, as in browsers.
_MISLABELLED = frozenset({"ascii", "iso8859-1"})

#: The maximum length of a page or text that is read, in characters.
_LONGEST_PAGE, _LONGEST_TEXT = 1_000_000, 4_000_000
_ENDINGS = {PNG: "png", JPEG: "jpg", GIF: "gif", WEBP: "webp"}


class WebFileReader:
    """Implements `WebReader`. Pages and documents are read in the `sandbox` if the machine supports a sandbox."""

    def __init__(self, *, programs: Programs, sandbox: Sandbox | None = None) -> None:
        self._documents = DocumentReader(programs=programs, sandbox=sandbox)

    async def read(self, answer: Fetched) -> WebText:
        kind = await asyncio.to_thread(kind_of, answer)
        if kind in PICTURES:
            problem = await asyncio.to_thread(picture_problem, answer.body)
            return WebText(kind, problem=problem, image=_ENDINGS[kind])
        if kind in KINDS:
            return await self._document(answer, kind)
        if kind in HTML:
            return await self._page(answer, kind)
        if kind == BINARY:
            found = await asyncio.to_thread(sniff, answer.body, "")
            shown = answer.content_type if found == BINARY else found
            return WebText(shown, problem="it cannot be shown as text")
        text = await asyncio.to_thread(_decoded, answer)
        whole = not answer.truncated and len(text) <= _LONGEST_TEXT
        return WebText(kind, storable(text[:_LONGEST_TEXT]), whole=whole)

    async def _document(self, answer: Fetched, kind: str) -> WebText:
        if problem := _too_large(answer):
            return WebText(kind, problem=problem)
        found = await self._documents.read(answer.body, kind)
        return WebText(kind, storable(found.text), whole=found.whole, problem=found.problem)

    async def _page(self, answer: Fetched, kind: str) -> WebText:
        html = await asyncio.to_thread(_decoded, answer)
        found = await self._documents.read_page(html[:_LONGEST_PAGE], answer.url)
        whole = found.whole and not answer.truncated and len(html) <= _LONGEST_PAGE
        return WebText(kind, storable(found.text), storable(found.title), whole, found.problem)


def kind_of(answer: Fetched) -> str:
    """Return the media type of an answer; `BINARY` if it cannot be read."""
    declared, body = answer.content_type, answer.body
    if declared in HTML and not body.startswith(b"%PDF-"):
        return declared
    found = sniff(body, "")
    if found in KINDS or found in PICTURES:
        return found
    if declared in _UNKNOWN:
        if _LOOKS_LIKE_HTML.search(body[:_META_WITHIN]):
            return "text/html"
        return BINARY if b"\0" in body[:_META_WITHIN] else "text/plain"
    if _TEXT.fullmatch(declared) and declared != PDF:
        return declared
    return "text/plain" if found.startswith("text/") else BINARY


def _too_large(answer: Fetched) -> str:
    return f"it is larger than {len(answer.body):,} bytes" if answer.truncated else ""


def _decoded(answer: Fetched) -> str:
    """Return the decoded answer. The encoding comes from the byte order mark, the header or the page, in this order, as
    in browsers. If none of them names an encoding, use UTF-8."""
    for mark, name in _MARKS:
        if answer.body.startswith(mark):
            return answer.body[len(mark) :].decode(name, "replace")
    declared = _META_CHARSET.search(answer.body[:_META_WITHIN])
    in_page = declared[1].decode("ascii", "replace") if declared else ""
    encoding = _encoding(answer.charset or "") or _encoding(in_page) or "utf-8"
    return answer.body.decode(encoding, "replace")


def _encoding(name: str) -> str | None:
    """Return Python's name of a web encoding; None for any other name."""
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    if not _ENCODINGS.fullmatch(known):
        return None
    return "cp1252" if known in _MISLABELLED else known
