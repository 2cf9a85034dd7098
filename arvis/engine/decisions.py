"""Graphs and the decisions of their nodes. Nodes decide; the engine commits; the queue retries."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from arvis.domain.executions import Cursor, Execution, WaitKind
from arvis.engine.context import NodeContext
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
        """The name in `steps.decision`."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()


class Next(_Decision):
    """Go where the node's edges say, with `value` for the node there."""

    __slots__ = ("value",)

    def __init__(self, value: Any = None, /, **changes: Any) -> None:
        super().__init__(changes)
        self.value = value


class Goto(_Decision):
    """Go to this node instead of the edges' target."""

    __slots__ = ("node", "value")

    def __init__(self, node: str, value: Any = None, /, **changes: Any) -> None:
        super().__init__(changes)
        self.node = node
        self.value = value


class Repeat(_Decision):
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


class Fail(_Decision):
    """End the whole execution as failed; other branches end with it."""

    __slots__ = ("error",)

    def __init__(self, error: str, /, **changes: Any) -> None:
        super().__init__(changes)
        self.error = error


class SwitchGraph(_Decision):
    """Continue at the start of another graph, as the same execution with the same state. Only a graph without
    branches may decide so."""

    __slots__ = ("graph",)

    def __init__(self, graph: str, /, **changes: Any) -> None:
        super().__init__(changes)
        self.graph = graph


class Pause(_Decision):
    """Ask and wait. The node is visited again with `answer` set; `until` in ms is the deadline (for a timer: its
    end)."""

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


Decision = Next | Goto | Repeat | End | Fail | SwitchGraph | Pause | Call
Node = Callable[[NodeContext], Awaitable[Decision]]
Edge = str | Sequence[str] | Callable[[Mapping[str, Any], Any], str | Sequence[str]]
Opening = Callable[[Transaction, Execution, int], Any]


@dataclass(frozen=True, slots=True)
class Opened:
    """The result of a gate that opens: the positions `taken` become one, at the gate's target with this value. With
    `through` False they end there. `changes` are merged into the execution's state."""

    taken: Sequence[str]
    value: Any = None
    through: bool = True
    changes: Mapping[str, Any] = field(default_factory=dict)


#: Called with the positions at a gate, and all others; pure arithmetic.
Opener = Callable[[Sequence[Cursor], Collection[Cursor], Mapping[str, Any]], Opened | None]


class Watch(Protocol):
    """Remembers why a gate is shut, so that not every step asks about every position again. One watch serves one gate of
    one execution until the gate opens."""

    def is_shut(
        self,
        arrived: Sequence[Cursor],
        others: Collection[Cursor],
        live: Mapping[str, Cursor],
        state: Mapping[str, Any],
    ) -> bool:
        """Return True if the gate is certainly shut, and False if the opener must decide. `arrived` are the positions
        that reached the gate since the last call; `live` are all positions by id."""
        ...


@dataclass(frozen=True, slots=True)
class Gate:
    """A join of branches: positions wait here until it opens, and continue as one at the node `target`. Edges lead to
    it by its own name. `title` is its name for people (empty: that of the target). A gate with `last` holds positions
    without further work; it never makes an execution fail. Without a `watch` the opener is called after every step."""

    target: str
    open: Opener
    title: str = ""
    last: bool = False
    watch: Callable[[], Watch] | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes by name and the edges between them. A list of targets opens parallel branches. `opening` is a script that
    reads the rows for the first node (at a time in ms), in the same snapshot as the execution. `gates` are by name.
    While a question of one of the `breaks` is open, no position begins another node; of several positions at such a
    node, one asks after the other. An execution that would have more than `max_branches` positions at once fails.
    `counts_visits`: its nodes read the number of visits (`NodeContext.visited`)."""

    name: str
    start: str
    nodes: Mapping[str, Node]
    edges: Mapping[str, Edge]
    max_steps: int = 500
    counts_visits: bool = False
    max_repeats: int = 40
    opening: Opening | None = None
    gates: Mapping[str, Gate] = field(default_factory=dict)
    breaks: frozenset[str] = frozenset()
    max_branches: int = 10_000

    @property
    def version(self) -> str:
        """A hash of the shape, by which a sleeping execution notices that its graph changed."""
        shape = [self.start, *sorted(self.nodes)]
        shape += [f"{node}>{edge if not callable(edge) else '?'}" for node, edge in sorted(self.edges.items())]
        return hashlib.sha256("\n".join(shape).encode()).hexdigest()[:16]

    def targets(self, node: str, state: Mapping[str, Any], value: Any) -> list[str]:
        """Return the targets of `Next` from here; none at the end of a branch."""
        edge = self.edges.get(node, END)
        chosen = edge(state, value) if callable(edge) else edge
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        return [name for name in names if name != END]
