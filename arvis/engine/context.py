"""The interface of a node: its input, the answer that it waited for, and the two ways to act outside the graph
(`once` and `record`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec

from arvis.domain.events import Event
from arvis.domain.executions import Answer, Effect, EffectState, Execution
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
