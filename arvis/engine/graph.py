"""Graphs: their nodes, what a node reads and may do (`NodeContext`), and the decisions that it returns.

Nodes decide; the engine commits; the queue retries. A node acts outside the graph in two ways: `once` and `record`.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, Protocol

from arvis.domain.events import Event
from arvis.domain.executions import Answer, Cursor, Effect, EffectState, Execution, WaitKind
from arvis.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class DurableWrite:
    """A fact that stays true even if another process has the job now, such as money that a call has cost. It is
    written even if the job was taken away, and may be written several times."""

    script: Callable[[Transaction], object]

    def __call__(self, tx: Transaction) -> None:
        self.script(tx)


@dataclass(frozen=True, slots=True)
class StepWrite:
    """A fact about the step itself. It is not written when the node returned no decision, because the node is then
    visited again, or never."""

    script: Callable[[Transaction], object]

    def __call__(self, tx: Transaction) -> None:
        self.script(tx)


P = ParamSpec("P")
Fact = Callable[[Transaction], None]


class EffectInterrupted(Exception):
    """A process died during an effect that must not be repeated: the effect may have happened. `about` describes the
    effect to people."""

    def __init__(self, name: str, about: str = "") -> None:
        super().__init__(name)
        self.name = name
        self.about = about


@dataclass(frozen=True, slots=True)
class Memory:
    """The effects of a visit, by name. `allowed` holds the answered question that lets an interrupted effect run
    again; `skipped` holds effects that a person decided not to repeat: they count as finished."""

    effects: Mapping[str, Effect] = field(default_factory=dict)
    allowed: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[Effect, ...] = ()


class NodeContext:
    """The context of one visit. Nodes never write the database: they return a decision, and may add facts (`record`)
    to the commit of their step. `keep` makes an effect durable at once, fenced by the lease of the job."""

    def __init__(
        self,
        *,
        execution: Execution,
        job_id: str,
        cursor_id: str,
        visit: int,
        value: Any,
        answer: Answer | None,
        carried: Any,
        memory: Memory,
        keep: Callable[[Effect], Awaitable[None]],
        publish: Callable[[Event], None],
        now: Callable[[], int],
        branches: int = 1,
        visited: int = 0,
    ) -> None:
        self.execution = execution
        #: Number of finished visits of this execution. (Questions, calls and joins are steps, but no visits.)
        self.visited = visited
        #: Number of positions of the execution, with this one.
        self.branches = branches
        self.job_id = job_id
        self.state: Mapping[str, Any] = execution.state
        self.value = value
        self.answer = answer
        #: Rows that the graph's opening or the visit before this one read in the same moment. None after a commit or
        #: a restart, so no node may depend on it.
        self.carried = carried
        self.carrying: Any = None
        self.publish_now = publish
        self.called_outside = False
        self.facts: list[Fact] = []
        #: Events that are published after the commit of the step.
        self.after_commit: list[Event] = []
        #: The same when this visit is made again after a crash, and no other's.
        self.visit = f"{cursor_id}-{visit}"
        self.place = (cursor_id, visit)
        self.unkept: list[Effect] = []
        self._cursor_id = cursor_id
        self._visit = visit
        self._effects = dict(memory.effects)
        self._allowed = memory.allowed
        self._keep = keep
        self._keeping = asyncio.Lock()
        self._going = 0
        self.now = now

    async def once(
        self, name: str, effect: Callable[[], Awaitable[Any]], *, repeatable: bool = True, about: str = ""
    ) -> Any:
        """Make an effect outside the graph and return its result (plain JSON). A repeated visit returns the stored
        result.

        The result of a repeatable effect becomes durable before the next effect begins, or with the step. An effect
        that is not repeatable first stores a `started` row; after a crash that left only this row a person is asked.
        Several effects may run at the same time: each is then durable as soon as it ends.
        """
        known = self.known(name)
        if known is not None and known.state is EffectState.FINISHED:
            return known.result
        if known is not None:
            raise EffectInterrupted(name, about)
        await self.flush()
        self.called_outside = True
        if not repeatable:
            async with self._keeping:
                await self._keep(self._effect(name, EffectState.STARTED, self._allowed.get(name)))
        self._going += 1
        try:
            result = await effect()
        finally:
            self._going -= 1
        self.unkept.append(self._effect(name, EffectState.FINISHED, result))
        if not repeatable or self._going:
            await self.flush()
        return result

    def known(self, name: str) -> Effect | None:
        """Return an effect of this visit, stored or just finished."""
        return next((effect for effect in self.unkept if effect.name == name), self._effects.get(name))

    def take(self, name: str, result: Any) -> None:
        """Store this result (plain JSON) for an effect that needs no call. It becomes durable with this step, and not
        before."""
        effect = self._effect(name, EffectState.FINISHED, result)
        self._effects[name] = effect
        self.record_of_step(_put, effect)

    def keep_outcomes(self) -> None:
        """Keep the results of this visit's effects in the database after its step."""
        for effect in self.unkept:
            self.record(_put, effect)

    def record(
        self, script: Callable[Concatenate[Transaction, P], object], /, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Add a fact to the commit of this step (also made when the node raises afterwards)."""

        def fact(tx: Transaction) -> None:
            script(tx, *args, **kwargs)

        self.facts.append(fact)

    def record_of_step(
        self, script: Callable[Concatenate[Transaction, P], object], /, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Add a fact that is made with this step or not at all, also where the node raises afterwards."""
        self.facts.append(StepWrite(lambda tx: script(tx, *args, **kwargs)))

    def publish_after_commit(self, event: Event) -> None:
        """Publish this once the step is committed: it is about rows that others will read then."""
        self.after_commit.append(event)

    def carry_over(self, found: Any) -> None:
        """Pass rows that were read here to the node that is visited next. They are not stored."""
        self.carrying = found

    def commit_first(self) -> None:
        """Commit this step before the next node is visited, because that one reads what was recorded here."""
        self.called_outside = True

    async def flush(self) -> None:
        """Make durable what ended and is not yet."""
        async with self._keeping:
            while self.unkept:
                last = self.unkept[0]
                await self._keep(last)
                self._effects[last.name] = self.unkept.pop(0)

    def _effect(self, name: str, state: EffectState, result: Any) -> Effect:
        return Effect(self.execution.id, self._cursor_id, self._visit, name, state, result, self.now())


def _put(tx: Transaction, effect: Effect) -> None:
    tx.executions.put_effect(effect)


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
