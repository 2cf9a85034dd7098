"""The tool that writes a file of the conversation's own folder."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import Risk
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.workspace import write_bytes

_MOST_BYTES = 1_048_576


def create(services: ToolServices) -> Tool:  # noqa: ARG001 (as every entry point)
    return FunctionTool(write_file, risk=Risk.WRITE, repeatable=False)


async def write_file(
    path: Annotated[str, Field(description="Where to put it in your folder, such as notes/today.txt.")],
    content: Annotated[str, Field(description="All that the file shall hold; what it held before is replaced.")],
    *,
    caller: Caller,
) -> str:
    """Write a text file to your own folder. Folders on the way are made."""
    data = content.encode("utf-8", "replace")
    if len(data) > _MOST_BYTES:
        raise ToolError(f"The content has {len(data)} bytes, and a file may have {_MOST_BYTES}. Write less.")
    await asyncio.to_thread(write_bytes, caller.workspace, path, data)
    return f"Wrote {len(data)} bytes to {path}."
