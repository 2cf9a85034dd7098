"""The data and services from which nodes of workflow graphs are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arvis.domain.workflows import POSITION
from arvis.graphs.agent.tools import ToolRules
from arvis.plugins import NoPlugins, Plugins
from arvis.ports.store import Store
from arvis.workflows.document.kinds import Kind

#: The engine's names of the first and the last node of every workflow graph, and of the gate before `FINISH`.
BEGIN, FINISH, LAST = "begin", "finish", "last"


@dataclass(frozen=True, slots=True)
class NodeParts:
    """The services that nodes use. `rules`: how tools may be used. `zone`: the daemon's time zone. `plugins`: they add
    tools to the agents that use them."""

    store: Store
    rules: ToolRules
    zone: str
    new_id: Callable[[], str]
    plugins: Plugins = field(default_factory=NoPlugins)


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node of the document. `label`: its name for people and templates. `ways`: its outgoing connections, without
    those to subagents. `document`: the whole canonical document. `subagents`: the ids of the nodes of its subagents."""

    id: str
    kind: Kind
    label: str
    data: Mapping[str, Any]
    ways: tuple[Mapping[str, Any], ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    subagents: Sequence[str] = ()


def name_of(node_id: str) -> str:
    """Return the engine's name for a node of the document."""
    return f"{POSITION}{node_id}"


def drawn_id(name: str) -> str | None:
    """Return the id of the document's node with this name in the engine; None if the name is not that of such a node."""
    return name.removeprefix(POSITION) if name.startswith(POSITION) else None
