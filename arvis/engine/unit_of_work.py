"""The progress of one execution between two commits. Decisions are applied in memory, and then all changes are written
together.

Only `write` uses a transaction. The history of steps stores shortened changes; the state stores the full values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, assert_never

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ExecutionError
from arvis.domain.events import Event
from arvis.domain.executions import (
    Cursor,
    Effect,
    Execution,
    ExecutionStatus,
    Step,
    Wait,
    WaitKind,
)
from arvis.domain.jobs import NewJob
from arvis.domain.text import json_writer
from arvis.engine.graph import (
    Call,
    Decision,
    DurableWrite,
    End,
    Fail,
    Gate,
    Goto,
    Graph,
    Next,
    Pause,
    Repeat,
    SwitchGraph,
    Watch,
    Write,
)
from arvis.ports.store import Transaction

#: In the history, a value with more than `LONGEST_NOTED` characters of JSON is shortened to `_SHOWN` characters.
#: Otherwise a loop would store the long value again for each step.
LONGEST_NOTED = 8_000
_SHOWN = 1_000


_written = json_writer()


def noted(changes: Mapping[str, Any]) -> str:
    """Return the changes as JSON for the history, with long values shortened."""
    if not changes:
        return "{}"
    text = _written(changes)
    if len(text) <= LONGEST_NOTED:
        return text
    return _written({name: _short(value) for name, value in changes.items()})


def _short(value: Any) -> Any:
    text = _written(value)
    return value if len(text) <= LONGEST_NOTED else f"{text[:_SHOWN]} [… {len(text)} characters]"


@dataclass(slots=True)
class ExecutionUpdate:
    """The changes of an execution since its last commit."""

    execution: Execution
    graph: Graph
    #: The positions by id.
    cursors: dict[str, Cursor]
    #: The stored questions by id.
    questions: Mapping[str, Wait]
    #: The stored effects by position and visit.
    effects: Mapping[tuple[str, int], Sequence[Effect]]
    new_id: Callable[[], str]
    now: Callable[[], int]
    #: The ids of the stored positions.
    committed: frozenset[str] = frozenset()
    #: Rows that were read for the next node. The next commit drops them.
    prefetched: Any = None
    #: True if the execution continues in another graph, with the next run of the job.
    switching: bool = False
    #: The number of finished visits.
    visited: int = 0
    events: list[Event] = field(default_factory=list)
    _steps: list[Step] = field(default_factory=list)
    _changed: set[str] = field(default_factory=set)
    _writes: list[Write] = field(default_factory=list)
    _waits: list[Wait] = field(default_factory=list)
    _children: list[Execution] = field(default_factory=list)
    _asking: bool = False
    _held: dict[str, dict[str, Cursor]] = field(init=False)
    _arrived: dict[str, list[Cursor]] = field(init=False)
    _watches: dict[str, Watch] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._held = {name: {} for name in self.graph.gates}
        self._arrived = {name: [] for name in self.graph.gates}
        for cursor in self.cursors.values():
            self._note_arrival(cursor)

    def ready(self) -> list[Cursor]:
        """Return the positions that can continue now."""
        if self.ended or self.switching:
            return []
        going = [each for each in self.cursors.values() if self._goes_on(each)]
        if not self.graph.breaks:
            return going
        if any(self._asks(cursor) for cursor in self.cursors.values()):
            return [cursor for cursor in going if cursor.wait_id is not None]
        asking = {cursor.id: cursor for cursor in going if cursor.wait_id is None and cursor.node in self.graph.breaks}
        return [cursor for cursor in going if cursor.id not in asking] or [*asking.values()][:1]

    def _goes_on(self, cursor: Cursor) -> bool:
        return self._is_answered(cursor.wait_id) if cursor.wait_id is not None else cursor.node not in self.graph.gates

    def _asks(self, cursor: Cursor) -> bool:
        """Return True if the position waits for an answer at one of the graph's `breaks`, so that no other position may
        begin a node."""
        open_ = cursor.wait_id is not None and not self._is_answered(cursor.wait_id)
        return open_ and cursor.node in self.graph.breaks

    @property
    def ended(self) -> bool:
        return self.execution.status not in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED}

    @property
    def waits_for_children(self) -> bool:
        """True if every position of the execution waits for a child."""
        known = {**self.questions, **{wait.id: wait for wait in self._waits}}
        waits = [known.get(cursor.wait_id or "") for cursor in self.cursors.values()]
        return not self.ended and bool(waits) and all(wait and wait.kind is WaitKind.CHILD for wait in waits)

    def is_outdated(self, answered: Collection[str]) -> bool:
        """Return True if this update still treats one of the questions `answered` (ids) as open."""
        open_ = (cursor.wait_id for cursor in self.cursors.values() if not self._is_answered(cursor.wait_id or ""))
        return any(wait_id in answered for wait_id in open_)

    @property
    def has_changes(self) -> bool:
        """True if the next commit has rows to write."""
        return bool(self._steps or self._changed or self._writes)

    @property
    def uncommitted(self) -> int:
        """The number of steps in the next commit."""
        return len(self._steps)

    @property
    def has_asked(self) -> bool:
        """True if this execution has ever asked a question or called a child, so that questions may be open."""
        return bool(self.questions) or self._asking

    @property
    def durable_writes(self) -> list[Write]:
        """The writes of the next commit that must be made even if the commit fails."""
        return [write for write in self._writes if isinstance(write, DurableWrite)]

    def take_prefetched(self) -> Any:
        """Return the prefetched rows and drop them, so that only one node uses them."""
        prefetched, self.prefetched = self.prefetched, None
        return prefetched

    def add_writes(self, writes: Sequence[Write], events: Sequence[Event] = ()) -> None:
        """Add writes to the next commit, and events that are published after it."""
        self._writes += writes
        self.events += events

    def apply(self, cursor: Cursor, decision: Decision) -> None:
        """Apply the decision of a node at this position."""
        self._note(cursor.node, decision.kind, decision.changes)
        # A pause or a call interrupts a visit and does not end it. The number of visits stays the same, so the engine
        # finds the effects of this visit again when the node continues.
        ended = not isinstance(decision, Pause | Call)
        self.visited += ended and not isinstance(decision, Repeat)
        visits = cursor.visits + ended
        self._move(replace(cursor, visits=visits), decision)
        self._open_gates()
        if not self.cursors and not self.ended:
            self._end(None)

    def _note(self, node: str, decision: str, changes: Mapping[str, Any]) -> None:
        """Add a step to the history, and merge its changes into the state."""
        number, now, state = self.execution.steps + 1, self.now(), self.execution.state
        self._steps.append(Step(self.execution.id, number, node, decision, noted(changes), now))
        if number > self.graph.max_steps:
            raise ExecutionError(f"The graph {self.graph.name} made more than {self.graph.max_steps} steps")
        if changes:
            # Changed keys move to the end of the state. So the keys are in the order of their changes, even if several
            # changes have the same time.
            state = {**{key: kept for key, kept in state.items() if key not in changes}, **changes}
        self.execution = replace(self.execution, steps=number, state=state, updated_at=now)

    def _open_gates(self) -> None:
        """Open gates until none opens, because positions that pass one gate may reach the next."""
        while not self.ended and any(self._try_gate(name, gate) for name, gate in self.graph.gates.items()):
            """Repeat the check of all gates."""

    def _try_gate(self, name: str, gate: Gate) -> bool:
        held = self._held[name]
        if not held:
            return False
        others = _Elsewhere(self.cursors, held)
        if gate.watch is not None and self._is_shut(name, gate.watch, others):
            return False
        opened = gate.open([*held.values()], others, self.execution.state)
        if opened is None:
            return False
        self._watches.pop(name, None)
        self._arrived[name] = [*held.values()]
        self._note(gate.target, "join" if opened.through else "drop", opened.changes)
        first, *rest = opened.taken
        for cursor_id in rest if opened.through else opened.taken:
            self._drop(cursor_id)
        if opened.through:
            self._put(self._at(self.cursors[first], gate.target, opened.value))
        return True

    def _is_shut(self, name: str, watch: Callable[[], Watch], others: Collection[Cursor]) -> bool:
        if name not in self._watches:
            self._watches[name] = watch()
        arrived, self._arrived[name] = self._arrived[name], []
        return self._watches[name].is_shut(arrived, others, self.cursors, self.execution.state)

    def _move(self, cursor: Cursor, decision: Decision) -> None:
        match decision:
            case Next(value=value):
                self._fan_out(cursor, self.graph.targets(cursor.node, self.execution.state, value), value)
            case Goto(node=node, value=value):
                self._fan_out(cursor, [node], value)
            case Repeat():
                self._put(self._at(cursor, cursor.node, cursor.value))
            case Pause():
                self._wait(cursor, decision)
            case Call(graph=graph, state=state):
                self._call(cursor, graph, dict(state))
            case End(value=value):
                self._end(value)
            case Fail(error=error):
                self._fail(error)
            case SwitchGraph(graph=graph):
                self.execution = replace(self.execution, graph=graph, version="")
                self._put(replace(cursor, node="", value=None, repeats=0, wait_id=None))
                self.switching = True
            case _ as unreachable:
                assert_never(unreachable)

    def _fan_out(self, cursor: Cursor, targets: Sequence[str], value: Any) -> None:
        """Move the cursor to the first target; each further target gets a new cursor."""
        if not targets:
            self._drop(cursor.id)
            if not self.cursors:
                self._end(value)
            return
        if len(self.cursors) + len(targets) - 1 > self.graph.max_branches:
            self._fail(f"The execution would have more than {self.graph.max_branches} branches at once.")
            return
        self._put(self._at(cursor, targets[0], value))
        for target in targets[1:]:
            self._put(self._at(Cursor(self.new_id(), self.execution.id, "", None), target, value))

    def _at(self, cursor: Cursor, node: str, value: Any) -> Cursor:
        if node not in self.graph.nodes and node not in self.graph.gates:
            raise ExecutionError(f"The graph {self.graph.name} has no node {node}")
        repeats = cursor.repeats + 1 if node == cursor.node else 0
        if repeats >= self.graph.max_repeats:
            raise ExecutionError(f"The node {node} was visited {self.graph.max_repeats} times in a row")
        return replace(cursor, node=node, value=value, repeats=repeats, wait_id=None)

    def _wait(self, cursor: Cursor, pause: Pause) -> None:
        wait = Wait(
            id=self.new_id(),
            execution_id=self.execution.id,
            cursor_id=cursor.id,
            kind=pause.wait_kind,
            prompt=pause.prompt,
            choices=pause.choices,
            asked_at=self.now(),
            expires_at=pause.until,
            subject=pause.subject,
            resumes=cursor.wait_id if pause.subject is not None else None,
        )
        self._waits.append(wait)
        self._asking = True
        self._put(replace(cursor, wait_id=wait.id))

    def _call(self, cursor: Cursor, graph: str, state: dict[str, Any]) -> None:
        self._wait(cursor, Pause(WaitKind.CHILD, f"runs {graph}"))
        child_id = self.new_id()
        child = new_execution(
            child_id,
            graph,
            state,
            lane=f"execution:{child_id}",
            priority=self.execution.priority,
            principal_id=self.execution.principal_id,
            parent_wait=self._waits[-1].id,
            now=self.now(),
        )
        self._children.append(child)

    def _end(self, value: Any) -> None:
        self._close(replace(self.execution, status=ExecutionStatus.DONE, result=value))

    def _fail(self, error: str) -> None:
        self._close(replace(self.execution, status=ExecutionStatus.FAILED, error=error))

    def _close(self, ended: Execution) -> None:
        self.execution = ended
        for cursor_id in list(self.cursors):
            self._drop(cursor_id)

    def pause_if_idle(self) -> None:
        """Set the execution to paused. The caller has found that no position can continue without an answer. If all
        positions wait at gates, no answer can arrive, so the execution fails."""
        if self.ended or self.switching:
            return
        if all(cursor.node in self.graph.gates for cursor in self.cursors.values()):
            gates = [self.graph.gates[cursor.node] for cursor in self.cursors.values()]
            names = sorted({gate.title or gate.target for gate in gates if not gate.last})
            self._fail(f"The execution cannot continue, because branches can no longer arrive at {', '.join(names)}.")
        else:
            self.execution = replace(self.execution, status=ExecutionStatus.PAUSED, updated_at=self.now())

    def _is_answered(self, wait_id: str) -> bool:
        return wait_id in self.questions and self.questions[wait_id].answer is not None

    def _put(self, cursor: Cursor) -> None:
        self._forget_place(cursor.id)
        self.cursors[cursor.id] = cursor
        self._note_arrival(cursor)
        self._changed.add(cursor.id)

    def _drop(self, cursor_id: str) -> None:
        self._forget_place(cursor_id)
        self.cursors.pop(cursor_id, None)
        self._changed.add(cursor_id)

    def _note_arrival(self, cursor: Cursor) -> None:
        if cursor.node in self._held:
            self._held[cursor.node][cursor.id] = cursor
            self._arrived[cursor.node].append(cursor)

    def _forget_place(self, cursor_id: str) -> None:
        before = self.cursors.get(cursor_id)
        if before is not None and before.node in self._held:
            del self._held[before.node][cursor_id]

    @property
    def waits(self) -> Sequence[Wait]:
        """The questions that the next commit stores."""
        return self._waits

    def write(self, tx: Transaction) -> None:
        """Write all changes since the last commit: history, state, positions, questions, children, and the writes of
        nodes."""
        tx.executions.save(self.execution)
        tx.executions.add_steps(self._steps)
        tx.executions.drop_cursors(self.execution.id, list(self.committed - self.cursors.keys()))
        for cursor_id in self._changed & self.cursors.keys():
            cursor = self.cursors[cursor_id]
            if hasattr(cursor.value, "to_json"):
                cursor = replace(cursor, value=cursor.value.to_json())
            tx.executions.put_cursor(cursor)
        for wait in self._waits:
            tx.waits.add(wait)
        for child in self._children:
            tx.executions.add(child)
            tx.jobs.add(
                NewJob.advance(child.id, child.lane, child.priority, principal_id=child.principal_id), self.now()
            )
        for write in self._writes:
            write(tx)

    def written(self) -> None:
        """Clear the changes after their commit. `write` does not clear them, because the script that calls `write` may
        run twice."""
        self.committed = frozenset(self.cursors)
        self.prefetched = None
        self._steps, self._writes, self._waits, self._children = [], [], [], []
        self._changed = set()
        self.events = []


class _Elsewhere(Collection[Cursor]):
    """A view of all positions (`live`) except the positions at one gate (`held`)."""

    def __init__(self, live: Mapping[str, Cursor], held: Mapping[str, Cursor]) -> None:
        self._live = live
        self._held = held

    def __iter__(self) -> Iterator[Cursor]:
        return (cursor for cursor in self._live.values() if cursor.id not in self._held)

    def __len__(self) -> int:
        return len(self._live) - len(self._held)

    def __contains__(self, cursor: object) -> bool:
        return any(each is cursor for each in self)


def new_execution(
    execution_id: str,
    graph: str,
    state: dict[str, Any],
    *,
    lane: str,
    priority: int,
    principal_id: str | None,
    now: int,
    parent_wait: str | None = None,
    begun_by: str | None = None,
) -> Execution:
    """Return a new execution. The engine sets the version of its graph at the first run."""
    return Execution(
        id=execution_id,
        graph=graph,
        version="",
        state=state,
        status=ExecutionStatus.RUNNING,
        result=None,
        lane=lane,
        priority=priority,
        principal_id=principal_id,
        parent_wait=parent_wait,
        steps=0,
        error=None,
        created_at=now,
        updated_at=now,
        begun_by=begun_by,
    )
