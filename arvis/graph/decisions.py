"""What a graph is made of and what its nodes may decide. Nodes decide; the engine commits; the queue retries."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arvis.domain.executions import Execution, WaitKind
from arvis.graph.context import NodeContext
from arvis.ports.store import Transaction

#: The edge that ends a branch.
END = "end"


class _Decision:
    """`changes` are merged into the execution's state by the commit of this step; plain JSON only."""

    __slots__ = ("changes",)

    def __init__(self, changes: Mapping[str, Any]) -> None:
        self.changes = changes

    @property
    def kind(self) -> str:
        return type(self).__name__.lower()


class Next(_Decision):
    """Go where the node's edges say, with `value` for the node there."""

    __slots__ = ("value",)

    def __init__(self, value: Any = None, /, **changes: Any) -> None:
        super().__init__(changes)
        self.value = value


class Goto(_Decision):
    """Go to this node, whatever the edges say."""

    __slots__ = ("node", "value")

    def __init__(self, node: str, value: Any = None, /, **changes: Any) -> None:
        super().__init__(changes)
        self.node = node
        self.value = value


class Again(_Decision):
    """Visit the same node once more with the same value."""

    __slots__ = ()

    def __init__(self, **changes: Any) -> None:
        super().__init__(changes)


class End(_Decision):
    """End the whole execution with this result; other branches end with it."""

    __slots__ = ("value",)

    def __init__(self, value: Any = None, /, **changes: Any) -> None:
        super().__init__(changes)
        self.value = value


class Pause(_Decision):
    """Ask and wait. The node is visited again with `answer` set; `until` in ms is the deadline (for a timer: the
    time to go on)."""

    __slots__ = ("choices", "prompt", "subject", "until", "wait_kind")

    def __init__(
        self,
        kind: WaitKind,
        prompt: str,
        *,
        until: int | None = None,
        choices: Sequence[str] = (),
        subject: str | None = None,
        **changes: Any,
    ) -> None:
        super().__init__(changes)
        self.wait_kind = kind
        self.prompt = prompt
        self.until = until
        self.choices = tuple(choices)
        self.subject = subject


class Call(_Decision):
    """Run another graph as a child; the node is visited again with the child's result as `answer`."""

    __slots__ = ("graph", "state")

    def __init__(self, graph: str, state: Mapping[str, Any], /, **changes: Any) -> None:
        super().__init__(changes)
        self.graph = graph
        self.state = state


Decision = Next | Goto | Again | End | Pause | Call
Node = Callable[[NodeContext], Awaitable[Decision]]
Edge = str | Sequence[str] | Callable[[Mapping[str, Any], Any], str | Sequence[str]]
Opening = Callable[[Transaction, Execution, int], Any]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by name and the edges between them. A list of targets opens parallel branches. `opening` is a script that reads
    (at a time in ms) what the first node works on: in one look with the execution, and handed to that node."""

    name: str
    start: str
    nodes: Mapping[str, Node]
    edges: Mapping[str, Edge]
    max_steps: int = 500
    max_repeats: int = 40
    opening: Opening | None = None

    @property
    def version(self) -> str:
        """A hash of the shape, by which a sleeping execution notices that its graph changed."""
        shape = [self.start, *sorted(self.nodes)]
        shape += [f"{node}>{edge if not callable(edge) else '?'}" for node, edge in sorted(self.edges.items())]
        return hashlib.sha256("\n".join(shape).encode()).hexdigest()[:16]

    def targets(self, node: str, state: Mapping[str, Any], value: Any) -> list[str]:
        """Where `Next` leads from here; empty at the end of a branch."""
        edge = self.edges.get(node, END)
        chosen = edge(state, value) if callable(edge) else edge
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        return [name for name in names if name != END]
