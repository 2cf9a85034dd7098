"""The engine, which walks an execution through its graph, step by step, until the execution ends or waits.

Each step is committed. A step that calls nothing outside Arvis is committed together with the next step. The step that
ends the execution is committed together with the caller's completion and the end of the job. A crash loses only the
work since the last commit; the nodes that did this work are visited again.

The engine itself asks a person in two cases: an effect was interrupted and may have happened, or the graph no longer
has the node of a position. Such a question interrupts a visit but does not end it. After the person's answer the visit
continues. The node of the visit never reads this answer: it reads the same answer as before the question.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from arvis.bus import EventBus
from arvis.domain.dataclass import replace
from arvis.domain.errors import ExecutionError, LeaseLost
from arvis.domain.events import ExecutionPaused, JobSettled, StatusChanged
from arvis.domain.executions import (
    PERSONAL_WAITS,
    Answer,
    Cursor,
    Effect,
    EffectState,
    Execution,
    ExecutionStatus,
    Wait,
    WaitKind,
)
from arvis.domain.jobs import Job
from arvis.domain.messages import MessageStatus
from arvis.engine import lifecycle
from arvis.engine.graph import (
    Call,
    Decision,
    EffectInterrupted,
    Goto,
    Graph,
    Memory,
    NodeContext,
    Pause,
    StepWrite,
    Write,
)
from arvis.engine.lifecycle import OnComplete
from arvis.engine.unit_of_work import ExecutionUpdate
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction

#: The answers to a question about an effect that may have happened.
RUN_AGAIN, SKIP = "run again", "skip"
#: The answers to a question about a node that the graph no longer has.
LOOK_AGAIN, START_OVER = "look again", "start over"

_STEP = "step:"


def about_effect(name: str, about: str = "") -> Pause:
    what = f"{about}\n\n" if about else ""
    return Pause(
        WaitKind.REVIEW,
        f"{what}Arvis stopped while “{name}” was running, so this step may already be done. Run it again, or skip it?",
        choices=(RUN_AGAIN, SKIP),
        subject=name,
    )


def about_lost_step(graph: Graph, node: str) -> Pause:
    return Pause(
        WaitKind.REVIEW,
        f"The graph “{graph.name}” was changed while this execution waited, and its step “{node}” no longer "
        f"exists. To continue, restore the step and answer “{LOOK_AGAIN}”. The answer “{START_OVER}” repeats all steps "
        f"from “{graph.start}”.",
        choices=(LOOK_AGAIN, START_OVER),
        subject=_STEP + node,
    )


def answer_seen(wait: Wait | None, waits: Mapping[str, Wait]) -> Answer | None:
    """Return the answer that the node reads. Questions of the engine itself, which have a `subject`, are skipped: the
    node reads the answer to the wait before them."""
    while wait is not None and wait.subject is not None:
        wait = waits.get(wait.resumes or "")
    return wait.answer if wait is not None else None


def starts_over(cursor: Cursor, waits: Mapping[str, Wait]) -> bool:
    """Return True if the node of this position no longer exists and a person chose to start over."""
    word = _words(cursor, waits).get(_STEP + cursor.node)
    return word is not None and _text(word) == START_OVER


_NOTHING_REMEMBERED = Memory()


def remember(cursor: Cursor, effects: Iterable[Effect], waits: Mapping[str, Wait]) -> Memory:
    """Combine the `effects` of this position's visit with people's answers about the interrupted effects.

    An answer permits one new start of the effect. The row of that start stores the id of the answered question in
    `result`. If the new start is interrupted too, this id shows that the answer is used up, and the engine asks again.
    """
    effects = tuple(effects)
    if not effects:
        return _NOTHING_REMEMBERED
    words = _words(cursor, waits)
    known, allowed, skipped = dict[str, Effect](), dict[str, str](), list[Effect]()
    for effect in effects:
        word = words.get(effect.name)
        if effect.state is EffectState.FINISHED or word is None or effect.result == word.id:
            known[effect.name] = effect
        elif _says_again(word):
            allowed[effect.name] = word.id
        else:
            skipped.append(replace(effect, state=EffectState.FINISHED, result=None))
            known[effect.name] = skipped[-1]
    return Memory(known, allowed, tuple(skipped))


def _words(cursor: Cursor, waits: Mapping[str, Wait]) -> dict[str, Wait]:
    """Return the newest answered question for each subject. Only questions that the engine asked during the present
    visit count."""
    words = dict[str, Wait]()
    wait = waits.get(cursor.wait_id or "")
    while wait is not None and wait.subject is not None:
        if wait.answer is not None:
            words.setdefault(wait.subject, wait)
        wait = waits.get(wait.resumes or "")
    return words


def _says_again(word: Wait) -> bool:
    answer = word.answer.value if word.answer is not None else None
    return (answer or {}).get("decision") == "approve" or _text(word) == RUN_AGAIN


def _text(word: Wait) -> str | None:
    answer = word.answer.value if word.answer is not None else None
    text: str | None = (answer or {}).get("text")
    return text


#: The maximum time (s) in which a cancelled task stores its costs and effects. The limit matters if no write to the
#: database succeeds.
LAST_SECONDS = 2.0

#: The maximum number of steps in one commit. Without it, the commit of a long series of steps that call nothing outside
#: Arvis would block the writer and the event loop.
MOST_UNCOMMITTED = 100

#: The number of branches that the engine begins or finishes before it lets other tasks of the event loop run.
BESIDES = 16

T = TypeVar("T")
#: A function that makes the caller's transaction script for the last commit. It is called once, before this commit,
#: with the execution as it will be committed.
Completion = Callable[[Execution], OnComplete[T]]


def nothing(_execution: Execution) -> OnComplete[None]:
    """Return a script that does nothing. This completion is for executions that write no further rows at their end."""
    return lambda _tx, _now: None


#: The asyncio task of one visit. Several such tasks run if several positions are visited at the same time.
_Visit = asyncio.Task[tuple[NodeContext, Decision]]


class Engine:
    """The engine that advances executions. `graphs` are the built-in graphs by name; `drawn` returns the graphs of
    workflows."""

    def __init__(
        self,
        *,
        store: Store,
        graphs: Mapping[str, Graph],
        clock: Clock,
        bus: EventBus,
        new_id: Callable[[], str],
        drawn: lifecycle.Drawn | None = None,
    ) -> None:
        self._store = store
        self._graphs = graphs
        self._versions = {graph.name: graph.version for graph in graphs.values()}
        self._drawn = drawn
        self._clock = clock
        self._bus = bus
        self._new_id = new_id

    async def advance(self, job: Job, *, completion: Completion[T]) -> tuple[Execution, T | None]:
        """Advance the job's execution until it ends or waits, and settle the job in the same commit.

        Return the execution as committed, and the result of the script that `completion` made for this commit (None if
        `completion` was not called). Errors of nodes are raised; the steps that were committed before such an error
        stay stored. Raise `LeaseLost` if another process has the job now; the steps since the last commit are then
        lost.
        """
        loaded = await self._store.read(lifecycle.load, job, self._graph_of, self._clock.now())
        if loaded is None:
            raise ExecutionError(f"There is no execution {job.execution_id}")
        for message in loaded.messages:
            self._bus.publish(StatusChanged(message.address, message.id, MessageStatus.RUNNING))
        if loaded.execution.status not in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED}:
            return await self._store.write(lifecycle.settle_idle, job, loaded.execution, self._clock.now()), None
        update = self._update_of(loaded)
        if loaded.execution.version not in {"", update.execution.version}:
            update.add_writes([partial(lifecycle.note_change, execution=update.execution, now=self._clock.now())])
        del loaded  # so that the rows for the first node do not stay in memory
        await self._walk(job, update)
        update.pause_if_idle()
        if update.switching:
            await self._complete(job, update, nothing(update.execution))
            return update.execution, None
        return update.execution, await self._complete(job, update, completion(update.execution))

    def _graph_of(self, tx: Transaction, execution: Execution) -> Graph | None:
        known = self._graphs.get(execution.graph)
        return known if known is not None or self._drawn is None else self._drawn(tx, execution)

    # -- the walk ------------------------------------------------------------------------------------------

    async def _walk(self, job: Job, update: ExecutionUpdate) -> None:
        """Visit the positions one after the other, or at the same time if several can continue."""
        while len(ready := update.ready()) == 1:
            await self._step(job, update, ready[0])
        if ready:
            await self._walk_branches(job, update)

    async def _step(self, job: Job, update: ExecutionUpdate, cursor: Cursor) -> None:
        keep = partial(self._keep, job, update)
        context, decision = await self._visit(job, update, cursor, keep=keep, prefetched=update.take_prefetched())
        update.add_writes(context.writes, context.after_commit)
        update.apply(cursor, decision)
        update.prefetched = context.carried_over
        due = context.called_outside or update.uncommitted >= MOST_UNCOMMITTED
        if due and update.ready():
            await self._commit(job, update)

    async def _walk_branches(self, job: Job, update: ExecutionUpdate) -> None:
        """Visit every position that can continue, each in a separate task. If a visit fails, finish and commit the
        other running visits, and then raise the error of the failed visit. If a branch ends the execution, cancel all
        other visits."""
        visits: dict[_Visit, Cursor] = {}
        failed: _Visit | None = None
        try:
            while not update.ended:
                if failed is None:
                    await self._begin_visits(job, update, visits)
                if not visits:
                    break
                done, _ = await asyncio.wait(visits, return_when=asyncio.FIRST_COMPLETED)
                failed = failed or next((visit for visit in done if _has_failed(visit)), None)
                for some in _batches(done):
                    called_outside = await _take_over(update, {visit: visits.pop(visit) for visit in some})
                    due = called_outside or update.uncommitted >= MOST_UNCOMMITTED
                    if due and (visits or failed) and not update.ended:
                        await self._commit(job, update)
            if failed is not None and not update.ended:
                failed.result()
        finally:
            await _cancelled(visits)

    async def _begin_visits(self, job: Job, update: ExecutionUpdate, visits: dict[_Visit, Cursor]) -> None:
        """Start the visits of the new positions. Commit these positions first, because a stored effect contains the id
        of its position. If the position were not stored, its effects could not be found after a crash."""
        busy = {cursor.id for cursor in visits.values()}
        fresh = [cursor for cursor in update.ready() if cursor.id not in busy]
        if fresh and update.has_changes:
            await self._commit(job, update)
        for number, cursor in enumerate(fresh, 1):
            visit = self._visit(job, update, cursor, keep=partial(self._keep_alone, job))
            visits[asyncio.create_task(visit)] = cursor
            if number % BESIDES == 0:
                await asyncio.sleep(0)

    async def _visit(
        self,
        job: Job,
        update: ExecutionUpdate,
        cursor: Cursor,
        *,
        keep: Callable[[Effect], Awaitable[None]],
        prefetched: Any = None,
    ) -> tuple[NodeContext, Decision]:
        memory = remember(cursor, update.effects.get((cursor.id, cursor.visits), ()), update.questions)
        context = NodeContext(
            execution=update.execution,
            job_id=job.id,
            cursor_id=cursor.id,
            visit=cursor.visits,
            value=cursor.value,
            answer=answer_seen(update.questions.get(cursor.wait_id or ""), update.questions),
            prefetched=prefetched,
            memory=memory,
            keep=keep,
            publish=self._bus.publish,
            now=self._clock.now,
            branches=max(len(update.cursors), 1),
            visited=update.visited,
        )
        for effect in memory.skipped:
            context.record(lifecycle.keep_effect, effect)
        decision: Decision | None = None
        patience: float | None = None
        try:
            decision = await self._decide(update, cursor, context)
        except EffectInterrupted as interrupted:
            decision = about_effect(interrupted.name, interrupted.about)
        except asyncio.CancelledError:
            patience = LAST_SECONDS
            raise
        finally:
            if decision is None:
                await self._record_interrupted(context, patience)
        if isinstance(decision, Pause | Call):
            # The visit continues after the answer and then needs the results of its finished effects.
            for effect in context.unkept:
                context.record(lifecycle.keep_effect, effect)
        return context, decision

    async def _decide(self, update: ExecutionUpdate, cursor: Cursor, context: NodeContext) -> Decision:
        """Return the node's decision. If the graph no longer has the node, ask a person instead."""
        graph = update.graph
        if (node := graph.nodes.get(cursor.node)) is not None:
            return await node(context)
        if starts_over(cursor, update.questions):
            return Goto(graph.start)
        return about_lost_step(graph, cursor.node)

    async def _record_interrupted(self, context: NodeContext, seconds: float | None) -> None:
        """Store the costs and effects of a visit that returned no decision. `seconds` is the time limit (None means no
        limit). A cancelled visit needs a limit, because the caller waits until the visit has ended."""
        with suppress(LeaseLost, TimeoutError):
            async with asyncio.timeout(seconds):
                if writes := [write for write in context.writes if not isinstance(write, StepWrite)]:
                    await self._store.write(lifecycle.make_writes, writes)
                await context.flush()

    # -- commits -------------------------------------------------------------------------------------------

    def _update_of(self, loaded: lifecycle.Loaded) -> ExecutionUpdate:
        execution = loaded.execution
        graph = loaded.graph
        if graph is None:
            raise ExecutionError(
                f"The graph {execution.graph} is not installed",
                fix="Install the package that provides it, then retry the job.",
            )
        # A position without a node is at the start of the graph.
        cursors = {each.id: each if each.node else replace(each, node=graph.start) for each in loaded.cursors}
        stored = frozenset(cursors)
        if not cursors and not execution.steps:
            cursors[execution.id] = Cursor.start(execution.id, graph.start)
        version = self._versions.get(graph.name) or graph.version
        effects: dict[tuple[str, int], list[Effect]] = defaultdict(list)
        for effect in loaded.effects:
            effects[effect.cursor_id, effect.visit].append(effect)
        return ExecutionUpdate(
            execution=replace(execution, status=ExecutionStatus.RUNNING, version=version),
            graph=graph,
            cursors=cursors,
            questions={wait.id: wait for wait in loaded.waits},
            effects=effects,
            new_id=self._new_id,
            now=self._clock.now,
            committed=stored,
            prefetched=loaded.opened,
            visited=loaded.visited,
        )

    async def _commit(self, job: Job, update: ExecutionUpdate, effect: Effect | None = None) -> None:
        """Commit the steps since the last commit, or an effect and the steps that led to it."""
        with self._published(update):
            await self._written(update, self._store.write(lifecycle.commit, job, update, effect))

    async def _complete(self, job: Job, update: ExecutionUpdate, on_complete: OnComplete[T]) -> T:
        """Commit the last steps before an execution ends or waits, together with the end of its job."""
        with self._published(update):
            write = self._store.write(lifecycle.complete, job, update, on_complete, self._clock.now())
            completed = await self._written(update, write)
        for job_id in completed.stopped:
            self._bus.publish(JobSettled(job_id, "cancelled"))
        return completed.result

    async def _written(self, update: ExecutionUpdate, write: Awaitable[T]) -> T:
        try:
            return await write
        except (LeaseLost, asyncio.CancelledError):
            # The cancelled commit may have succeeded. The durable writes are then made twice, which does no harm.
            await self._write_last(update.durable_writes)
            raise

    @contextmanager
    def _published(self, update: ExecutionUpdate) -> Iterator[None]:
        """Publish the events and questions of a commit. The body of the `with` statement makes the commit; if it fails,
        nothing is published."""
        asked = [wait for wait in update.waits if wait.kind in PERSONAL_WAITS]
        yield
        events = update.events
        update.written()
        for event in events:
            self._bus.publish(event)
        for wait in asked:
            self._bus.publish(ExecutionPaused(update.execution.id, wait.id, wait.prompt))

    async def _write_last(self, writes: list[Write]) -> None:
        """Store these writes in a separate commit, because the step to which they belong was not committed. Give up
        after `LAST_SECONDS`."""
        if writes:
            with suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS):
                    await self._store.write(lifecycle.make_writes, writes)

    async def _keep(self, job: Job, update: ExecutionUpdate, effect: Effect) -> None:
        """Store the effect, together with the steps that led to it."""
        if update.has_changes:
            await self._commit(job, update, effect)
        else:
            await self._keep_alone(job, effect)

    async def _keep_alone(self, job: Job, effect: Effect) -> None:
        await self._store.write(lifecycle.keep_fenced, job, effect)


