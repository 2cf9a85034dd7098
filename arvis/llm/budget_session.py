"""The purse of one process: sets money aside before a model is called, and books what the call cost after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arvis.domain.jobs import Job
from arvis.domain.money import OpenCall, Reserved, Spender, SpendingLimits
from arvis.domain.runs import ModelCall
from arvis.llm import budgets, open_calls
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction


class BudgetSession:
    """`limits` are those of the configuration at the moment."""

    def __init__(self, *, store: Store, limits: Callable[[], SpendingLimits], clock: Clock) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock

    async def open(self, spender: Spender, estimate: int, receipt: ModelCall | None = None) -> OpenCall | None:
        """Before a call that costs at most `estimate` micros; `receipt` is the one that it gets should its end not be seen
        (None: it spends nothing). To be handed to `close`. Raises `BudgetReached`, or `BudgetBusy` when it may be tried
        again in a second or two."""
        call = OpenCall(spender, receipt) if receipt is not None else None
        if call is not None or self._asks(spender, estimate):
            await self._store.write(self._reserve, spender, estimate, call)
        elif spender.unpaired:
            await self._store.read(self._judge_stranger, spender)
        return call

    def close(
        self,
        tx: Transaction,
        spender: Spender,
        estimate: int,
        calls: tuple[ModelCall, ...],
        call: OpenCall | None = None,
    ) -> None:
        """Part of the commit that keeps what a call gave: its receipts and their cost."""
        reserved = self._asks(spender, estimate)
        if call is not None:
            open_calls.end(tx, call, self._limits())
        budgets.settle(tx, spender, self._limits(), calls, self._clock.now(), reserved=reserved)

    def book_left(self, tx: Transaction, jobs: Sequence[Job], now: int) -> None:
        """Part of the commit that takes back the jobs of a dead process: book the calls that it left."""
        open_calls.book_left(tx, jobs, self._limits(), now)

    def _asks(self, spender: Spender, estimate: int) -> bool:
        """What has no price and nobody pays for needs no commit of its own."""
        return estimate > 0 or spender.client_id is not None

    def _reserve(self, tx: Transaction, spender: Spender, estimate: int, call: OpenCall | None) -> None:
        limits = self._limits()
        if self._asks(spender, estimate):
            verdict = budgets.reserve(tx, spender, estimate, limits, self._clock.now())
            if not isinstance(verdict, Reserved):
                raise budgets.error_of(verdict, limits.zone)
        elif spender.unpaired:
            self._judge_stranger(tx, spender)
        if call is not None:
            open_calls.begin(tx, call, limits)

    def _judge_stranger(self, tx: Transaction, spender: Spender) -> None:
        limits = self._limits()
        refusal = budgets.refusal_of_stranger(tx, spender, limits, self._clock.now())
        if refusal is not None:
            raise budgets.error_of(refusal, limits.zone)
