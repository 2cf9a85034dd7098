"""A store on real SQLite, and a clock that tests move by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from arvis.ports.store import Store
from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.conformance.memory_kit import either_store, memory_url, template
from tests.conformance.queue_kit import HandClock

__all__ = ["either_store", "memory_url", "template"]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        yield store


@pytest.fixture
def clock() -> HandClock:
    return HandClock()
