"""The tool that runs a script which a model wrote: in the conversation's own folder, without a network, and with the agent's
other tools as functions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from arvis.domain.errors import ToolError
from arvis.domain.tools import Risk
from arvis.ports.sandbox import Finished, Sandbox, Task
from arvis.ports.tool import Caller, Tool
from arvis.tools.code.calls import ScriptCalls
from arvis.tools.code.functions import named
from arvis.tools.code.interpreter import Interpreter
from arvis.tools.code.packages import MOST_PACKAGES, PackageSets
from arvis.tools.function import FunctionTool
from arvis.tools.program_output import end_of, output_of

#: The tool's name, by which agents have it and rules of the approvals speak of it.
CODE_EXECUTION = "code_execution"

#: The beginning of every result.
RESULT = "The script ran. Its output:"

_LONGEST_SCRIPT = 65_536
_SHOWN = 8_000
_MOST_OUTPUT = 1_048_576
_PRIVATE_FOLDER = 0o700


@dataclass(frozen=True, slots=True)
class Workbench:
    """The sandbox and interpreter for scripts, the source of packages, and the time limit of a script in seconds."""

    sandbox: Sandbox
    interpreter: Interpreter
    packages: PackageSets
    seconds: float = 120.0


def code_tool(bench: Workbench, callable_tools: Mapping[str, Tool]) -> Tool:
    """`callable_tools` are what a script may call, by the names that models know."""

    async def code_execution(
        script: Annotated[str, Field(min_length=1, max_length=_LONGEST_SCRIPT, description="Python.")],
        libraries: Annotated[tuple[str, ...], Field(max_length=MOST_PACKAGES, description="Packages to install")] = (),
        *,
        caller: Caller,
    ) -> str:
        """Run a Python script in your own folder."""
        calls = ScriptCalls(functions=named(callable_tools), caller=caller)
        finished = await _run(bench, script, libraries, calls, caller.workspace)
        return _told(finished, bench.seconds, calls.made)

    return FunctionTool(code_execution, risk=Risk.EXEC, repeatable=False)


async def _run(
    bench: Workbench, script: str, libraries: Sequence[str], calls: ScriptCalls, workspace: Path
) -> Finished:
    if (reason := await bench.sandbox.refusal()) is not None:
        raise ToolError(reason)
    try:
        await asyncio.to_thread(workspace.mkdir, _PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError("The folder for the script could not be created.", why=str(error.strerror)) from None
    async with bench.packages.held(libraries) as packages:
        given = {"script": script, "functions": calls.names, "packages": str(packages) if packages else None}
        task = Task(
            [str(bench.interpreter.program), "-I", "-B", "-u", "-X", "utf8", "-c", _inside()],
            workspace,
            stdin=json.dumps(given).encode(),
            readable=[*bench.interpreter.readable, *([packages] if packages else [])],
            timeout=bench.seconds,
            max_output=_MOST_OUTPUT,
        )
        return await bench.sandbox.run(task, answer=calls.answer)


@cache
def _inside() -> str:
    return Path(__file__).with_name("inside.py").read_text(encoding="utf-8")


def _told(finished: Finished, seconds: float, made: Sequence[str]) -> str:
    called = f"; tools called: {', '.join(made)}" if made else ""
    return f"{RESULT}\n{output_of(finished, _SHOWN) or '(nothing)'}\n[{end_of(finished, seconds)}{called}]"
