"""Fixtures of `tests/wings`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.wings.chat_scene import Scene, open_scene


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with open_scene() as opened:
        yield opened
