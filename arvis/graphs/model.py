"""The paid model call inside a node: money is reserved before the call, and a receipt is stored for every attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from arvis.domain.dataclass import replace
from arvis.domain.money import Spender
from arvis.domain.runs import Cooldown, RunRequest
from arvis.engine.graph import DurableWrite, NodeContext
from arvis.llm.attempts import RunFailed, Trail
from arvis.llm.budgets import BudgetSession
from arvis.llm.model_limits import note_counts
from arvis.llm.runner import Runner
from arvis.ports.store import Transaction


def unheard(_offset: int, _text: str) -> None:
    """Ignore a piece of a reply. This is the default for an execution whose text is not streamed to any reader."""


class ModelCaller:
    """The service for paid model calls. A node uses it inside an effect, so that a repeated visit makes no second
    call."""

    def __init__(self, *, runner: Runner, budget: BudgetSession) -> None:
        self._runner = runner
        self._budget = budget

    async def call(
        self,
        context: NodeContext,
        request: RunRequest,
        *,
        spender: Spender,
        model: str | None,
        fallbacks: Sequence[str] = (),
        on_text: Callable[[int, str], None] = unheard,
    ) -> dict[str, Any]:
        """Call the model and return its `RunResult` as JSON. The commit of the step stores the receipts and the
        cooldowns of accounts, even if the call fails. `on_text` gets each piece of the reply with its offset in
        characters. Raise `RunFailed`, `BudgetReached` or `BudgetBusy`."""
        spender = replace(spender, job_id=context.job_id, visit=context.visit)
        largest = self._runner.largest(request, model=model, fallbacks=fallbacks)
        open_call = await self._budget.open(spender, largest.micros, largest.receipt)
        trail = Trail()

        def record() -> None:
            if trail.rests:
                context.record(_note_cooldowns, tuple(trail.rests))
            if trail.counted or trail.limits:
                context.record(note_counts, tuple(trail.counted), tuple(trail.limits), context.now())
            calls = tuple(trail.calls)
            context.writes.append(
                DurableWrite(
                    partial(self._budget.close, spender=spender, estimate=largest.micros, calls=calls, call=open_call)
                )
            )

        try:
            run = await self._runner.run(
                request, model=model, fallbacks=fallbacks, on_text=on_text, trail=trail, size=largest.size
            )
        except (RunFailed, asyncio.CancelledError):
            record()
            raise
        record()
        return run.result.to_json()


def _note_cooldowns(tx: Transaction, cooldowns: Sequence[Cooldown]) -> None:
    """Store the cooldowns of accounts. If an account works again, resume the jobs that wait for a model."""
    for cooldown in cooldowns:
        tx.cooldowns.put(cooldown)
    if back := [cooldown.at for cooldown in cooldowns if not cooldown.refusals]:
        tx.jobs.hasten(max(back))
