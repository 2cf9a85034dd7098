"""Hard limits on the costs of model calls: a cost is reserved before the call and booked after it.

A call may start if its highest possible cost fits into every limit. If the reservations of running calls leave too
little, the caller tries again a few seconds later. If no other call is running, the call may start as long as no limit
is used up, even if its cost exceeds the remaining amount. So a limit is overspent by at most one call, and a high
estimate never blocks the remaining amount. The credit of a prepaid customer is also a limit; for this limit, the charge
of the turn is reserved. Nothing is reserved between the calls of a turn.

The functions are transaction scripts. A *pot* stores the amount spent on one item, such as one agent in one day. The
pots of a call are locked in their order, so that two calls never deadlock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

from arvis.domain.dataclass import replace
from arvis.domain.errors import BudgetBusy, BudgetReached
from arvis.domain.jobs import Job
from arvis.domain.money import (
    Budget,
    Busy,
    Client,
    ClientPlan,
    ClientStatus,
    OpenCall,
    OverBudget,
    Pot,
    Reserved,
    Spender,
    SpendingLimits,
    Spent,
    next_day,
    next_month,
    usd,
)
from arvis.domain.runs import ModelCall
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction

#: The time (ms) until a reservation expires if the result of its call is never stored: twice the runner's deadline of
#: 15 minutes, because the last attempt may begin just before the deadline.
RESERVATION_MS = 1_800_000


# -- before the call ---------------------------------------------------------------------------------------


def reserve(
    tx: Transaction, spender: Spender, estimate_micros: int, limits: SpendingLimits, now: int
) -> Reserved | OverBudget | Busy:
    """Reserve the cost of a call, or return the reason why the call may not start. The reservation replaces an earlier
    reservation of the same visit. It ends when `settle` is called or when it expires. For a call without a price
    (`estimate_micros` is 0), only reserve the charge of a prepaid customer's turn and count the turn of an unpaired
    person."""
    client = tx.clients.get(spender.client_id) if spender.client_id is not None else None
    if client is not None and (refusal := _refusal_of(client)) is not None:
        return refusal
    pots = spender.pots(limits.zone, now)
    share = _share(tx, spender, limits)
    limited = _limited(pots, limits, client, share) if estimate_micros else {}
    counting = spender.unpaired and Budget.PRINCIPAL in pots
    # All pots that may be written are locked at once, because only then do all calls lock them in the same order.
    spent = tx.spending.hold(sorted({*(pots.values() if counting else limited), *_credit_pots(client)}))
    turns = _stranger_refusal(pots, spent, limits, now) if counting else None
    refused = turns or _used_up(limited, spent, limits.zone, now)
    if refused is not None:
        by_share = refused.budget is Budget.PRINCIPAL and refused.limit == share
        return replace(refused, budget=Budget.SHARE) if by_share else refused
    left = {pot: limit - spent[pot].micros - estimate_micros for pot, limit in limited.items()}
    if (busy := _crowded(tx, left, spender, now)) is not None:
        return busy
    credit = _credit(tx, client, spender, estimate_micros, now)
    if isinstance(credit, OverBudget | Busy):
        return credit
    if amounts := {**dict.fromkeys(limited, estimate_micros), **credit}:
        tx.spending.reserve(amounts, spender.execution_id, spender.visit, now + RESERVATION_MS)
    if counting and not spent[pots[Budget.TURN]].turns:
        tx.spending.book(sorted(pots.values()), Spent(turns=1))
    return Reserved(estimate_micros)


def refusal_of_stranger(tx: Transaction, spender: Spender, limits: SpendingLimits, now: int) -> OverBudget | None:
    """Return the refusal of a call without a price if an unpaired person has used up today's turns, else None. The turn
    is counted later, by `settle`, so concurrent turns may together exceed the limit."""
    pots = spender.pots(limits.zone, now)
    if not spender.unpaired or Budget.PRINCIPAL not in pots:
        return None
    asked = {pots[budget]: tx.spending.get(pots[budget]) for budget in (Budget.PRINCIPAL, Budget.TURN)}
    return _stranger_refusal(pots, asked, limits, now)


def _refusal_of(client: Client) -> OverBudget | None:
    if client.status is ClientStatus.PAUSED:
        return OverBudget(Budget.CLIENT_STATUS, 0, 0, None)
    if client.plan is ClientPlan.PREPAID and client.balance <= 0:
        return OverBudget(Budget.CREDIT, 0, -client.balance, None)
    return None


def _share(tx: Transaction, spender: Spender, limits: SpendingLimits) -> int | None:
    """Return the part of the day's budget that one person may spend, so that the other part remains for other people.
    Return None if no share applies: no share is configured, the person is an owner, there are no other people, or the
    person's own limit is not higher than the share."""
    if limits.daily is None or limits.share is None or spender.owner or spender.principal_id is None:
        return None
    share = limits.daily * limits.share // 100
    if limits.per_principal_daily is not None and limits.per_principal_daily <= share:
        return None
    return share if tx.principals.has_others(spender.principal_id) else None


