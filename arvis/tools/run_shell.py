"""The tool that runs a command in the sandbox, in the conversation's own folder and without a network."""

from __future__ import annotations

import asyncio
from typing import Annotated

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import Risk
from arvis.ports.sandbox import Sandbox, Task
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool
from arvis.tools.program_output import end_of, output_of

_SHOWN = 4_000
_LONGEST_COMMAND = 32_768
_PRIVATE_FOLDER = 0o700


def create(services: ToolServices) -> Tool:
    sandbox = services.sandbox

    async def run_shell(
        command: Annotated[str, Field(min_length=1, max_length=_LONGEST_COMMAND, description="Command for /bin/sh")],
        timeout_ms: Annotated[int, Field(ge=1, le=600_000, description="Time limit in milliseconds")] = 30_000,
        *,
        caller: Caller,
    ) -> str:
        """Run a shell command in your own folder, without network. Only that folder is writable."""
        return await _run(sandbox, command, timeout_ms, caller)

    return FunctionTool(run_shell, risk=Risk.EXEC, repeatable=False)


async def _run(sandbox: Sandbox, command: str, timeout_ms: int, caller: Caller) -> str:
    if (reason := await sandbox.refusal()) is not None:
        raise ToolError(reason)
    try:
        await asyncio.to_thread(caller.workspace.mkdir, _PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError("The folder for the command could not be created.", why=str(error.strerror)) from None
    finished = await sandbox.run(Task(["/bin/sh", "-c", command], caller.workspace, timeout=timeout_ms / 1000))
    return f"{output_of(finished, _SHOWN)}\n[{end_of(finished, timeout_ms / 1000)}]"
