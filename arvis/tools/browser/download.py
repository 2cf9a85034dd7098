"""Tool `browser_download`: clicks on an element of an open page that starts a download, and stores the file in the
conversation's folder."""

from __future__ import annotations

import asyncio
import hashlib

from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.browser.action import PageAction, PageId, Reference, pages_of
from arvis.tools.workspace import write_bytes

DECLARATION = ToolDeclaration(risk=Risk.WRITE, repeatable=False, needs=(Need.NETWORK, Need.SANDBOX))

_LONGEST_NAME = 100


def create(services: ToolServices) -> Tool:
    pages = pages_of(services)

    async def browser_download(page: PageId, ref: Reference, *, caller: Caller) -> str:
        """Download a file by clicking on an element of an open page of your browser. It is stored in your folder."""
        file = await pages.download(caller, page, ref)
        # A page chooses the name of the file, so the hash distinguishes files with the same name.
        path = f"downloads/{hashlib.sha256(file.data).hexdigest()[:8]}-{_name(file.name)}"
        await asyncio.to_thread(write_bytes, caller.workspace, path, file.data)
        return f"{file.about} Stored as {path} in your folder ({len(file.data):,} bytes)."

    return PageAction(browser_download, DECLARATION, pages=pages)


def _name(given: str) -> str:
    """Return a file name that is safe in a path. If the name is too long, remove its beginning, because its end
    contains the type of the file."""
    plain = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in given)
    return plain[-_LONGEST_NAME:].lstrip(".") or "file"
