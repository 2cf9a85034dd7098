"""Results that the store holds in memory are never older than the transaction that uses them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytest_asyncio

from arvis.domain.agents import Binding
from arvis.ports.store import Store, Transaction
from arvis.store.open import Database
from arvis.store.sql.reference_cache import MISSING, Computed, ReferenceCache, read_tables, written_tables
from arvis.store.sql.session import PostgresDialect, SqliteDialect, load_queries
from tests.conformance.databases import opened
from tests.conformance.store.scripts import AGENT, NOW, PLACE, add_agent

REPOSITORIES = Path(__file__).parents[2] / "arvis" / "store" / "repositories"
HELD = re.compile(r'\.held\(\s*"(\w+)"')


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        await store.write(add_agent)
        yield store


def names(tx: Transaction) -> list[str]:
    return [agent.name for agent in tx.agents.all()]


def rename(tx: Transaction, name: str) -> list[str]:
    tx.agents.update(replace(AGENT, name=name), NOW)
    return names(tx)


async def test_a_change_is_seen_by_its_own_script_and_after_its_commit(store: Store) -> None:
    assert await store.read(names) == [AGENT.name]
    assert await store.write(rename, "Ann") == ["Ann"]
    assert (await store.read(names), await store.write(names)) == (["Ann"], ["Ann"])


async def test_a_change_that_was_rolled_back_is_not_seen(store: Store) -> None:
    def fail(tx: Transaction) -> None:
        assert rename(tx, "Ann") == ["Ann"]
        raise ValueError

    assert await store.write(names) == [AGENT.name]
    with pytest.raises(ValueError, match=r"^$"):
        await store.write(fail)
    assert (await store.read(names), await store.write(names)) == ([AGENT.name], [AGENT.name])


async def test_a_change_by_another_program_is_seen_after_the_next_write(store: Store, tmp_path: Path) -> None:
    assert await store.read(names) == [AGENT.name]
    with closing(sqlite3.connect(tmp_path / "arvis.db", isolation_level=None)) as other:
        other.execute("UPDATE agents SET name = 'Ann'")
    assert await store.write(names) == ["Ann"]
    assert await store.read(names) == ["Ann"]


async def test_a_held_result_needs_no_query(store: Store) -> None:
    first = await store.read(lambda tx: tx.agents.get(AGENT.id))
    assert await store.write(lambda tx: tx.agents.get(AGENT.id)) is first


async def test_a_turn_does_not_drop_conversations_but_other_changes_do(store: Store) -> None:
    opened = await store.write(lambda tx: tx.conversations.open(AGENT.id, PLACE, NOW))
    first = await store.read(lambda tx: tx.conversations.get(opened.id))
    assert first == opened
    await store.write(lambda tx: tx.conversations.next_turn(opened.id, NOW))
    await store.write(lambda tx: tx.compactions.postpone(opened.id, 3))
    assert await store.read(lambda tx: tx.conversations.get(opened.id)) is first
    direct = await store.write(lambda tx: tx.conversations.open(AGENT.id, PLACE, NOW, direct=True))
    assert direct == replace(opened, direct=True) == await store.read(lambda tx: tx.conversations.get(opened.id))
    await store.write(lambda tx: tx.conversations.close(opened.id, NOW))
    again = await store.write(lambda tx: tx.conversations.open(AGENT.id, PLACE, NOW))
    assert again.id != opened.id


class Computing:
    """A value that is computed from rows, with the number of times that it was computed."""

    def __init__(self, *, also: Callable[[Transaction], object] = lambda tx: None) -> None:
        self.times = 0
        self._also = also

    def value(self, tx: Transaction) -> tuple[str, ...]:
        return tx.held(("names", "of a test"), lambda: self._compute(tx))

    def _compute(self, tx: Transaction) -> tuple[str, ...]:
        self.times += 1
        self._also(tx)
        return (*names(tx), *(place.channel for place in tx.agents.bindings()))


async def test_a_computed_value_is_held_until_one_of_its_tables_changes(store: Store) -> None:
    computing = Computing()
    assert await store.read(computing.value) == await store.write(computing.value) == (AGENT.name,)
    assert computing.times == 1
    await store.write(lambda tx: tx.kv.put("other", "table", NOW))
    await store.read(computing.value)
    assert computing.times == 1
    await store.write(lambda tx: tx.agents.bind(Binding("web", "room", AGENT.id), NOW))
    assert await store.read(computing.value) == (AGENT.name, "room")
    await store.write(rename, "Ann")
    assert await store.read(computing.value) == ("Ann", "room")
    assert computing.times == 3


async def test_a_script_computes_from_its_own_changes_and_leaves_nothing(store: Store) -> None:
    computing = Computing()

    def change(tx: Transaction) -> tuple[str, ...]:
        before = computing.value(tx)
        rename(tx, "Ann")
        after = computing.value(tx)
        assert before != after
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        await store.write(change)
    assert await store.read(computing.value) == (AGENT.name,)


@pytest.mark.parametrize(
    "also",
    [
        lambda tx: tx.conversations.in_place(PLACE),
        lambda tx: tx.held("within", lambda: tx.conversations.in_place(PLACE)),
    ],
    ids=["directly", "within another value"],
)
async def test_a_value_from_rows_that_are_not_watched_is_not_held(
    store: Store, also: Callable[[Transaction], object]
) -> None:
    computing = Computing(also=also)
    await store.read(computing.value)
    await store.read(computing.value)
    assert computing.times == 2


async def test_a_value_within_a_held_value_belongs_to_it(store: Store) -> None:
    inner, times = Computing(), 0

    def outer(tx: Transaction) -> int:
        nonlocal times
        times += 1
        return len(inner.value(tx))

    def whole(tx: Transaction) -> int:
        return tx.held("outer", lambda: outer(tx))

    await store.read(inner.value)
    assert await store.read(whole) == await store.read(whole) == 1
    assert (inner.times, times) == (1, 1)
    await store.write(lambda tx: tx.agents.bind(Binding("web", "room", AGENT.id), NOW))
    assert await store.read(whole) == 2


def test_a_result_is_valid_only_if_its_tables_have_not_changed() -> None:
    cache, tables = ReferenceCache(), frozenset({"agents", "bindings"})
    before = cache.version
    cache.put("key", before, "old")
    assert cache.get("key", tables, before) == "old"
    cache.change({"facts"})
    assert cache.get("key", tables, before) == "old"
    cache.change({"bindings"})
    during = cache.version
    assert cache.get("key", tables, during) is MISSING
    # A transaction that begins during the commit reads the old rows.
    cache.put("key", during, "old")
    cache.change({"bindings"})
    assert cache.get("key", tables, cache.version) is MISSING
    cache.put("key", cache.version, "new")
    assert cache.get("key", tables, cache.version) == "new"
    # The snapshot of a transaction that began before the commit has the old rows.
    assert cache.get("key", tables, before) is MISSING


def test_the_oldest_results_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arvis.store.sql.reference_cache.MOST_ROWS", 4)
    cache, tables = ReferenceCache(), frozenset({"agents"})
    for key, value in {"a": None, "b": (1, 2), "c": (3, 4)}.items():
        cache.put(key, 0, value)
    assert [cache.get(key, tables, 0) for key in "abc"] == [MISSING, (1, 2), (3, 4)]
    cache.put("c", 0, ())
    cache.put("d", 0, "row")
    assert [cache.get(key, tables, 0) for key in "bcd"] == [(1, 2), (), "row"]
    cache.put("b", 0, (1, 2, 3, 4, 5))
    assert [cache.get(key, tables, 0) for key in "bcd"] == [MISSING, (), "row"]
    cache.put("e", 0, Computed(SimpleNamespace(rows=(1, 2, 3)), tables))
    assert [cache.get(key, tables, 0) for key in "cd"] == [MISSING, "row"]
    assert cache.computed("e", 0) is not None


@pytest.mark.parametrize("dialect", [SqliteDialect(), PostgresDialect()], ids=lambda dialect: dialect.name)
def test_every_held_query_reads_only_tables_that_are_watched(dialect: SqliteDialect | PostgresDialect) -> None:
    queries = load_queries(dialect)
    held = {name for file in REPOSITORIES.glob("*.py") for name in HELD.findall(file.read_text("utf-8"))}
    assert len(held) >= 12
    for name in held:
        assert read_tables(queries[name]), name


def test_the_tables_that_a_query_changes_are_found() -> None:
    texts = {
        "insert": "INSERT INTO agents (id) VALUES (:id) ON CONFLICT (id) DO UPDATE SET name = 1",
        "replace": "INSERT OR REPLACE INTO kv VALUES (1)",
        "update": "WITH old AS (SELECT 1) UPDATE facts SET status = 'x' RETURNING id",
        "delete": "DELETE FROM waits WHERE id IN (SELECT id FROM agents)",
        "read": "SELECT * FROM agents",
        "other": "UPDATE jobs SET ready = 1",
        "unheld columns": "UPDATE conversations SET turns = turns + 1, last_message_at = :now WHERE id = 1 RETURNING turns",
        "held column too": "UPDATE conversations SET turns = 1, direct = 1",
    }
    assert written_tables(texts) == {
        "insert": {"agents"},
        "replace": {"kv"},
        "update": {"facts"},
        "delete": {"waits"},
        "held column too": {"conversations"},
    }
    unheld = ("SELECT * FROM conversations", "SELECT id FROM conversations ORDER BY last_message_at")
    for text in (texts["update"], "SELECT * FROM jobs JOIN agents", "SELECT 1", *unheld):
        with pytest.raises(ValueError, match="must not be cached"):
            read_tables(text)
