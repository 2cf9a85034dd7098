"""The pages for configuration, doctor, logs and audit."""

from __future__ import annotations

import re

from playwright.async_api import Page, expect

from tests.browser.daemon import Daemon


async def setting(daemon: Daemon, key: str) -> object:
    rows = (await daemon.api("GET", "/api/settings"))["items"]
    return next(row["value"] for row in rows if row["key"] == key)


async def test_a_budget_is_changed_and_taken_back(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/configuration")
    await dashboard.get_by_label("Search settings").fill("daily_usd")
    field = dashboard.get_by_label("budgets.daily_usd", exact=True)
    await field.fill("7.5")
    await dashboard.get_by_role("button", name="Save 1 change").click()
    await expect(dashboard.get_by_text("Set here").first).to_be_visible()
    assert await setting(daemon, "budgets.daily_usd") == 7.5
    await dashboard.get_by_role("button", name="Undo the last change").click()
    await expect(field).to_have_value("5")
    assert await setting(daemon, "budgets.daily_usd") == 5


async def test_a_wrong_value_is_told_and_stays_in_its_field(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/configuration?q=daily_usd")
    field = dashboard.get_by_label("budgets.daily_usd", exact=True)
    await field.fill("-3")
    await dashboard.get_by_role("button", name="Save 1 change").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("budgets.daily_usd")
    await expect(field).to_have_value("-3")
    assert await setting(daemon, "budgets.daily_usd") == 5


async def test_the_doctor_shows_what_the_command_says(dashboard: Page, daemon: Daemon) -> None:
    checks = (await daemon.api("GET", "/api/doctor"))["items"]
    await dashboard.goto("/settings/doctor")
    await expect(dashboard.get_by_text(f"{len(checks)} checks")).to_be_visible(timeout=15_000)
    await dashboard.get_by_role("button", name="Security").click()
    await expect(dashboard.get_by_text(f"{len(checks)} checks")).to_be_hidden(timeout=15_000)


async def test_a_line_of_the_log_is_found_and_shown_whole(dashboard: Page) -> None:
    await dashboard.goto("/settings/logs")
    await dashboard.get_by_label("Search in lines").fill("models")
    # The stack of a stalled event loop may contain both words.
    await dashboard.get_by_role("row").filter(has_text=re.compile(r"ready\s+boot")).first.click()
    await expect(dashboard.get_by_role("region", name="Fields")).to_contain_text("demo/demo")
    async with dashboard.expect_download() as download:
        await dashboard.get_by_text("Files", exact=True).click()
        await dashboard.locator("details").get_by_role("link").first.click()
    assert b"ready" in (await (await download.value).path()).read_bytes()


async def test_what_a_model_wanted_to_change_stands_in_the_audit(dashboard: Page, daemon: Daemon) -> None:
    said = 'demo: say <arvis-memory action="remember">The sky is blue</arvis-memory> noted'
    body = {"content": said, "channelId": "web-owner"}
    message = (await daemon.api("POST", "/api/messages", body))["messageId"]
    await daemon.api("GET", f"/api/messages/{message}/wait?timeout=10")
    entries = (await daemon.api("GET", "/api/audit"))["items"]
    await dashboard.goto("/settings/audit")
    if entries:
        await dashboard.get_by_role("row", name=entries[0]["kind"].replace("_", " ")).click()
        await expect(dashboard.get_by_role("link", name=message)).to_be_visible()
    else:
        await expect(dashboard.get_by_text("No entries yet")).to_be_visible()
