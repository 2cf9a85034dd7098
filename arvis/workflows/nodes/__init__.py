"""The functions that make the engine's nodes for the nodes of a workflow, one function for each kind of node and one
module for each group of kinds. For example, `make_user_input(spec, parts)` makes the node of the kind `user-input`.
`make_node` finds the function of a kind by its name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules

from arvis.engine.graph import Node
from arvis.workflows.document.kinds import KINDS
from arvis.workflows.nodes.control_flow import make_unknown
from arvis.workflows.runtime.parts import NodeParts, NodeSpec

_Maker = Callable[[NodeSpec, NodeParts], Node]


def _find_makers() -> Mapping[str, _Maker]:
    """Return the function for each kind. Raise `LookupError` if a kind has no function."""
    defined: dict[str, _Maker] = {}
    for module in iter_modules(__path__):
        defined |= vars(import_module(f"{__name__}.{module.name}"))
    return {kind: defined[f"make_{kind.replace('-', '_')}"] for kind in KINDS}


_MAKERS = _find_makers()


def make_node(spec: NodeSpec, parts: NodeParts) -> Node:
    """Return the engine's node for `spec`. For an unknown kind, the returned node only writes a warning."""
    return _MAKERS.get(spec.kind.name, make_unknown)(spec, parts)
