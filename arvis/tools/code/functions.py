"""Tools as Python functions of a script (behaviour 5.6): each takes one dict and returns the tool's text."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from collections.abc import Mapping
from typing import Any

from arvis.domain.markup import escape
from arvis.domain.tools import ToolSpec
from arvis.ports.tool import Tool

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_BLANKS = re.compile(r"\s+")

#: Of one description, in characters.
_LONGEST = 600

#: Names that Python or the runner defines, which no function may hide.
_TAKEN = frozenset({*dir(builtins), *keyword.kwlist, *keyword.softkwlist, "ToolError"})


def named(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """The tools by the names of their functions; no two have the same, and none hides a part of the language."""
    functions: dict[str, Tool] = {}
    for name, tool in tools.items():
        wanted = function_name(name)
        while wanted in functions or wanted in _TAKEN:
            wanted += "_"
        functions[wanted] = tool
    return functions


def function_name(tool: str) -> str:
    """A name that Python takes: other characters become `_`, and a leading digit gets one before it."""
    name = _NOT_IN_NAMES.sub("_", tool)
    return f"_{name}" if name[:1].isdigit() or not name else name


def told_of(tools: Mapping[str, Tool]) -> str:
    """The functions as a model reads them, one line each and one for what they take."""
    return "\n".join(_described(name, tool.spec) for name, tool in named(tools).items())


def _described(name: str, spec: ToolSpec) -> str:
    what = escape(_BLANKS.sub(" ", spec.description).strip())[:_LONGEST]
    schema = {key: value for key, value in spec.parameters.items() if key not in {"$schema", "title"}}
    return f"- {name}(arguments: dict) -> str: {what}\n  arguments: {escape(_compact(schema))}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
