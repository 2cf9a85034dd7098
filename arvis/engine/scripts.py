"""The scripts of the engine: what a walk reads at its beginning, and the commits of its steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from arvis.domain.errors import LeaseLost
from arvis.domain.executions import Cursor, Effect, Execution, ExecutionStatus, Wait
from arvis.domain.jobs import CALLED, Done, Job, Settlement, Snooze
from arvis.engine import lifecycle
from arvis.engine.context import Fact
from arvis.engine.decisions import Graph
from arvis.engine.unit_of_work import ExecutionUpdate
from arvis.ports.store import Transaction

T = TypeVar("T")
#: A script that is part of the commit which ends an execution (and its job) or lets it wait.
OnComplete = Callable[[Transaction, int], T]
#: Interval (ms) in which work that waits for children checks them without a notice.
LOOK_AGAIN_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class Loaded:
    execution: Execution
    cursors: list[Cursor]
    waits: list[Wait]
    effects: list[Effect]
    opened: Any
    graph: Graph | None
    visited: int = 0


#: Finds the graph of an execution that is drawn by people, in the one look that reads the execution.
Drawn = Callable[[Transaction, Execution], Graph | None]


def load(tx: Transaction, execution_id: str, graph_of: Drawn, now: int) -> Loaded | None:
    execution = tx.executions.get(execution_id)
    if execution is None:
        return None
    fresh = execution.steps == 0
    graph = graph_of(tx, execution)
    return Loaded(
        execution,
        tx.executions.cursors(execution_id),
        [] if fresh else tx.waits.of_execution(execution_id),
        tx.executions.effects(execution_id),
        _open(tx, execution, graph, now) if fresh else None,
        graph,
        0 if fresh or graph is None or not graph.counts_visits else tx.executions.visited(execution_id),
    )


def _open(tx: Transaction, execution: Execution, graph: Graph | None, now: int) -> Any:
    """Read the rows for the first node of an execution, where its graph has an opening."""
    if graph is None or graph.opening is None or execution.status is not ExecutionStatus.RUNNING:
        return None
    return graph.opening(tx, execution, now)


def commit(tx: Transaction, job: Job, update: ExecutionUpdate, effect: Effect | None) -> None:
    """Commit steps of an execution that continues, or an effect and the steps that led to it."""
    if not tx.jobs.held(job):
        raise LeaseLost("The job was taken away while it ran")
    update.write(tx)
    if effect is not None:
        tx.executions.put_effect(effect)


@dataclass(frozen=True, slots=True)
class Completed(Generic[T]):
    """The end of a walk."""

    #: Jobs of children that ended with the execution.
    stopped: list[str]
    result: T


def complete(tx: Transaction, job: Job, update: ExecutionUpdate, on_complete: OnComplete[T], now: int) -> Completed[T]:
    """Commit the last steps of a walk, the end of its job, and the script `on_complete`."""
    ends_others = update.ended and update.has_asked
    if ends_others:
        lifecycle.hold_children(tx, update.execution.id)
    if not tx.jobs.settle(job, _settlement(tx, job, update, now), now):
        raise LeaseLost("The job was taken away while it ran")
    update.write(tx)
    stopped = lifecycle.end_branches(tx, update.execution.id, now) if ends_others else []
    result = on_complete(tx, now)
    if update.ended:
        lifecycle.answer_parent(tx, update.execution, now)
    return Completed(stopped, result)


def _settlement(tx: Transaction, job: Job, update: ExecutionUpdate, now: int) -> Settlement:
    """Return how the job ends. The job of an execution that waits only for its children stays at the head of its lane, so
    that no later message overtakes the work; it runs again after LOOK_AGAIN_MS even if no child answers. It runs again at
    once where an answer arrived during this walk, because `lifecycle.answer` adds no job beside a running one."""
    if update.switching:
        return Snooze(now, CALLED)
    if update.ended:
        return Done()
    live = tx.jobs.live_of_execution(update.execution.id)  # holds the job: an answer comes before or after this commit
    if update.is_outdated(tx.waits.answered(update.execution.id)):
        return Snooze(now, CALLED)
    if not update.waits_for_children or any(each.id != job.id for each in live):
        return Done()
    return Snooze(now + LOOK_AGAIN_MS, CALLED)


def note_change(tx: Transaction, *, execution: Execution, now: int) -> None:
    """Note in the timeline that the graph changed while the execution slept, which explains another path."""
    asked = [message.id for message in tx.messages.of_turn(execution.id)]
    tx.timeline.note(asked, "graph_changed", {"graph": execution.graph}, now)


def settle_idle(tx: Transaction, job: Job, execution: Execution, now: int) -> Execution:
    """The execution ended in the meantime (cancelled, or finished by an earlier job): only the job is left."""
    if not tx.jobs.settle(job, Done(), now):
        raise LeaseLost("The job was taken away while it ran")
    return execution


def keep_fenced(tx: Transaction, job: Job, effect: Effect) -> None:
    if not tx.jobs.held(job):
        raise LeaseLost("The job was taken away while it ran")
    tx.executions.put_effect(effect)


def keep_effect(tx: Transaction, effect: Effect) -> None:
    tx.executions.put_effect(effect)


def run_facts(tx: Transaction, facts: list[Fact]) -> None:
    for fact in facts:
        fact(tx)
