"""The engine: walks an execution through its graph, one commit a step, until it ends or waits.

A node that made no outside call is committed together with the next one; the step that ends the execution is
committed together with whatever the caller concludes from it (and with the end of the job). A crash can only lose
the work inside the present node.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from arvis.domain.errors import ExecutionError, LeaseLost
from arvis.domain.events import Event, ExecutionPaused
from arvis.domain.executions import Answer, Cursor, Effect, EffectState, Execution, ExecutionStatus, Wait, WaitKind
from arvis.domain.jobs import Done, Job
from arvis.graph.context import EffectInterrupted, Fact, NodeContext
from arvis.graph.decisions import Call, Decision, Graph, Pause
from arvis.graph.lifecycle import answer_parent
from arvis.graph.progress import Progress
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction

#: What a person may say about an effect that may already have happened.
RUN_AGAIN, SKIP = "run again", "skip"

#: The last words of a walk: part of the commit that ends the execution (and its job) or sends it to sleep.
Closing = Callable[[Transaction, int], None]
#: Asked once, outside the commit, what is to be committed with this end.
Conclude = Callable[[Execution], Closing]


def nothing(_execution: Execution) -> Closing:
    """The conclusion of an execution that nobody waits for."""
    return lambda _tx, _now: None


@dataclass(frozen=True, slots=True)
class _Loaded:
    execution: Execution
    cursors: list[Cursor]
    waits: list[Wait]
    effects: list[Effect]


class Engine:
    """Advances executions. `graphs` by name; ids, time and the bus are handed in."""

    def __init__(
        self,
        *,
        store: Store,
        graphs: Mapping[str, Graph],
        clock: Clock,
        bus: Bus,
        new_id: Callable[[], str],
    ) -> None:
        self._store = store
        self._graphs = graphs
        self._versions = {graph.name: graph.version for graph in graphs.values()}
        self._clock = clock
        self._bus = bus
        self._new_id = new_id

    async def advance(self, job: Job, *, conclude: Conclude = nothing) -> Execution:
        """Walk the job's execution until it ends or waits, and settle the job in the same commit. Returns the
        execution as committed. Raises what a node raised (its position and finished steps are kept), or
        `LeaseLost`, and then nothing more was committed."""
        loaded = await self._store.read(_load, job.execution_id or "")
        if loaded is None:
            raise ExecutionError(f"There is no execution {job.execution_id}")
        if loaded.execution.status not in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED}:
            return await self._store.write(_settle_idle, job, loaded.execution, self._clock.now())
        progress = self._progress(loaded)
        await self._walk(job, progress)
        progress.rest()
        await self._commit(job, progress, closing=conclude(progress.execution))
        return progress.execution

    # -- the walk ------------------------------------------------------------------------------------------

    async def _walk(self, job: Job, progress: Progress) -> None:
        """Visit one position after the other, and from where the graph branches several at once."""
        while len(ready := progress.ready()) == 1:
            context, decision = await self._visit(job, progress, ready[0])
            progress.apply(ready[0], decision, context.facts)
            if context.called_outside and progress.ready():
                await self._commit(job, progress)
        if ready:
            await self._walk_branches(job, progress)

    async def _walk_branches(self, job: Job, progress: Progress) -> None:
        """Visit every position that can go on, each in a task of its own."""
        visits: dict[asyncio.Task[tuple[NodeContext, Decision]], Cursor] = {}
        try:
            while not progress.ended:
                busy = {cursor.id for cursor in visits.values()}
                for cursor in progress.ready():
                    if cursor.id not in busy:
                        visits[asyncio.create_task(self._visit(job, progress, cursor))] = cursor
                if not visits:
                    return
                done, _ = await asyncio.wait(visits, return_when=asyncio.FIRST_COMPLETED)
                called_outside = False
                for visit in done:
                    context, decision = visit.result()
                    progress.apply(visits.pop(visit), decision, context.facts)
                    called_outside = called_outside or context.called_outside
                if called_outside and (visits or progress.ready()):
                    await self._commit(job, progress)
        finally:
            for visit in visits:
                visit.cancel()

    async def _visit(self, job: Job, progress: Progress, cursor: Cursor) -> tuple[NodeContext, Decision]:
        context = NodeContext(
            execution=progress.execution,
            job_id=job.id,
            cursor_id=cursor.id,
            visit=cursor.visits,
            value=cursor.value,
            answer=progress.answers.get(cursor.wait_id or ""),
            effects=progress.effects.get((cursor.id, cursor.visits), {}),
            ledger=_FencedLedger(store=self._store, job=job),
            emit=self._emit,
            now=self._clock.now,
        )
        decision: Decision | None = None
        try:
            decision = await progress.graph.nodes[cursor.node](context)
        except EffectInterrupted as interrupted:
            decision = _ask_about(interrupted.name)
        finally:
            # A visit that is cut short still keeps what it learnt: what it spent is spent.
            if decision is None and context.facts:
                await self._store.write(_run_facts, context.facts)
        if isinstance(decision, Pause | Call) and context.unkept is not None:
            # The visit goes on after the answer, and must find what it already did.
            context.record(_keep_effect, context.unkept)
        return context, decision

    def _emit(self, event: Event) -> None:
        self._bus.publish(event)

    # -- commits -------------------------------------------------------------------------------------------

    def _progress(self, loaded: _Loaded) -> Progress:
        execution = loaded.execution
        graph = self._graphs.get(execution.graph)
        if graph is None:
            raise ExecutionError(f"There is no graph {execution.graph}", fix="install what provides it, then retry")
        cursors = {cursor.id: _placed(cursor, graph) for cursor in loaded.cursors}
        if lost := sorted({cursor.node for cursor in cursors.values()} - graph.nodes.keys()):
            raise ExecutionError(
                f"The graph {graph.name} no longer has the node {lost[0]}",
                why="it was changed while this execution slept",
                fix="cancel the execution and start it anew",
            )
        return Progress(
            execution=replace(execution, status=ExecutionStatus.RUNNING, version=self._versions[graph.name]),
            graph=graph,
            cursors=cursors,
            answers=_answers(loaded.waits),
            effects=_effects(loaded),
            new_id=self._new_id,
            now=self._clock.now,
            committed=frozenset(cursors),
        )

    async def _commit(self, job: Job, progress: Progress, *, closing: Closing | None = None) -> None:
        asked = [wait for wait in progress.waits if wait.kind not in {WaitKind.TIMER, WaitKind.CHILD}]
        await self._store.write(_commit, job, progress, closing, self._clock.now())
        progress.written()
        for wait in asked:
            self._bus.publish(ExecutionPaused(progress.execution.id, wait.id, wait.prompt))


class _FencedLedger:
    """Commits single effects, as long as the job is still ours."""

    def __init__(self, *, store: Store, job: Job) -> None:
        self._store = store
        self._job = job

    async def keep(self, effect: Effect) -> None:
        await self._store.write(_keep_fenced, self._job, effect)


def _placed(cursor: Cursor, graph: Graph) -> Cursor:
    """A position that was never visited has no node yet: it stands at the start."""
    return cursor if cursor.node else replace(cursor, node=graph.start)


def _answers(waits: Sequence[Wait]) -> dict[str, Answer | None]:
    """What a node sees of each answered wait. A question about an interrupted effect is the engine's own: the visit
    goes on with the answer that it had before."""
    by_id = {wait.id: wait for wait in waits}

    def seen(wait: Wait | None) -> Answer | None:
        while wait is not None and wait.subject is not None:
            wait = by_id.get(wait.resumes or "")
        return wait.answer if wait is not None else None

    return {wait.id: seen(wait) for wait in waits if wait.answer is not None}


def _effects(loaded: _Loaded) -> dict[tuple[str, int], dict[str, Effect]]:
    """Effects by position and visit, with people's word about the interrupted ones."""
    said = {(wait.cursor_id, wait.subject): wait.answer for wait in loaded.waits if wait.subject and wait.answer}
    effects: dict[tuple[str, int], dict[str, Effect]] = defaultdict(dict)
    for effect in loaded.effects:
        answer = said.get((effect.cursor_id, effect.name))
        if effect.state is EffectState.FINISHED or answer is None:
            effects[effect.cursor_id, effect.visit][effect.name] = effect
        elif not _says_again(answer):
            skipped = replace(effect, state=EffectState.FINISHED, result=None)
            effects[effect.cursor_id, effect.visit][effect.name] = skipped
    return effects


