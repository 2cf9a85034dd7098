"""Details that every page shares: unknown addresses, languages, lists by keyboard, amounts of money."""

from __future__ import annotations

import re

from playwright.async_api import Browser, Page, ViewportSize, expect

from arvis.testing.openai_server import openai_server
from tests.browser.asking import ask, hire, visitor
from tests.browser.chatting import answers, say, talk_with
from tests.browser.daemon import Daemon


async def test_an_address_that_leads_nowhere_shows_the_page_and_programs_get_json(
    browser: Browser, daemon: Daemon
) -> None:
    async with await browser.new_context(base_url=daemon.address) as context:
        await context.add_cookies([await daemon.cookie()])
        page = await context.new_page()  # without a watch, since the browser logs the 404
        opened = await page.goto("/nowhere")
        assert opened is not None
        assert opened.status == 404
        await expect(page.get_by_role("heading", name="This page does not exist.")).to_be_visible()
        answered = await context.request.get("/api/nowhere", headers={"accept": "text/html"})
        assert (answered.status, (await answered.json())["error"]["code"]) == (404, "not_found")


async def test_a_page_that_the_role_may_not_see_says_so(browser: Browser, daemon: Daemon) -> None:
    async with visitor(browser, daemon, "vera", "viewer") as page:
        await page.goto("/settings/users")
        await expect(page.get_by_role("heading", name="Users and keys")).to_be_visible()
        await page.goto("/settings/webhooks")
        await expect(
            page.get_by_text("Your role does not allow you to see this page. Ask an owner for another role.")
        ).to_be_visible()


async def test_times_follow_the_language_of_the_texts(browser: Browser, daemon: Daemon) -> None:
    body = {"kind": "cron", "agent": "helper", "name": "later", "schedule": "0 8 1 1 *", "prompt": "demo: say x"}
    made = await daemon.api("POST", "/api/schedules", {**body, "platform": "web", "channelId": "hall"})
    async with await browser.new_context(base_url=daemon.address, locale="de-DE") as context:
        await context.add_cookies([await daemon.cookie()])
        page = await context.new_page()
        await page.goto(f"/schedules/{made['id']}")
        await expect(page.get_by_text(re.compile(r"^\w{3}, Jan 1, \d{4}")).first).to_be_visible()


async def test_the_boxes_of_a_task_list_have_names(dashboard: Page, daemon: Daemon) -> None:
    await talk_with(dashboard, daemon)
    await say(dashboard, "demo: say - [x] milk\ndemo: say - [ ] bread")
    await expect(answers(dashboard).get_by_role("checkbox", name="Finished task", exact=True)).to_be_checked()
    await expect(answers(dashboard).get_by_role("checkbox", name="Unfinished task")).not_to_be_checked()


async def test_the_palette_does_not_say_nothing_above_what_it_found(dashboard: Page, daemon: Daemon) -> None:
    await hire(daemon, "librarian", model="demo/demo")
    await ask(daemon, "demo: say xylophone lessons", "librarian")
    await dashboard.goto("/now")
    await expect(dashboard.get_by_role("heading", name="Now", exact=True)).to_be_visible()
    await dashboard.keyboard.press("Control+k")
    await dashboard.get_by_placeholder("Search or run a command").fill("xylophone")
    await expect(dashboard.get_by_role("option").first).to_be_visible()
    await expect(
        dashboard.get_by_text("No page, agent, workflow, conversation or command has this name.")
    ).to_have_count(0)


async def test_rows_are_walked_by_keys_without_a_click_before(dashboard: Page, daemon: Daemon) -> None:
    await hire(daemon, "walker", model="demo/demo")
    await ask(daemon, "demo: say one", "walker")
    await dashboard.goto("/queue")
    rows = dashboard.get_by_role("grid").get_by_role("row")
    await expect(rows.nth(1)).to_be_visible()
    await dashboard.keyboard.press("j")
    await expect(rows.nth(1)).to_be_focused()
    await dashboard.keyboard.press("Enter")
    await expect(dashboard.get_by_role("button", name="Close")).to_be_visible()


async def test_actions_of_a_detail_can_be_reached_on_a_small_laptop(dashboard: Page, daemon: Daemon) -> None:
    await hire(daemon, "breaker", model="demo/demo")
    await ask(daemon, "demo: fail permanent", "breaker")
    (job,) = (await daemon.api("GET", "/api/jobs?status=failed&agent=breaker"))["items"]
    for width in (1024, 1100, 1180):
        await dashboard.set_viewport_size(ViewportSize(width=width, height=700))
        await dashboard.goto(f"/queue/{job['id']}")
        sheet = dashboard.get_by_role("region", name="demo: fail permanent")
        retry = sheet.get_by_role("button", name="Retry", exact=True)
        await retry.click(trial=True)
        box = await retry.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width


async def test_the_configuration_fits_a_phone(phone: Page) -> None:
    await phone.goto("/settings/configuration")
    await expect(phone.get_by_role("heading", name="Configuration")).to_be_visible()
    await expect(phone.get_by_text("limits.message_bytes")).to_be_visible()
    assert await phone.evaluate("document.querySelector('main').scrollWidth <= innerWidth")
    wide = (
        "[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert await phone.evaluate(wide) == 0


async def test_a_budget_that_is_used_up_is_seen_in_the_top_bar(dashboard: Page, daemon: Daemon) -> None:
    await daemon.api("PATCH", "/api/settings", {"changes": {"budgets.daily_usd": 0}})
    await dashboard.goto("/now")
    await expect(dashboard.get_by_title("Today's budget is used up")).to_contain_text("today")
    await daemon.api("PATCH", "/api/settings", {"changes": {"budgets.daily_usd": None}})


async def test_what_went_wrong_stands_first_in_the_doctor(dashboard: Page, daemon: Daemon) -> None:
    statuses = {check["status"] for check in (await daemon.api("GET", "/api/doctor"))["items"]}
    assert {"ok", "warn"} <= statuses
    await dashboard.goto("/settings/doctor")
    await expect(dashboard.get_by_text(re.compile(r"\d+ checks"))).to_be_visible(timeout=15_000)
    groups = dashboard.locator("main section").filter(has=dashboard.locator("ul"))
    troubled = [await group.get_by_text(re.compile("^(Warning|Failed)$")).count() > 0 for group in await groups.all()]
    assert troubled[0]
    assert troubled == sorted(troubled, reverse=True)


async def test_calls_without_a_price_are_not_shown_as_free(dashboard: Page, daemon: Daemon) -> None:
    async with openai_server() as model:
        account = {"name": "unpriced", "provider": "openai", "baseUrl": model.base_url, "apiKey": "sk-of-the-test"}
        await daemon.api("POST", "/api/accounts", {**account, "model": "mystery-1"})
        await hire(daemon, "mystic", model="mystery-1")
        await ask(daemon, "hello", "mystic")
        await daemon.api("DELETE", "/api/accounts/unpriced")
    await dashboard.goto("/usage?by=model")
    await expect(dashboard.get_by_role("row", name="mystery-1")).to_contain_text("Unknown price")
