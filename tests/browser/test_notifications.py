"""The notifications of owners: the bell counts them as they come, and their page has links, buttons and keys."""

from __future__ import annotations

import re

from playwright.async_api import Browser, Page, expect

from tests.browser.asking import ask, visitor
from tests.browser.daemon import Daemon

BELL = re.compile(r"notifications", re.IGNORECASE)


async def test_the_bell_follows_a_failure_and_its_page_retries_and_dismisses_it(
    dashboard: Page, daemon: Daemon
) -> None:
    await dashboard.goto("/now")
    bell = dashboard.get_by_role("banner").get_by_role("link", name=BELL)
    await expect(bell).to_have_accessible_name("No open notifications")
    await ask(daemon, "demo: fail bad_request", "cellar")
    await expect(bell).to_have_accessible_name("Open notifications: 1")
    await bell.click()
    await expect(dashboard).to_have_url("/notifications")
    item = dashboard.get_by_role("list", name="Notifications").get_by_role("listitem")
    await expect(item).to_contain_text("Problem")
    await expect(item).to_contain_text("could not finish a task (bad_request)")
    await expect(item).to_contain_text("reported once")

    await item.get_by_role("button", name="Retry the job").click()
    await expect(item).to_contain_text("reported 2 times", timeout=30_000)
    await item.get_by_role("link", name="Open the page").click()
    await expect(dashboard).to_have_url("/queue?status=failed")
    await dashboard.go_back()

    await dashboard.keyboard.press("j")
    await expect(item).to_be_focused()
    dismiss = item.get_by_role("button", name="Dismiss")
    await dismiss.focus()
    await dashboard.keyboard.press("Enter")
    await expect(dashboard.get_by_role("heading", name="No open notifications")).to_be_visible()
    await expect(bell).to_have_accessible_name("No open notifications")
    await dashboard.get_by_role("button", name="Dismissed").click()
    await expect(item).to_contain_text("dismissed by Owner")
    await expect(item.get_by_role("button")).to_have_count(0)


async def test_who_only_reads_sees_notifications_without_buttons(browser: Browser, daemon: Daemon) -> None:
    await ask(daemon, "demo: fail auth", "attic")
    async with visitor(browser, daemon, "vera", "viewer") as page:
        await page.goto("/notifications")
        item = page.get_by_role("listitem").filter(has_text="could not finish a task (auth)")
        await expect(item.get_by_role("link", name="Open the page")).to_be_visible()
        await expect(item.get_by_role("button")).to_have_count(0)
