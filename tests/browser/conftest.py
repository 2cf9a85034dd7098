"""A running daemon for the tests of the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.browser.daemon import Daemon


@pytest_asyncio.fixture(loop_scope="session")
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """One of the test's own: it may be killed and started again."""
    daemon = Daemon(tmp_path)
    try:
        await daemon.start()
        yield daemon
    finally:
        await daemon.close()
