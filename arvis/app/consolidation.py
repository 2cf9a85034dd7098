"""Builds the task that merges facts, when a budget for it is configured."""

from __future__ import annotations

from arvis.app.foundation import Base, spending_limits
from arvis.app.work import build_runner
from arvis.consolidation import Consolidator
from arvis.domain.dataclass import replace
from arvis.domain.money import MICROS, SpendingLimits
from arvis.llm.budgets import BudgetSession
from arvis.ports.provider import Providers


def build_consolidator(*, base: Base, providers: Providers) -> Consolidator:
    config = base.config

    def limits() -> SpendingLimits:
        """Return the budgets. The budget of a turn is the agent's daily budget for merges, because all its calls of a
        day count as one turn."""
        daily = base.settings.current().memory.consolidation_daily_usd or 0
        return replace(spending_limits(base), per_turn=round(daily * MICROS))

    return Consolidator(
        store=base.store,
        runner=build_runner(base, providers),
        budget=BudgetSession(store=base.store, limits=limits, clock=base.clock),
        clock=base.clock,
        is_on=lambda: bool(base.settings.current().memory.consolidation_daily_usd),
        model=config.model.summarizer,
        zone=config.scheduler.timezone,
    )
