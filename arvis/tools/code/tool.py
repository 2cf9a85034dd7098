"""Tool `code_execution`: runs a Python script in a sandbox, with the agent's other tools as functions.

The script runs in the conversation's own folder, without a network. Each function takes one dict and returns the tool's
text. This process makes the calls, and treats the script as hostile.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import keyword
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ToolError, sentences
from arvis.domain.markup import escape
from arvis.domain.regex import regex
from arvis.domain.text import strict_json
from arvis.domain.tools import Need, Risk, ToolDeclaration, ToolSpec
from arvis.ports.sandbox import Finished, Sandbox, Task
from arvis.ports.skills import SkillFiles
from arvis.ports.tool import Caller, Tool
from arvis.tools.code.packages import MOST_PACKAGES, Interpreter, PackageSets
from arvis.tools.function import FunctionTool
from arvis.tools.run_shell import end_of, output_of, skill_folders

#: The name of the tool in the settings of agents and in the rules for approvals.
CODE_EXECUTION = "code_execution"

DECLARATION = ToolDeclaration(risk=Risk.EXEC, repeatable=False, needs=(Need.SANDBOX,))

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
    skills: SkillFiles | None = None


def code_tool(bench: Workbench, callable_tools: Mapping[str, Tool]) -> Tool:
    """Return the tool `code_execution`. `callable_tools` are the tools that a script may call, by the names that models
    know."""

    async def code_execution(
        script: Annotated[str, Field(min_length=1, max_length=_LONGEST_SCRIPT, description="Python.")],
        libraries: Annotated[tuple[str, ...], Field(max_length=MOST_PACKAGES, description="Packages to install")] = (),
        *,
        caller: Caller,
    ) -> str:
        """Run a Python script in your own folder."""
        calls = ScriptCalls(functions=named(callable_tools), caller=caller)
        finished = await _run(bench, script, libraries, calls, caller)
        called = f"; tools called: {', '.join(calls.made)}" if calls.made else ""
        output = output_of(finished, _SHOWN) or "(nothing)"
        return f"{RESULT}\n{output}\n[{end_of(finished, bench.seconds)}{called}]"

    return FunctionTool(code_execution, DECLARATION)


async def _run(
    bench: Workbench,
    script: str,
    libraries: Sequence[str],
    calls: ScriptCalls,
    caller: Caller,
) -> Finished:
    if (reason := await bench.sandbox.refusal()) is not None:
        raise ToolError(reason)
    try:
        await asyncio.to_thread(caller.workspace.mkdir, _PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise ToolError("The folder for the script could not be created.", why=str(error.strerror)) from None
    async with bench.packages.held(libraries) as packages:
        given = {"script": script, "functions": calls.names, "packages": str(packages) if packages else None}
        task = Task(
            [str(bench.interpreter.program), "-I", "-B", "-u", "-X", "utf8", "-c", _inside()],
            caller.workspace,
            stdin=json.dumps(given).encode(),
            readable=[*bench.interpreter.readable, *([packages] if packages else [])],
            mounted=await skill_folders(bench.skills, caller),
            timeout=bench.seconds,
            max_output=_MOST_OUTPUT,
        )
        return await bench.sandbox.run(task, answer=calls.answer)


@cache
def _inside() -> str:
    return Path(__file__).with_name("inside.py").read_text(encoding="utf-8")


# -- tools as functions ------------------------------------------------------------------------------------------------


_NOT_IN_NAMES = regex(r"[^A-Za-z0-9_]")
_BLANKS = regex(r"\s+")

#: The maximum length of the description of one function, in characters.
_LONGEST = 600

#: The names that Python or `inside.py` defines; no function gets such a name.
_TAKEN = frozenset({*dir(builtins), *keyword.kwlist, *keyword.softkwlist, "ToolError"})


def named(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return the tools by the names of their functions. These names are distinct, and none of them is in `_TAKEN`."""
    functions: dict[str, Tool] = {}
    for name, tool in tools.items():
        wanted = function_name(name)
        while wanted in functions or wanted in _TAKEN:
            wanted += "_"
        functions[wanted] = tool
    return functions