def _limited(
    pots: Mapping[Budget, Pot], limits: SpendingLimits, client: Client | None, share: int | None
) -> dict[Pot, int]:
    """Return the pots that have a limit, with their limits."""
    monthly = limits.per_client_monthly
    if client is not None and client.monthly_limit is not None:
        monthly = client.monthly_limit
    by_budget = {
        Budget.DAY: limits.daily,
        Budget.AGENT: limits.per_agent_daily,
        Budget.PRINCIPAL: limits.per_principal_daily if share is None else share,
        Budget.CLIENT: monthly,
        Budget.TURN: limits.per_turn,
    }
    return {pot: limit for budget, pot in pots.items() if (limit := by_budget[budget]) is not None}


def _stranger_refusal(
    pots: Mapping[Budget, Pot], spent: Mapping[Pot, Spent], limits: SpendingLimits, now: int
) -> OverBudget | None:
    most, asked = limits.unpaired_daily_turns, spent[pots[Budget.PRINCIPAL]].turns
    if most is None or asked < most or spent[pots[Budget.TURN]].turns:
        return None
    return OverBudget(Budget.TURNS, most, asked, next_day(now, limits.zone))


def _used_up(limited: Mapping[Pot, int], spent: Mapping[Pot, Spent], zone: str, now: int) -> OverBudget | None:
    for pot, limit in sorted(limited.items()):
        if spent[pot].micros >= limit:
            return OverBudget(pot.scope, limit, spent[pot].micros, _opens_at(pot.scope, zone, now))
    return None


def _crowded(tx: Transaction, left: Mapping[Pot, int], spender: Spender, now: int) -> Busy | None:
    """Return `Busy` if other running calls have reserved more than the amount that would remain after this call.
    (`left` contains that amount for each pot.) If no other call is running, return None, so that this call may start
    even if it is too expensive."""
    own = (spender.execution_id, spender.visit)
    for pot, room in sorted(left.items()):
        if tx.spending.reserved(pot, now, but=own) > max(0, room):
            return Busy(pot.scope)
    return None


def _credit_pots(client: Client | None) -> list[Pot]:
    """Return the pot for the reservations of a prepaid customer's credit. Only reservations are stored in this pot,
    never amounts that were spent."""
    prepaid = client is not None and client.plan is ClientPlan.PREPAID
    return [Pot(Budget.CREDIT, "", client.id)] if client is not None and prepaid else []


def _credit(
    tx: Transaction, client: Client | None, spender: Spender, estimate_micros: int, now: int
) -> Mapping[Pot, int] | OverBudget | Busy:
    """Return the amount to reserve from a prepaid customer's credit: the price of the turn with all its calls so far,
    because the turn is charged at its end."""
    if client is None or not (pots := _credit_pots(client)):
        return {}
    aside = tx.spending.reserved(pots[0], now, but=(spender.execution_id, spender.visit))
    # The balance is read after the reservations. A charge that another process commits between the two reads then
    # counts twice; in the other order it might not count at all.
    balance = (tx.clients.get(client.id) or client).balance
    so_far = tx.spending.get(Pot(Budget.TURN, "", spender.turn)).micros
    left = balance - (client.price_of(so_far) - client.price_of(0))
    if left <= 0:
        return OverBudget(Budget.CREDIT, 0, -left, None)
    price = client.price_of(so_far + estimate_micros)
    return Busy(Budget.CREDIT) if aside > max(0, balance - price) else {pots[0]: price}


