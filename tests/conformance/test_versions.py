"""Versions of schedules and clients on both databases: creations, changes and removals can be undone and redone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.domain.agents import Agent, AgentStatus
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.money import ChargeType, Client, ClientPlan, ClientStatus
from arvis.domain.schedules import Missed, Schedule, ScheduleKind
from arvis.domain.versions import Version, Versioned
from arvis.ports.store import Store, Transaction
from arvis.services.billing import add_client, change_client, enter_charge, undo_client
from arvis.services.schedules import Rules, add_schedule, change_schedule, remove_schedule, undo_schedule
from arvis.store.open import Database
from tests.conformance.databases import NOW, emptied, opened
from tests.conformance.store.schedules import DAILY
from tests.postgres import PostgresServer

HELPER = Agent("a", "helper", "Helper")
RULES = Rules()
HOUR = 3_600_000
BLANK = Schedule(
    id="", kind=ScheduleKind.HEARTBEAT, agent_id="helper", name="beat", schedule="every 1 h", timezone="Europe/Rome",
    prompt="Look. ü", platform="telegram", connector="main", channel="-100",
    script={"type": "script", "url": "https://example.com", "template": "{{a}}"}, missed=Missed.SKIP, enabled=True,
    principal_id="ann", last_run=None, next_run=None, created_at=0, updated_at=0,
)  # fmt: skip


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[str]:
    with postgres.database("versions") as url:
        yield url


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    if request.param == "postgres":
        database = Database(tmp_path / "none.db", request.getfixturevalue("url"), tmp_path)
        emptied(database)
    async with opened(database) as store:
        await store.write(lambda tx: tx.agents.add(HELPER, NOW))
        yield store


async def made(store: Store, **changes: Any) -> Schedule:
    return await store.write(add_schedule, replace(BLANK, **changes), RULES, NOW)


async def undone(store: Store, schedule: Schedule, *, now: int = NOW, by: str | None = "bob") -> Schedule | None:
    back = await store.write(undo_schedule, schedule.id, RULES, now, by=by)
    assert await store.read(lambda tx: tx.schedules.get(schedule.id)) == back
    return back


async def kept(store: Store, kind: Versioned, row_id: str) -> list[Version]:
    return list(await store.read(lambda tx: tx.versions.newest(kind, row_id, 9)))


# -- schedules ---------------------------------------------------------------------------------------------


async def test_a_schedule_that_was_made_goes_and_comes_back(store: Store) -> None:
    first = await made(store)
    assert await undone(store, first) is None
    assert await undone(store, first, now=NOW + 5) == replace(
        first, principal_id="bob", author_id="ann", next_run=NOW + 5 + HOUR, updated_at=NOW + 5
    )
    assert await undone(store, first) is None
    versions = await kept(store, Versioned.SCHEDULE, first.id)
    assert [version.version for version in versions] == [5, 4, 3, 2, 1]
    assert [version.data is None for version in versions] == [True, False, True, False, True]
    assert [version.by_id for version in versions] == ["bob", "bob", "bob", "ann", None]


async def test_a_change_is_undone_and_done_again(store: Store) -> None:
    first = await made(store)
    changes = {"schedule": "every 2 h", "prompt": "Less.", "script": None, "missed": Missed.ALL}
    second = await store.write(change_schedule, first.id, changes, RULES, NOW + 1, by="ann")
    back = await undone(store, first, now=NOW + 7)
    assert back == replace(first, principal_id="bob", author_id="ann", next_run=NOW + 7 + HOUR, updated_at=NOW + 7)
    again = await undone(store, first, now=NOW + 9, by="ann")
    assert again == replace(second, author_id="ann", next_run=NOW + 9 + 2 * HOUR, updated_at=NOW + 9)


async def test_when_it_ran_last_is_no_part_of_a_version(store: Store) -> None:
    first = await made(store)
    second = await store.write(change_schedule, first.id, {"prompt": "Less."}, RULES, NOW, by="ann")
    ran = replace(second, last_run=NOW + HOUR, next_run=NOW + 2 * HOUR)
    await store.write(lambda tx: tx.schedules.update(ran, NOW))
    assert await undone(store, first, by="ann") == replace(ran, prompt=first.prompt, author_id="ann")


async def test_one_that_was_removed_comes_back_under_its_id(store: Store) -> None:
    first = await made(store)
    await store.write(remove_schedule, first.id, NOW, by="ann")
    # Only a new interval becomes due at once.
    assert await undone(store, first, by="ann") == replace(first, author_id="ann", next_run=NOW + HOUR)
    assert await undone(store, first) is None


async def test_the_first_change_keeps_how_it_was_before(store: Store) -> None:
    old = replace(DAILY, agent_id=HELPER.id)
    await store.write(lambda tx: tx.schedules.add(old))
    with pytest.raises(Conflict, match="no change to undo"):
        await undone(store, old)
    await store.write(change_schedule, old.id, {"prompt": "Less."}, RULES, NOW, by=old.principal_id)
    assert await undone(store, old, by=old.principal_id) == replace(old, author_id=old.author)


async def test_what_changed_nothing_is_no_version(store: Store) -> None:
    first = await made(store)
    await store.write(change_schedule, first.id, {"prompt": first.prompt}, RULES, NOW + 1, by="ann")
    assert len(await kept(store, Versioned.SCHEDULE, first.id)) == 2


async def test_what_the_rules_do_not_allow_any_more_stays(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.write(undo_schedule, "nothing", RULES, NOW, by="bob")
    first = await made(store)
    once = await made(store, name="once", schedule="at 2027-12-31 08:00", script=None)
    for schedule in (first, once):
        await store.write(remove_schedule, schedule.id, NOW, by="ann")
    with pytest.raises(Unprocessable, match="would never run"):
        await store.write(undo_schedule, once.id, RULES, NOW + 400 * 24 * HOUR, by="bob")
    await made(store)
    with pytest.raises(Conflict, match="named 'beat'"):
        await store.write(undo_schedule, first.id, RULES, NOW, by="bob")
    with pytest.raises(Conflict, match="This is the limit"):
        await store.write(undo_schedule, first.id, Rules(heartbeats_per_agent=1), NOW, by="bob")
    await store.write(lambda tx: tx.agents.update(replace(HELPER, status=AgentStatus.ARCHIVED), NOW))
    with pytest.raises(NotFound, match="deleted"):
        await store.write(undo_schedule, first.id, RULES, NOW, by="bob")
    assert len(await kept(store, Versioned.SCHEDULE, first.id)) == 3


# -- clients -----------------------------------------------------------------------------------------------

ACME = Client("", "ACME", price_per_task=5, monthly_limit=7, notes="ü")


def paid(tx: Transaction, client: Client) -> None:
    enter_charge(tx, client.id, ChargeType.PAYMENT, 70, description="", now=NOW)


async def set_back(store: Store, client: Client, now: int = NOW) -> Client:
    back = await store.write(undo_client, client.id, now, by="bob")
    assert await store.read(lambda tx: tx.clients.get(client.id)) == back
    return back


async def test_a_change_of_a_client_is_undone_but_for_its_balance(store: Store) -> None:
    first = await store.write(add_client, ACME, NOW, by="ann")
    wanted = replace(first, name="Bolt", plan=ClientPlan.PREPAID, price_per_task=0, monthly_limit=None, notes="")
    second = await store.write(change_client, wanted, NOW, by="ann")
    await store.write(paid, first)
    assert await set_back(store, first, NOW + 1) == replace(first, balance=70, updated_at=NOW + 1)
    assert await set_back(store, first) == replace(second, balance=70)
    assert [version.by_id for version in await kept(store, Versioned.CLIENT, first.id)] == ["bob"] * 2 + ["ann"] * 2 + [
        None
    ]


async def test_a_client_that_was_made_is_archived_and_comes_back(store: Store) -> None:
    first = await store.write(add_client, ACME, NOW, by="ann")
    await store.write(paid, first)
    archived = await set_back(store, first)
    assert archived == replace(first, status=ClientStatus.ARCHIVED, balance=70)
    assert await set_back(store, first) == replace(first, balance=70)


async def test_a_client_that_was_archived_comes_back(store: Store) -> None:
    first = await store.write(add_client, ACME, NOW, by="ann")
    await store.write(change_client, replace(first, status=ClientStatus.ARCHIVED), NOW, by="ann")
    assert await set_back(store, first) == first


async def test_an_older_client_is_kept_as_it_was(store: Store) -> None:
    old = replace(ACME, id="old")
    await store.write(lambda tx: tx.clients.add(old))
    with pytest.raises(Conflict, match="no change to undo"):
        await set_back(store, old)
    await store.write(change_client, replace(old, notes=""), NOW)
    await store.write(change_client, replace(old, notes=""), NOW)
    assert (await set_back(store, old)).notes == old.notes


async def test_a_name_that_was_given_away_does_not_come_back(store: Store) -> None:
    first = await store.write(add_client, ACME, NOW)
    await store.write(change_client, replace(first, name="Bolt"), NOW)
    await store.write(add_client, ACME, NOW)
    with pytest.raises(Conflict, match="ACME"):
        await set_back(store, first)
    with pytest.raises(NotFound):
        await store.write(undo_client, "nobody", NOW, by=None)
