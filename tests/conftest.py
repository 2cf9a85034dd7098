"""Fixtures that need a real server or browser; each serves the whole session."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

from tests.conformance.databases import migrated_template
from tests.parts import LONG, require
from tests.postgres import PostgresServer, running_postgres

__all__ = ["require"]

#: Figures that appear at the end of a run even if all tests pass.
FIGURES = pytest.StashKey[list[str]]()

CSP_MARK = "CSP violation:"
CSP_LISTENER = f"""addEventListener("securitypolicyviolation", event =>
    console.error("{CSP_MARK}", event.violatedDirective, event.blockedURI))"""


#: Tests sync thousands of times, so their files are in memory if this folder has this many free bytes.
MEMORY = Path("/dev/shm")
ENOUGH = 4_000_000_000


#: Folders whose files take long. They are tested first, so that no process works on one of them alone at the end.
SLOW = ("tests/acceptance/", "tests/api/", "tests/browser/", "tests/crash/", "tests/hostile/")


def keep_files_in_memory() -> None:
    """Use temporary files in memory for this process, its workers and its children, unless TMPDIR is set."""
    usable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ENOUGH
    if "TMPDIR" not in os.environ and usable:
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


keep_files_in_memory()

# The time that a loaded machine needs to generate or check an example says nothing about the code.
settings.register_profile("arvis", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("arvis")

#: The longest wait for the state of a page. A loaded machine needs more than the five seconds of Playwright.
expect.set_options(timeout=20_000)

# Compiled modules serve all processes of a run, even where the environment asks Python not to keep them.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The garbage collector would examine the growing number of collected tests again and again, and later every test.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let browser tests share the session's event loop, since a browser belongs to the loop that started it.

    A server in the test's process must use the same loop, by a fixture with `loop_scope="session"`.
    """
    for item in items:
        if isinstance(item, pytest.Function) and "browser" in item.fixturenames:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
    if not LONG:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    items.sort(key=lambda item: not item.nodeid.startswith(SLOW))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send a worker's figures to the process that prints them."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["figures"] = session.config.stash.get(FIGURES, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash.setdefault(FIGURES, []).extend(getattr(node, "workeroutput", {}).get("figures", []))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if figures := config.stash.get(FIGURES, None):
        terminalreporter.section("figures")
        terminalreporter.write_line("\n".join(figures))


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> list[str]:
    """Return a list; its lines are printed below the results."""
    return request.config.stash.setdefault(FIGURES, [])


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Run one server without fsync for the whole session. A crash test starts its own with `running_postgres`."""
    with running_postgres(require("initdb")) as server:
        yield server


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    """Create an empty database for the test and yield its address."""
    with postgres.database(f"test_{uuid4().hex}") as url:
        yield url


@pytest.fixture
def migrated_url(postgres: PostgresServer) -> Iterator[str]:
    """Create a database with the tables of Arvis for the test and yield its address."""
    with postgres.database(f"test_{uuid4().hex}", template=migrated_template(postgres)) as url:
        yield url


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Run Debian's Chromium headless; as root without the sandbox, which does not work there."""
    program = require("chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """Yield a page with its own cookies. The test fails if a script raises an error or violates the content policy."""
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.text.startswith(CSP_MARK):
            complaints.append(message.text)

    async with await browser.new_context() as context:
        page = await context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(f"script error: {error}"))
        await page.add_init_script(CSP_LISTENER)
        yield page
    assert not complaints, "\n".join(complaints)
