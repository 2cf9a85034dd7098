"""The tool that lists the files of the conversation's own folder."""

from __future__ import annotations

import asyncio

from arvis.domain.tools import Risk
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.workspace import list_files as look

_MOST = 500


def create(services: ToolServices) -> Tool:  # noqa: ARG001 (as every entry point)
    return FunctionTool(list_files, risk=Risk.READ)


async def list_files(*, caller: Caller) -> str:
    """List the files in your own folder with their sizes."""
    found = await asyncio.to_thread(look, caller.workspace, _MOST)
    return "\n".join(found.lines) or "The folder is empty."
