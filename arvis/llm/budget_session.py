"""The budget of one process: reserves money before a model call, and books its cost after it."""

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
        """Reserve money for a call that costs at most `estimate` micros; `receipt` is booked if its end is not seen
        (None: it spends nothing). Pass the result to `close`. Raise `BudgetReached`, or `BudgetBusy` if it may be
        tried again in a second or two."""
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
        """Store the receipts and their cost, in the commit that stores the result of the call."""
        reserved = self._asks(spender, estimate)
        if call is not None:
            open_calls.end(tx, call, self._limits())
        budgets.settle(tx, spender, self._limits(), calls, self._clock.now(), reserved=reserved)

    def book_left(self, tx: Transaction, jobs: Sequence[Job], now: int) -> None:
        """Book the calls that a dead process left, in the commit that takes back its jobs."""
        open_calls.book_left(tx, jobs, self._limits(), now)

    def _asks(self, spender: Spender, estimate: int) -> bool:
        """Return whether a commit is needed; a call without a price that no client pays for needs none."""
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
