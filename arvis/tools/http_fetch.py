"""Tool `http_fetch`: returns a public page as text.

A long text is cut to the requested length, with a note about the cut. The result comes from an unknown author, so the
caller must mark it as untrusted.
"""

from __future__ import annotations

import asyncio
import codecs
import re
from typing import Annotated

from pydantic import Field

from arvis.domain.text import storable
from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.ports.http import Fetched
from arvis.ports.tool import Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.page_text import page_text

_TIMEOUT = 15.0
_MAX_BYTES = 1_000_000
_USUAL_CHARS = 3000
_MOST_CHARS = 20_000
_OK = 200
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(r"text/.*|.*[/+](json|xml|yaml|x-yaml|javascript|x-javascript|x-ndjson|toml|sql)|application/x-sh")
_LOOKS_LIKE_HTML = re.compile(rb"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_META_WITHIN = 4096
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
#: The encodings of pages. Python's other codecs do not produce text, or their time grows with the square of the length.
_ENCODINGS = re.compile(r"(utf-(8|16|32)|ascii|iso|cp|koi8|gb|big5|shift_jis|euc|mac|tis|johab|hz)[\w-]*")
#: Pages that declare one of these encodings are decoded as Windows code page 1252, as in browsers.
_MISLABELLED = frozenset({"ascii", "iso8859-1"})

DECLARATION = ToolDeclaration(risk=Risk.EGRESS, harmless=True, needs=(Need.NETWORK,))


def create(services: ToolServices) -> Tool:
    async def http_fetch(
        url: Annotated[str, Field(max_length=8000, description="A public http or https address")],
        max_chars: Annotated[int, Field(ge=100, le=_MOST_CHARS)] = _USUAL_CHARS,
    ) -> str:
        """Fetch a page or file from the public web as text."""
        answer = await services.fetcher.fetch(url, max_bytes=_MAX_BYTES, timeout=_TIMEOUT)
        # Parsing a large page takes long, so it runs in a thread and does not block the event loop.
        return storable(await asyncio.to_thread(read_answer, answer, max_chars))

    return FunctionTool(http_fetch, DECLARATION)


def read_answer(answer: Fetched, max_chars: int) -> str:
    """Return the answer as text for the model: the address, the status if it is not 200, the title, and then at most
    `max_chars` characters of the page."""
    status = "" if answer.status == _OK else f" (status {answer.status})"
    head = f"{answer.url}{status}\n"
    if _is_html(answer):
        title, text, more = page_text(_decoded(answer), base=answer.url, limit=max_chars)
        head += f"Title: {title[:300]}\n" if title else ""
    elif _is_text(answer):
        text, more = _decoded(answer), False
    else:
        kind = answer.content_type[:100] or "unknown"
        size = f"more than {_MAX_BYTES:,}" if answer.truncated else f"{len(answer.body):,}"
        return f"{head}\nA file of type {kind}, {size} bytes; it cannot be shown as text."
    if not text.strip():
        return f"{head}\n(nothing to read)"
    return f"{head}\n{text[:max_chars].rstrip()}{_cut(answer, max_chars, more=more or len(text) > max_chars)}"


def _cut(answer: Fetched, max_chars: int, *, more: bool) -> str:
    if more:
        further = f" Set max_chars up to {_MOST_CHARS} to get more." if max_chars < _MOST_CHARS else ""
        return f"\n\n[Cut after {max_chars:,} characters.{further}]"
    return f"\n\n[Cut: the page is larger than {_MAX_BYTES:,} bytes.]" if answer.truncated else ""


def _is_html(answer: Fetched) -> bool:
    if answer.content_type:
        return answer.content_type in _HTML
    return _LOOKS_LIKE_HTML.search(answer.body[:_META_WITHIN]) is not None


def _is_text(answer: Fetched) -> bool:
    """Return whether the answer is text. The content type decides or, if the server sent none, the content."""
    if answer.content_type:
        return _TEXT.fullmatch(answer.content_type) is not None
    return b"\0" not in answer.body[:_META_WITHIN]


def _decoded(answer: Fetched) -> str:
    """Return the decoded answer. The encoding comes from the byte order mark, the header or the page, in this order, as
    in browsers. If none of them names an encoding, it is UTF-8."""
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
