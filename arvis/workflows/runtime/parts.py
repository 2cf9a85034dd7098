"""The data and services from which nodes of workflow graphs are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.workflows import POSITION
from arvis.graphs.agent.tools import ToolRules
from arvis.plugins import NoPlugins, Plugins
from arvis.ports.store import Store
from arvis.workflows.document.kinds import Kind

#: The engine's names of the first and the last node of every workflow graph, and of the gate before `FINISH`.
BEGIN, FINISH, LAST = "begin", "finish", "last"


@dataclass(frozen=True, slots=True)
class NodeParts:
    """The services that nodes use."""

    store: Store
    #: The rules for the use of tools.
    rules: ToolRules
    #: The plugins, which add tools to the agents that use them.
    plugins: Plugins = field(default_factory=NoPlugins)


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node of the document."""

    id: str
    kind: Kind
    #: The name by which people and templates refer to the node.
    label: str
    data: Mapping[str, Any]
    #: The outgoing connections, without those to subagents.
    ways: tuple[Mapping[str, Any], ...] = ()
    #: The whole canonical document.
    document: Mapping[str, Any] = field(default_factory=dict)
    #: The ids of the nodes that are subagents of this node.
    subagents: Sequence[str] = ()


def name_of(node_id: str) -> str:
    """Return the engine's name for a node of the document."""
    return f"{POSITION}{node_id}"


def drawn_id(name: str) -> str | None:
    """Return the id of the document's node with this name in the engine; None if no node of the document has it."""
    return name.removeprefix(POSITION) if name.startswith(POSITION) else None
