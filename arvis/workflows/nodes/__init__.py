"""The engine's node for each kind of node in a workflow, one module for each group of kinds. `MAKERS` in a module maps
its kinds to functions `make(spec, parts)` that return such a node."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arvis.engine.graph import Node
from arvis.workflows.nodes import agents, branching, control_flow, other_workflows, people, tools
from arvis.workflows.runtime.parts import NodeParts, NodeSpec

_MAKERS: Mapping[str, Callable[[NodeSpec, NodeParts], Node]] = {
    **control_flow.MAKERS,
    **branching.MAKERS,
    **agents.MAKERS,
    **tools.MAKERS,
    **people.MAKERS,
    **other_workflows.MAKERS,
}


def make_node(spec: NodeSpec, parts: NodeParts) -> Node:
    """Return the engine's node for `spec`. For an unknown kind, the returned node only writes a warning."""
    return _MAKERS.get(spec.kind.name, control_flow.make_unknown)(spec, parts)
