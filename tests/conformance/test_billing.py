"""Charges of clients for answers on both databases: each is booked once, in one commit with the balance."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.errors import Conflict, NotFound
from arvis.domain.executions import Execution
from arvis.domain.messages import Address
from arvis.domain.money import (
    Charge,
    ChargeStatus,
    ChargeType,
    Client,
    ClientChannel,
    ClientPlan,
    ClientStatus,
    SpendingLimits,
)
from arvis.engine import lifecycle
from arvis.engine.state import changes
from arvis.llm.budgets import settle
from arvis.ports.store import Store, Transaction
from arvis.services.billing import add_client, bind_channel, change_client, charge_run, charge_turn, enter_charge
from arvis.store.open import Database
from arvis.tasks.access import Origin
from tests.conformance.budget_kit import NOON, call, spender
from tests.conformance.databases import emptied, opened
from tests.postgres import PostgresServer

HALL = ClientChannel("telegram", "hall")


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[str]:
    with postgres.database("billing") as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    if request.param == "postgres":
        database = Database(tmp_path / "none.db", request.getfixturevalue("url"), tmp_path)
        emptied(database)
    async with opened(database) as store:
        yield store


def served(tx: Transaction, client: Client) -> Client:
    made = add_client(tx, client, NOON)
    bind_channel(tx, made.id, HALL, NOON)
    return made


def begin(
    tx: Transaction, turn: str = "turn-1", channel: str = "hall", *, origin: Execution | None = None
) -> Execution:
    state: dict[str, Any] = {
        "address": Address("telegram", "main", channel, "thread").to_json(),
        "conversation": "c",
    }
    if origin is not None:
        state["lineage"] = changes(Origin, root=origin.id, parent=origin.id)
    return lifecycle.begin(tx, turn, "agent", state, lane="a", priority=5, principal_id=None, now=NOON)


def answered(tx: Transaction, cost: int, channel: str = "hall") -> Charge | None:
    """End a turn: book the last call and charge the client in one commit."""
    execution = begin(tx, channel=channel)
    settle(tx, spender(execution.id), SpendingLimits(), (call(cost),), NOON)
    return charge_turn(tx, execution, NOON, message_id="m1")


async def balance(store: Store, client: Client) -> int:
    found = await store.read(lambda tx: tx.clients.get(client.id))
    assert found is not None
    return found.balance


@pytest.mark.parametrize(
    ("client", "cost", "amount"),
    [
        (Client("", "A", price_per_task=500), 1000, 500),
        (Client("", "A", token_factor_milli=1500), 1001, 1502),
        (Client("", "A", price_per_task=500, token_factor_milli=2000), 1000, 2500),
        (Client("", "A", plan=ClientPlan.PREPAID, price_per_task=500), 0, 500),
        (Client("", "A", plan=ClientPlan.MONTHLY, price_per_task=500), 1000, None),
        (Client("", "A", plan=ClientPlan.MONTHLY, token_factor_milli=1000), 1000, 1000),
        (Client("", "A", token_factor_milli=1000), 0, None),
        (Client("", "A", status=ClientStatus.PAUSED, price_per_task=500), 0, None),
        (Client("", "A", status=ClientStatus.ARCHIVED, price_per_task=500), 0, None),
    ],
)
async def test_what_an_answer_is_charged(store: Store, client: Client, cost: int, amount: int | None) -> None:
    made = await store.write(served, client)
    charge = await store.write(answered, cost)
    assert (charge.amount if charge else None) == amount
    assert await balance(store, made) == -(amount or 0)
    if charge is not None:
        assert (charge.type, charge.status, charge.message_id) == (ChargeType.TASK, ChargeStatus.PENDING, "m1")


@pytest.mark.parametrize("earlier", [True, False])
async def test_work_that_a_turn_caused_is_charged_once(store: Store, earlier: bool) -> None:
    """A delegated turn and a run may end before or after the turn that caused them."""
    made = await store.write(served, Client("", "A", price_per_task=500, token_factor_milli=1000))

    def script(tx: Transaction) -> list[int]:
        root, charges = begin(tx), []
        if not earlier:
            charges.append(end(tx, root, 100))
        task = begin(tx, "task", origin=root)
        settle(tx, replace(spender(task.id), turn=root.id), SpendingLimits(), (call(40),), NOON)
        charges.append(charge_turn(tx, task, NOON))
        run = begin(tx, "run")
        settle(tx, replace(spender(run.id), turn=root.id), SpendingLimits(), (call(7),), NOON)
        charges.append(charge_run(tx, run, NOON))
        if earlier:
            charges.append(end(tx, root, 100))
        return sorted(charge.amount for charge in charges if charge is not None)

    def end(tx: Transaction, root: Execution, cost: int) -> Charge | None:
        settle(tx, spender(root.id), SpendingLimits(), (call(cost),), NOON)
        return charge_turn(tx, root, NOON)

    assert await store.write(script) == [7, 40, 600]
    assert await balance(store, made) == -647


async def test_elsewhere_nobody_pays(store: Store) -> None:
    made = await store.write(served, Client("", "A", price_per_task=500))
    assert await store.write(answered, 1000, "garden") is None
    assert await balance(store, made) == 0


async def test_a_turn_is_charged_once(store: Store) -> None:
    made = await store.write(served, Client("", "A", price_per_task=500))
    execution = await store.write(begin)
    charges = await asyncio.gather(*(store.write(charge_turn, execution, NOON) for _ in range(8)))
    assert sum(charge is not None for charge in charges) == 1
    assert await balance(store, made) == -500


async def test_a_failed_commit_charges_nothing(store: Store) -> None:
    made = await store.write(served, Client("", "A", price_per_task=500))

    def script(tx: Transaction) -> None:
        charge_turn(tx, begin(tx), NOON)
        raise NotFound("The end of the turn was not written.")

    with pytest.raises(NotFound):
        await store.write(script)
    assert await balance(store, made) == 0


async def test_entries_at_once_lose_nothing(store: Store) -> None:
    made = await store.write(served, Client("", "A", balance=0))
    entries = [(ChargeType.PAYMENT, 70), (ChargeType.SUBSCRIPTION, 30), (ChargeType.ADJUSTMENT, -5)] * 5
    await asyncio.gather(
        *(store.write(enter_charge, made.id, kind, sum_, description="", now=NOON) for kind, sum_ in entries)
    )
    assert await balance(store, made) == 5 * (70 - 30 + 5)


async def test_a_change_leaves_the_balance_alone(store: Store) -> None:
    made = await store.write(served, Client("", "A"))
    await store.write(enter_charge, made.id, ChargeType.PAYMENT, 7, description="", now=NOON)
    changed = await store.write(change_client, replace(made, name="B", balance=10**6), NOON + 1)
    assert (changed.name, changed.balance, changed.created_at, changed.updated_at) == ("B", 7, NOON, NOON + 1)
    assert await balance(store, made) == 7
    with pytest.raises(Conflict):
        await store.write(add_client, Client("", "B"), NOON)
    with pytest.raises(NotFound):
        await store.write(change_client, Client("none", "C"), NOON)
