"""Tool `write_file`: writes a file in the conversation's folder."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.workspace import write_bytes

_MOST_BYTES = 1_048_576

DECLARATION = ToolDeclaration(risk=Risk.WRITE, repeatable=False)


def create(services: ToolServices) -> Tool:  # noqa: ARG001 (as every entry point)
    return FunctionTool(write_file, DECLARATION)


async def write_file(
    path: Annotated[str, Field(description="Path in your folder, such as notes/today.txt")],
    content: Annotated[str, Field(description="The complete content; it replaces the previous content")],
    *,
    caller: Caller,
) -> str:
    """Write a text file to your own folder. Missing folders are created."""
    data = content.encode("utf-8", "replace")
    if len(data) > _MOST_BYTES:
        raise ToolError(f"The content has {len(data)} bytes; the limit is {_MOST_BYTES}. Write less.")
    await asyncio.to_thread(write_bytes, caller.workspace, path, data)
    return f"Wrote {len(data)} bytes to {path}."
