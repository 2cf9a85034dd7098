"""A role that only one process may hold: taken over soon after the holder's death, and never held by two at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from arvis.domain.errors import LeaseLost
from arvis.ports.store import Transaction
from arvis.process.clock import SystemClock
from arvis.process.leases import Holding, Pace, RoleLeaseManager
from arvis.store.open import Database
from tests.conformance.takeovers import PACE, ROLE, Candidate, Work, play, stores


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else None
    return Database(tmp_path / "arvis.db", url, tmp_path)


@pytest.fixture
def server(migrated_url: str, tmp_path: Path) -> Database:
    return Database(tmp_path / "none.db", migrated_url, tmp_path)


async def test_the_first_who_asks_holds_the_role_and_gives_it_back(database: Database) -> None:
    def of(tx: Transaction) -> str | None:
        lease = tx.role_leases.find(ROLE)
        return lease.owner if lease else None

    async with stores(database, 1) as (store,):
        taken = await store.write(lambda tx: tx.role_leases.take(ROLE, "a", "node", None))
        assert taken is not None
        assert (taken.owner, taken.claim) == ("a", 1)
        assert await store.write(lambda tx: tx.role_leases.take(ROLE, "b", "node", None)) is None
        assert await store.write(lambda tx: tx.role_leases.renew(taken))
        assert await store.write(lambda tx: tx.role_leases.take(ROLE, "b", "node", taken)) is None, (
            "the holder has renewed its lease"
        )
        seen = await store.read(lambda tx: tx.role_leases.find(ROLE))
        other = await store.write(lambda tx: tx.role_leases.take(ROLE, "b", "node", seen))
        assert other is not None
        assert other.claim == 2
        assert not await store.write(lambda tx: tx.role_leases.renew(taken))
        await store.write(lambda tx: tx.role_leases.release(taken))
        assert await store.read(of) == "b", "only the holder can give it back"
        await store.write(lambda tx: tx.role_leases.release(other))
        assert await store.read(of) is None


async def test_a_script_of_the_holder_before_is_refused(server: Database) -> None:
    async with stores(server, 2) as (one, two):
        taken = await one.write(lambda tx: tx.role_leases.take(ROLE, "a", "x", None))
        assert taken is not None
        holding = Holding(clock=SystemClock(), lease=taken, until=float("inf"))
        await one.write(holding.check)
        await two.write(lambda tx: tx.role_leases.take(ROLE, "b", "y", taken))
        with pytest.raises(LeaseLost):
            await one.write(holding.check)


async def test_one_process_alone_needs_no_lease(tmp_path: Path) -> None:
    async with stores(Database(tmp_path / "arvis.db", None, tmp_path), 1) as (store,):
        held: list[bool] = []

        async def work(holding: Holding) -> None:
            await store.write(holding.check)
            held.append(holding.held)

        await RoleLeaseManager(name=ROLE, store=store, clock=SystemClock(), owner="a", node="n").run(work)
        assert held == [True]
        assert await store.read(lambda tx: tx.role_leases.find(ROLE)) is None


async def test_a_stop_hands_the_role_over_at_once(server: Database) -> None:
    slow = Pace(beat=0.05, trust=30, look=0.02, silence=60)
    async with stores(server, 2) as (one, two):
        work = Work()
        first = Candidate("a", one, work, pace=slow)
        await work.taken.wait()
        work.taken.clear()
        second = Candidate("b", two, work, pace=slow)
        await first.end()
        async with asyncio.timeout(10):
            await work.taken.wait()
        await second.end()
        assert work.takers == ["a", "b"]


async def test_a_new_boot_of_the_same_folder_does_not_wait(server: Database) -> None:
    slow = Pace(beat=10, trust=30, look=10, silence=60)
    async with stores(server, 2) as (one, two):
        work = Work()
        first = Candidate("a", one, work, node="same", pace=slow)
        await work.taken.wait()
        work.taken.clear()
        first.freeze()
        second = Candidate("b", two, work, node="same", pace=slow)
        async with asyncio.timeout(10):
            await work.taken.wait()
        await second.end()
        await first.end()


async def test_what_the_work_fails_with_is_raised_and_the_role_given_back(server: Database) -> None:
    async def work(_: Holding) -> None:
        raise ValueError("broken")

    async with stores(server, 1) as (store,):
        keeper = RoleLeaseManager(name=ROLE, store=store, clock=SystemClock(), owner="a", node="n", pace=PACE)
        with pytest.raises(ValueError, match="broken"):
            await keeper.run(work)
        lease = await store.read(lambda tx: tx.role_leases.find(ROLE))
        assert lease is not None
        assert lease.owner is None


@pytest.mark.parametrize("takeovers", [25])
async def test_a_holder_that_sleeps_and_wakes_never_makes_two(server: Database, takeovers: int) -> None:
    seconds, overlaps = await play(server, takeovers)
    assert len(seconds) == takeovers
    assert overlaps == 0