def _has_failed(visit: _Visit) -> bool:
    return visit.cancelled() or visit.exception() is not None


def _batches(done: Collection[_Visit]) -> Iterator[list[_Visit]]:
    """Divide the finished visits into batches of at most `MOST_UNCOMMITTED`, one batch for each commit."""
    visits = iter(done)
    while batch := [*islice(visits, MOST_UNCOMMITTED)]:
        yield batch


async def _take_over(update: ExecutionUpdate, done: Mapping[_Visit, Cursor]) -> bool:
    """Apply the decisions of the visits that succeeded. Return True if one of these visits called something outside
    Arvis. After a decision that ends the execution, the decisions of the other visits are ignored. The writes of these
    visits are still made, and their events are still published."""
    called_outside = False
    for number, (visit, cursor) in enumerate(done.items(), 1):
        if number % BESIDES == 0:
            await asyncio.sleep(0)
        if _has_failed(visit):
            continue
        context, decision = visit.result()
        update.add_writes(context.writes, context.after_commit)
        if not update.ended:
            update.apply(cursor, decision)
        called_outside = called_outside or context.called_outside
    return called_outside


async def _cancelled(visits: Collection[_Visit]) -> None:
    """Cancel these visits, and wait until they have ended."""
    for visit in visits:
        visit.cancel()
    await asyncio.gather(*visits, return_exceptions=True)
