"""Drawings without random choices: any order of positions, answers and crashes gives the same visits and the same
result (ADR 0032)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from arvis.domain.executions import Answer, Cursor, Execution, ExecutionStatus, Step, Wait
from arvis.engine.graph import Decision, Graph, Memory, NodeContext
from arvis.engine.unit_of_work import ExecutionUpdate, new_execution
from arvis.ports.store import Transaction
from arvis.workflows.compiler import compile_document
from arvis.workflows.runtime.parts import NodeParts
from tests.flows.drawn_kit import START, drawing, node

#: No drawing of these tests takes more steps.
LONGEST = 5_000


class Plan:
    """A drawing that grows. `add` returns the first node and the last output of a new part."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._ids = itertools.count(1)
        self.nodes: list[dict[str, Any]] = [START]
        self.ways: list[str] = []

    def add(self, room: int) -> tuple[str, str]:
        make: list[Callable[[int], tuple[str, str]]] = [self._task, self._question]
        if room > 1:
            make += [self._row, self._row, self._fork, self._fork, self._loop]
        return self._rng.choice(make)(room)

    def _put(self, kind: str, **data: Any) -> str:
        name = f"{kind[0]}{next(self._ids)}"
        self.nodes.append(node(name, kind, **data))
        return name

    def _task(self, _room: int) -> tuple[str, str]:
        name = self._put("wait", amount=0)
        return name, name

    def _question(self, _room: int) -> tuple[str, str]:
        name = self._put("approval", prompt="Go on?")
        return name, f"{name}:approve"

    def _row(self, room: int) -> tuple[str, str]:
        (first, middle), (other, last) = self.add(room // 2), self.add(room - room // 2)
        self.ways.append(f"{middle} > {other}")
        return first, last

    def _fork(self, room: int) -> tuple[str, str]:
        fork, merge = self._put("parallel"), self._put("merge")
        for _ in range(self._rng.randint(2, 3)):
            first, last = self.add(room // 2)
            self.ways += [f"{fork} > {first}", f"{last} > {merge}"]
        return fork, merge

    def _loop(self, room: int) -> tuple[str, str]:
        loop = self._put("loop", maxIterations=self._rng.randint(1, 3))
        first, last = self.add(room // 2)
        self.ways += [f"{loop}:loop-start > {first}", f"{last} > @loop-back {loop}"]
        return loop, f"{loop}:loop-exit"


def drawn(seed: int, pauses: str) -> Graph:
    plan = Plan(Random(seed))
    first, last = plan.add(8)
    plan.nodes.append(node("last", "wait", amount=0))
    document = drawing(
        *plan.nodes,
        ways=[f"start > {first}", *plan.ways, f"{last} > last"],
        pauses=pauses,
        maxSteps=LONGEST,
        maxVisits=1000,
    )
    store = SimpleNamespace(read=_nobody)
    return compile_document(document, cast(NodeParts, SimpleNamespace(store=store)), "workflow:x")


async def _nobody(*_asked: Any) -> str:
    return "nobody"


@dataclass
class Rows:
    """The committed rows, in place of the parts of a transaction that a commit writes to."""

    execution: Execution
    cursors: dict[str, Cursor]
    questions: dict[str, Wait] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    @property
    def executions(self) -> Rows:
        return self

    @property
    def waits(self) -> Rows:
        return self

    def save(self, execution: Execution) -> None:
        self.execution = execution

    def add_steps(self, steps: list[Step]) -> None:
        self.steps += steps

    def drop_cursors(self, _execution_id: str, cursor_ids: list[str]) -> None:
        for cursor_id in cursor_ids:
            self.cursors.pop(cursor_id, None)

    def put_cursor(self, cursor: Cursor) -> None:
        self.cursors[cursor.id] = cursor

    def add(self, wait: Wait) -> None:
        self.questions[wait.id] = wait


class Run:
    """A random run of a drawing: which position continues, which question is answered, and when the process dies."""

    def __init__(self, graph: Graph, seed: int) -> None:
        self._graph = graph
        self._rng = Random(seed)
        self._time = itertools.count(1)
        state = {"workflow": {"id": "x", "version": 1, "entry": "start", "trigger": "", "input": "in"}, "taint": []}
        execution = new_execution("e", graph.name, state, lane="l", priority=5, principal_id=None, now=0)
        self.rows = Rows(execution, {"c": Cursor("c", "e", "", None)})
        self.most_asking = 0

    def play(self) -> None:
        while self.rows.execution.status in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED}:
            self._live()
            self._answer()

    def _live(self) -> None:
        """Run a process that loads the committed rows and commits now and then; it may die before a commit."""
        progress = self._loaded()
        while ready := progress.ready():
            cursor = self._rng.choice(ready)
            progress.apply(cursor, self._visit(progress, cursor))
            self.most_asking = max(
                self.most_asking, sum(self._is_open(progress, each) for each in progress.cursors.values())
            )
            if self._rng.random() < 0.1:
                return
            if self._rng.random() < 0.5:
                self._commit(progress)
        progress.pause_if_idle()
        self._commit(progress)

    def _is_open(self, progress: ExecutionUpdate, cursor: Cursor) -> bool:
        asked = {**self.rows.questions, **{each.id: each for each in progress.waits}}
        return cursor.wait_id is not None and asked[cursor.wait_id].answer is None

    def _loaded(self) -> ExecutionUpdate:
        order = sorted(self.rows.cursors)  # as the database gives them
        cursors = {each: self.rows.cursors[each] for each in order}
        placed = {
            each: cursor if cursor.node else replace(cursor, node=self._graph.start) for each, cursor in cursors.items()
        }
        return ExecutionUpdate(
            execution=replace(self.rows.execution, status=ExecutionStatus.RUNNING),
            graph=self._graph,
            cursors=placed,
            questions=dict(self.rows.questions),
            effects={},
            new_id=lambda: f"{self._rng.getrandbits(64):016x}",
            now=lambda: next(self._time),
            committed=frozenset(placed),
        )

    def _commit(self, progress: ExecutionUpdate) -> None:
        progress._writes.clear()  # these tests do not read the log
        progress.write(cast(Transaction, self.rows))
        progress.written()

    def _visit(self, progress: ExecutionUpdate, cursor: Cursor) -> Decision:
        asked = progress.questions.get(cursor.wait_id or "")
        context = NodeContext(
            execution=progress.execution,
            job_id="j",
            cursor_id=cursor.id,
            visit=cursor.visits,
            value=cursor.value,
            answer=asked.answer if asked is not None else None,
            prefetched=None,
            memory=Memory(),
            keep=_nobody,  # type: ignore[arg-type]
            publish=lambda _event: None,
            now=lambda: next(self._time),
        )
        return _result(cast(Coroutine[Any, Any, Decision], self._graph.nodes[cursor.node](context)))

    def _answer(self) -> None:
        """Answer one of the open questions."""
        open_ = sorted(each.id for each in self.rows.questions.values() if each.answer is None)
        if open_ and self.rows.execution.status is ExecutionStatus.PAUSED:
            wait_id = self._rng.choice(open_)
            given = Answer({"decision": "approve"}, "ann")
            self.rows.questions[wait_id] = replace(self.rows.questions[wait_id], answer=given)

    @property
    def visited(self) -> Counter[str]:
        return Counter(each.node for each in self.rows.steps if each.decision not in {"pause", "drop", "join"})


def _result(visit: Coroutine[Any, Any, Decision]) -> Decision:
    try:
        visit.send(None)
    except StopIteration as done:
        decision: Decision = done.value
        return decision
    raise AssertionError("a node waited, but these nodes never do")


def _plain(value: Any) -> Any:
    """Remove the times of answers."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if name != "at"}
    return [_plain(each) for each in value] if isinstance(value, list) else value


@settings(max_examples=150)
@given(st.integers(0, 10**9), st.sampled_from(["run", "branch"]), st.integers(0, 10**9))
def test_neither_order_nor_deaths_change_what_is_visited(seed: int, pauses: str, chance: int) -> None:
    graph = drawn(seed, pauses)
    one, other = Run(graph, 1), Run(graph, chance)
    for run in (one, other):
        run.play()
        assert run.rows.execution.status is ExecutionStatus.DONE, run.rows.execution.error
        assert run.rows.cursors == {}
        assert [each.number for each in run.rows.steps] == list(range(1, run.rows.execution.steps + 1))
        assert all(each.answer is not None for each in run.rows.questions.values())
        if pauses == "run":
            assert run.most_asking <= 1
    assert one.visited == other.visited
    ends = [_plain((run.rows.execution.result or {})["output"]) for run in (one, other)]
    assert ends[0] == ends[1]
