"""What the nodes of drawn graphs are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arvis.domain.workflows import POSITION
from arvis.graphs.agent.tools import ToolRules
from arvis.plugins import NoPlugins, Plugins
from arvis.ports.store import Store
from arvis.workflows.document.kinds import Kind

#: What the engine calls the nodes that every drawn graph has, and the gate before the last of them.
BEGIN, FINISH, LAST = "begin", "finish", "last"


@dataclass(frozen=True, slots=True)
class NodeParts:
    """`zone` is the daemon's; `rules` say how tools may be used, `plugins` bring tools to the agents that have them."""

    store: Store
    rules: ToolRules
    zone: str
    new_id: Callable[[], str]
    plugins: Plugins = field(default_factory=NoPlugins)


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node as it is drawn. `label` is what people and templates call it; `ways` are the connections that lead on from it (without those
    to subagents), `document` the whole canonical document, `subagents` the ids of the agents that are its tools."""

    id: str
    kind: Kind
    label: str
    data: Mapping[str, Any]
    ways: tuple[Mapping[str, Any], ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict)
    subagents: Sequence[str] = ()


def name_of(node_id: str) -> str:
    """What the engine calls a drawn node, and the positions at it."""
    return f"{POSITION}{node_id}"


def drawn_id(name: str) -> str | None:
    """The id of the drawn node that the engine calls so; None where it is none."""
    return name.removeprefix(POSITION) if name.startswith(POSITION) else None
