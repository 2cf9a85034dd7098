"""One paid call of a model inside a node: money is set aside before it, and every try leaves its receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from arvis.domain.money import OpenCall, Spender
from arvis.domain.runs import RunRequest
from arvis.engine.context import DurableWrite, NodeContext
from arvis.graphs.context import note_rests
from arvis.llm import RunFailed, Runner, Trail
from arvis.llm.budgets import BudgetSession
from arvis.llm.model_limits import note_counts


def unheard(_offset: int, _text: str) -> None:
    """The default where no reader gets the pieces of a reply."""


class ModelCaller:
    """Makes the model call inside an effect of a node."""

    def __init__(self, *, runner: Runner, purse: BudgetSession) -> None:
        self._runner = runner
        self._purse = purse

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
        """Return a `RunResult` as JSON. The receipts and the cooldowns of accounts are part of the commit of the
        step, even if the call fails. `on_text` gets each piece with its offset in characters. Raises `RunFailed`,
        `BudgetReached` and `BudgetBusy`."""
        spender = replace(spender, job_id=context.job_id, visit=context.visit)
        estimate = self._runner.estimate(request, model=model, fallbacks=fallbacks)
        trail = Trail()
        receipt = self._runner.most(request, model=model, fallbacks=fallbacks)
        call = await self._purse.open(spender, estimate, receipt)
        keep = partial(self._keep, context, spender, estimate, trail, call)
        try:
            run = await self._runner.run(request, model=model, fallbacks=fallbacks, on_text=on_text, trail=trail)
        except (RunFailed, asyncio.CancelledError):
            keep()
            raise
        keep()
        return run.result.to_json()

    def _keep(self, context: NodeContext, spender: Spender, estimate: int, trail: Trail, call: OpenCall | None) -> None:
        context.record(note_rests, tuple(trail.rests))
        if trail.counted or trail.limits:
            context.record(note_counts, tuple(trail.counted), tuple(trail.limits), context.now())
        close = partial(self._purse.close, spender=spender, estimate=estimate, calls=tuple(trail.calls), call=call)
        context.facts.append(DurableWrite(close))
