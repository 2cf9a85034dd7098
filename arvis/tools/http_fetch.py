"""Tool `http_fetch`: returns a public page, PDF or text file as text, part by part.

An image is stored in the folder of the conversation if the agent has a tool that uses this folder. The result comes from
an unknown author, so the caller must mark it as untrusted.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from typing import Annotated

from pydantic import Field

from arvis.domain.credentials import Insertion
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ToolError
from arvis.domain.text import storable
from arvis.domain.tools import WITH_CREDENTIAL, Need, Risk, ToolDeclaration
from arvis.ports.clock import Clock
from arvis.ports.http import Fetched, Fetcher
from arvis.ports.reading import WebReader, WebText
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.workspace import write_bytes

_TIMEOUT = 30.0
_MAX_BYTES = 10_000_000
_USUAL_CHARS = 6_000
_MOST_CHARS = 20_000
_OK = 200
#: A part ends between two words, at most this many characters before its limit.
_LONGEST_WORD = 200

#: The number of texts that are cached for later parts, and the time in seconds for which they are cached.
_KEPT = 4
_KEPT_SECONDS = 600.0
_LONGEST_KEPT = 1_000_000

#: The tools for which an image in the folder is useful. Agents with such a tool answer only trusted people.
_FOLDER_TOOLS = {
    "send_file": "send_file sends it with your reply",
    "run_shell": "programs of run_shell find it",
    "code_execution": "scripts find it",
}

DECLARATION = ToolDeclaration(
    risk=Risk.EGRESS, harmless=True, only_to_addresses=True, public_output=True, needs=(Need.NETWORK,)
)


def create(services: ToolServices) -> Tool:
    pages = RecentPages(fetcher=services.fetcher, reader=services.reader, clock=services.clock)
    credentials = services.credentials

    async def http_fetch(
        url: Annotated[str, Field(max_length=8000, description="A public http or https address")],
        offset: Annotated[int, Field(ge=0, description="Where to continue a long text")] = 0,
        max_chars: Annotated[int, Field(ge=100, le=_MOST_CHARS)] = _USUAL_CHARS,
        *,
        caller: Caller,
    ) -> str:
        """Read a web page, PDF or text file. Stores an image in your folder."""
        inserted = await credentials.insertion(caller.agent, url) if credentials and caller.agent.credentials else None
        page = await pages.get(url, again=offset > 0, inserted=inserted)
        if page.image is not None:
            return await _picture(page, page.image, caller)
        return storable(part_of(page, offset, max_chars))

    return FunctionTool(http_fetch, DECLARATION)


@dataclass(frozen=True, slots=True)
class Page:
    """A page after its fetch."""

    #: The address after all redirects, and the status if it is not 200.
    head: str
    size: int
    read: WebText
    #: The bytes of an image; None for other files.
    image: bytes | None = None


class RecentPages:
    """The reader of pages, with a cache of the newest texts. Because of the cache, the parts of a text fit together,
    and a long document is fetched and read only once."""

    def __init__(self, *, fetcher: Fetcher, reader: WebReader, clock: Clock) -> None:
        self._fetcher = fetcher
        self._reader = reader
        self._clock = clock
        self._kept: OrderedDict[tuple[str, str], tuple[float, Page]] = OrderedDict()

    async def get(self, url: str, *, again: bool, inserted: Insertion | None = None) -> Page:
        """Return a page. If `again` is True (for a later part of its text), return a cached page if possible.
        `inserted` is the credential of the request: a cached page is used only for the same credential, and its text
        does not contain the secret."""
        key = (url, f"{inserted.credential} {inserted.value}" if inserted is not None else "")
        until, kept = self._kept.get(key, (0.0, None))
        if again and kept is not None and until > self._clock.monotonic():
            return kept
        headers = {inserted.header: inserted.value} if inserted is not None else None
        answer = await self._fetcher.fetch(url, max_bytes=_MAX_BYTES, timeout=_TIMEOUT, headers=headers)
        if inserted is not None:
            answer = replace(answer, body=inserted.hidden_in_bytes(answer.body), url=inserted.hidden_in(answer.url))
        read = await self._reader.read(answer)
        if inserted is not None:
            read = replace(read, text=inserted.hidden_in(read.text), title=inserted.hidden_in(read.title))
        image = answer.body if read.image and not read.problem else None
        page = Page(_head(answer, inserted), len(answer.body), read, image)
        self._kept.pop(key, None)
        if page.image is None and len(read.text) <= _LONGEST_KEPT:
            self._kept[key] = (self._clock.monotonic() + _KEPT_SECONDS, page)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return page


def _head(answer: Fetched, inserted: Insertion | None) -> str:
    notes = [f"status {answer.status}"] if answer.status != _OK else []
    if inserted is not None:
        notes.append(f"{WITH_CREDENTIAL} {inserted.credential}")
    return f"{answer.url} ({', '.join(notes)})" if notes else answer.url


def part_of(page: Page, offset: int, max_chars: int) -> str:
    """Return a part of a page as text for the model: the address, the title, the part, and the offset of the next
    part."""
    read, text = page.read, page.read.text
    lines = [page.head, *([f"Title: {read.title[:300]}"] if read.title else []), ""]
    if read.problem:
        kind = read.content_type[:100] or "unknown type"
        return "\n".join([*lines, f"A file ({kind}, {page.size:,} bytes) without a text: {read.problem}."])
    if not text.strip():
        return "\n".join([*lines, "(nothing to read)"])
    if offset >= len(text):
        raise ToolError(f"The text has only {len(text):,} characters, so nothing follows offset {offset:,}.")
    end = _end(text, offset, max_chars)
    lines.append(text[offset:end].strip("\n") if offset else text[:end].rstrip())
    if end < len(text):
        lines += ["", f"[Characters {offset:,} to {end:,} of {len(text):,}. Continue with offset={end}.]"]
    elif not read.whole:
        lines += ["", "[The rest of the file could not be read, because it is too large or damaged.]"]
    return "\n".join(lines)


def _end(text: str, offset: int, max_chars: int) -> int:
    """Return the end of a part: after the last line break or space near its limit, otherwise at the limit."""
    end = offset + max_chars
    if end >= len(text):
        return len(text)
    near = max(offset + 1, end - _LONGEST_WORD)
    broken = max(text.rfind("\n", near, end), text.rfind(" ", near, end))
    return broken + 1 if broken >= 0 else end


async def _picture(page: Page, data: bytes, caller: Caller) -> str:
    """Store an image in the folder of the conversation if the agent has a tool that uses this folder, and return a text
    about it. Models cannot see the image."""
    about = f"{page.head}\n\nAn image ({page.read.content_type}, {len(data):,} bytes)."
    use = next((text for tool, text in _FOLDER_TOOLS.items() if tool in caller.agent.tools), "")
    if not use:
        return f"{about} You cannot see it. Give the person its address."
    path = f"web/{hashlib.sha256(data).hexdigest()[:12]}.{page.read.image}"
    await asyncio.to_thread(write_bytes, caller.workspace, path, data)
    return f"{about} You cannot see it. It is stored as {path} in your folder; {use}."
