"""The work of each kind of node: one module for each, with `make(spec, parts)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arvis.engine.decisions import Node
from arvis.workflows.nodes import (
    agent,
    approval,
    condition,
    if_,
    loop,
    merge,
    parallel,
    response,
    router,
    start,
    sub_workflow,
    tool_call,
    transfer,
    unknown,
    user_input,
    wait,
)
from arvis.workflows.runtime.parts import NodeParts, NodeSpec

Make = Callable[[NodeSpec, NodeParts], Node]

_MAKERS: Mapping[str, Make] = {
    "start": start.make,
    "trigger": start.make,
    "if": if_.make,
    "router": router.make,
    "condition": condition.make,
    "wait": wait.make,
    "loop": loop.make,
    "parallel": parallel.make,
    "merge": merge.make,
    "agent": agent.make,
    "tool-call": tool_call.make,
    "approval": approval.make,
    "user-input": user_input.make,
    "response": response.make,
    "sub-workflow": sub_workflow.make,
    "transfer": transfer.make,
}


def make_node(spec: NodeSpec, parts: NodeParts) -> Node:
    """Make the node of this kind, or the one for unknown kinds."""
    return _MAKERS.get(spec.kind.name, unknown.make)(spec, parts)
