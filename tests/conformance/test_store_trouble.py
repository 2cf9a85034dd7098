"""Failures of SQLite: the writer survives a lock, a full disk and a failed commit.

It stops when the file may be damaged.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sqlite3
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.domain.errors import DatabaseAway, DiskFull, StoreError, StoreLost
from arvis.domain.jobs import Done, Job, Pool
from arvis.domain.messages import Delivery
from arvis.ports.job_store import Slots
from arvis.ports.store import Transaction
from arvis.store.open import Database, open_store
from arvis.store.sqlite.errors import ALONE, Emergency
from arvis.store.sqlite.store import LOCK_SLICE_MS, SqliteStore
from tests.conformance.databases import id_maker, opened
from tests.conformance.store.scripts import BOOT, LEASE, NODE, NOW, add, get, get_setting, message, put_setting, settle


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "arvis.db"


@pytest.fixture
async def store(file: Path) -> AsyncIterator[SqliteStore]:
    async with opened(Database(file, None, file.parent)) as store:
        assert isinstance(store, SqliteStore)
        yield store


async def pragma(store: SqliteStore, text: str) -> None:
    """Run a pragma on the writing connection, between two groups."""
    await store.write(lambda tx: None)
    store._writer._connection.execute(f"PRAGMA {text}").fetchall()


async def test_a_write_waits_for_a_lock_that_passes(store: SqliteStore, file: Path) -> None:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        writes = [asyncio.create_task(store.write(put_setting, f"word-{n}", "kept")) for n in range(8)]
        await asyncio.sleep(0.05)
        assert not any(write.done() for write in writes)
        other.execute("ROLLBACK")
        await asyncio.gather(*writes)
    assert await store.read(get_setting, "word-7") == "kept"


async def test_a_lock_is_waited_for_longer_than_sqlite_would(store: SqliteStore, file: Path) -> None:
    """No write fails or is acknowledged meanwhile, and reads continue."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        write = asyncio.create_task(store.write(put_setting, "word", "kept"))
        await asyncio.sleep(2.5 * LOCK_SLICE_MS / 1000)
        assert not write.done()
        assert await store.read(get_setting, "word") is None
        other.execute("ROLLBACK")
        await write
    assert await store.read(get_setting, "word") == "kept"


async def test_a_stop_ends_the_wait_for_a_lock(file: Path) -> None:
    database = Database(file, None, file.parent)
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as other:
        async with opened(database) as store:
            other.execute("BEGIN IMMEDIATE")
            writes = [asyncio.create_task(store.write(put_setting, f"word-{n}", "lost")) for n in range(5)]
            await asyncio.sleep(0)
        outcomes = await asyncio.gather(*writes, return_exceptions=True)
        other.execute("ROLLBACK")
    assert [type(outcome) for outcome in outcomes] == [DatabaseAway] * 5
    async with opened(database) as store:
        assert await store.read(get_setting, "word-0") is None


