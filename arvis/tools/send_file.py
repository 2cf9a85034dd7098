"""Tool `send_file`: attaches a file of the conversation's folder to the reply."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from arvis.domain.tools import Risk, ToolDeclaration
from arvis.ports.store import Store
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.workspace import outgoing_file

DECLARATION = ToolDeclaration(risk=Risk.READ)


def create(services: ToolServices) -> Tool:
    store: Store = services.store

    async def send_file(
        path: Annotated[str, Field(description="Path in your folder, such as charts/sales.png")],
        *,
        caller: Caller,
    ) -> str:
        """Attach a file from your own folder to your reply. It is sent together with the reply."""
        file = await outgoing_file(store, caller.workspace, path)
        caller.attach(file)
        return f"{file.filename} ({file.size} bytes) will be sent with your reply."

    return FunctionTool(send_file, DECLARATION)
