"""The tool by which an agent sends a file of its folder along with its reply."""

from __future__ import annotations

import asyncio
import mimetypes
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.messages import OutgoingFile
from arvis.domain.tools import Risk
from arvis.ports.store import Store
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.workspace import read_bytes

_MOST_BYTES = 20_971_520


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

    return FunctionTool(send_file, risk=Risk.READ)


async def outgoing_file(store: Store, workspace: Path, path: str) -> OutgoingFile:
    """A file of a conversation's folder, ready to be sent. Raises `ToolError`."""
    data, size = await asyncio.to_thread(read_bytes, workspace, path, _MOST_BYTES)
    if size > _MOST_BYTES:
        raise ToolError(f"The file has {size} bytes; at most {_MOST_BYTES} can be sent.")
    if not data:
        raise ToolError("The file is empty.")
    name = PurePosixPath(path).name
    content_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return OutgoingFile(name, content_type, len(data), await store.put_blob(data))
