"""A running daemon with a dashboard that is up to date, for the tests of the pages."""

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
    """The tests see what the sources say."""
    require("node")
    Dashboard(Path(__file__).parents[2]).bring_up_to_date()


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    """One for all tests of a file: each brings agents and channels of its own names."""
    daemon = Daemon(tmp_path_factory.mktemp("daemon"))
    try:
        await daemon.start()
        yield daemon
    finally:
        await daemon.close()


@pytest_asyncio.fixture(loop_scope="session")
async def own_daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """One of the test's own: it may be killed and started again."""
    daemon = Daemon(tmp_path)
    try:
        await daemon.start()
        yield daemon
    finally:
        await daemon.close()


@pytest_asyncio.fixture(loop_scope="session")
async def dashboard(browser: Browser, daemon: Daemon) -> AsyncIterator[Page]:
    """A page on which the owner is logged in. The test fails at its end when a script threw, the console showed an error, the
    content policy was broken or anything was asked of another site."""
    async with await browser.new_context(base_url=daemon.address) as context:
        await context.add_cookies([await daemon.cookie()])
        page = await context.new_page()
        watch = Watch(daemon.address)
        await watch.over(page)
        yield page
    watch.check()


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser, daemon: Daemon) -> AsyncIterator[Page]:
    """The same on a screen of 390 × 844 points that is touched."""
    async with await browser.new_context(
        base_url=daemon.address, viewport=PHONE, has_touch=True, is_mobile=True
    ) as context:
        await context.add_cookies([await daemon.cookie()])
        page = await context.new_page()
        watch = Watch(daemon.address)
        await watch.over(page)
        yield page
    watch.check()
