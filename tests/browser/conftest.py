"""A running daemon with an up-to-date dashboard, for the page tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize

from hatch_build import Dashboard
from tests.browser.daemon import Daemon
from tests.browser.watching import Watch
from tests.parts import require

PHONE = ViewportSize(width=390, height=844)


@pytest.fixture(scope="session", autouse=True)
def _built() -> None:
    """Build the dashboard from the current sources."""
    require("node")
    Dashboard(Path(__file__).parents[2]).bring_up_to_date()


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """One daemon for all tests of a file; each test uses its own names for agents and channels."""
    daemon = Daemon(tmp_path_factory.mktemp("daemon"))
    try:
        await daemon.start()
        yield daemon
    finally:
        await daemon.close()


@pytest_asyncio.fixture(loop_scope="session")
async def own_daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """A daemon for one test, which may kill and restart it."""
    daemon = Daemon(tmp_path)
    try:
        await daemon.start()
        yield daemon
    finally:
        await daemon.close()


@pytest_asyncio.fixture(loop_scope="session")
async def dashboard(browser: Browser, daemon: Daemon) -> AsyncIterator[Page]:
    """A page on which the owner is logged in. The test fails at its end if a script threw an error, the console showed
    one, the page violated the content policy, or requested another site."""
    async with await browser.new_context(base_url=daemon.address) as context:
        await context.add_cookies([await daemon.cookie()])
        page = await context.new_page()
        watch = Watch(daemon.address)
        await watch.over(page)
        yield page
    watch.check()


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser, daemon: Daemon) -> AsyncIterator[Page]:
    """Like `dashboard`, with a touch screen of 390 × 844 points."""
    async with await browser.new_context(
        base_url=daemon.address, viewport=PHONE, has_touch=True, is_mobile=True
    ) as context:
        await context.add_cookies([await daemon.cookie()])
        page = await context.new_page()
        watch = Watch(daemon.address)
        await watch.over(page)
        yield page
    watch.check()