def _says_again(answer: Answer) -> bool:
    said = answer.value or {}
    return said.get("decision") == "approve" or said.get("text") == RUN_AGAIN


def _ask_about(effect: str) -> Pause:
    return Pause(
        WaitKind.REVIEW,
        f"“{effect}” was begun when the process died: it may already have happened. Run it again, or skip it?",
        choices=(RUN_AGAIN, SKIP),
        subject=effect,
    )


# -- scripts -----------------------------------------------------------------------------------------------


def _load(tx: Transaction, execution_id: str) -> _Loaded | None:
    execution = tx.executions.get(execution_id)
    if execution is None:
        return None
    fresh = execution.steps == 0
    return _Loaded(
        execution,
        tx.executions.cursors(execution_id),
        [] if fresh else tx.waits.of_execution(execution_id),
        tx.executions.effects(execution_id),
    )


def _commit(tx: Transaction, job: Job, progress: Progress, closing: Closing | None, now: int) -> None:
    """One step of an execution; with `closing` also the end of the job, and of the execution if it ended."""
    kept = tx.jobs.settle(job, Done(), now) if closing is not None else tx.jobs.held(job)
    if not kept:
        raise LeaseLost("The job was taken away while it ran")
    progress.write(tx)
    if closing is not None:
        closing(tx, now)
        if progress.ended:
            answer_parent(tx, progress.execution, now)


def _settle_idle(tx: Transaction, job: Job, execution: Execution, now: int) -> Execution:
    """The execution ended in the meantime (cancelled, or finished by an earlier job): only the job is left."""
    if not tx.jobs.settle(job, Done(), now):
        raise LeaseLost("The job was taken away while it ran")
    return execution


def _keep_fenced(tx: Transaction, job: Job, effect: Effect) -> None:
    if not tx.jobs.held(job):
        raise LeaseLost("The job was taken away while it ran")
    tx.executions.put_effect(effect)


def _keep_effect(tx: Transaction, effect: Effect) -> None:
    tx.executions.put_effect(effect)


def _run_facts(tx: Transaction, facts: list[Fact]) -> None:
    for fact in facts:
        fact(tx)
