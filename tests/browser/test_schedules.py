"""Schedules: created with a preview of their next times, run by hand, changed, paused, removed and restored."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Browser, Page, expect

from tests.browser.asking import hire, until, visitor
from tests.browser.daemon import Daemon


async def schedule(daemon: Daemon, name: str, **more: object) -> dict[str, Any]:
    body = {
        "kind": "cron", "agent": "conductor", "name": name, "schedule": "0 8 * * 1-5", "prompt": "demo: say morning",
        "platform": "web", "channelId": "hall",
    }  # fmt: skip
    made: dict[str, Any] = await daemon.api("POST", "/api/schedules", {**body, **more})
    return made


async def test_a_schedule_is_made_and_its_next_five_times_are_shown(dashboard: Page, daemon: Daemon) -> None:
    await hire(daemon, "herald")
    await dashboard.goto("/schedules")
    await dashboard.get_by_role("link", name="New schedule").first.click()
    form = dashboard.get_by_role("form", name="New schedule")
    await form.get_by_label("Agent").select_option("herald")
    await form.get_by_label("Name").fill("Morning news")
    await form.get_by_label("When").fill("0 8 * * 1-5")
    await form.get_by_label("What to do").fill("Say what is new")
    await form.get_by_label("Channel").fill("hall")
    await form.get_by_text("More settings").click()
    await form.get_by_label("Time zone").select_option("Europe/Vienna")
    await form.get_by_label("Maximum age of a missed time, in minutes").fill("30")
    await form.get_by_role("button", name="Save").click()
    await expect(
        dashboard.get_by_role("list", name="Next times, in your time zone").get_by_role("listitem")
    ).to_have_count(5)
    (made,) = (await daemon.api("GET", "/api/schedules?agent=herald"))["items"]
    assert (made["name"], made["timezone"], made["misfireGraceMs"]) == ("Morning news", "Europe/Vienna", 1_800_000)
    assert (made["channelId"], made["prompt"]) == ("hall", "Say what is new")
    await expect(dashboard).to_have_url(f"/schedules/{made['id']}")
    row = dashboard.get_by_role("row", name="Morning news")
    await expect(row).to_contain_text("Monday to Friday at 08:00")


async def test_what_cannot_be_read_is_told_in_the_form(dashboard: Page) -> None:
    await dashboard.goto("/schedules/new")
    form = dashboard.get_by_role("form", name="New schedule")
    await form.get_by_label("Agent").select_option("conductor")
    await form.get_by_label("When").fill("whenever you like")
    await form.get_by_label("What to do").fill("Sing")
    await form.get_by_label("Channel").fill("hall")
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_role("alert")).to_contain_text("whenever you like")
    await expect(form.get_by_label("Channel")).to_have_value("hall")
    await form.get_by_label("Kind").select_option("script")
    await form.get_by_label("Script, as JSON").fill("{")
    await form.get_by_role("button", name="Save").click()
    await expect(form.get_by_text("This is not valid JSON")).to_be_visible()


async def test_a_run_by_hand_stands_in_the_history_and_leads_to_its_run(dashboard: Page, daemon: Daemon) -> None:
    made = await schedule(daemon, "By hand", prompt="demo: sleep 1\ndemo: say morning")
    await dashboard.goto(f"/schedules/{made['id']}")
    await dashboard.get_by_role("button", name="Run now").click()
    history = dashboard.get_by_role("list", name="History").get_by_role("listitem")
    await expect(history).to_contain_text("Running")
    await expect(history).to_contain_text("Done", timeout=20_000)
    await expect(history).to_contain_text("By hand")
    (run,) = (await daemon.api("GET", f"/api/schedules/{made['id']}/runs"))["items"]
    link = history.get_by_role("link", name="Execution")
    await expect(link).to_have_attribute("href", f"/executions/{run['executionId']}")
    row = dashboard.get_by_role("row", name="By hand")
    await dashboard.get_by_role("region", name="By hand").get_by_role("button", name="Close").click()
    await expect(row).to_contain_text("OK")


async def test_one_is_paused_changed_undone_removed_and_brought_back(dashboard: Page, daemon: Daemon) -> None:
    made = await schedule(daemon, "Often changed", timezone="Europe/Vienna")
    path = f"/api/schedules/{made['id']}"
    await dashboard.goto("/schedules")
    await dashboard.get_by_role("checkbox", name="Turn Often changed off").click()
    await expect(dashboard.get_by_role("row", name="Often changed")).to_contain_text("Paused")
    assert (await daemon.api("GET", path))["enabled"] is False

    await dashboard.get_by_role("row", name="Often changed").click()
    await dashboard.get_by_role("button", name="Resume").click()
    await until(lambda: _is(daemon, path, enabled=True))
    await dashboard.get_by_role("button", name="Edit").click()
    form = dashboard.get_by_role("form", name="Edit")
    await form.get_by_label("When").fill("every 2 h")
    await form.get_by_text("More settings").click()
    await form.get_by_label("Time zone").select_option("")
    await form.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("row", name="Often changed")).to_contain_text("Every 2 hours")
    assert (await daemon.api("GET", path))["timezone"] is None

    await dashboard.get_by_role("button", name="Undo the last change").click()
    await until(lambda: _is(daemon, path, schedule="0 8 * * 1-5", timezone="Europe/Vienna"))
    await dashboard.get_by_role("button", name="Delete").click()
    await expect(dashboard.get_by_role("row", name="Often changed")).to_have_count(0)
    await daemon.api("GET", path, status=404)
    await dashboard.get_by_role("button", name="Undo").click()
    await expect(dashboard.get_by_role("row", name="Often changed")).to_be_visible()
    assert (await daemon.api("GET", path))["name"] == "Often changed"


async def test_a_viewer_is_not_led_to_schedules(browser: Browser, daemon: Daemon) -> None:
    async with visitor(browser, daemon, "vito", "viewer") as page:
        await page.goto("/schedules")
        await expect(page.get_by_role("link", name="New schedule")).to_have_count(0)


async def _is(daemon: Daemon, path: str, **wanted: object) -> bool:
    found = await daemon.api("GET", path)
    return all(found[name] == value for name, value in wanted.items())
