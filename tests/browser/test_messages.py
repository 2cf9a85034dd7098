"""Message pages say first, in words, why a message was answered or not."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.async_api import Page, expect

from arvis.domain.explanation import _FAILED, _REFUSED, CHOSEN
from tests.browser.asking import ask, hire
from tests.browser.daemon import Daemon

WORDS = Path(__file__).parents[2] / "arvis" / "web" / "ui" / "src" / "parts" / "steps.texts.ts"


async def test_what_was_dropped_says_why(dashboard: Page, daemon: Daemon) -> None:
    await hire(daemon, "club", allowUsers=["ann"])
    body = {"content": "let me in", "channelId": "club", "userId": "bob", "userName": "Bob"}
    await daemon.api("POST", "/api/messages", body, status=403)
    (dropped,) = (await daemon.api("GET", "/api/messages?status=dropped"))["items"]
    record = await daemon.api("GET", f"/api/messages/{dropped['id']}")
    await dashboard.goto("/messages")
    await dashboard.get_by_role("button", name="Not accepted").click()
    row = dashboard.get_by_role("row", name="let me in")
    await expect(row).to_contain_text("This person may not use this agent.")
    await row.get_by_text("let me in").click()
    await expect(dashboard).to_have_url(f"/messages/{record['messageId']}?status=dropped")
    sheet = dashboard.get_by_role("region", name="let me in")
    await expect(sheet.get_by_text(record["explanation"])).to_be_visible()
    await expect(sheet.get_by_role("button", name="Retry")).to_have_count(0)


async def test_an_answer_is_told_from_its_receipt_to_its_sending(dashboard: Page, daemon: Daemon) -> None:
    await hire(daemon, "sums", tools=["calculate"])
    record = await ask(daemon, 'demo: tool calculate {"expression": "6*7"}', "sums")
    await dashboard.goto(f"/messages/{record['messageId']}")
    sheet = dashboard.get_by_role("region", name="demo: tool calculate")
    await expect(sheet.get_by_text(record["explanation"])).to_be_visible()
    titles = await sheet.get_by_role("listitem").evaluate_all("all => all.map(li => li.querySelector('p').innerText)")
    wanted = [
        "Received",
        "Routed to an agent",
        "Queued",
        "Asked the model",
        "Used a tool",
        "Answered",
        "Sent",
    ]
    found = [next((number for number, title in enumerate(titles) if title.startswith(each)), -1) for each in wanted]
    assert found == sorted(found), titles
    assert -1 not in found, titles
    tool = sheet.get_by_role("listitem").filter(has_text="Used a tool")
    await tool.get_by_text("Input").click()
    await expect(tool.get_by_role("region", name="Input")).to_contain_text('"expression": "6*7"')
    await tool.get_by_text("Output").click()
    await expect(tool.get_by_role("region", name="Output")).to_contain_text("42")
    await expect(sheet.get_by_role("heading", name="Reply")).to_be_visible()
    await sheet.get_by_role("link", name=record["job"]["id"]).click()
    await expect(dashboard).to_have_url(f"/queue/{record['job']['id']}")


async def test_a_failed_message_is_found_and_asked_with_other_words(dashboard: Page, daemon: Daemon) -> None:
    record = await ask(daemon, "demo: fail refused\nthe first try", "retry")
    await dashboard.goto("/messages?status=failed")
    await dashboard.get_by_label("Search in messages").fill("first try")
    await dashboard.get_by_role("row", name="the first try").get_by_text("the first try").click()
    await dashboard.get_by_role("button", name="Edit and retry").click()
    await dashboard.get_by_label("New text of the message").fill("demo: say better")
    await dashboard.get_by_role("button", name="Ask again").click()
    await expect(dashboard.get_by_role("heading", name="Reply")).to_be_visible()
    after = await daemon.api("GET", f"/api/messages/{record['messageId']}")
    assert (after["status"], after["content"], after["reply"]) == ("answered", "demo: say better", "better")


async def test_the_id_of_a_job_leads_to_the_job(dashboard: Page, daemon: Daemon) -> None:
    record = await ask(daemon, "demo: say hello", "lookup")
    await dashboard.goto(f"/messages/{record['job']['id']}")
    await expect(dashboard).to_have_url(f"/queue/{record['job']['id']}")
    await dashboard.goto("/messages/01HZY0000000000000000000E1")
    await expect(dashboard.get_by_role("heading", name="There is no entry with this id").first).to_be_visible()


async def test_marks_that_hide_are_shown(dashboard: Page, daemon: Daemon) -> None:
    record = await ask(daemon, "demo: say <b>bold</b> \u202eesrever", "hostile")
    await dashboard.goto(f"/messages/{record['messageId']}")
    await expect(dashboard.get_by_role("region", name="demo: say").get_by_text("[U+202E]esrever").last).to_be_visible()
    await expect(dashboard.locator("b")).to_have_count(0)


def test_every_reason_has_words() -> None:
    """A new reason of the product must have a text on the page."""
    written = set(re.findall(r"^ {6}(\w+):", WORDS.read_text(), re.MULTILINE))
    assert {*CHOSEN, *_REFUSED, *_FAILED} - written == set()
