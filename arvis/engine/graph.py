"""Graphs: their nodes, the data and actions of a node (`NodeContext`), and the decisions that a node returns.

Nodes decide, the engine commits, the queue retries. Besides its decision, a node has two ways to act: `once` makes an
effect, and `record` adds a write to the commit of the step.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol

from arvis.domain.dataclass import dataclass
from arvis.domain.events import Event
from arvis.domain.executions import Answer, Cursor, Effect, EffectState, Execution, WaitKind
from arvis.domain.messages import StoredMessage
from arvis.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class DurableWrite:
    """A write that is correct even if this process has lost the lease of the job, such as the cost of a model call. The
    engine always makes this write, and perhaps several times."""

    script: Callable[[Transaction], object]

    def __call__(self, tx: Transaction) -> None:
        self.script(tx)


@dataclass(frozen=True, slots=True)
class StepWrite:
    """A write about the step itself. It is made only if the node returned a decision, because without a decision the
    step does not exist."""

    script: Callable[[Transaction], object]

    def __call__(self, tx: Transaction) -> None:
        self.script(tx)


P = ParamSpec("P")
Write = Callable[[Transaction], None]


class EffectInterrupted(Exception):
    """The error for an effect that is not repeatable and was started earlier, but has no stored result. The effect may
    have happened. `about` describes the effect to people."""

    def __init__(self, name: str, about: str = "") -> None:
        super().__init__(name)
        self.name = name
        self.about = about


@dataclass(frozen=True, slots=True)
class Memory:
    """The effects of a visit."""

    #: The stored effects, by name.
    effects: Mapping[str, Effect] = field(default_factory=dict)
    #: The ids of the answered questions that permit an interrupted effect to run again, by the name of the effect.
    allowed: Mapping[str, str] = field(default_factory=dict)
    #: The effects that a person decided not to repeat. They count as finished.
    skipped: tuple[Effect, ...] = ()


class NodeContext:
    """The context of one visit. A node never writes to the database. It returns a decision, and can add writes to the
    commit of its step (`record`). `keep` stores an effect immediately, or raises `LeaseLost`."""

    def __init__(
        self,
        *,
        execution: Execution,
        job_id: str,
        cursor_id: str,
        visit: int,
        value: Any,
        answer: Answer | None,
        prefetched: Any,
        memory: Memory,
        keep: Callable[[Effect], Awaitable[None]],
        publish: Callable[[Event], None],
        now: Callable[[], int],
        branches: int = 1,
        visited: int = 0,
    ) -> None:
        self.execution = execution
        #: The number of finished visits of this execution. It is correct only if `counts_visits` of the graph is True.
        #: (Questions, calls and joins are steps, but not visits.)
        self.visited = visited
        #: The number of positions of the execution, including this position.
        self.branches = branches
        self.job_id = job_id
        self.state: Mapping[str, Any] = execution.state
        self.value = value
        self.answer = answer
        #: Rows that the graph's `opening` or the previous visit has just read. None after a commit or a restart, so a
        #: node must be able to read the rows itself.
        self.prefetched = prefetched
        self.carried_over: Any = None
        self.publish_now = publish
        self.called_outside = False
        self.writes: list[Write] = []
        #: Events that are published after the commit of the step.
        self.after_commit: list[Event] = []
        #: The id of this visit. A visit that is repeated after a crash keeps its id.
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
        """Make an effect and return its result (plain JSON). If the visit is repeated, return the stored result.

        The result of a repeatable effect is stored before the next effect begins; if no effect follows, it is stored
        with the step. An effect that is not repeatable is stored with the state `started` before it begins. If it is
        still `started` after a crash, a person is asked. If several effects run at the same time, each result is stored
        as soon as its effect ends.
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
        """Return the effect of this visit with this name, even if the effect's result is not stored yet. Return None if
        the visit has no such effect."""
        return next((effect for effect in self.unkept if effect.name == name), self._effects.get(name))

    def take(self, name: str, result: Any) -> None:
        """Store this result (plain JSON) as the result of the effect `name`, without making the effect. It is stored
        with this step."""
        effect = self._effect(name, EffectState.FINISHED, result)
        self._effects[name] = effect
        self.record_of_step(_put, effect)

    def keep_outcomes(self) -> None:
        """Store the results of this visit's effects together with its step. Without this call, the results that are not
        yet stored are dropped when the visit ends."""
        for effect in self.unkept:
            self.record(_put, effect)

    def record(
        self, script: Callable[Concatenate[Transaction, P], object], /, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Add a write to the commit of this step. The write is made even if the node raises an error afterwards."""

        def write(tx: Transaction) -> None:
            script(tx, *args, **kwargs)

        self.writes.append(write)

    def record_of_step(
        self, script: Callable[Concatenate[Transaction, P], object], /, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Add a write to the commit of this step. The write is dropped if the node raises an error afterwards."""
        self.writes.append(StepWrite(lambda tx: script(tx, *args, **kwargs)))

    def publish_after_commit(self, event: Event) -> None:
        """Publish this event after the commit of the step, because its subscribers read rows that the commit writes."""
        self.after_commit.append(event)

    def carry_over(self, found: Any) -> None:
        """Pass rows that this node has read to the next node, in memory only."""
        self.carried_over = found

    def commit_first(self) -> None:
        """Commit this step before the next node is visited. A node calls this function if the next node reads rows that
        this step writes."""
        self.called_outside = True

    async def flush(self) -> None:
        """Store the results of the effects that have ended and are not stored yet."""
        if not self.unkept:
            return
        async with self._keeping:
            while self.unkept:
                last = self.unkept[0]
                await self._keep(last)
                self._effects[last.name] = self.unkept.pop(0)

    def _effect(self, name: str, state: EffectState, result: Any) -> Effect:
        return Effect(self.execution.id, self._cursor_id, self._visit, name, state, result, self.now())


def _put(tx: Transaction, effect: Effect) -> None:
    tx.executions.put_effect(effect)


#: The target of an edge that ends the branch.
END = "end"


class _Decision:
    """The base of the decisions. The commit of the step merges `changes` (plain JSON) into the execution's state."""

    __slots__ = ("changes",)
    #: The name of the decision in the column `steps.decision`, such as `switch_graph`.
    kind: ClassVar[str]

    def __init__(self, changes: Mapping[str, Any]) -> None:
        self.changes = changes

    def __init_subclass__(cls) -> None:
        cls.kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


class Next(_Decision):
    """Follow the node's edges. The next nodes receive `value`: plain JSON, or an object with a method `to_json`. If such
    an object must be stored before the next visit, the node receives its JSON."""

    __slots__ = ("value",)

    def __init__(self, value: Any = None, /, **changes: Any) -> None:
        super().__init__(changes)
        self.value = value


class Goto(_Decision):
    """Go to this node instead of the targets of the edges."""

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
    """Continue at the start of another graph, as the same execution with the same state. Only graphs without branches
    may use this decision."""

    __slots__ = ("graph",)

    def __init__(self, graph: str, /, **changes: Any) -> None:
        super().__init__(changes)
        self.graph = graph


class Pause(_Decision):
    """Ask a question and wait. After the answer the node is visited again, and `answer` is set. `until` (ms) is the
    deadline of the question, or the end of a timer."""

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
    """Run another graph as a child execution. When it has ended, the node is visited again with its result as
    `answer`."""

    __slots__ = ("graph", "state")

    def __init__(self, graph: str, state: Mapping[str, Any], /, **changes: Any) -> None:
        super().__init__(changes)
        self.graph = graph
        self.state = state


Decision = Next | Goto | Repeat | End | Fail | SwitchGraph | Pause | Call
Node = Callable[[NodeContext], Awaitable[Decision]]
Edge = str | Sequence[str] | Callable[[Mapping[str, Any], Any], str | Sequence[str]]
Opening = Callable[[Transaction, Execution, int, Sequence[StoredMessage] | None], Any]


@dataclass(frozen=True, slots=True)
class Opened:
    """The result of a gate that opens."""

    #: The ids of the positions that are joined to one position at the gate's target.
    taken: Sequence[str]
    #: The value of the new position.
    value: Any = None
    #: If False, the positions `taken` end at the gate and do not continue.
    through: bool = True
    #: Changes that are merged into the execution's state.
    changes: Mapping[str, Any] = field(default_factory=dict)


#: A pure function that decides if a gate opens. It returns None if the gate stays shut. Its arguments are the positions
#: at the gate, all other positions, and the state.
Opener = Callable[[Sequence[Cursor], Collection[Cursor], Mapping[str, Any]], Opened | None]


class Watch(Protocol):
    """A stored reason why a gate is shut. It saves the opener from examining every position after every step. A watch
    belongs to one gate of one execution and is dropped when the gate opens."""

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
    """A join of branches: positions wait here until the gate opens, and then continue as one position. Edges lead to
    the name of the gate."""

    #: The node at which the joined position continues.
    target: str
    open: Opener
    #: The name of the gate for people. If empty, it is the name of the target.
    title: str = ""
    #: True for the gate at which finished branches wait for the other branches. An error about gates that stay shut
    #: does not name this gate.
    last: bool = False
    #: A function that makes the watch of the gate. Without a watch, the opener is called after every step.
    watch: Callable[[], Watch] | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph: nodes by name and the edges between them. An edge with several targets opens parallel branches."""

    name: str
    start: str
    nodes: Mapping[str, Node]
    edges: Mapping[str, Edge]
    max_steps: int = 500
    #: True if the nodes of the graph read `NodeContext.visited`.
    counts_visits: bool = False
    #: The maximum number of visits of one node in a row.
    max_repeats: int = 40
    #: A function that reads the rows for the first node, in the transaction that reads the execution. It gets the
    #: messages of the execution if they are known.
    opening: Opening | None = None
    #: The gates by name.
    gates: Mapping[str, Gate] = field(default_factory=dict)
    #: The names of nodes whose questions stop the whole execution. While such a question is open, no other position may
    #: begin a node. Only one of these nodes asks at a time.
    breaks: frozenset[str] = frozenset()
    #: The maximum number of positions at the same time. An execution that would exceed it fails.
    max_branches: int = 10_000

    @property
    def version(self) -> str:
        """A hash of the nodes and edges. An execution stores it, so the engine notices if the graph has changed."""
        shape = [self.start, *sorted(self.nodes)]
        shape += [f"{node}>{edge if not callable(edge) else '?'}" for node, edge in sorted(self.edges.items())]
        return hashlib.sha256("\n".join(shape).encode()).hexdigest()[:16]

    def targets(self, node: str, state: Mapping[str, Any], value: Any) -> list[str]:
        """Return the targets of `Next` from this node; an empty list if the branch ends there."""
        edge = self.edges.get(node, END)
        chosen = edge(state, value) if callable(edge) else edge
        names = [chosen] if isinstance(chosen, str) else list(chosen)
        return [name for name in names if name != END]
