"""The store on PostgreSQL follows the rules of its port."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from arvis.store.open import Database
from tests.conformance.databases import emptied, opened
from tests.conformance.store.suite import OpenStore, StoreConformance
from tests.postgres import PostgresServer


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[str]:
    """Create one database for all cases, because creating one takes longer than a case."""
    with postgres.database("conformance") as url:
        yield url


class TestPostgresStore(StoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path, url: str) -> OpenStore:
        database = Database(tmp_path / "unused.db", url, tmp_path)
        emptied(database)
        return partial(opened, database)
