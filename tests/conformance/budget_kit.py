"""Spenders, calls and limits for the tests of budgets."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

from arvis.domain.errors import BudgetBusy, BudgetReached
from arvis.domain.money import Budget, Busy, OverBudget, Reserved, Spender, SpendingLimits, Spent
from arvis.domain.runs import ModelCall
from arvis.llm.budgets import error_of, reserve, settle
from arvis.ports.store import Store, Transaction

#: A Wednesday noon in UTC, in ms.
NOON = 1_800_014_400_000 - 1_800_014_400_000 % 86_400_000 + 43_200_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

_numbers = count(1)


def spender(turn: str = "turn-1", visit: str = "1", **more: Any) -> Spender:
    given = {"agent_id": "agent", "principal_id": "ann", "job_id": "job", **more}
    return Spender(execution_id=turn, visit=visit, turn=turn, **given)


def call(cost: int, **more: Any) -> ModelCall:
    given = {"input_tokens": 10, "output_tokens": 5, "cost_micros": cost, "priced": cost > 0, **more}
    number = f"01{next(_numbers):024}"
    return ModelCall(number, "main", "openai", "gpt", NOON, 1000, **given)


@dataclass(frozen=True, slots=True)
class Desk:
    """The reservation and the settlement of budgets, with the limits of one daemon."""

    store: Store
    limits: SpendingLimits

    async def reserve(self, who: Spender, estimate: int, now: int = NOON) -> Reserved | OverBudget | Busy:
        return await self.store.write(reserve, who, estimate, self.limits, now)

    async def settle(self, who: Spender, *costs: int, now: int = NOON) -> int:
        return await self.store.write(settle, who, self.limits, tuple(map(call, costs)), now)

    async def spent(self, who: Spender, budget: Budget, now: int = NOON) -> Spent:
        pot = who.pots(self.limits.zone, now)[budget]
        return await self.store.read(lambda tx: tx.spending.get(pot))

    async def complaint(self, who: Spender, estimate: int = 1, now: int = NOON) -> BudgetReached | BudgetBusy:
        refused = await self.reserve(who, estimate, now)
        assert not isinstance(refused, Reserved)
        return error_of(refused, self.limits.zone)


def booked(tx: Transaction, who: Spender, zone: str, now: int) -> dict[Budget, int]:
    return {budget: tx.spending.get(pot).micros for budget, pot in who.pots(zone, now).items()}
