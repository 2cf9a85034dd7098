"""What a script asks of tools, made for it by this process: the script is as hostile as a program can be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from arvis.domain.errors import ToolError
from arvis.domain.text import strict_json
from arvis.ports.tool import Caller, Tool

#: So many calls of one script are made, and so many characters of what one gives are handed back.
MOST_CALLS = 50
MOST_VALUE = 262_144


class ScriptCalls:
    """The `Answerer` of one script, which runs for `caller` and may call `functions`. Each line `{"function",
    "arguments"}` is answered by `{"error", "value"}`, of which one is null. `names` are those of the
    functions, `made` those that were called."""

    def __init__(self, *, functions: Mapping[str, Tool], caller: Caller) -> None:
        self._functions = functions
        self._caller = caller
        self._asked = 0
        self.names = list(functions)
        self.made: list[str] = []

    async def answer(self, line: bytes) -> bytes | None:
        """Whatever it asks counts; after the last call it is told so once. Raises what the tool raises that is not for
        the model."""
        self._asked += 1
        if self._asked > MOST_CALLS + 1:
            return None
        try:
            value, error = await self._call(line), None
        except ToolError as failed:
            value, error = None, failed.what
        except TimeoutError:
            value, error = None, "The tool gave no answer in time."
        return json.dumps({"error": error, "value": value}).encode()

    async def _call(self, line: bytes) -> str:
        if self._asked > MOST_CALLS:
            raise ToolError(f"A script can call tools {MOST_CALLS} times, and this was once more.")
        name, arguments = _read(line)
        tool = self._functions.get(name)
        if tool is None:
            raise ToolError(f"There is no tool {name[:100]!r} for scripts.")
        tool.check(arguments)
        self.made.append(name)
        said = await tool.call(arguments, replace(self._caller, call_id=f"{self._caller.call_id}-{len(self.made)}"))
        return said if len(said) <= MOST_VALUE else f"{said[:MOST_VALUE]}\n[… the rest was left out …]"


def _read(line: bytes) -> tuple[str, Mapping[str, Any]]:
    try:
        asked = strict_json(line)
    except (ValueError, RecursionError):
        asked = None
    match asked:
        case {"function": str(name), "arguments": dict(arguments)}:
            return name, arguments
    raise ToolError("A tool takes one dict of plain JSON values.")