async def test_a_full_disk_refuses_and_resumes(store: SqliteStore) -> None:
    await pragma(store, "max_page_count = 1")  # the present size is the limit
    outcomes = await asyncio.gather(
        *(store.write(put_setting, f"word-{n}", "x" * 100_000) for n in range(8)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [DiskFull] * 8
    assert await store.read(get_setting, "word-0") is None
    await pragma(store, "max_page_count = 1000000")
    await store.write(put_setting, "word", "kept")
    assert await store.read(get_setting, "word") == "kept"


async def test_room_that_is_given_up_saves_the_group(file: Path) -> None:
    """Room is requested once, and then the group is written again once."""
    asked: list[int] = []

    def make_room() -> None:
        asked.append(1)
        full[0]._writer._connection.execute("PRAGMA max_page_count = 1000000").fetchall()

    emergency = Emergency(make_room=make_room, lost=ALONE.lost)
    async with opened(Database(file, None, file.parent), emergency=emergency) as store:
        assert isinstance(store, SqliteStore)
        full = [store]
        await pragma(store, "max_page_count = 1")
        await asyncio.gather(*(store.write(put_setting, f"word-{n}", "x" * 100_000) for n in range(8)))
        assert len(asked) == 1
        assert await store.read(get_setting, "word-7") == "x" * 100_000


class Witness:
    """A recorder of the store's loss, in place of a daemon that would stop."""

    def __init__(self) -> None:
        self.heard: list[StoreLost] = []
        self.emergency = Emergency(make_room=ALONE.make_room, lost=self.heard.append)


@contextlib.contextmanager
def no_file_grows_past(size: int) -> Iterator[None]:
    """Make further writes fail with `SQLITE_IOERR_WRITE`, as on a disk with a broken block."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_after_an_io_error_nobody_is_acknowledged_any_more(file: Path) -> None:
    """Neither the group nor later writes are acknowledged, although the disk works again.

    The next start continues from the stored data.
    """
    witness, database = Witness(), Database(file, None, file.parent)
    async with opened(database, emergency=witness.emergency) as store:
        await store.write(put_setting, "word", "kept")
        log = file.with_name(f"{file.name}-wal")
        with no_file_grows_past(log.stat().st_size):
            outcomes = await asyncio.gather(
                *(store.write(put_setting, f"word-{n}", "lost") for n in range(8)), return_exceptions=True
            )
        assert [type(outcome) for outcome in outcomes] == [StoreLost] * 8
        assert "SQLITE_IOERR_WRITE" in witness.heard[0].why
        with pytest.raises(StoreLost):
            await store.write(put_setting, "word", "lost")
    assert len(witness.heard) == 1
    async with opened(database) as store:
        assert await store.read(get_setting, "word") == "kept"
        assert await store.read(get_setting, "word-0") is None


async def test_a_file_that_cannot_be_stored_leaves_nothing_behind(store: SqliteStore, file: Path) -> None:
    with no_file_grows_past(100), pytest.raises(StoreError):
        await store.put_blob(b"x" * 1000)
    assert [path for path in file.parent.glob("blobs/**/*") if path.is_file()] == []


@pytest.mark.parametrize("side", ["write", "read"])
async def test_damage_ends_the_store(file: Path, side: str) -> None:
    """The first reader or writer that meets the damage ends the store: nothing is served from a damaged file."""
    witness, database = Witness(), Database(file, None, file.parent)
    async with opened(database) as store:
        await asyncio.gather(*(store.write(put_setting, f"word-{n:04}", "x" * 500) for n in range(2000)))
    overwrite_pages(file)
    async with open_store(database, boot=BOOT, new_id=id_maker(), emergency=witness.emergency) as (store, _):
        with pytest.raises(StoreLost):
            await (
                store.write(put_setting, "word-1700", "y") if side == "write" else store.read(get_setting, "word-1700")
            )
    assert "SQLITE_CORRUPT" in witness.heard[0].why


def overwrite_pages(file: Path) -> None:
    """Overwrite the last third of the file, which consists mostly of settings."""
    with file.open("r+b") as damaged:
        size = file.stat().st_size // 4096
        first = size * 2 // 3
        damaged.seek(first * 4096)
        damaged.write(b"\xff" * 4096 * (size - first))


async def test_a_writer_that_dies_of_anything_else_is_told_of(file: Path) -> None:
    witness = Witness()
    async with opened(Database(file, None, file.parent), emergency=witness.emergency) as store:
        assert isinstance(store, SqliteStore)
        await store.write(put_setting, "word", "kept")  # the writer now waits and does not use the connection
        store._writer._connection.close()
        with pytest.raises(StoreLost, match="The thread that writes the database"):
            await store.write(put_setting, "word", "lost")
    assert len(witness.heard) == 1


def let_commits_fail(store: SqliteStore) -> None:
    """Add a query `orphan` that breaks a foreign key, which is checked only at the commit."""
    writer = store._writer
    writer._connection.executescript(
        "CREATE TABLE parents (id TEXT PRIMARY KEY);"
        "CREATE TABLE children (id TEXT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);"
    )
    queries = dict(writer._session._queries)
    writer._session._queries = queries | {"orphan": "INSERT INTO children (id) VALUES (:id)"}


async def test_a_commit_that_fails_takes_only_its_script_with_it(store: SqliteStore) -> None:
    """The other scripts of the group are committed one by one, once each."""
    let_commits_fail(store)

    def script(tx: Transaction, number: int) -> int:
        if number == 5:
            store._writer._session.execute("orphan", id="nobody's")
        return add(tx, message("a")).position

    outcomes = await asyncio.gather(*(store.write(script, number) for number in range(16)), return_exceptions=True)
    assert isinstance(outcomes.pop(5), StoreError)
    assert sorted(outcomes, key=str) == sorted(range(1, 16), key=str)


class ToldClaimer:
    """A queue with one slot that records its calls."""

    def __init__(self) -> None:
        self.heard: list[tuple[Sequence[str], Sequence[str] | None]] = []
        self.due_at: list[int] = []

    def reserve(self, ended: Sequence[str], *, ready: Iterable[Pool]) -> Slots:
        return Slots(1, 1, 1)

    def deliver(self, reserved: Slots, ended: Sequence[str], jobs: Sequence[Job] | None) -> None:
        self.heard.append((ended, None if jobs is None else [job.id for job in jobs]))

    def lease(self) -> tuple[str, str, int, int]:
        return BOOT, NODE, NOW, NOW + LEASE

    def due(self, at: int) -> None:
        self.due_at.append(at)

    def changed(self, topics: Collection[str]) -> None:
        pass

    def sent(self, deliveries: Sequence[Delivery]) -> None:
        raise AssertionError("no delivery was stored")


async def test_a_claim_hears_whether_its_commit_failed(store: SqliteStore) -> None:
    let_commits_fail(store)
    claimer = ToldClaimer()
    store.attend(claimer)
    first, second = [await store.write(add, message("a")) for _ in range(2)]
    job = await store.read(get, first.id)

    def script(tx: Transaction, *, fail: bool) -> None:
        settle(tx, job, Done())
        if fail:
            store._writer._session.execute("orphan", id="nobody's")

    with pytest.raises(StoreError):
        await store.write(script, fail=True)
    await store.write(script, fail=False)
    # Two failed commits: the group's, and that of the script alone.
    assert claimer.heard == [((), [first.id]), *[((first.id,), None)] * 2, ((first.id,), [second.id])]


async def test_a_script_that_was_rolled_back_is_not_heard_of(store: SqliteStore) -> None:
    claimer = ToldClaimer()
    store.attend(claimer)

    def script(tx: Transaction) -> None:
        add(tx, replace(message("a"), run_at=NOW + 50))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await store.write(script)
    assert claimer.due_at == []
    await store.write(add, replace(message("a"), run_at=NOW + 70))
    assert claimer.due_at == [NOW + 70]


async def test_what_waits_at_the_end_is_committed(file: Path) -> None:
    database = Database(file, None, file.parent)
    async with opened(database) as store:
        writes = [asyncio.create_task(store.write(put_setting, f"word-{n}", "kept")) for n in range(200)]
        await asyncio.sleep(0)
    await asyncio.gather(*writes)
    async with opened(database) as store:
        assert await store.read(get_setting, "word-199") == "kept"


async def test_the_log_is_folded_back(store: SqliteStore, file: Path) -> None:
    """This holds also during reads, because no reader keeps a snapshot open."""
    log = file.with_name(f"{file.name}-wal")
    for _ in range(30):
        await asyncio.gather(
            *(store.write(put_setting, f"word-{n}", "x" * 2_000) for n in range(100)), store.read(get_setting, "word-1")
        )
    assert log.stat().st_size < 30 * 100 * 2_000
