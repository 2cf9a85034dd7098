"""Run a script inside the sandbox; the interpreter gets this file's text with `-c`.

Standard input contains the script: `{"script": …, "functions": [names], "packages": folder or null}`. A function calls
its tool over the bridge, whose file descriptor is in the environment: it writes one line `{"function", "arguments"}`
and reads one line `{"error", "value"}`. This file imports only the standard library.
"""

from __future__ import annotations

import json
import linecache
import os
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

_SCRIPT = "<script>"


class ToolError(Exception):
    """The failure of a tool; the text comes from the tool."""


class _Tools:
    """The script's end of the bridge to the daemon. It makes one call at a time, even if the script has several
    threads."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._process = os.getpid()
        self._turn = threading.Lock()
        self._rest = b""

    def call(self, function: str, arguments: Any) -> Any:
        if os.getpid() != self._process:
            raise ToolError("Only the first process of a script can call tools.")
        line = json.dumps({"function": function, "arguments": arguments}, allow_nan=False).encode() + b"\n"
        with self._turn:
            try:
                answer = json.loads(self._exchange(line))
            except OSError:
                raise ToolError("No more tools can be called.") from None
        if answer["error"] is not None:
            raise ToolError(answer["error"])
        return answer["value"]

    def _exchange(self, line: bytes) -> bytes:
        while line:
            line = line[os.write(self._descriptor, line) :]
        while b"\n" not in self._rest:
            piece = os.read(self._descriptor, 65_536)
            if not piece:
                raise ConnectionError
            self._rest += piece
        answer, _, self._rest = self._rest.partition(b"\n")
        return answer


def _function(tools: _Tools, name: str) -> Callable[..., Any]:
    def function(arguments: Mapping[str, Any] | None = None) -> Any:
        return tools.call(name, {} if arguments is None else arguments)

    function.__name__ = function.__qualname__ = name
    return function


def _search_path(packages: str | None) -> list[str]:
    """Return the search path: the declared packages are before the other packages of the machine, and the script's own
    folder is last."""
    own = [path for path in sys.path if not path.endswith("-packages")]
    machine = [path for path in sys.path if path.endswith("-packages")]
    return [*own, *([packages] if packages else []), *machine, str(Path.cwd())]


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the error of the script, without the stack frames of this file."""
    while trace is not None and trace.tb_frame.f_code.co_filename != _SCRIPT:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


def main() -> None:
    given = json.loads(sys.stdin.buffer.read())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    bridge = int(os.environ.pop("ARVIS_BRIDGE"))
    os.set_inheritable(bridge, False)
    tools = _Tools(bridge)
    module = ModuleType("__main__")
    module.__dict__.update({name: _function(tools, name) for name in given["functions"]})
    module.__dict__["ToolError"] = ToolError
    sys.modules["__main__"] = module
    sys.path[:] = _search_path(given["packages"])
    sys.argv = [_SCRIPT]
    sys.excepthook = _tell
    script = given["script"]
    linecache.cache[_SCRIPT] = (len(script), None, script.splitlines(keepends=True), _SCRIPT)
    exec(compile(script, _SCRIPT, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 (that is what it is for)


if __name__ == "__main__":
    main()
