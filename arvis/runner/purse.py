"""The purse of one process: sets money aside before a model is called, and books what the call cost after it."""

from __future__ import annotations

from collections.abc import Callable

from arvis.domain.money import Reserved, Spender, SpendingLimits
from arvis.domain.runs import ModelCall
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.runner import budget


class Purse:
    """`limits` are those of the configuration at the moment."""

    def __init__(self, *, store: Store, limits: Callable[[], SpendingLimits], clock: Clock) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock

    async def open(self, spender: Spender, estimate: int) -> None:
        """Before a call that costs at most `estimate` micros. Raises `BudgetReached`, or `BudgetBusy` when it may be
        tried again in a second or two."""
        if self._asks(spender, estimate):
            await self._store.write(self._reserve, spender, estimate)
        elif spender.stranger:
            await self._store.read(self._judge_stranger, spender)

    def close(self, tx: Transaction, spender: Spender, estimate: int, calls: tuple[ModelCall, ...]) -> None:
        """Part of the commit that keeps what a call gave: its receipts and their cost."""
        reserved = self._asks(spender, estimate)
        budget.settle(tx, spender, self._limits(), calls, self._clock.now(), reserved=reserved)

    def _asks(self, spender: Spender, estimate: int) -> bool:
        """What has no price and nobody pays for needs no commit of its own."""
        return estimate > 0 or spender.client_id is not None

    def _reserve(self, tx: Transaction, spender: Spender, estimate: int) -> None:
        limits = self._limits()
        verdict = budget.reserve(tx, spender, estimate, limits, self._clock.now())
        if not isinstance(verdict, Reserved):
            raise budget.error_of(verdict, limits.zone)

    def _judge_stranger(self, tx: Transaction, spender: Spender) -> None:
        limits = self._limits()
        refusal = budget.refusal_of_stranger(tx, spender, limits, self._clock.now())
        if refusal is not None:
            raise budget.error_of(refusal, limits.zone)
