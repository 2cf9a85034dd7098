"""The graphs of workflow executions: each execution uses the version with which it began, regardless of later
changes."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from arvis.domain.errors import Unprocessable
from arvis.domain.executions import Execution
from arvis.domain.workflows import PREFIX, STATE, WorkflowVersion
from arvis.engine.decisions import Graph
from arvis.ports.store import Transaction
from arvis.workflows.compiler import compile_document, refusal
from arvis.workflows.runtime.parts import NodeParts

#: Maximum compiled graphs that are kept; the least recently used are dropped first.
_MOST_KEPT = 64


class WorkflowGraphs:
    """Compiles versions of workflows, each once: a version never changes."""

    def __init__(self, *, parts: NodeParts) -> None:
        self._parts = parts
        self._kept: OrderedDict[tuple[str, int], Graph] = OrderedDict()
        self._lock = Lock()  # reads of the store run in several threads

    def find(self, tx: Transaction, execution: Execution) -> Graph | None:
        """Return the graph of this execution; None if it runs no workflow. If its version is missing or has errors,
        the graph fails the run."""
        if not execution.graph.startswith(PREFIX) or STATE not in execution.state:
            return None
        about = execution.state[STATE]
        key = (str(about["id"]), int(about["version"]))
        with self._lock:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return known
        version = tx.workflows.version(*key)
        if version is None:
            return refusal(execution.graph, f"There is no version {key[1]} of this workflow.")
        if version.problems:
            return refusal(execution.graph, f"Version {key[1]} of this workflow cannot run.")
        graph = self._compiled(version, execution.graph)
        with self._lock:
            self._kept[key] = graph
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return graph

    def _compiled(self, version: WorkflowVersion, name: str) -> Graph:
        try:
            return compile_document(version.document, self._parts, name)
        except Unprocessable as error:
            return refusal(name, " ".join(filter(None, [error.what, error.fix])))
