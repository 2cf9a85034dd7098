"""Tool `list_files`: lists the files in the conversation's folder."""

from __future__ import annotations

import asyncio

from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.workspace import list_files as look

_MOST = 500

DECLARATION = ToolDeclaration(risk=Risk.READ)


def create(services: ToolServices) -> Tool:  # noqa: ARG001 (as every entry point)
    return FunctionTool(list_files, DECLARATION)


async def list_files(*, caller: Caller) -> str:
    """List the files in your own folder with their sizes."""
    found = await asyncio.to_thread(look, caller.workspace, _MOST)
    return "\n".join(found.lines) or "The folder is empty."
