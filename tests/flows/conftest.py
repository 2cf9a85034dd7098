"""Apps for tests: on SQLite, and for the central cases also on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.ports.store import Store
from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.flows.app_harness import AppHarness, open_app


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "arvis.db", None, tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def either_database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else None
    return Database(tmp_path / "arvis.db", url, tmp_path)


@pytest.fixture
async def app(database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(database) as app:
        yield app


@pytest.fixture
async def either_app(either_database: Database) -> AsyncIterator[AppHarness]:
    async with open_app(either_database) as app:
        yield app


@pytest.fixture
async def either_store(either_database: Database) -> AsyncIterator[Store]:
    async with opened(either_database) as store:
        yield store


@pytest.fixture
async def store(database: Database) -> AsyncIterator[Store]:
    async with opened(database) as store:
        yield store
