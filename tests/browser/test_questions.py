"""Approvals: people see the exact change, and allow, edit or refuse it; the first answer counts."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.async_api import Browser, Page, expect

from tests.browser.asking import ask, hire, until, visitor
from tests.browser.daemon import Daemon


async def asking(daemon: Daemon, slug: str, **arguments: str) -> dict[str, Any]:
    """Return the question of a new agent whose tool call writes a file."""
    await hire(daemon, slug, tools=["write_file"])
    record = await ask(daemon, f"demo: tool write_file {json.dumps(arguments)}", slug)
    assert record["status"] == "waiting"
    (wait,) = (await daemon.api("GET", f"/api/questions?agent={slug}"))["items"]
    return dict(wait)


async def answer_to(daemon: Daemon, wait: dict[str, Any]) -> dict[str, Any]:
    return dict((await daemon.api("GET", f"/api/questions/{wait['id']}"))["answer"] or {})


async def until_over(daemon: Daemon, wait: dict[str, Any]) -> dict[str, Any]:
    """Return the timeline of the question's message once it is answered."""
    path = f"/api/messages/{wait['messageId']}"

    async def answered() -> bool:
        return bool((await daemon.api("GET", path))["status"] == "answered")

    await until(answered)
    return dict(await daemon.api("GET", path))


