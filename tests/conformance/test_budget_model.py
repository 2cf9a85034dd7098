"""Any order of calls, ends, crashes and lost reservations: no limit is overspent by more than one call, the booked
costs equal the calls' costs, and waiting calls may go on once no other call is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arvis.domain.money import Budget, Busy, Client, OverBudget, Pot, Reserved, Spender, SpendingLimits
from arvis.llm.budgets import RESERVATION_MS
from arvis.ports.store import Store
from arvis.services.billing import add_client
from arvis.store.open import Database
from tests.conformance.budget_kit import DAY_MS, NOON, Desk, spender
from tests.conformance.databases import opened
from tests.postgres import PostgresServer

DEAREST = 40
SPENDERS = 4

#: A call costs at most its estimate. A call without concurrent ones may cost more than the rest of the budget.
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["call", "call", "end", "end", "crash", "again", "expire"]),
        st.integers(0, SPENDERS - 1),
        st.integers(1, DEAREST),
    ),
    max_size=40,
)
LIMIT = st.one_of(st.none(), st.integers(0, 150))
LIMITS = st.builds(
    SpendingLimits,
    daily=LIMIT,
    per_agent_daily=LIMIT,
    per_principal_daily=LIMIT,
    per_client_monthly=LIMIT,
    per_turn=LIMIT,
)


#: The amount that a call reserves, and its pots.
_Held = tuple[int, set[Pot]]


class Town:
    """Spenders who share agents, people, clients and turns, with the calls that each has under way."""

    def __init__(self, desk: Desk, example: int, clients: list[str]) -> None:
        self.desk = desk
        # Every example uses a different month.
        self.now = NOON + 31 * DAY_MS * example
        self.under_way: dict[int, _Held] = {}
        self.lost: dict[int, _Held] = {}
        self.cost: dict[Pot, int] = {}
        self._clients = clients
        self._example = example

    def who(self, number: int) -> Spender:
        visit, turn = str(number), f"turn-{self._example}-{number // 2}"
        client = self._clients[number % 2]
        return spender(turn, visit, agent_id=f"agent-{number % 2}", principal_id=f"p-{number % 3}", client_id=client)

    async def act(self, act: str, number: int, amount: int) -> None:
        match act:
            case "call" if number not in self.under_way:
                await self._call(number, amount)
            case "end" if number in self.under_way:
                most, _ = self.under_way.pop(number)
                # Half of all calls cost their estimate.
                await self._end(number, most if amount % 2 else min(amount, most))
            case "crash" if number in self.under_way:
                self.lost[number] = self.under_way.pop(number)
            case "again" if number in self.lost:
                await self._call(number, amount)
            case "expire" if not self.under_way:
                self.now += RESERVATION_MS
                self.lost.clear()
            case _:
                pass

    async def _call(self, number: int, estimate: int) -> None:
        who = self.who(number)
        verdict = await self.desk.reserve(who, estimate, self.now)
        match verdict:
            case Reserved(micros=micros):
                assert micros == estimate
                self.under_way[number] = estimate, set(who.pots("UTC", self.now).values())
                self.lost.pop(number, None)
            case OverBudget(budget=budget):
                assert budget in self._limits(who)
            case Busy():
                assert self.under_way or self.lost.keys() - {number}, "a call waits although no other one is under way"
        assert type(verdict) is self._expected(number, who, estimate)

    def _expected(self, number: int, who: Spender, estimate: int) -> type:
        pots, limits = who.pots("UTC", self.now), self._limits(who)
        if any(self._spent(who, budget) >= limit for budget, limit in limits.items()):
            return OverBudget
        held = [each for other, each in (self.under_way | self.lost).items() if other != number]
        for budget, limit in limits.items():
            others = sum(most for most, held_in in held if pots[budget] in held_in)
            if others and self._spent(who, budget) + others + estimate > limit:
                return Busy
        return Reserved

    async def _end(self, number: int, cost: int) -> None:
        who = self.who(number)
        assert await self.desk.settle(who, cost, now=self.now) == cost
        for pot in who.pots("UTC", self.now).values():
            self.cost[pot] = self.cost.get(pot, 0) + cost
        for budget, limit in self._limits(who).items():
            assert self._spent(who, budget) < limit + DEAREST, "overspent by more than one call"

    def _spent(self, who: Spender, budget: Budget) -> int:
        return self.cost.get(who.pots("UTC", self.now)[budget], 0)

    def _limits(self, who: Spender) -> dict[Budget, int]:
        limits = self.desk.limits
        found = {
            Budget.DAY: limits.daily,
            Budget.AGENT: limits.per_agent_daily,
            Budget.PRINCIPAL: limits.per_principal_daily,
            Budget.CLIENT: limits.per_client_monthly,
            Budget.TURN: limits.per_turn,
        }
        return {budget: limit for budget, limit in found.items() if limit is not None}

    async def check(self) -> None:
        for number in range(SPENDERS):
            who = self.who(number)
            for budget in who.pots("UTC", self.now):
                assert (await self.desk.spent(who, budget, self.now)).micros == self._spent(who, budget)


class Place:
    """One database and one event loop for all examples."""

    def __init__(self, loop: asyncio.Runner, store: Store, clients: list[str]) -> None:
        self._loop = loop
        self._store = store
        self._clients = clients
        self._examples = count()

    def play(self, limits: SpendingLimits, acts: list[tuple[str, int, int]]) -> None:
        self._loop.run(self._play(limits, acts))

    async def _play(self, limits: SpendingLimits, acts: list[tuple[str, int, int]]) -> None:
        town = Town(Desk(self._store, limits), next(self._examples), self._clients)
        for act in acts:
            await town.act(*act)
        await town.check()


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder: Path = tmp_path_factory.mktemp("budgets")
    if request.param == "sqlite":
        yield from _placed(Database(folder / "arvis.db", None, folder))
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        with server.database("budget_model") as url:
            yield from _placed(Database(folder / "none.db", url, folder))


def _placed(database: Database) -> Iterator[Place]:
    with asyncio.Runner() as loop:
        context = opened(database)
        store = loop.run(context.__aenter__())
        clients = [loop.run(store.write(add_client, Client("", name), NOON)).id for name in ("A", "B")]
        yield Place(loop, store, clients)
        loop.run(context.__aexit__(None, None, None))


@given(limits=LIMITS, acts=ACTS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_no_order_of_events_overspends_by_more_than_one_call(
    place: Place, limits: SpendingLimits, acts: list[tuple[str, int, int]]
) -> None:
    place.play(limits, acts)
