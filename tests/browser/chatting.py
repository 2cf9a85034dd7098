"""Helpers of the chat tests."""

from __future__ import annotations

from itertools import count

from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.daemon import Daemon
from tests.browser.watching import Watch

#: Longer than the longest pause between two attempts to connect.
PATIENCE_MS = 45_000

_numbers = count(1)


async def new_agent(daemon: Daemon, *tools: str) -> str:
    """Create an agent with its own chat, and return its slug; the name is the capitalised slug."""
    slug = f"helper-{next(_numbers)}"
    body = {"slug": slug, "name": slug.title(), "tools": list(tools), "model": "demo/demo"}
    await daemon.api("POST", "/api/agents", body)
    return slug


async def talk_with(page: Page, daemon: Daemon, *tools: str) -> str:
    """Open the chat with a new agent, and return its slug."""
    slug = await new_agent(daemon, *tools)
    await page.goto(f"/chat/{slug}")
    await connected(page)
    return slug


async def guest(browser: Browser, daemon: Daemon, role: str) -> tuple[Page, Watch]:
    """Return a page on which a new user with this role is logged in. The caller closes its context."""
    made = await daemon.api("POST", "/api/users", {"id": role, "name": role.title(), "role": role})
    page = await (await browser.new_context(base_url=daemon.address)).new_page()
    watch = Watch(daemon.address)
    await watch.over(page)
    await page.goto(made["link"]["url"])
    return page, watch


async def connected(page: Page) -> None:
    await expect(page.locator("[data-channel] [data-link=ready]").first).to_be_attached(timeout=PATIENCE_MS)


async def log_in(page: Page, daemon: Daemon) -> None:
    """Log in by the daemon's first link, after the first-run pages were dismissed."""
    await daemon.api("POST", "/api/setup/dismiss")
    await page.goto(daemon.login_link)
    await connected(page)


def column(page: Page, slug: str) -> Locator:
    return page.locator(f"[data-channel=dashboard-agent-{slug}]")


async def say(where: Page | Locator, text: str) -> None:
    field = where.get_by_label("Message", exact=True)
    await field.fill(text)
    await field.press("Enter")


def questions(where: Page | Locator) -> Locator:
    return where.locator("[data-bubble] p")


def answers(where: Page | Locator) -> Locator:
    return where.locator("[data-kind=agent] [data-body]:not([aria-busy])")


async def expect_statuses(where: Page | Locator, *statuses: str) -> None:
    await expect(where.locator("[data-kind=user] [data-status]")).to_have_text(list(statuses), timeout=PATIENCE_MS)
