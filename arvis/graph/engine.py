"""The engine: walks an execution through its graph, one commit a step, until it ends or waits.

A node that made no outside call is committed together with the next one; the step that ends the execution is
committed together with whatever the caller concludes from it (and with the end of the job). A crash can only lose
the work inside the present node.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from arvis.domain.errors import ExecutionError, LeaseLost
from arvis.domain.events import Event, ExecutionPaused, JobSettled
from arvis.domain.executions import PERSONAL_WAITS, Cursor, Effect, Execution, ExecutionStatus, Wait
from arvis.domain.jobs import CALLED, Done, Job, Outcome, Snooze
from arvis.graph import lifecycle, questions
from arvis.graph.context import EffectInterrupted, Fact, NodeContext
from arvis.graph.decisions import Call, Decision, Goto, Graph, Pause
from arvis.graph.progress import Progress
from arvis.ports.bus import Bus
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction

#: The last words of a walk: part of the commit that ends the execution (and its job) or sends it to sleep.
Closing = Callable[[Transaction, int], None]
#: How long (seconds) work that was ended from outside may try to keep what it spent, while nothing can be written.
LAST_SECONDS = 2.0

#: After so long (ms) work that waits for its children looks whether they are done, although nobody said so.
LOOK_AGAIN_MS = 3_600_000

#: Asked once, outside the commit, what is to be committed with this end.
Conclude = Callable[[Execution], Closing]


def nothing(_execution: Execution) -> Closing:
    """The conclusion of an execution that nobody waits for."""
    return lambda _tx, _now: None


#: One node at work, where several are.
_Visit = asyncio.Task[tuple[NodeContext, Decision]]


@dataclass(frozen=True, slots=True)
class _Loaded:
    execution: Execution
    cursors: list[Cursor]
    waits: list[Wait]
    effects: list[Effect]
    opened: Any


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
        loaded = await self._store.read(_load, job.execution_id or "", self._graphs, self._clock.now())
        if loaded is None:
            raise ExecutionError(f"There is no execution {job.execution_id}")
        if loaded.execution.status not in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED}:
            return await self._store.write(_settle_idle, job, loaded.execution, self._clock.now())
        progress = self._progress(loaded)
        if loaded.execution.version not in {"", progress.execution.version}:
            progress.learn([partial(_note_change, execution=progress.execution, now=self._clock.now())])
        del loaded  # what was read for the first nodes is let go of when they are done
        await self._walk(job, progress)
        progress.rest()
        await self._commit(job, progress, closing=conclude(progress.execution))
        return progress.execution

    # -- the walk ------------------------------------------------------------------------------------------

    async def _walk(self, job: Job, progress: Progress) -> None:
        """Visit one position after the other, and from where the graph branches several at once."""
        while len(ready := progress.ready()) == 1:
            await self._step(job, progress, ready[0])
        if ready:
            await self._walk_branches(job, progress)

    async def _step(self, job: Job, progress: Progress, cursor: Cursor) -> None:
        keep = partial(self._keep, job, progress)
        context, decision = await self._visit(job, progress, cursor, keep=keep, handed=progress.take_handed())
        progress.apply(cursor, decision, context.facts)
        progress.handed = context.handing
        if context.called_outside and progress.ready():
            await self._commit(job, progress)

    async def _walk_branches(self, job: Job, progress: Progress) -> None:
        """Visit every position that can go on, each in a task of its own. When one fails, the others still end their
        visits and are committed: what they did is done. An end in one branch ends them all."""
        visits: dict[_Visit, Cursor] = {}
        failed: _Visit | None = None
        try:
            while not progress.ended:
                if failed is None:
                    await self._begin_visits(job, progress, visits)
                if not visits:
                    break
                done, _ = await asyncio.wait(visits, return_when=asyncio.FIRST_COMPLETED)
                failed = failed or next((visit for visit in done if _has_failed(visit)), None)
                called_outside = _take_over(progress, {visit: visits.pop(visit) for visit in done})
                if called_outside and (visits or failed) and not progress.ended:
                    await self._commit(job, progress)
            if failed is not None and not progress.ended:
                failed.result()
        finally:
            await _cancelled(visits)

    async def _begin_visits(self, job: Job, progress: Progress, visits: dict[_Visit, Cursor]) -> None:
        """A position is committed before it is visited: else what its effects leave there could not be found again."""
        busy = {cursor.id for cursor in visits.values()}
        fresh = [cursor for cursor in progress.ready() if cursor.id not in busy]
        if fresh and progress.has_news:
            await self._commit(job, progress)
        for cursor in fresh:
            visit = self._visit(job, progress, cursor, keep=partial(self._keep_alone, job))
            visits[asyncio.create_task(visit)] = cursor

    async def _visit(
        self,
        job: Job,
        progress: Progress,
        cursor: Cursor,
        *,
        keep: Callable[[Effect], Awaitable[None]],
        handed: Any = None,
    ) -> tuple[NodeContext, Decision]:
        memory = questions.remember(cursor, progress.effects.get((cursor.id, cursor.visits), ()), progress.asked)
        context = NodeContext(
            execution=progress.execution,
            job_id=job.id,
            cursor_id=cursor.id,
            visit=cursor.visits,
            value=cursor.value,
            answer=questions.answer_seen(progress.asked.get(cursor.wait_id or ""), progress.asked),
            handed=handed,
            memory=memory,
            keep=keep,
            emit=self._emit,
            now=self._clock.now,
        )
        for effect in memory.skipped:
            context.record(_keep_effect, effect)
        decision: Decision | None = None
        patience: float | None = None
        try:
            decision = await self._decide(progress, cursor, context)
        except EffectInterrupted as interrupted:
            decision = questions.about_effect(interrupted.name, interrupted.about)
        except asyncio.CancelledError:
            patience = LAST_SECONDS
            raise
        finally:
            if decision is None:
                await self._cut_short(context, patience)
        if isinstance(decision, Pause | Call):
            # The visit goes on after the answer, and must find what it already did.
            for effect in context.unkept:
                context.record(_keep_effect, effect)
        return context, decision

    async def _decide(self, progress: Progress, cursor: Cursor, context: NodeContext) -> Decision:
        """What the node says; where the graph was changed and the node is gone, a person."""
        graph = progress.graph
        if (node := graph.nodes.get(cursor.node)) is not None:
            return await node(context)
        if questions.starts_over(cursor, progress.asked):
            return Goto(graph.start)
        return questions.about_lost_step(graph, cursor.node)

    async def _cut_short(self, context: NodeContext, seconds: float | None) -> None:
        """Keep what a visit learnt that gave no decision: what it spent is spent, what it did is done. Within so many
        seconds, where somebody waits for its end."""
        with suppress(LeaseLost, TimeoutError):
            async with asyncio.timeout(seconds):
                if context.facts:
                    await self._store.write(_run_facts, context.facts)
                await context.keep_last()

    def _emit(self, event: Event) -> None:
        self._bus.publish(event)

    # -- commits -------------------------------------------------------------------------------------------

    def _progress(self, loaded: _Loaded) -> Progress:
        execution = loaded.execution
        graph = self._graphs.get(execution.graph)
        if graph is None:
            raise ExecutionError(f"There is no graph {execution.graph}", fix="install what provides it, then retry")
        cursors = {cursor.id: _placed(cursor, graph) for cursor in loaded.cursors}
        effects: dict[tuple[str, int], list[Effect]] = defaultdict(list)
        for effect in loaded.effects:
            effects[effect.cursor_id, effect.visit].append(effect)
        return Progress(
            execution=replace(execution, status=ExecutionStatus.RUNNING, version=self._versions[graph.name]),
            graph=graph,
            cursors=cursors,
            asked={wait.id: wait for wait in loaded.waits},
            effects=effects,
            new_id=self._new_id,
            now=self._clock.now,
            committed=frozenset(cursors),
            handed=loaded.opened,
        )

    async def _commit(
        self, job: Job, progress: Progress, *, closing: Closing | None = None, effect: Effect | None = None
    ) -> None:
        asked = [wait for wait in progress.waits if wait.kind in PERSONAL_WAITS]
        now = self._clock.now()
        try:
            stopped = await self._store.write(_commit, job, progress, closing=closing, effect=effect, now=now)
        except (LeaseLost, asyncio.CancelledError):
            # Cancelled in the middle: nobody knows whether it was made, and what lasts may be written twice.
            await self._write_last(progress.lasting)
            raise
        progress.written()
        for job_id in stopped:
            self._bus.publish(JobSettled(job_id, "cancelled"))
        for wait in asked:
            self._bus.publish(ExecutionPaused(progress.execution.id, wait.id, wait.prompt))

    async def _write_last(self, facts: list[Fact]) -> None:
        """Outside any step, which others may be waiting for the end of."""
        if facts:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS):
                    await self._store.write(_run_facts, facts)

    async def _keep(self, job: Job, progress: Progress, effect: Effect) -> None:
        """The effect, and before it the way to where it happened."""
        if progress.has_news:
            await self._commit(job, progress, effect=effect)
        else:
            await self._keep_alone(job, effect)

    async def _keep_alone(self, job: Job, effect: Effect) -> None:
        await self._store.write(_keep_fenced, job, effect)


def _placed(cursor: Cursor, graph: Graph) -> Cursor:
    """A position that was never visited has no node yet: it stands at the start."""
    return cursor if cursor.node else replace(cursor, node=graph.start)


def _has_failed(visit: _Visit) -> bool:
    return visit.cancelled() or visit.exception() is not None


def _take_over(progress: Progress, done: Mapping[_Visit, Cursor]) -> bool:
    """Take over what the visits that succeeded decided; whether any of them called the outside. Once one of them has
    ended the execution, the decisions of the others count no more, only what they learnt."""
    called_outside = False
    for visit, cursor in done.items():
        if _has_failed(visit):
            continue
        context, decision = visit.result()
        if progress.ended:
            progress.learn(context.facts)
        else:
            progress.apply(cursor, decision, context.facts)
        called_outside = called_outside or context.called_outside
    return called_outside


async def _cancelled(visits: Collection[_Visit]) -> None:
    """End these visits, and wait until they have."""
    for visit in visits:
        visit.cancel()
    await asyncio.gather(*visits, return_exceptions=True)


# -- scripts -----------------------------------------------------------------------------------------------


def _load(tx: Transaction, execution_id: str, graphs: Mapping[str, Graph], now: int) -> _Loaded | None:
    execution = tx.executions.get(execution_id)
    if execution is None:
        return None
    fresh = execution.steps == 0
    return _Loaded(
        execution,
        tx.executions.cursors(execution_id),
        [] if fresh else tx.waits.of_execution(execution_id),
        tx.executions.effects(execution_id),
        _open(tx, execution, graphs.get(execution.graph), now) if fresh else None,
    )


def _open(tx: Transaction, execution: Execution, graph: Graph | None, now: int) -> Any:
    """What the first node of an execution works on, where its graph says."""
    if graph is None or graph.opening is None or execution.status is not ExecutionStatus.RUNNING:
        return None
    return graph.opening(tx, execution, now)


def _commit(
    tx: Transaction, job: Job, progress: Progress, *, closing: Closing | None, effect: Effect | None, now: int
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


def _rest_of(tx: Transaction, job: Job, progress: Progress, now: int) -> Outcome:
    """The job of what waits for nothing but its children stays where it is, at the head of its lane: nobody overtakes work
    that is under way. It looks again by itself should nobody wake it. Where a child has answered meanwhile, there is a job
    for that already."""
    if not progress.waits_for_children:
        return Done()
    others = [each.id for each in tx.jobs.live_of_execution(progress.execution.id) if each.id != job.id]
    return Done() if others else Snooze(now + LOOK_AGAIN_MS, CALLED)


def _note_change(tx: Transaction, *, execution: Execution, now: int) -> None:
    """Its graph was changed while it slept: whoever asks why it went another way can read it."""
    asked = [message.id for message in tx.messages.of_turn(execution.id)]
    tx.timeline.note(asked, "graph_changed", {"graph": execution.graph}, now)


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
