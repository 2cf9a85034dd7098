"""Now and Usage show the figures of the API, live, and each figure links to its details."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.daemon import Daemon


async def say(daemon: Daemon, text: str, user: str) -> str:
    body = {"content": text, "channelId": f"web-{user}", "userId": user}
    return str((await daemon.api("POST", "/api/messages", body))["messageId"])


async def test_running_work_appears_and_goes_without_a_reload(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/now")
    await expect(dashboard.get_by_text("Nothing is running.")).to_be_visible()
    message = await say(daemon, "demo: sleep 3", "busy")
    work = dashboard.get_by_role("main").get_by_role("link", name="Conductor")
    await expect(work).to_be_visible()
    await expect(work).to_have_attribute("href", f"/messages/{message}")
    await expect(dashboard.get_by_role("banner").get_by_text("1 running")).to_be_visible()
    await expect(dashboard.get_by_text("Nothing is running.")).to_be_visible(timeout=10_000)
    assert (await daemon.api("GET", f"/api/messages/{message}"))["status"] == "answered"


async def test_a_failure_is_counted_everywhere_and_leads_to_its_job(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/now")
    await say(daemon, "demo: fail bad_request", "unlucky")
    failed = dashboard.get_by_role("banner").get_by_role("link", name="1 failed")
    await expect(failed).to_be_visible(timeout=10_000)
    (job,) = (await daemon.api("GET", "/api/jobs?status=failed"))["items"]
    row = dashboard.get_by_role("main").get_by_role("link", name="Message conductor")
    await expect(row).to_have_attribute("href", f"/queue/{job['id']}?status=failed")
    await failed.click()
    await expect(dashboard).to_have_url("/queue?status=failed")


async def test_usage_tells_calls_and_tokens_as_the_api_does(dashboard: Page, daemon: Daemon) -> None:
    await daemon.api("GET", f"/api/messages/{await say(daemon, 'hello', 'counted')}/wait?timeout=10")
    await dashboard.goto("/usage")
    total = (await daemon.api("GET", "/api/usage"))["total"]
    calls = dashboard.locator("dl").filter(has_text="Calls").locator("dd").nth(1)
    await expect(calls).to_have_text(str(total["calls"]))
    await expect(dashboard.locator("canvas")).to_have_count(3)
    await dashboard.get_by_label("One row per").select_option("model")
    await expect(dashboard.get_by_role("row", name="demo")).to_be_visible()
    await expect(dashboard).to_have_url("/usage?by=model")


async def test_a_plot_is_saved_as_a_table_for_spreadsheets(dashboard: Page, daemon: Daemon) -> None:
    await daemon.api("GET", f"/api/messages/{await say(daemon, 'hello', 'again')}/wait?timeout=10")
    await dashboard.goto("/now")
    async with dashboard.expect_download() as download:
        await dashboard.get_by_role("figure", name="Messages").get_by_role("button", name="CSV").click()
    text = (await (await download.value).path()).read_text()
    assert text.startswith('"time","Answered","Failed"')
    assert len(text.splitlines()) > 30


async def test_a_phone_shows_it_below_one_another(phone: Page) -> None:
    await phone.goto("/now")
    await expect(phone.locator("canvas").first).to_be_attached()
    assert await phone.evaluate("document.scrollingElement.scrollWidth") <= 390  # no sideways scrolling