def _opens_at(budget: Budget, zone: str, now: int) -> int | None:
    match budget:
        case Budget.DAY | Budget.AGENT | Budget.PRINCIPAL:
            return next_day(now, zone)
        case Budget.CLIENT:
            return next_month(now, zone)
        case _:
            return None


# -- after the call ----------------------------------------------------------------------------------------


def settle(
    tx: Transaction,
    spender: Spender,
    limits: SpendingLimits,
    calls: tuple[ModelCall, ...],
    now: int,
    *,
    reserved: bool = True,
) -> int:
    """Store the receipts, book their cost, count the turn, and release the reservation (`reserved` is False if there is
    none). A second call neither books a stored receipt nor counts the turn again. Return the cost of the new
    receipts."""
    new = [call for call in calls if _keep(tx, spender, call)]
    if reserved:
        tx.spending.release(spender.execution_id, spender.visit)
    cost = sum(call.cost_micros for call in new)
    pots = spender.pots(limits.zone, now)
    if cost or calls:
        ordered, turn = sorted(pots.values()), pots[Budget.TURN]
        turns = 0 if tx.spending.hold(ordered, [turn])[turn].turns else 1
        if cost or turns:
            tx.spending.book(ordered, Spent(cost, sum(call.cost_micros > 0 for call in new), turns))
    return cost


def _keep(tx: Transaction, spender: Spender, call: ModelCall) -> bool:
    return tx.usage.add(
        call,
        execution_id=spender.execution_id,
        job_id=spender.job_id,
        agent_id=spender.agent_id,
        principal_id=spender.principal_id,
        client_id=spender.client_id,
    )


# -- the errors for refusals -------------------------------------------------------------------------------

_NAMES = {
    Budget.DAY: ("The budget of the day", "budgets.daily_usd"),
    Budget.AGENT: ("The agent's budget of the day", "budgets.per_agent_daily_usd"),
    Budget.PRINCIPAL: ("This person's budget of the day", "budgets.per_principal_daily_usd"),
    Budget.SHARE: ("This person's share of the day's budget", "budgets.per_principal_daily_percent"),
    Budget.CREDIT: ("The customer's credit", ""),
    Budget.CLIENT: (
        "The customer's budget of the month",
        "budgets.per_client_monthly_usd, or the customer's own limit",
    ),
    Budget.TURN: ("The budget of one turn", "budgets.per_turn_usd"),
}


def error_of(refusal: OverBudget | Busy, zone: str) -> BudgetReached | BudgetBusy:
    """Return the refusal as an error with amounts, for the timeline."""
    match refusal:
        case Busy(budget=budget):
            return BudgetBusy(
                f"{_NAMES[budget][0]} is reserved for running calls", fix="Wait a few seconds and try again."
            )
        case OverBudget(budget=Budget.CREDIT, spent=missing):
            what = f"The customer's credit is used up. The balance is {usd(-missing)}"
            return BudgetReached(Budget.CREDIT, what, fix="Enter a payment, or change the plan of the customer.")
        case OverBudget(budget=Budget.CLIENT_STATUS):
            return BudgetReached(
                Budget.CLIENT_STATUS, "The customer is paused.", fix="Set the customer to active again."
            )
        case OverBudget(budget=Budget.TURNS, limit=limit):
            what = f"This person has asked the {limit} questions that unpaired users may ask in a day"
            fix = f"Raise budgets.unpaired_daily_turns, or list the person in the agent's allow_users{_or_wait(refusal, zone)}"
            return BudgetReached(Budget.TURNS, what, fix=fix)
        case _:
            name, key = _NAMES[refusal.budget]
            what = f"{name} is used up: {usd(refusal.spent)} of {usd(refusal.limit)}"
            return BudgetReached(refusal.budget, what, fix=f"Raise {key}{_or_wait(refusal, zone)}")


def _or_wait(refusal: OverBudget, zone: str) -> str:
    if refusal.opens_at is None:
        return ""
    at = datetime.fromtimestamp(refusal.opens_at / 1000, ZoneInfo(zone))
    return f", or wait until {at:%Y-%m-%d %H:%M} ({zone})"


# -- calls whose end was not seen --------------------------------------------------------------------------------------
#
# If a process dies during a call, the largest possible use of the call is booked, once (docs/adr/0035). Each call has a
# row from before its start until its receipts are stored. The process that takes over the job of a dead process turns
# the rows of that job into receipts. If the process that made the call is alive after all, its real receipts replace
# these estimates.


