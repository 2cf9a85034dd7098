"""What tests of the chat do and look at."""

from __future__ import annotations

from itertools import count

from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.daemon import Daemon
from tests.browser.watching import Watch

#: Longer than the longest pause between two tries to connect.
PATIENCE_MS = 45_000

_numbers = count(1)


async def new_agent(daemon: Daemon, *tools: str) -> str:
    """The slug of an agent that nobody has talked to; its name is the same with a capital."""
    slug = f"helper-{next(_numbers)}"
    body = {"slug": slug, "name": slug.title(), "tools": list(tools), "model": "demo/demo"}
    await daemon.api("POST", "/api/agents", body)
    return slug


async def talk_with(page: Page, daemon: Daemon, *tools: str) -> str:
    """Opens the chat with a new agent; its slug."""
    slug = await new_agent(daemon, *tools)
    await page.goto(f"/chat/{slug}")
    await connected(page)
    return slug


async def guest(browser: Browser, daemon: Daemon, role: str) -> tuple[Page, Watch]:
    """A page on which somebody of this role is logged in. Whoever asks closes its context."""
    made = await daemon.api("POST", "/api/users", {"id": role, "name": role.title(), "role": role})
    page = await (await browser.new_context(base_url=daemon.address)).new_page()
    watch = Watch(daemon.address)
    await watch.over(page)
    await page.goto(made["link"]["url"])
    return page, watch


async def connected(page: Page) -> None:
    await expect(page.locator("[data-channel] [data-link=ready]").first).to_be_attached(timeout=PATIENCE_MS)


async def log_in(page: Page, daemon: Daemon) -> None:
    """By the first link of all, which would else lead to the first run."""
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
