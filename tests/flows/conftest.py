"""Houses to test in: on SQLite, and for the central cases on PostgreSQL as well."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.store.opening import Database
from tests.flows.house import House, open_house


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(tmp_path / "arvis.db", None, tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def either_database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return Database(tmp_path / "arvis.db", url, tmp_path)


@pytest.fixture
async def house(database: Database) -> AsyncIterator[House]:
    async with open_house(database) as house:
        yield house


@pytest.fixture
async def either_house(either_database: Database) -> AsyncIterator[House]:
    async with open_house(either_database) as house:
        yield house
