"""The store on SQLite follows the rules of its port."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.conformance.store.suite import OpenStore, StoreConformance


class TestSqliteStore(StoreConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        return partial(opened, Database(tmp_path / "arvis.db", None, tmp_path))
