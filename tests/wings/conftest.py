"""Fixtures of `tests/wings`."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.wings.chat_scene import Scene, open_scene


@pytest.fixture(scope="module", autouse=True)
def _leaks_are_found() -> Iterator[None]:
    """Collect garbage at the end of each file, so that the warning about an open connection names the file that left
    it. Otherwise it appears in any later test."""
    yield
    gc.collect()


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_scene() as opened:
        yield opened
