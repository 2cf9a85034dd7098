"""Tool `run_shell`: runs a command in a sandbox, in the conversation's folder, without network.

`output_of` and `end_of` describe the output and the end of a program to a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import Need, Risk, ToolDeclaration
from arvis.ports.sandbox import SKILLS, Finished, Sandbox, Task
from arvis.ports.skills import SkillFiles
from arvis.ports.tool import Caller, Tool, ToolServices
from arvis.tools.function import FunctionTool

_SHOWN = 4_000
_LONGEST_COMMAND = 32_768
_PRIVATE_FOLDER = 0o700

DECLARATION = ToolDeclaration(risk=Risk.EXEC, repeatable=False, needs=(Need.SANDBOX,))


def create(services: ToolServices) -> Tool:
    sandbox, skills = services.sandbox, services.skills

    async def run_shell(
        command: Annotated[str, Field(min_length=1, max_length=_LONGEST_COMMAND, description="Command for /bin/sh")],
        timeout_ms: Annotated[int, Field(ge=1, le=600_000, description="Time limit in milliseconds")] = 30_000,
        *,
        caller: Caller,
    ) -> str:
        """Run a shell command in your own folder, without network. Only that folder is writable."""
        mounted = await skill_folders(skills, caller)
        return await _run(sandbox, command, timeout_ms, caller, mounted)

    return FunctionTool(run_shell, DECLARATION)


async def skill_folders(skills: SkillFiles | None, caller: Caller) -> Mapping[str, Path]:
    """Return the folders of the agent's skills by their paths in the sandbox."""
    found = await skills.folders(caller.agent) if skills is not None and caller.agent.skills else {}
    return {f"{SKILLS}/{name}": folder for name, folder in found.items()}


async def _run(sandbox: Sandbox, command: str, timeout_ms: int, caller: Caller, mounted: Mapping[str, Path]) -> str:
    if (reason := await sandbox.refusal()) is not None:
        raise ToolError(reason)
    try:
        await asyncio.to_thread(caller.workspace.mkdir, _PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError("The folder for the command could not be created.", why=str(error.strerror)) from None
    task = Task(["/bin/sh", "-c", command], caller.workspace, mounted=mounted, timeout=timeout_ms / 1000)
    finished = await sandbox.run(task)
    return f"{output_of(finished, _SHOWN)}\n[{end_of(finished, timeout_ms / 1000)}]"


# -- the output of a program -------------------------------------------------------------------------------------------


def output_of(finished: Finished, longest: int) -> str:
    """Return standard output and then standard error, in at most about `longest` characters together; unprintable
    characters are replaced."""
    out, err = (data.decode("utf-8", "replace") for data in (finished.stdout, finished.stderr))
    text = "\n".join(part for part in (out.rstrip("\n"), err.rstrip("\n")) if part)
    return _shortened("".join(char if char.isprintable() or char in "\n\t" else "�" for char in text), longest)


def end_of(finished: Finished, timeout: float) -> str:
    """Return a text about the end of the program; `timeout` is its time limit in seconds."""
    cut = "; some output was dropped" if finished.truncated else ""
    if finished.timed_out:
        return f"stopped at its time limit of {timeout * 1000:.0f} ms{cut}"
    if finished.exit_code < 0:
        return f"ended by signal {-finished.exit_code}{cut}"
    return f"exit code {finished.exit_code}{cut}"


def _shortened(text: str, longest: int) -> str:
    """Return the text. Of a long text, return only the beginning and the end, because errors are at the end and their
    context is at the beginning."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters omitted …]\n{text[-half:]}"
