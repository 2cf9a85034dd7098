"""The store on PostgreSQL keeps the rules of its port."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from arvis.store.opening import Database
from arvis.testing.conformance.store import OpenStore, StoreConformance
from tests.conformance.databases import opened


class TestPostgresStore(StoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path, postgres_url: str) -> OpenStore:
        return partial(opened, Database(tmp_path / "unused.db", postgres_url, tmp_path))
