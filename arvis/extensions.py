"""Finds the extensions of the installed packages, and reads the declarations in the files of tools and plugins.

A declaration is read from the text of a file without executing the file, for two reasons (ADR 0054). Permission checks
need the declaration before an agent has used the tool. They also run in transactions, in which code of other packages
must not run. A file without a readable declaration declares nothing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.plugins import PluginDeclaration
from arvis.domain.tools import Need, Risk, ToolDeclaration

CONNECTORS, PLUGINS, PROVIDERS, TOOLS = "arvis.connectors", "arvis.plugins", "arvis.providers", "arvis.tools"
SEARCH_PROVIDERS = "arvis.search_providers"

#: The constant that contains the declaration in the file of a tool or plugin.
_CONSTANT = "DECLARATION"
_ENUMS: Mapping[str, Any] = {"Risk": Risk, "Need": Need}

_Declaration = ToolDeclaration | PluginDeclaration


def installed(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group, by their names."""
    return _entry_points(tuple(sys.path)).get(group, {})


@cache
def _entry_points(_path: tuple[str, ...]) -> Mapping[str, Mapping[str, EntryPoint]]:
    """Return the entry points of all packages in these folders, by group and name. The result is cached, because
    reading the entry points takes milliseconds."""
    found = entry_points()
    groups = (CONNECTORS, PLUGINS, PROVIDERS, SEARCH_PROVIDERS, TOOLS)
    return {group: {point.name: point for point in found.select(group=group)} for group in groups}


# -- permissions -------------------------------------------------------------------------------------------------------


def is_risky(agent: Agent) -> bool:
    """Return True if the agent has a risky tool, a plugin that may add one, or credentials."""
    return bool(risky_tools(agent.tools) or risky_plugins(agent.plugins) or agent.credentials)


def risky_tools(names: Iterable[str]) -> frozenset[str]:
    """Return the tools that are not known to be harmless. They include all tools of servers (`server.tool`)."""
    tools = _declarations(TOOLS)
    return frozenset(name for name in names if "." in name or name not in tools or not tools[name].harmless)


def risky_plugins(names: Iterable[str]) -> frozenset[str]:
    """Return the plugins that are not known to be harmless."""
    plugins = _declarations(PLUGINS)
    return frozenset(name for name in names if name not in plugins or not plugins[name].harmless)


def declared_tools() -> Mapping[str, ToolDeclaration]:
    """Return the declarations of the installed tools. Tools without a declaration are left out."""
    found = _declarations(TOOLS)
    return {name: each for name, each in found.items() if isinstance(each, ToolDeclaration)}


def read_declarations() -> None:
    """Read the declarations of all installed tools and plugins, so that later permission checks read no files."""
    _declarations.cache_clear()
    for group in (TOOLS, PLUGINS):
        _declarations(group)


@cache
def _declarations(group: str) -> Mapping[str, _Declaration]:
    found = {name: declaration_in(point) for name, point in installed(group).items()}
    return {name: declaration for name, declaration in found.items() if declaration is not None}


# -- files -------------------------------------------------------------------------------------------------------------


def declaration_in(point: EntryPoint) -> _Declaration | None:
    """Return the declaration in the file of an entry point; None if the file has no readable declaration."""
    kind = PluginDeclaration if point.group == PLUGINS else ToolDeclaration
    for node in _tree(point).body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=called), args=[], keywords=fields)
            ) if name == _CONSTANT and called == kind.__name__:
                try:
                    return kind(**{field.arg or "": _value(field.value) for field in fields})
                except (KeyError, TypeError, ValueError):
                    return None
    return None


def _value(node: ast.expr) -> Any:
    """Return the value of a literal, or of a member of `Risk` or `Need`. Raise `ValueError` for other expressions."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Attribute(value=ast.Name(id=kind), attr=member):
            return _ENUMS[kind][member]
        case ast.Tuple(elts=parts):
            return tuple(map(_value, parts))
    raise ValueError(ast.dump(node))


def words_in(point: EntryPoint) -> str:
    """Return the first paragraph of a file's docstring, without a label at its beginning such as `Plugin time: `.
    Return "" if the file cannot be read."""
    first = " ".join((ast.get_docstring(_tree(point)) or "").partition("\n\n")[0].split())
    text = first.partition(": ")[2] if first.startswith(("Tool ", "Plugin ")) else first
    return f"{text[:1].upper()}{text[1:]}"


def _tree(point: EntryPoint) -> ast.Module:
    """Return the syntax tree of an entry point's file; an empty module if the file cannot be read."""
    file = file_of(point)
    try:
        return ast.parse(file.read_text("utf-8") if file is not None else "")
    except (OSError, ValueError, SyntaxError, RecursionError):
        return ast.parse("")


def file_of(point: EntryPoint) -> Path | None:
    """Return the source file of an entry point's module; for a package, this is its `__init__.py`. Return None if the
    file cannot be found. The function does not import the module."""
    name, *inner = point.module.split(".")
    try:
        spec = find_spec(name)
        for part in inner:
            places = spec.submodule_search_locations if spec is not None else None
            if places is None:
                return None
            name = f"{name}.{part}"
            spec = PathFinder.find_spec(name, list(places))
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin is not None else None
