"""The graphs of workflows that people draw, built with the same parts as the built-in graphs."""

from __future__ import annotations

from arvis.app.graphs import GraphParts
from arvis.workflows.compiler import WorkflowGraphs
from arvis.workflows.runtime.parts import NodeParts


def drawn_graphs(parts: GraphParts) -> WorkflowGraphs:
    return WorkflowGraphs(
        parts=NodeParts(
            store=parts.store,
            rules=parts.tools,
            zone=parts.tools.timezone,
            new_id=parts.new_id,
            plugins=parts.plugins,
        )
    )
