"""The queue: failed jobs are found, explained, retried or deleted."""

from __future__ import annotations

from playwright.async_api import Browser, Page, expect

from tests.browser.asking import ask, say, until, visitor
from tests.browser.daemon import Daemon

FAIL = "demo: fail bad_request"


async def status_of(daemon: Daemon, job: str) -> str:
    return str((await daemon.api("GET", f"/api/jobs/{job}"))["status"])


async def dead_letter(daemon: Daemon, channel: str) -> str:
    """Create a job that was given up, and return its id."""
    return str((await ask(daemon, f"{FAIL}\nof {channel}", channel))["job"]["id"])


async def test_a_failed_job_appears_by_itself_and_says_why(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/queue?status=failed")
    await expect(dashboard.get_by_role("heading", name="Nothing matches")).to_be_visible()
    job = await dead_letter(daemon, "live")
    row = dashboard.get_by_role("row", name="of live")
    await expect(row).to_contain_text("The vendor rejected the request as invalid.")
    await row.get_by_text("of live").click()
    await expect(dashboard).to_have_url(f"/queue/{job}?status=failed")
    record = (await daemon.api("GET", f"/api/jobs/{job}/timeline"))["explanation"]
    sheet = dashboard.get_by_role("region", name="of live")
    await expect(sheet.get_by_text(record)).to_be_visible()
    await expect(sheet.get_by_text("The model did not answer")).to_be_visible()
    await dashboard.keyboard.press("Escape")
    await expect(dashboard).to_have_url("/queue?status=failed")


async def test_a_dead_letter_is_tried_again_by_a_key(dashboard: Page, daemon: Daemon) -> None:
    job = await dead_letter(daemon, "again")
    await dashboard.goto(f"/queue/{job}")
    await expect(dashboard.get_by_role("button", name="Edit and retry")).to_be_visible()
    before = (await daemon.api("GET", f"/api/jobs/{job}"))["finishedAt"]
    await dashboard.keyboard.press("r")
    await expect(dashboard.get_by_text("The job will run again.")).to_be_visible()

    async def ended_anew() -> bool:
        return bool(((await daemon.api("GET", f"/api/jobs/{job}"))["finishedAt"] or 0) > before)

    await until(ended_anew)


async def test_other_words_are_answered(dashboard: Page, daemon: Daemon) -> None:
    job = await dead_letter(daemon, "edited")
    message = (await daemon.api("GET", f"/api/jobs/{job}"))["messageId"]
    await dashboard.goto(f"/queue/{job}")
    await dashboard.get_by_role("button", name="Edit and retry").click()
    field = dashboard.get_by_label("New text of the message")
    await expect(field).to_have_value(f"{FAIL}\nof edited")
    await field.fill("demo: say now it works")
    await dashboard.get_by_role("button", name="Ask again").click()
    sheet = dashboard.get_by_role("region", name="now it works")
    await expect(sheet.get_by_text("Answered by conductor")).to_be_visible()
    await expect(sheet.get_by_text("Edited", exact=True)).to_be_visible()
    record = await daemon.api("GET", f"/api/messages/{message}")
    assert (record["status"], record["reply"]) == ("answered", "now it works")
    assert dashboard.url.endswith(record["job"]["id"])


async def test_many_are_deleted_and_what_is_refused_is_told(dashboard: Page, daemon: Daemon) -> None:
    gone = [await dead_letter(daemon, f"many{number}") for number in range(2)]
    held = await say(daemon, "demo: sleep 60\nof many9", "many9")
    await dashboard.goto("/queue?kind=message")
    for number in (0, 1, 9):
        await dashboard.get_by_role("row", name=f"of many{number}").get_by_role("checkbox").check()
    bar = dashboard.get_by_text("3 jobs selected").locator("..")
    await bar.get_by_role("button", name="Delete").click()
    await expect(dashboard.get_by_role("dialog")).to_contain_text("Waiting and running jobs are not changed")
    await dashboard.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(dashboard.get_by_text("2 jobs were deleted.")).to_be_visible()
    await expect(dashboard.get_by_text("1 job could not be changed:")).to_be_visible()
    await expect(dashboard.get_by_role("row", name="of many0")).to_have_count(0)
    for job in gone:
        await daemon.api("GET", f"/api/jobs/{job}", status=404)
    running = (await daemon.api("GET", f"/api/messages/{held}"))["job"]["id"]
    await dashboard.get_by_text("1 job selected").locator("..").get_by_role("button", name="Cancel").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Cancel", exact=True).last.click()
    await expect(dashboard.get_by_text("1 job was cancelled.")).to_be_visible()
    assert await status_of(daemon, running) == "cancelled"


async def test_what_waits_tells_its_place_in_its_lane(dashboard: Page, daemon: Daemon) -> None:
    first = await say(daemon, "demo: sleep 60", "lane")
    await say(daemon, "the second", "lane", userId="bea")
    third = await say(daemon, "the third", "lane", userId="cid")
    record = await daemon.api("GET", f"/api/messages/{third}")
    await dashboard.goto(f"/queue/{record['job']['id']}")
    await expect(dashboard.get_by_text("2 jobs are ahead of it.")).to_be_visible()
    await dashboard.get_by_role("link", name=record["job"]["lane"]).click()
    await expect(dashboard.get_by_role("grid", name="Jobs").get_by_role("row")).to_have_count(4)
    job = (await daemon.api("GET", f"/api/messages/{first}"))["job"]["id"]
    await daemon.api("POST", f"/api/jobs/{job}/cancel")


async def test_the_queue_on_a_phone_and_its_detail(phone: Page, daemon: Daemon) -> None:
    job = await dead_letter(daemon, "pocket")
    await phone.goto("/queue?status=failed")
    card = phone.get_by_role("row", name="of pocket")
    await expect(card.get_by_role("button", name="Retry")).to_be_visible()
    sideways = "document.querySelector('[role=grid]').parentElement.scrollWidth - 358"
    assert await phone.evaluate(sideways) <= 0
    await card.get_by_text("of pocket").tap()
    await expect(phone).to_have_url(f"/queue/{job}?status=failed")
    await expect(phone.get_by_role("button", name="Edit and retry")).to_be_visible()
    assert await phone.evaluate("document.documentElement.scrollWidth") == 390
    assert await phone.evaluate("document.querySelector('section[tabindex]').scrollWidth") <= 390


async def test_who_only_looks_gets_no_buttons(browser: Browser, daemon: Daemon) -> None:
    job = await dead_letter(daemon, "looked")
    async with visitor(browser, daemon, "vera", "viewer") as page:
        await page.goto(f"/queue/{job}")
        await expect(page.get_by_text("Not answered (failed)")).to_be_visible()
        for name in ("Retry", "Edit and retry", "Delete"):
            await expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
        await expect(page.get_by_role("checkbox")).to_have_count(0)


async def test_a_job_that_is_gone_says_so(dashboard: Page) -> None:
    await dashboard.goto("/queue/01HZY0000000000000000000E1")
    await expect(dashboard.get_by_role("heading", name="This job no longer exists")).to_be_visible()
