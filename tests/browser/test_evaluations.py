"""A suite is made on the page, evaluated with another prompt, compared side by side, and required for changed prompts."""

from __future__ import annotations

import json
import re

from playwright.async_api import Browser, Page, expect

from tests.browser.asking import ask, hire, visitor
from tests.browser.daemon import Daemon

GOOD = "You answer questions about returns.\ndemo: say Within 30 days."
BAD = "demo: say Yes, you can."


async def test_a_changed_prompt_is_compared_side_by_side_and_refused_by_the_gate(
    dashboard: Page, daemon: Daemon
) -> None:
    await hire(daemon, "returns", prompt=GOOD)
    await dashboard.goto("/evaluations")
    await dashboard.get_by_role("link", name="New suite").first.click()
    await dashboard.get_by_label("Name").fill("returns")
    await dashboard.get_by_label("Agent").select_option("returns")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_text("No cases yet.")).to_be_visible()

    answered = await ask(daemon, "Can I return it?", "returns")
    await dashboard.goto(f"/messages/{answered['messageId']}")
    await dashboard.get_by_role("button", name="Record as test case").click()
    record = dashboard.get_by_role("form", name="Record as test case")
    await record.get_by_label("Name").fill("time")
    await record.get_by_label("The reply must contain").fill("90 days")
    await record.get_by_role("button", name="Record as test case").click()
    await expect(dashboard.get_by_text("The case was recorded.")).to_be_visible()

    await dashboard.goto("/evaluations/returns")
    case = dashboard.get_by_role("listitem").filter(has_text="contains: 90 days")
    await expect(case).to_contain_text("Can I return it?")
    await case.get_by_role("button", name="Edit the case").click()
    document = dashboard.get_by_label("Document")
    text = await document.input_value()
    await document.fill("nonsense")
    await dashboard.get_by_role("form", name="Edit the case").get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_text("This is not a JSON object.")).to_be_visible()
    await document.fill(text.replace("90 days", "30 days"))
    await dashboard.get_by_role("form", name="Edit the case").get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_text("contains: 30 days")).to_be_visible()

    form = dashboard.get_by_role("form", name="Evaluate")
    await form.get_by_role("button", name="Evaluate").click()
    await expect(dashboard.get_by_text("1 of 1 passed").first).to_be_visible(timeout=30_000)
    await form.get_by_label("Prompt").fill(BAD)
    await form.get_by_role("button", name="Evaluate").click()
    sides = dashboard.get_by_role("list", name="Results side by side").get_by_role("listitem")
    await expect(dashboard.get_by_text("1 case passed before and fails now.")).to_be_visible(timeout=30_000)
    before, after = (sides.get_by_role("region", name=name) for name in ("Before", "After"))
    await expect(before).to_contain_text("Within 30 days.")
    await expect(before).to_contain_text("passed")
    await expect(after).to_contain_text("Yes, you can.")
    await expect(after).to_contain_text("The reply does not contain the text.")

    await dashboard.get_by_role("button", name="Require this suite for changed prompts").click()
    await expect(dashboard.get_by_text("must pass this suite first")).to_be_visible()
    await dashboard.goto("/agents/returns/edit")
    await dashboard.get_by_label("Prompt", exact=True).fill(BAD)
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("These cases failed")
    assert (await daemon.api("GET", "/api/agents/returns"))["prompt"] == GOOD
    await dashboard.get_by_role("button", name="Save anyway").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Save anyway").click()
    await expect(dashboard.get_by_text("No changes yet.")).to_be_visible()
    assert (await daemon.api("GET", "/api/agents/returns"))["prompt"] == BAD


async def test_who_only_reads_sees_results_without_buttons(browser: Browser, daemon: Daemon) -> None:
    await hire(daemon, "quiet")
    await daemon.api("POST", "/api/suites", {"name": "quiet", "agent": "quiet"})
    document = {"format": "arvis-case/1", "name": "hello", "input": {"messages": [{"text": "demo: say <b>hi</b>"}]}}
    await daemon.api("POST", "/api/suites/quiet/cases", {"document": document})
    await daemon.api("POST", "/api/evaluations", {"suite": "quiet"})
    async with visitor(browser, daemon, "vera", "viewer") as page:
        await page.goto("/evaluations/quiet")
        await expect(page.get_by_role("region", name="After")).to_contain_text("<b>hi</b>", timeout=30_000)
        names = re.compile("Evaluate|Delete|Require")
        await expect(page.get_by_role("button", name=names)).to_have_count(0)


async def test_an_edited_case_never_replaces_another_one(dashboard: Page, daemon: Daemon) -> None:
    await hire(daemon, "porter", prompt="demo: say At the gate.")
    await daemon.api("POST", "/api/suites", {"name": "gate", "agent": "porter"})
    answered = await ask(daemon, "Where are you?", "porter")
    recorded = {"message": answered["messageId"], "name": "first", "expect": [{"contains": "gate"}]}
    await daemon.api("POST", "/api/suites/gate/record", recorded)
    first = (await daemon.api("GET", "/api/suites/gate/cases/first"))["document"]
    await daemon.api("POST", "/api/suites/gate/cases", {"document": {**first, "name": "second"}})
    await dashboard.goto("/evaluations/gate")
    await dashboard.get_by_role("listitem").filter(has_text="first").get_by_role("button", name="Edit the case").click()
    form = dashboard.get_by_role("form", name="Edit the case")
    await form.get_by_label("Document").fill(json.dumps({**first, "name": "second", "expect": []}))
    await form.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("second")
    assert (await daemon.api("GET", "/api/suites/gate/cases/second"))["document"]["expect"] == first["expect"]
