"""Model calls whose end was not seen: their largest possible use is booked, once (docs/adr/0035).

Transaction scripts. Each call has a row from before its start until its receipts are stored. The process that takes
back the job of a dead process turns its rows into receipts; if that process is alive after all, its real receipts
replace them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arvis.domain.jobs import Job
from arvis.domain.money import OpenCall, Spender, SpendingLimits, Spent
from arvis.llm.budgets import RESERVATION_MS
from arvis.ports.store import Transaction

#: The error of such a receipt.
INTERRUPTED = "interrupted"
_DETAIL = "the process died during the call (tokens and cost are estimates: the most that it can have used)"


def begin(tx: Transaction, call: OpenCall, limits: SpendingLimits) -> None:
    """Record a call before it is made. Book an earlier attempt of the same visit."""
    spender = call.spender
    _book_all(tx, tx.spending.open_calls(visit=(spender.execution_id, spender.visit)), limits)
    tx.spending.begin_call(call)


def end(tx: Transaction, call: OpenCall, limits: SpendingLimits) -> None:
    """Remove the row, because the receipts of the call are stored. Revert an estimate that was booked in their place."""
    if tx.spending.end_call(call.receipt.id):
        return
    booked = tx.usage.take_back(call.receipt.id, INTERRUPTED)
    if booked is not None:
        cost, _ = booked
        _book(tx, call.spender, limits, call.receipt.started_at, Spent(-cost, -1 if cost else 0))


def book_left(tx: Transaction, jobs: Sequence[Job], limits: SpendingLimits, now: int) -> None:
    """Book the calls that the dead process of these jobs left, and expired ones, whatever became of their jobs."""
    for job in jobs:
        _book_all(tx, tx.spending.open_calls(job_id=job.id), limits)
    _book_all(tx, tx.spending.open_calls(before=now - RESERVATION_MS), limits)


def _book_all(tx: Transaction, calls: Sequence[OpenCall], limits: SpendingLimits) -> None:
    for call in calls:
        if not tx.spending.end_call(call.receipt.id):
            continue  # another process was faster
        spender, receipt = call.spender, replace(call.receipt, error=INTERRUPTED, detail=_DETAIL)
        tx.usage.add(
            receipt,
            execution_id=spender.execution_id,
            job_id=spender.job_id,
            agent_id=spender.agent_id,
            principal_id=spender.principal_id,
            client_id=spender.client_id,
        )
        tx.spending.release(spender.execution_id, spender.visit)
        _book(tx, spender, limits, receipt.started_at, Spent(receipt.cost_micros, int(receipt.cost_micros > 0)))


def _book(tx: Transaction, spender: Spender, limits: SpendingLimits, at: int, more: Spent) -> None:
    if more.micros:
        pots = sorted(spender.pots(limits.zone, at).values())
        tx.spending.hold(pots)
        for pot in pots:
            tx.spending.book(pot, more)
