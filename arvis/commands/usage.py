"""`/usage`: requests and costs of the person; in a direct chat with an owner, the costs of the whole system."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from arvis.commands.invocation import Invocation
from arvis.domain.messages import PrincipalRole
from arvis.domain.money import Budget, Pot, Spent, day_of, start_of_day, usd
from arvis.ports.store import Transaction


def usage(tx: Transaction, invocation: Invocation, now: int) -> str:
    """Show today and this month, by the daemon's midnight."""
    today = date.fromisoformat(day_of(now, invocation.house_zone))
    periods = {"today": today, "this month": today.replace(day=1)}
    lines = [f"You {words}: {_of_person(tx, invocation, first, today)}" for words, first in periods.items()]
    # In a group everybody reads the answer.
    if invocation.principal.role is PrincipalRole.OWNER and invocation.conversation.direct:
        lines += [f"The whole system {words}: {_of_house(tx, first, today)}" for words, first in periods.items()]
    return "\n".join(lines)


def _of_person(tx: Transaction, invocation: Invocation, first: date, today: date) -> str:
    person = invocation.principal.id
    asked = _spent(tx, Budget.PRINCIPAL, person, first, today)
    sums = tx.usage.of_person(person, start_of_day(first, invocation.house_zone))
    tokens = f"{sums.input_tokens:,} tokens in, {sums.output_tokens:,} out"
    return f"{_questions(asked)}, {tokens}, {usd(sums.cost_micros)}."


def _of_house(tx: Transaction, first: date, today: date) -> str:
    spent = _spent(tx, Budget.DAY, "", first, today)
    return f"{_questions(spent)}, {usd(spent.micros)}."


def _questions(spent: Spent) -> str:
    return "1 question" if spent.turns == 1 else f"{spent.turns:,} questions"


def _spent(tx: Transaction, scope: Budget, key: str, first: date, today: date) -> Spent:
    pots = [tx.spending.get(Pot(scope, day, key)) for day in _days(first, today)]
    return Spent(sum(pot.micros for pot in pots), sum(pot.calls for pot in pots), sum(pot.turns for pot in pots))


def _days(first: date, last: date) -> Iterator[str]:
    for number in range((last - first).days + 1):
        yield (first + timedelta(days=number)).isoformat()
