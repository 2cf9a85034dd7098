"""Helpers for the tests of memory: a store on each database, and short ways to store and read facts."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from arvis.domain.memory import (
    Category,
    Fact,
    NewFact,
    principal_scope,
)
from arvis.domain.messages import Address
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.memory.service import Remembered, remember, undo
from arvis.ports.store import Store, Transaction
from arvis.store.open import Database
from tests.conformance.databases import emptied, migrated, opened
from tests.conformance.store.scripts import AGENT, NOW, add_agent
from tests.postgres import PostgresServer

DAY_MS = 86_400_000
HALL, GARDEN = Address("telegram", "main", "-100"), Address("telegram", "main", "-200")
ANN, BOB = principal_scope("ann"), principal_scope("bob")
PEOPLE: Taint = frozenset({Label.PEOPLE})
TOOLS: Taint = frozenset({Label.TOOLS})
PREFERENCE = Category.USER_PREFERENCE


@pytest.fixture(params=["sqlite", "postgres"])
async def either_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    shutil.copy(request.getfixturevalue("template"), database.file)
    if request.param == "postgres":
        database = Database(tmp_path / "unused.db", request.getfixturevalue("memory_url"), tmp_path)
        emptied(database)
    async with opened(database) as store:
        await store.write(add_agent)
        yield store


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrate one database that every case copies, because migrating takes longer than a case."""
    file = tmp_path_factory.mktemp("template") / "arvis.db"
    migrated(Database(file, None, file.parent), NOW)
    return file


@pytest.fixture(scope="module")
def memory_url(postgres: PostgresServer) -> Iterator[str]:
    with postgres.database("memory") as url:
        yield url


def new_fact(content: str, *, scope: str = ANN, category: Category = PREFERENCE, taint: Taint = CLEAN) -> NewFact:
    return NewFact(AGENT.id, scope, category, content, taint=taint, author_id="ann", message_id="m1")


def tell(tx: Transaction, new: NewFact, now: int = NOW) -> Remembered:
    kept = remember(tx, new, by_id="ann", now=now)
    assert isinstance(kept, Remembered), kept
    return kept


def tell_all(tx: Transaction, *news: NewFact) -> list[Remembered]:
    return [tell(tx, new) for new in news]


def contents(tx: Transaction, *scopes: str) -> list[str]:
    facts = tx.facts.of(AGENT.id, scopes or (ANN,), limit=1000)
    return [fact.content for fact in sorted(facts, key=lambda fact: fact.number)]


def take_back(tx: Transaction, *scopes: str, now: int = NOW) -> str | None:
    return undo(tx, AGENT.id, scopes or (ANN,), by_id="ann", now=now)


def known(tx: Transaction, fact: Fact) -> Fact:
    found = tx.facts.get(fact.id)
    assert found is not None
    return found


def changes(tx: Transaction, fact: Fact) -> list[str]:
    return [change.change for change in tx.facts.changes(fact.id, 100)]
