"""The scripts of the engine: what a walk reads at its beginning, and the commits of its steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arvis.domain.errors import LeaseLost
from arvis.domain.executions import Cursor, Effect, Execution, ExecutionStatus, Wait
from arvis.domain.jobs import CALLED, Done, Job, Settlement, Snooze
from arvis.engine import lifecycle
from arvis.engine.context import Fact
from arvis.engine.decisions import Graph
from arvis.engine.unit_of_work import ExecutionUpdate
from arvis.ports.store import Transaction

#: The last words of a walk: part of the commit that ends the execution (and its job) or sends it to sleep.
Closing = Callable[[Transaction, int], None]
#: After so long (ms) work that waits for its children looks whether they are done, although nobody said so.
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
    """What the first node of an execution works on, where its graph says."""
    if graph is None or graph.opening is None or execution.status is not ExecutionStatus.RUNNING:
        return None
    return graph.opening(tx, execution, now)


def commit(
    tx: Transaction, job: Job, progress: ExecutionUpdate, *, closing: Closing | None, effect: Effect | None, now: int
) -> list[str]:
    """One step of an execution, or an effect on the way to it; with `closing` also the end of the job, and of the
    execution if it ended. Returns the jobs of its children that end with it."""
    ends_others = closing is not None and progress.ended and progress.has_asked
    if ends_others:
        lifecycle.hold_children(tx, progress.execution.id)
    kept = tx.jobs.settle(job, _rest_of(tx, job, progress, now), now) if closing is not None else tx.jobs.held(job)
    if not kept:
        raise LeaseLost("The job was taken away while it ran")
    progress.write(tx)
    if effect is not None:
        tx.executions.put_effect(effect)
    if closing is None:
        return []
    stopped = lifecycle.end_branches(tx, progress.execution.id, now) if ends_others else []
    closing(tx, now)
    if progress.ended:
        lifecycle.answer_parent(tx, progress.execution, now)
    return stopped


def _rest_of(tx: Transaction, job: Job, progress: ExecutionUpdate, now: int) -> Settlement:
    """Return how the job ends. The job of an execution that waits only for its children stays at the head of its lane, so
    that no later message overtakes the work; it runs again after LOOK_AGAIN_MS even if no child answers. It runs again at
    once where an answer arrived during this walk, because `lifecycle.answer` adds no job beside a running one."""
    if progress.becoming:
        return Snooze(now, CALLED)
    if progress.ended:
        return Done()
    live = tx.jobs.live_of_execution(
        progress.execution.id
    )  # holds the job: an answer comes before or after this commit
    if progress.is_outdated(tx.waits.answered(progress.execution.id)):
        return Snooze(now, CALLED)
    if not progress.waits_for_children or any(each.id != job.id for each in live):
        return Done()
    return Snooze(now + LOOK_AGAIN_MS, CALLED)


def note_change(tx: Transaction, *, execution: Execution, now: int) -> None:
    """Its graph was changed while it slept: whoever asks why it went another way can read it."""
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
