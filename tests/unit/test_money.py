"""Days, months and amounts, and the effect of a used-up budget on a job and on the person who asked."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from arvis.domain.errors import BudgetBusy, BudgetReached
from arvis.domain.jobs import Fail, Snooze
from arvis.domain.money import Budget, budget_reason, day_of, month_of, next_day, next_month, usd
from arvis.message_flow import result_of
from arvis.messaging import notices


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("moment", "zone", "day", "tomorrow", "next_first"),
    [
        ("2026-11-22T23:59:59", "UTC", "2026-11-22", "2026-11-23T00:00", "2026-12-01T00:00"),
        ("2026-12-31T23:30:00", "Europe/Berlin", "2027-01-01", "2027-01-01T23:00", "2027-01-31T23:00"),
        ("2026-12-31T12:00:00", "UTC", "2026-12-31", "2027-01-01T00:00", "2027-01-01T00:00"),
        ("2026-03-28T23:30:00", "Europe/Berlin", "2026-03-29", "2026-03-29T22:00", "2026-03-31T22:00"),
        ("2026-10-24T22:30:00", "Europe/Berlin", "2026-10-25", "2026-10-25T23:00", "2026-10-31T23:00"),
        ("2028-02-28T18:30:00", "Asia/Kolkata", "2028-02-29", "2028-02-29T18:30", "2028-02-29T18:30"),
    ],
)
def test_days_and_months_are_those_of_the_zone(
    moment: str, zone: str, day: str, tomorrow: str, next_first: str
) -> None:
    now = at(moment)
    assert (day_of(now, zone), month_of(now, zone)) == (day, day[:7])
    assert (next_day(now, zone), next_month(now, zone)) == (at(tomorrow), at(next_first))


@pytest.mark.parametrize(
    ("micros", "text"),
    [(0, "$0.00"), (5_010_000, "$5.01"), (1_500_000, "$1.50"), (-20_000, "-$0.02"), (1234, "$0.001234")],
)
def test_amounts_for_people(micros: int, text: str) -> None:
    assert usd(micros) == text


@pytest.mark.parametrize("budget", Budget)
def test_who_asked_is_told_no_amount(budget: Budget) -> None:
    result = result_of(BudgetReached(budget, "used up: $5.01 of $5.00", fix="Raise it."), 0)
    assert result == Fail(f"budget_{budget}", "used up: $5.01 of $5.00. Raise it.")
    words = notices.failed(budget_reason(budget))
    assert "something went wrong" not in words
    assert "$" not in words


def test_who_waits_for_others_is_asked_again_soon() -> None:
    assert result_of(BudgetBusy("set aside"), 5) == Snooze(2_005, "budget")
