"""Budgets on both databases: which calls are refused, which wait, what is booked, and an overspending of one call at
most."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from arvis.domain.agents import Agent
from arvis.domain.errors import BudgetBusy, BudgetReached
from arvis.domain.executions import Wait, WaitKind
from arvis.domain.messages import Address, PrincipalRole
from arvis.domain.money import (
    Budget,
    Busy,
    ChargeType,
    Client,
    ClientChannel,
    ClientPlan,
    ClientStatus,
    OverBudget,
    Reserved,
    Spender,
    SpendingLimits,
    Spent,
)
from arvis.engine import lifecycle
from arvis.llm.budgets import RESERVATION_MS, refusal_of_stranger, settle
from arvis.ports.store import Store, Transaction
from arvis.services.billing import add_client, bind_channel, enter_charge
from arvis.store.open import Database
from arvis.tasks.access import spender_of
from tests.conformance.budget_kit import DAY_MS, HOUR_MS, NOON, Desk, booked, call, spender
from tests.conformance.databases import emptied, opened
from tests.conformance.takeovers import stores
from tests.postgres import PostgresServer

CENT = 10_000


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[str]:
    """Create one database for all cases, because creating one takes longer than a case."""
    with postgres.database("budgets") as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    if request.param == "postgres":
        database = Database(tmp_path / "none.db", request.getfixturevalue("url"), tmp_path)
        emptied(database)
    async with opened(database) as store:
        yield store


def desk(store: Store, **limits: Any) -> Desk:
    return Desk(store, SpendingLimits(**limits))


# -- one after the other -----------------------------------------------------------------------------------


async def test_a_cent_is_overspent_by_one_call_at_most(store: Store) -> None:
    made = desk(store, daily=CENT)
    outcomes = []
    for number in range(5):
        who = spender(f"turn-{number}")
        outcomes.append(await made.reserve(who, 9_000))
        if isinstance(outcomes[-1], Reserved):
            await made.settle(who, 4_000)
    assert outcomes[:3] == [Reserved(9_000)] * 3
    refused = OverBudget(Budget.DAY, CENT, 12_000, NOON + 12 * HOUR_MS)
    assert outcomes[3:] == [refused, refused]
    assert await made.reserve(spender(), 1, NOON + DAY_MS) == Reserved(1), "the next day has a new budget"


@pytest.mark.parametrize(
    ("limit", "budget", "opens_after"),
    [
        ("per_turn", Budget.TURN, None),
        ("per_agent_daily", Budget.AGENT, 12 * HOUR_MS),
        ("per_principal_daily", Budget.PRINCIPAL, 12 * HOUR_MS),
        ("daily", Budget.DAY, 12 * HOUR_MS),
    ],
)
async def test_each_budget_refuses_by_itself(store: Store, limit: str, budget: Budget, opens_after: int | None) -> None:
    made, who = desk(store, **{limit: 100}), spender()
    await made.settle(who, 100)
    opens = None if opens_after is None else NOON + opens_after
    assert await made.reserve(who, 1) == OverBudget(budget, 100, 100, opens)
    other = spender("turn-2", agent_id="agent-2", principal_id="bob")
    assert (await made.reserve(other, 1) == Reserved(1)) is (budget is not Budget.DAY)


def _people(tx: Transaction, *roles: PrincipalRole) -> list[str]:
    return [tx.principals.seen("chat", f"u{number}", "Ann", role, NOON).id for number, role in enumerate(roles)]


async def test_one_of_several_people_leaves_a_share_of_the_day_to_the_others(store: Store) -> None:
    made = desk(store, daily=100, share=40)
    ann, bob = await store.write(_people, PrincipalRole.MEMBER, PrincipalRole.MEMBER)
    assert await made.reserve(spender(principal_id=ann), 10) == Reserved(10)
    await made.settle(spender(principal_id=ann), 40)
    refused = OverBudget(Budget.SHARE, 40, 40, NOON + 12 * HOUR_MS)
    assert await made.reserve(spender("turn-2", principal_id=ann), 1) == refused
    assert await made.reserve(spender("turn-2", principal_id=ann), 0) == Reserved(0), (
        "calls that cost nothing are not refused"
    )
    assert await made.reserve(spender("turn-3", principal_id=bob), 30) == Reserved(30)
    assert await made.reserve(spender("turn-4", principal_id=None), 10) == Reserved(10), "work without a person"
    complaint = await made.complaint(spender("turn-2", principal_id=ann))
    assert str(complaint).startswith("This person's share of the day's budget is used up: $0.00004 of $0.00004")
    assert "budgets.per_principal_daily_percent" in (complaint.fix or "")


@pytest.mark.parametrize(
    ("others", "owner"),
    [((), False), ((PrincipalRole.OWNER, PrincipalRole.BLOCKED), False), ((PrincipalRole.MEMBER,), True)],
)
async def test_people_without_others_and_owners_may_use_the_whole_day(
    store: Store, others: tuple[PrincipalRole, ...], owner: bool
) -> None:
    made = desk(store, daily=100, share=40)
    ann, *_ = await store.write(_people, PrincipalRole.OWNER if owner else PrincipalRole.MEMBER, *others)
    await made.settle(spender(principal_id=ann), 90)
    assert await made.reserve(spender("turn-2", principal_id=ann, owner=owner), 5) == Reserved(5)


async def test_the_tighter_of_share_and_personal_limit_counts(store: Store) -> None:
    ann, _ = await store.write(_people, PrincipalRole.MEMBER, PrincipalRole.OPERATOR)
    for limit, budget, most in ((30, Budget.PRINCIPAL, 30), (60, Budget.SHARE, 40)):
        made = desk(store, daily=100, share=40, per_principal_daily=limit)
        await made.settle(spender(f"turn-{limit}", principal_id=ann), 40 if limit == 30 else 0)
        found = await made.reserve(spender("turn-2", principal_id=ann), 1)
        assert found == OverBudget(budget, most, 40, NOON + 12 * HOUR_MS)


async def test_what_is_in_flight_counts_and_what_waits_may_go_on(store: Store) -> None:
    made = desk(store, daily=100)
    first, second = spender("turn-1"), spender("turn-2")
    assert await made.reserve(first, 70) == Reserved(70)
    assert await made.reserve(second, 40) == Busy(Budget.DAY)
    assert await made.reserve(second, 30) == Reserved(30)
    await made.settle(first, 20)
    await made.settle(second, 30)
    assert await made.reserve(second, 50) == Reserved(50)
    await made.settle(second, 49)
    assert await made.reserve(first, 1_000) == Reserved(1_000), "no other call, and the budget is not used up"
    assert await made.reserve(second, 1) == Busy(Budget.DAY)


async def test_the_same_visit_takes_the_place_of_its_reservation(store: Store) -> None:
    made, who = desk(store, daily=100), spender()
    assert await made.reserve(who, 90) == Reserved(90)
    assert await made.reserve(who, 80) == Reserved(80)
    assert await made.reserve(spender("turn-2"), 20) == Reserved(20)
    assert await made.reserve(spender("turn-1", "2"), 1) == Busy(Budget.DAY)


async def test_a_reservation_whose_call_was_lost_expires(store: Store) -> None:
    made, other = desk(store, daily=100), spender("turn-2")
    await made.reserve(spender(), 90)
    assert await made.reserve(other, 20, NOON + RESERVATION_MS - 1) == Busy(Budget.DAY)
    assert await made.reserve(other, 20, NOON + RESERVATION_MS) == Reserved(20)


async def test_what_was_called_is_booked_everywhere_and_once(store: Store) -> None:
    made, who = desk(store), spender(client_id=None)
    calls = (call(30), call(0, error="timeout"), call(12))
    for _ in range(3):
        await store.write(settle, who, made.limits, calls, NOON)
    for budget in (Budget.DAY, Budget.AGENT, Budget.PRINCIPAL, Budget.TURN):
        assert await made.spent(who, budget) == Spent(42, 2, 1)
    await made.settle(spender(visit="2"), 8)
    assert await made.spent(who, Budget.DAY) == Spent(50, 3, 1), "still one turn"
    await made.settle(spender("turn-2"), 1)
    assert await made.spent(who, Budget.DAY) == Spent(51, 4, 2)


async def test_days_are_those_of_the_zone(store: Store) -> None:
    made, late = desk(store, daily=100, zone="Pacific/Auckland"), NOON - 90 * 60_000
    await made.settle(spender(), 100, now=late)
    refused = await made.reserve(spender("turn-2"), 1, late)
    assert refused == OverBudget(Budget.DAY, 100, 100, NOON - HOUR_MS), "midnight there is 11 o'clock in UTC (summer)"
    assert isinstance(await made.reserve(spender("turn-2"), 1, NOON - HOUR_MS), Reserved)


async def test_a_limit_of_nothing_refuses_what_costs_something(store: Store) -> None:
    made = desk(store, daily=0)
    assert await made.reserve(spender(), 1) == OverBudget(Budget.DAY, 0, 0, NOON + 12 * HOUR_MS)
    assert await made.reserve(spender(), 0) == Reserved(0)


async def test_a_turn_without_a_price_is_counted_once_whoever_asked(store: Store) -> None:
    made, who = desk(store, daily=1), spender()
    assert await made.reserve(who, 0) == Reserved(0)
    assert await made.spent(who, Budget.DAY) == Spent(), "the refused call has no reservation"
    for visit in ("1", "1", "2"):
        await made.settle(spender(visit=visit), 0)
        for budget in (Budget.DAY, Budget.AGENT, Budget.PRINCIPAL, Budget.TURN):
            assert await made.spent(who, budget) == Spent(0, 0, 1)
    await made.settle(spender("turn-2"), 0)
    assert await made.spent(who, Budget.DAY) == Spent(0, 0, 2)


# -- people without a pairing ------------------------------------------------------------------------------


async def test_strangers_have_so_many_turns_a_day(store: Store) -> None:
    made = desk(store, unpaired_daily_turns=2)
    for turn in ("turn-1", "turn-1", "turn-2"):
        assert await made.reserve(spender(turn, unpaired=True), 0) == Reserved(0)
    refused = OverBudget(Budget.TURNS, 2, 2, NOON + 12 * HOUR_MS)
    assert await made.reserve(spender("turn-3", unpaired=True), 0) == refused
    assert await made.reserve(spender("turn-2", "9", unpaired=True), 0) == Reserved(0), (
        "a turn that has begun may continue"
    )
    assert await made.reserve(spender("turn-3"), 0) == Reserved(0), "paired"
    assert await made.reserve(spender("turn-3", unpaired=True), 0, NOON + DAY_MS) == Reserved(0)


async def test_a_stranger_s_turn_without_a_price_is_counted_once_at_its_end(store: Store) -> None:
    made, who = desk(store, unpaired_daily_turns=1), spender(unpaired=True)
    refusal = partial(refusal_of_stranger, limits=made.limits, now=NOON)
    assert await store.read(lambda tx: refusal(tx, who)) is None
    for _ in range(2):
        await made.settle(who, 0)
        assert await made.spent(who, Budget.PRINCIPAL) == Spent(0, 0, 1)
    assert await store.read(lambda tx: refusal(tx, who)) is None, "a turn that has begun may continue"
    other = spender("turn-2", unpaired=True)
    assert await store.read(lambda tx: refusal(tx, other)) == OverBudget(Budget.TURNS, 1, 1, NOON + 12 * HOUR_MS)
    assert await store.read(lambda tx: refusal(tx, spender("turn-2"))) is None, "paired"


async def test_a_stranger_who_is_refused_for_money_has_not_asked(store: Store) -> None:
    made, who = desk(store, daily=1, unpaired_daily_turns=1), spender(unpaired=True)
    await made.settle(spender("turn-9", principal_id="bob"), 1)
    assert isinstance(await made.reserve(who, 1), OverBudget)
    assert (await made.spent(who, Budget.PRINCIPAL)).turns == 0


def _begin(tx: Transaction, agent: Agent, platform: str, role: PrincipalRole) -> Spender:
    tx.agents.add(agent, NOON)
    principal = tx.principals.seen(platform, "u1", "Ann", role, NOON)
    address = Address(platform, "main", "hall")
    parent = lifecycle.begin(
        tx, "parent", "agent", {"address": address.to_json()}, lane="a", priority=5, principal_id=principal.id, now=NOON
    )
    tx.waits.add(Wait("wait", parent.id, "c", WaitKind.CHILD, "", (), NOON, None))
    child = lifecycle.begin(tx, "child", "agent", {}, lane="b", priority=5, principal_id=principal.id, now=NOON)
    return spender_of(tx, replace(child, parent_wait="wait"), agent_id=agent.id, job_id="job", visit="v")


@pytest.mark.parametrize(
    ("platform", "role", "allow_users", "stranger"),
    [
        ("telegram", PrincipalRole.MEMBER, (), True),
        ("telegram", PrincipalRole.MEMBER, ("u1",), False),
        ("telegram", PrincipalRole.OPERATOR, (), False),
        ("telegram", PrincipalRole.OWNER, (), False),
        ("web", PrincipalRole.MEMBER, (), False),
    ],
)
async def test_who_is_a_stranger_and_whose_turn_it_is(
    store: Store, platform: str, role: PrincipalRole, allow_users: tuple[str, ...], stranger: bool
) -> None:
    def script(tx: Transaction) -> tuple[Spender, Client]:
        client = add_client(tx, Client("", "ACME"), NOON)
        bind_channel(tx, client.id, ClientChannel(platform, "hall"), NOON)
        return _begin(tx, Agent(id="a1", slug="helper", name="Helper", allow_users=allow_users), platform, role), client

    who, client = await store.write(script)
    assert (who.turn, who.execution_id, who.client_id, who.unpaired) == ("parent", "child", client.id, stranger)


# -- clients -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (Client("", "A", plan=ClientPlan.PREPAID), OverBudget(Budget.CREDIT, 0, 0, None)),
        (Client("", "A", plan=ClientPlan.PREPAID, balance=-7), OverBudget(Budget.CREDIT, 0, 7, None)),
        (Client("", "A", plan=ClientPlan.PREPAID, balance=1), Reserved(0)),
        (Client("", "A", balance=-7), Reserved(0)),
        (Client("", "A", status=ClientStatus.PAUSED), OverBudget(Budget.CLIENT_STATUS, 0, 0, None)),
    ],
)
async def test_clients_who_are_not_served(store: Store, client: Client, expected: object) -> None:
    made = await store.write(add_client, client, NOON)
    assert await desk(store).reserve(spender(client_id=made.id), 0) == expected


@pytest.mark.parametrize(("own", "limit"), [(None, 100), (50, 50), (200, 200)])
async def test_a_client_has_a_budget_of_the_month(store: Store, own: int | None, limit: int) -> None:
    client = await store.write(add_client, Client("", "A", monthly_limit=own), NOON)
    made, who = desk(store, per_client_monthly=100), spender(client_id=client.id)
    await made.settle(who, limit - 1)
    assert await made.reserve(who, 1, NOON + DAY_MS) == Reserved(1)
    await made.settle(who, 1, now=NOON + DAY_MS)
    refused = await made.reserve(who, 1, NOON + DAY_MS)
    assert isinstance(refused, OverBudget)
    assert (refused.budget, refused.limit, refused.spent) == (Budget.CLIENT, limit, limit)
    assert refused.opens_at is not None
    assert isinstance(await made.reserve(who, 1, refused.opens_at), Reserved)


@pytest.mark.parametrize("estimate", [0, 60])
async def test_credit_is_set_aside(store: Store, estimate: int) -> None:
    """The price of a turn is 40 plus the cost of its model calls."""
    acme = Client("", "A", plan=ClientPlan.PREPAID, balance=1, price_per_task=40, token_factor_milli=1000)
    client = await store.write(add_client, acme, NOON)
    made = desk(store)
    first, second = spender("turn-1", client_id=client.id), spender("turn-2", client_id=client.id)
    assert await made.reserve(first, estimate) == Reserved(estimate), "no other call, and the credit is not used up"
    assert await made.reserve(first, estimate) == Reserved(estimate), "the same visit"
    assert await made.reserve(second, estimate) == Busy(Budget.CREDIT)
    assert isinstance(await made.complaint(second, estimate), BudgetBusy)
    await made.settle(first, 0)
    assert await made.reserve(second, estimate) == Reserved(estimate)
    await store.write(enter_charge, client.id, ChargeType.PAYMENT, 2 * (40 + estimate) - 1, description="", now=NOON)
    assert await made.reserve(first, estimate) == Reserved(estimate), "the credit is enough for both"
    third = spender("turn-3", client_id=client.id)
    assert await made.reserve(third, estimate) == Busy(Budget.CREDIT)


async def test_the_calls_of_a_turn_use_up_the_credit_before_it_is_charged(store: Store) -> None:
    acme = Client("", "A", plan=ClientPlan.PREPAID, balance=50, price_per_task=90, token_factor_milli=1000)
    client = await store.write(add_client, acme, NOON)
    made, who = desk(store), spender(client_id=client.id)
    assert await made.reserve(who, 10) == Reserved(10)
    await made.settle(who, 49)
    assert await made.reserve(who, 10) == Reserved(10), "the credit is not used up"
    await made.settle(who, 8)
    assert await made.reserve(who, 10) == OverBudget(Budget.CREDIT, 0, 7, None)


async def test_an_execution_that_ends_sets_nothing_aside(store: Store) -> None:
    made = desk(store, daily=100)

    def begin(tx: Transaction, name: str) -> None:
        lifecycle.begin(tx, name, "agent", {}, lane=name, priority=5, principal_id=None, now=NOON)

    for name in ("turn-1", "turn-2"):
        await store.write(begin, name)
    await made.reserve(spender("turn-1", "1"), 40)
    await made.reserve(spender("turn-1", "2"), 40)
    assert await made.reserve(spender("turn-2"), 90) == Busy(Budget.DAY)
    await store.write(lifecycle.cancel, "turn-1", NOON)
    assert await made.reserve(spender("turn-2"), 90) == Reserved(90)
    await store.write(lifecycle.fail, "turn-2", "broken", NOON)
    assert await made.reserve(spender("turn-3"), 90) == Reserved(90)


# -- texts -------------------------------------------------------------------------------------------------


async def test_a_refusal_says_what_and_how_to_mend_it(store: Store) -> None:
    made, who = desk(store, daily=5_000_000, zone="Europe/Berlin"), spender()
    await made.settle(who, 5_010_000)
    error = await made.complaint(who)
    assert isinstance(error, BudgetReached)
    assert (error.budget, error.what) == ("day", "The budget of the day is used up: $5.01 of $5.00")
    assert error.fix.startswith("Raise budgets.daily_usd, or wait until 20")
    assert error.fix.endswith("00:00 (Europe/Berlin)")
    busy = desk(store, per_turn=10)
    await busy.reserve(spender("turn-7", "1"), 10)
    assert isinstance(await busy.complaint(spender("turn-7", "2")), BudgetBusy)


# -- housekeeping ------------------------------------------------------------------------------------------


async def test_what_nobody_looks_at_again_leaves(store: Store) -> None:
    made = desk(store, daily=10**9)
    old, new = spender("01AAA"), spender("01BBB")
    await made.settle(old, 1, now=NOON - 2 * DAY_MS)
    await made.reserve(old, 1, NOON - 2 * DAY_MS)
    await made.settle(new, 1)
    await made.reserve(new, 1)

    today = new.pots("UTC", NOON)[Budget.DAY].period

    def prune(tx: Transaction) -> int:
        return tx.spending.prune("01B", today, NOON, 10)

    assert await store.write(prune) == 4, "a turn, a day of an agent, one of a person, a reservation"
    assert await store.write(prune) == 0
    assert (await made.spent(old, Budget.DAY, NOON - 2 * DAY_MS)).micros == 1, "the sums of days are not deleted"
    assert await store.read(booked, new, "UTC", NOON) == dict.fromkeys(new.pots("UTC", NOON), 1)


# -- many callers at once ----------------------------------------------------------------------------------


async def test_processes_spend_together_and_never_wait_for_one_another(
    postgres_url: str, tmp_path: Path, figures: list[str]
) -> None:
    limit, estimate, cost = 1_000, 40, 37
    limits = SpendingLimits(daily=limit, per_agent_daily=limit // 2, per_principal_daily=limit // 2, per_turn=limit)
    async with stores(Database(tmp_path / "none.db", postgres_url, tmp_path), 2) as both:
        desks = [Desk(store, limits) for store in both]

        async def work(number: int) -> tuple[int, int]:
            made, calls, waits = desks[number % 2], 0, 0
            who = spender(f"turn-{number}", agent_id=f"agent-{number % 3}", principal_id=f"p-{-number % 4}")
            while not isinstance(verdict := await made.reserve(who, estimate), OverBudget):
                if isinstance(verdict, Busy):
                    waits += 1
                    await asyncio.sleep(0.005)
                    continue
                await asyncio.sleep(0)
                calls += 1
                await made.settle(who, cost)
            return calls, waits

        async with asyncio.timeout(60):
            done = await asyncio.gather(*map(work, range(8)))
        sums = await both[0].read(booked, spender(), "UTC", NOON)
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute("SELECT sum(cost_micros) FROM usage").fetchone()
        deadlocks = connection.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    spent = sum(calls for calls, _ in done) * cost
    assert sums[Budget.DAY] == spent
    assert found is not None
    assert found[0] == spent, "the ledger is the sum of the receipts"
    assert spent < limit + cost
    assert deadlocks == (0,)
    figures.append(f"budget of {limit}: {spent} spent by 2 processes, {sum(w for _, w in done)} waits, no deadlock")