def function_name(tool: str) -> str:
    """Return the function name of a tool. Each character that Python does not accept becomes `_`, and a name that is
    empty or begins with a digit gets a `_` in front."""
    name = _NOT_IN_NAMES.sub("_", tool)
    return f"_{name}" if name[:1].isdigit() or not name else name


def functions_text(tools: Mapping[str, Tool]) -> str:
    """Return a description of all functions for the model: two lines for each function, the second with the schema of
    its arguments."""
    return "\n".join(_described(name, tool.spec) for name, tool in named(tools).items())


def _described(name: str, spec: ToolSpec) -> str:
    what = escape(_BLANKS.sub(" ", spec.description).strip())[:_LONGEST]
    schema = {key: value for key, value in spec.parameters.items() if key not in {"$schema", "title"}}
    arguments = escape(json.dumps(schema, ensure_ascii=False, separators=(",", ":")))
    return f"- {name}(arguments: dict) -> str: {what}\n  arguments: {arguments}"


# -- calls of a script -------------------------------------------------------------------------------------------------


#: The maximum number of calls of one script, and the maximum number of characters of a result that a script gets.
MOST_CALLS = 50
MOST_VALUE = 262_144


_INSTEAD = (
    "Print the data. Then run a script that contains the address or the words literally, which a person can approve."
)


class ScriptCalls:
    """The `Answerer` of one script, which may call `functions` on behalf of `caller`. It answers each line
    `{"function", "arguments"}` with `{"error", "value"}`, in which either the error or the value is null. `names`
    contains the names of all functions, `made` the names of the functions that were called."""

    def __init__(self, *, functions: Mapping[str, Tool], caller: Caller) -> None:
        self._functions = functions
        self._caller = caller
        self._asked = 0
        self.names = list(functions)
        self.made: list[str] = []

    async def answer(self, line: bytes) -> bytes | None:
        """Answer one call of the script. Invalid calls also count towards the limit `MOST_CALLS`. The first call above
        the limit gets an error; for later calls, return None. Answer `ToolError` and `TimeoutError` of the tool as
        errors, and let its other exceptions pass."""
        self._asked += 1
        if self._asked > MOST_CALLS + 1:
            return None
        try:
            value, error = await self._call(line), None
        except ToolError as failed:
            value, error = None, sentences(failed.what, failed.fix)
        except TimeoutError:
            value, error = None, "The tool did not answer in time."
        return json.dumps({"error": error, "value": value}).encode()

    async def _call(self, line: bytes) -> str:
        if self._asked > MOST_CALLS:
            raise ToolError(f"A script can call tools at most {MOST_CALLS} times. This call exceeds the limit.")
        name, arguments = _read(line)
        tool = self._functions.get(name)
        if tool is None:
            raise ToolError(f"Scripts cannot call a tool {name[:100]!r}.")
        tool.check(arguments)
        if (why := self._caller.objection(tool, arguments)) is not None:
            raise ToolError(
                f"This call needs the approval of a person, and a script cannot wait for one. {why} {_INSTEAD}"
            )
        self.made.append(name)
        said = await tool.call(
            arguments, replace(self._caller, call_id=f"{self._caller.call_id}-{len(self.made)}", may_ask=False)
        )
        return said if len(said) <= MOST_VALUE else f"{said[:MOST_VALUE]}\n[… rest omitted …]"


def _read(line: bytes) -> tuple[str, Mapping[str, Any]]:
    try:
        asked = strict_json(line)
    except (ValueError, RecursionError):
        asked = None
    match asked:
        case {"function": str(name), "arguments": dict(arguments)}:
            return name, arguments
    raise ToolError("A tool takes one dict of plain JSON values.")