async def test_a_wish_is_seen_whole_and_allowed_by_a_key(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/questions")
    await expect(dashboard.get_by_role("heading", name="No open questions")).to_be_visible()
    wait = await asking(daemon, "scribe", path="a.txt", content="remember the milk")
    card = dashboard.get_by_role("article", name="scribe wants to use write_file")
    await expect(card).to_contain_text("The tool changes data in Arvis or in connected services.")
    await expect(card.get_by_role("region")).to_contain_text('"content": "remember the milk"')
    await card.get_by_role("link", name="Details").click()
    await expect(dashboard).to_have_url(f"/questions/{wait['id']}")
    await expect(dashboard.get_by_role("button", name="Approve")).to_be_visible()
    await dashboard.keyboard.press("a")
    await expect(dashboard.get_by_text("Approved by Owner")).to_be_visible()
    assert (await answer_to(daemon, wait))["decision"] == "approve"
    record = await until_over(daemon, wait)
    assert [step["failed"] for step in record["steps"] if step["step"] == "tool"] == [False]


async def test_changed_arguments_are_checked_and_then_used(dashboard: Page, daemon: Daemon) -> None:
    wait = await asking(daemon, "editor", path="b.txt", content="wrong")
    await dashboard.goto("/questions")
    card = dashboard.get_by_role("article", name="editor wants")
    await card.get_by_role("button", name="Edit the arguments").click()
    field = card.get_by_label("Arguments, as JSON")
    await field.fill('{"path": "b.txt", ')
    send = card.get_by_role("button", name="Approve with these arguments")
    await expect(card.get_by_text("This is not valid JSON")).to_be_visible()
    await expect(send).to_be_disabled()
    await field.fill('{"path": "b.txt", "content": "right"}')
    await send.click()
    await expect(card).to_contain_text("Answered.")
    answer = await answer_to(daemon, wait)
    assert (answer["decision"], answer["arguments"]["content"]) == ("edit", "right")
    record = await until_over(daemon, wait)
    assert ["right" in str(step["arguments"]) for step in record["steps"] if step["step"] == "tool"] == [True]


async def test_a_refusal_says_why_and_is_listed_among_the_answered(dashboard: Page, daemon: Daemon) -> None:
    wait = await asking(daemon, "refused", path="c.txt", content="no")
    await dashboard.goto(f"/questions/{wait['id']}")
    sheet = dashboard.locator("section[tabindex]")
    await sheet.get_by_role("button", name="Reject").click()
    await sheet.get_by_label("Reason").fill("Not today")
    await sheet.get_by_role("button", name="Reject").click()
    await expect(sheet.get_by_text("Rejected by Owner")).to_be_visible()
    answer = await answer_to(daemon, wait)
    assert (answer["decision"], answer["note"]) == ("reject", "Not today")
    await dashboard.get_by_role("button", name="Answered").click()
    await expect(dashboard.get_by_role("row", name="Refused wants to use the tool write_file")).to_contain_text(
        "Rejected"
    )


async def test_whoever_comes_too_late_is_told_who_was_faster(dashboard: Page, daemon: Daemon) -> None:
    wait = await asking(daemon, "late", path="d.txt", content="once")
    await dashboard.goto("/questions")
    card = dashboard.get_by_role("article", name="late wants")
    await expect(card).to_be_visible()
    old = await daemon.api("GET", "/api/questions")
    await dashboard.route("**/api/questions?*", lambda route: route.fulfill(json=old))  # hides the change
    await daemon.api("POST", f"/api/questions/{wait['id']}/answer", {"decision": "reject"})
    await card.get_by_role("button", name="Approve").click()
    await expect(dashboard.get_by_text("Rejected by Owner")).to_be_visible()
    assert (await answer_to(daemon, wait))["decision"] == "reject"


async def test_whose_word_does_not_count_sees_whom_was_asked(browser: Browser, daemon: Daemon) -> None:
    wait = await asking(daemon, "watched", path="e.txt", content="x")
    async with visitor(browser, daemon, "vic", "viewer") as page:
        await page.goto(f"/questions/{wait['id']}")
        sheet = page.get_by_role("region", name="watched wants")
        await expect(sheet.get_by_text("It waits for: owners")).to_be_visible()
        await expect(sheet.get_by_role("button", name="Approve")).to_have_count(0)
        await page.keyboard.press("a")
    assert await answer_to(daemon, wait) == {}


async def test_approvals_on_a_phone(phone: Page, daemon: Daemon) -> None:
    await asking(daemon, "pocket", path="f" * 120 + ".txt", content="long " * 60)
    await phone.goto("/questions")
    await expect(
        phone.get_by_role("article", name="pocket wants").get_by_role("button", name="Approve")
    ).to_be_visible()
    assert await phone.evaluate("document.documentElement.scrollWidth") == 390
    assert await phone.evaluate("document.querySelector('main > div > div').scrollWidth") <= 390


async def test_two_quick_clicks_at_one_spot_approve_one_question(dashboard: Page, daemon: Daemon) -> None:
    first = await asking(daemon, "one", path="one.txt", content="1")
    second = await asking(daemon, "two", path="two.txt", content="2")
    await dashboard.goto("/questions")
    cards = dashboard.get_by_role("article", name=re.compile("^(one|two) wants"))
    await expect(cards).to_have_count(2)
    top = await cards.first.get_by_role("button", name="Approve").bounding_box()
    assert top is not None
    spot = (top["x"] + top["width"] / 2, top["y"] + top["height"] / 2)
    await dashboard.mouse.click(*spot)
    await expect(cards.first).to_contain_text("Answered.")
    await dashboard.mouse.click(*spot)
    open_ids = {wait["id"] for wait in (await daemon.api("GET", "/api/questions?open=true"))["items"]}
    assert len(open_ids & {first["id"], second["id"]}) == 1
    await dashboard.mouse.move(1, 1)
    await expect(cards).to_have_count(1)


async def test_cards_are_walked_and_opened_by_keys(dashboard: Page, daemon: Daemon) -> None:
    await asking(daemon, "left", path="l.txt", content="1")
    await asking(daemon, "right", path="r.txt", content="2")
    await dashboard.goto("/questions?agent=")
    cards = dashboard.get_by_role("article")
    await expect(cards.nth(1)).to_be_visible()
    await dashboard.keyboard.press("j")
    await expect(cards.first).to_be_focused()
    await dashboard.keyboard.press("j")
    await expect(cards.nth(1)).to_be_focused()
    await dashboard.keyboard.press("k")
    await dashboard.keyboard.press("Enter")
    await expect(dashboard).to_have_url(re.compile("/questions/.+"))
