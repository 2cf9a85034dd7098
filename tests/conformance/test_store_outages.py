"""The store's server is down: nothing is lost, nothing is done twice, and callers receive an answer or an error at
once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from arvis.domain.errors import DatabaseAway, StoreError
from arvis.domain.jobs import Job, JobKind, NewJob, Pool
from arvis.domain.messages import Delivery
from arvis.ports.job_store import Slots
from arvis.ports.store import Transaction
from arvis.store.open import Database, bring_up_to_date, open_store
from arvis.store.postgres.session import PostgresSnapshots
from arvis.store.postgres.store import PostgresStore
from arvis.store.views.insights import SqlInsights
from tests.conformance.databases import NOW, id_maker, opened
from tests.parts import require
from tests.unsteady_postgres import CutLine, UnsteadyPostgres, cut_line, unsteady_postgres

PATIENCE = 20.0


@pytest.fixture(scope="module")
def unsteady() -> Iterator[UnsteadyPostgres]:
    with unsteady_postgres(require("initdb"), durable=True) as server:
        yield server


@pytest.fixture
def name(unsteady: UnsteadyPostgres) -> Iterator[str]:
    name = f"test_{uuid4().hex}"
    with unsteady.server.database(name):
        yield name


@pytest.fixture
async def store(unsteady: UnsteadyPostgres, name: str, tmp_path: Path) -> AsyncIterator[PostgresStore]:
    async with opened(Database(tmp_path / "none.db", unsteady.server.url(name), tmp_path)) as store:
        assert isinstance(store, PostgresStore)
        yield store


@pytest.fixture
async def line(unsteady: UnsteadyPostgres) -> AsyncIterator[CutLine]:
    async with cut_line(unsteady.server) as line:
        yield line


@pytest.fixture
async def far(unsteady: UnsteadyPostgres, line: CutLine, name: str, tmp_path: Path) -> AsyncIterator[PostgresStore]:
    """Open a store that connects through the line."""
    bring_up_to_date(Database(tmp_path / "none.db", unsteady.server.url(name), tmp_path), NOW)
    database = Database(tmp_path / "none.db", line.url(name), tmp_path)
    async with open_store(database, boot="boot-1", new_id=id_maker()) as (store, _):
        assert isinstance(store, PostgresStore)
        yield store


def count_up(tx: Transaction) -> int:
    """Increment a number, so that a repeated write is visible."""
    tx.jobs.lock(["number"])
    number = int(tx.settings.get("number") or 0) + 1
    tx.settings.put("number", str(number), NOW)
    return number


def number(tx: Transaction) -> int:
    return int(tx.settings.get("number") or 0)


class TakingClaimer:
    """A queue with room for all jobs, which records the jobs that it receives."""

    def __init__(self) -> None:
        self.given: asyncio.Queue[list[str] | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def reserve(self, ended: Sequence[str], *, ready: Iterable[Pool]) -> Slots:
        return Slots(9, 9, 9)

    def deliver(self, reserved: Slots, ended: Sequence[str], jobs: Sequence[Job] | None) -> None:
        given = None if jobs is None else [job.id for job in jobs]
        self._loop.call_soon_threadsafe(self.given.put_nowait, given)

    def lease(self) -> tuple[str, str, int, int]:
        return "boot-1", "node-1", NOW, NOW + 30_000

    def due(self, at: int) -> None:
        pass

    def changed(self, topics: Collection[str]) -> None:
        pass

    def sent(self, deliveries: Sequence[Delivery]) -> None:
        pass


async def test_a_read_after_a_restart_of_the_server_finds_its_answer(
    store: PostgresStore, unsteady: UnsteadyPostgres
) -> None:
    await asyncio.gather(*(store.write(count_up) for _ in range(16)))
    unsteady.kill()
    unsteady.start()
    assert await asyncio.gather(*(store.read(number) for _ in range(16))) == [16] * 16


async def test_a_page_after_a_restart_of_the_server_finds_its_answer(
    store: PostgresStore, unsteady: UnsteadyPostgres, name: str
) -> None:
    insights = SqlInsights(PostgresSnapshots(unsteady.server.url(name)))
    try:
        await asyncio.gather(*(insights.agents() for _ in range(4)))
        unsteady.kill()
        with pytest.raises(DatabaseAway):
            await insights.agents()
        unsteady.start()
        await asyncio.gather(*(insights.agents() for _ in range(4)))
    finally:
        await insights.close()


async def test_a_write_while_the_server_is_away_says_so_and_works_afterwards(
    store: PostgresStore, unsteady: UnsteadyPostgres
) -> None:
    assert await store.write(count_up) == 1
    unsteady.kill()
    for call in (store.write(count_up), store.read(number), store.put_blob(b"x"), store.wait_for_change(0.01)):
        with pytest.raises(DatabaseAway):
            await call
    unsteady.start()
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                assert await store.write(count_up) == 2
            except DatabaseAway:
                await asyncio.sleep(0.05)
            else:
                break


async def test_a_fast_stop_of_the_server_is_an_outage_and_no_refusal(
    store: PostgresStore, unsteady: UnsteadyPostgres
) -> None:
    stop = asyncio.Event()
    outcomes: list[object] = []

    async def write() -> None:
        while not stop.is_set():
            try:
                outcomes.append(await store.write(count_up))
            except StoreError as error:
                outcomes.append(type(error))
                await asyncio.sleep(0.01)

    writers = [asyncio.create_task(write()) for _ in range(8)]
    for _ in range(3):
        await asyncio.sleep(0.1)
        await asyncio.to_thread(unsteady.stop)
        await asyncio.sleep(0.05)
        await asyncio.to_thread(unsteady.start)
    await asyncio.sleep(0.3)
    stop.set()
    await asyncio.gather(*writers)
    counted = [outcome for outcome in outcomes if isinstance(outcome, int)]
    assert {outcome for outcome in outcomes if not isinstance(outcome, int)} == {DatabaseAway}
    assert len(counted) == len(set(counted))
    assert await store.read(number) == len(counted)


@pytest.mark.parametrize("answered", [True, False], ids=["after the commit", "before the commit"])
async def test_a_commit_whose_answer_is_lost_is_done_once(far: PostgresStore, line: CutLine, *, answered: bool) -> None:
    assert await far.write(count_up) == 1
    line.cut(b"COMMIT", answered=answered)
    assert await far.write(count_up) == 2
    assert line.cuts == 1
    assert await far.read(number) == 2


async def test_jobs_of_a_commit_whose_answer_is_lost_reach_the_queue(far: PostgresStore, line: CutLine) -> None:
    claimer = TakingClaimer()
    await far.write(count_up)
    far.attend(claimer)
    line.cut(b"COMMIT", answered=True)
    added = await far.write(lambda tx: tx.jobs.add(NewJob(kind=JobKind.MESSAGE, priority=5, lane="a"), NOW))
    assert line.cuts == 1
    assert await claimer.given.get() == [added.id]
    assert claimer.given.empty()


async def test_a_waiter_that_gives_up_leaves_no_claim_open(far: PostgresStore, line: CutLine) -> None:
    claimer = TakingClaimer()
    await far.write(count_up)
    far.attend(claimer)
    line.cut(b"COMMIT", answered=True)
    write = asyncio.create_task(
        far.write(lambda tx: tx.jobs.add(NewJob(kind=JobKind.MESSAGE, priority=5, lane="a"), NOW))
    )
    async with asyncio.timeout(PATIENCE):
        await line.broken.wait()
        write.cancel()
        given = await claimer.given.get()
    assert given is not None
    assert len(given) == 1


async def test_a_server_that_became_a_standby_is_an_outage(store: PostgresStore) -> None:
    await store.write(count_up)

    def on_a_standby(tx: Transaction) -> None:
        raise psycopg.errors.ReadOnlySqlTransaction("cannot execute INSERT in a read-only transaction")

    with pytest.raises(DatabaseAway):
        await store.write(on_a_standby)
    assert await store.write(count_up) == 2