#: The `error` in the receipt of a call whose end was not recorded.
INTERRUPTED = "interrupted"
_DETAIL = "the process died during the call (tokens and cost are estimates: the most that the call can have used)"


def begin_open_call(tx: Transaction, call: OpenCall, limits: SpendingLimits) -> None:
    """Record a call before it is made. Book earlier calls of the same visit whose end was not recorded."""
    spender = call.spender
    _book_all(tx, tx.spending.open_calls(visit=(spender.execution_id, spender.visit)), limits)
    tx.spending.begin_call(call)


def end_open_call(tx: Transaction, call: OpenCall, limits: SpendingLimits) -> None:
    """Remove the row of a call whose receipts are stored. If an estimate was booked for the call, revert it."""
    if tx.spending.end_call(call.receipt.id):
        return
    booked = tx.usage.take_back(call.receipt.id, INTERRUPTED)
    if booked is not None:
        cost, _ = booked
        _book_estimate(tx, call.spender, limits, call.receipt.started_at, Spent(-cost, -1 if cost else 0))


def book_left(tx: Transaction, jobs: Sequence[Job], limits: SpendingLimits, now: int) -> None:
    """Book the open calls of the jobs that a dead process left, and all calls that have been open for longer than
    `RESERVATION_MS`, regardless of the state of their jobs."""
    for job in jobs:
        _book_all(tx, tx.spending.open_calls(job_id=job.id), limits)
    _book_all(tx, tx.spending.open_calls(before=now - RESERVATION_MS), limits)


def _book_all(tx: Transaction, calls: Sequence[OpenCall], limits: SpendingLimits) -> None:
    for call in calls:
        if not tx.spending.end_call(call.receipt.id):
            continue  # another process has already booked this call
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
        _book_estimate(
            tx, spender, limits, receipt.started_at, Spent(receipt.cost_micros, int(receipt.cost_micros > 0))
        )


def _book_estimate(tx: Transaction, spender: Spender, limits: SpendingLimits, at: int, more: Spent) -> None:
    if more.micros:
        pots = sorted(spender.pots(limits.zone, at).values())
        tx.spending.hold(pots, [])
        tx.spending.book(pots, more)


# -- the budget of one process -----------------------------------------------------------------------------------------


class BudgetSession:
    """The access of one process to the budgets. `limits` returns the limits that are configured now."""

    def __init__(self, *, store: Store, limits: Callable[[], SpendingLimits], clock: Clock) -> None:
        self._store = store
        self._limits = limits
        self._clock = clock

    async def open(self, spender: Spender, estimate: int, receipt: ModelCall | None = None) -> OpenCall | None:
        """Reserve money for a call that costs at most `estimate` micros, and record the call. `receipt` is booked if
        the process dies during the call; it is None if the call cannot cost anything. Pass the result to `close`. Raise
        `BudgetReached`, or `BudgetBusy` if the caller may try again in a second or two."""
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
            end_open_call(tx, call, self._limits())
        settle(tx, spender, self._limits(), calls, self._clock.now(), reserved=reserved)

    def book_left(self, tx: Transaction, jobs: Sequence[Job], now: int) -> None:
        """Book the calls that a dead process left open, in the commit that takes back the jobs of that process."""
        book_left(tx, jobs, self._limits(), now)

    def _asks(self, spender: Spender, estimate: int) -> bool:
        """Return whether the call needs a reservation, because it has a price or a customer pays for it."""
        return estimate > 0 or spender.client_id is not None

    def _reserve(self, tx: Transaction, spender: Spender, estimate: int, call: OpenCall | None) -> None:
        limits = self._limits()
        if self._asks(spender, estimate):
            verdict = reserve(tx, spender, estimate, limits, self._clock.now())
            if not isinstance(verdict, Reserved):
                raise error_of(verdict, limits.zone)
        elif spender.unpaired:
            self._judge_stranger(tx, spender)
        if call is not None:
            begin_open_call(tx, call, limits)

    def _judge_stranger(self, tx: Transaction, spender: Spender) -> None:
        limits = self._limits()
        refusal = refusal_of_stranger(tx, spender, limits, self._clock.now())
        if refusal is not None:
            raise error_of(refusal, limits.zone)
