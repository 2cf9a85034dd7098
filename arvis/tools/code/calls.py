"""Tool calls of a script, made by this process. The script is treated as hostile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from arvis.domain.errors import ToolError
from arvis.domain.text import strict_json
from arvis.ports.tool import Caller, Tool

#: The most calls of one script, and the most characters of a result that are returned to it.
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
        """Answer one call. Every request counts; the answer after the last permitted call says that the limit is
        reached. Raise any tool error that is not meant for the model."""
        self._asked += 1
        if self._asked > MOST_CALLS + 1:
            return None
        try:
            value, error = await self._call(line), None
        except ToolError as failed:
            value, error = None, failed.what
        except TimeoutError:
            value, error = None, "The tool did not answer in time."
        return json.dumps({"error": error, "value": value}).encode()

    async def _call(self, line: bytes) -> str:
        if self._asked > MOST_CALLS:
            raise ToolError(f"A script can call tools {MOST_CALLS} times; this call is over the limit.")
        name, arguments = _read(line)
        tool = self._functions.get(name)
        if tool is None:
            raise ToolError(f"Scripts have no tool {name[:100]!r}.")
        tool.check(arguments)
        self.made.append(name)
        said = await tool.call(arguments, replace(self._caller, call_id=f"{self._caller.call_id}-{len(self.made)}"))
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
