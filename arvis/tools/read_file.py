"""Tool `read_file`: reads a file in the conversation's folder."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.workspace import read_bytes

_MOST_CHARS = 100_000

#: UTF-8 has at most this many bytes for a character.
_WIDEST = 4

DECLARATION = ToolDeclaration(risk=Risk.READ)


def create(services: ToolServices) -> Tool:  # noqa: ARG001 (as every entry point)
    return FunctionTool(read_file, DECLARATION)


async def read_file(
    path: Annotated[str, Field(description="Path in your folder, such as notes/today.txt")],
    max_chars: Annotated[int, Field(ge=1, le=_MOST_CHARS, description="Characters to read from the start")] = 8_000,
    *,
    caller: Caller,
) -> str:
    """Read a text file from your own folder."""
    data, size = await asyncio.to_thread(read_bytes, caller.workspace, path, max_chars * _WIDEST)
    text = _text_of(data, whole=len(data) == size)
    if text is None:
        return f"This is a binary file of {size} bytes; it cannot be shown."
    if len(text) <= max_chars and len(data) >= size:
        return text or "The file is empty."
    return f"{text[:max_chars]}\n[Only the beginning is shown; the file has {size} bytes.]"


def _text_of(data: bytes, *, whole: bool) -> str | None:
    """Return the data as text; None if it is not UTF-8 text. If the data is not the `whole` file, an incomplete
    character at its end is left out."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        cut = not whole and error.start > len(data) - _WIDEST and error.reason == "unexpected end of data"
        return data[: error.start].decode("utf-8-sig") if cut else None
