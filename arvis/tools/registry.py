"""The available tools, the offer of tools to a model, and the permission to call each tool.

An agent has only the tools that its settings name, regardless of their source.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import Any

import structlog

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.tools import Permit, Risk, ToolDeclaration, ToolSpec, wire_name
from arvis.extensions import TOOLS, declared_tools, installed
from arvis.ports.tool import Current, Tool, ToolServices, ToolSource, declaration_of

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of one model call, by the names under which the model knows them. They are sorted by these names, so
    that the same tools always give the same prompt."""

    tools: Mapping[str, Tool]

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(replace(tool.spec, name=name) for name, tool in self.tools.items())


class Registry:
    """All sources of tools together. If two tools have the same name, the tool of the earlier source is used."""

    def __init__(self, *, sources: Sequence[ToolSource]) -> None:
        self._sources = tuple(sources)

    async def offer(self, names: Sequence[str]) -> Offer:
        """Return the tools with these names that are available."""
        if not names:
            return Offer({})
        found: dict[str, Tool] = {}
        for source in self._sources:
            for tool in await source.find(names):
                found.setdefault(wire_name(tool.spec.name), tool)
        return Offer(dict(sorted(found.items())))

    async def all(self) -> list[Tool]:
        return [tool for source in self._sources for tool in await source.all()]


class InstalledTools:
    """The `ToolSource` of the entry points `arvis.tools`: Arvis's own tools and those of other packages. A tool is
    imported in a thread when an agent first needs it; `services` is called only then. A tool that cannot be created is
    left out."""

    def __init__(self, *, services: Callable[[], Awaitable[ToolServices]]) -> None:
        self._services = services
        self._points = installed(TOOLS)
        self._made: dict[str, Tool | None] = {}
        self._making = asyncio.Lock()

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        known = [name for name in dict.fromkeys(names) if name in self._points]
        made = [self._made[name] if name in self._made else await self._make(name) for name in known]
        return [await tool.current() if isinstance(tool, Current) else tool for tool in made if tool is not None]

    async def all(self) -> Sequence[Tool]:
        return await self.find(sorted(self._points))

    async def _make(self, name: str) -> Tool | None:
        """Make the tool. If that fails, log a message for the operator and return None."""
        async with self._making:
            if name not in self._made:
                self._made[name] = await _loaded(self._points[name], await self._services())
            return self._made[name]


async def _loaded(point: EntryPoint, services: ToolServices) -> Tool | None:
    try:
        create = await asyncio.to_thread(point.load)
        tool = _whole(create(services), declared_tools().get(point.name))
    except ImportError as missing:
        log.warning("tool_unavailable", tool=point.name, why=str(missing), fix="install the missing package")
        return None
    except (Exception, SystemExit) as defect:  # a tool may be third-party code: it must not break its agent (ADR 0016)
        why = type(defect).__name__
        log.exception(
            "tool_unavailable", tool=point.name, why=why, fix="repair the package, or remove it from the agents"
        )
        return None
    return tool


def _whole(made: Any, declared: ToolDeclaration | None) -> Tool:
    """Return the tool. Raise `AttributeError` if it lacks an attribute that is used later. Raise `ValueError` if it
    differs from the declaration in its file, because permission checks have relied on this declaration."""
    for part in ("risk", "repeatable", "sensitive", "check", "call"):
        getattr(made, part)
    wire_name(made.spec.name)
    tool: Tool = made
    if declared is not None and declaration_of(tool) != declared:
        raise ValueError("the tool differs from the DECLARATION in its file")
    return tool


# -- permissions: a tool runs always, after a person's approval, or never ----------------------------------------------


#: The permission for the tools of each risk, unless the tool's declaration or a rule of the configuration differs. In
#: any case, an agent can call only the tools that its settings name.
DEFAULTS: Mapping[Risk, Permit] = {
    Risk.READ: Permit.ALWAYS,
    Risk.EGRESS: Permit.ALWAYS,
    Risk.WRITE: Permit.ASK,
    Risk.EXEC: Permit.ASK,
    Risk.MONEY: Permit.ASK,
}


def permit_of(declared: ToolDeclaration) -> Permit:
    """Return the permission for a tool that applies if the configuration has no rule for it."""
    if declared.sensitive:
        return Permit.ASK
    return Permit.ALWAYS if declared.without_approval else DEFAULTS[declared.risk]


class Policy:
    """The permissions of tools. The keys of `rules` are names of tools, `server.*` for all tools of a server, and
    risks. The most specific rule applies."""

    def __init__(self, *, rules: Mapping[str, Permit]) -> None:
        self._rules = rules

    def permit(self, tool: Tool) -> Permit:
        rule = self._rule(tool)
        return permit_of(declaration_of(tool)) if rule is None else rule

    def ruled(self, tool: Tool) -> bool:
        """Return whether the configuration has a rule for this tool."""
        return self._rule(tool) is not None

    def _rule(self, tool: Tool) -> Permit | None:
        name = tool.spec.name
        server, dot, _ = name.partition(".")
        found = (name, f"{server}.*" if dot else name, tool.risk.value)
        return next((self._rules[rule] for rule in found if rule in self._rules), None)
