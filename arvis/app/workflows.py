"""The graphs that people draw, made of the same parts as ours."""

from __future__ import annotations

from arvis.app.graphs import GraphParts
from arvis.workflows.registry import DrawnGraphs
from arvis.workflows.runtime.parts import NodeParts


def drawn_graphs(parts: GraphParts) -> DrawnGraphs:
    return DrawnGraphs(
        parts=NodeParts(
            store=parts.store,
            rules=parts.tools,
            zone=parts.tools.timezone,
            new_id=parts.new_id,
            plugins=parts.plugins,
        )
    )
