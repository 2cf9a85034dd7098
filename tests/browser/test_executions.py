"""Executions on their page: the steps, the calls, and cancelling by hand."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.asking import ask, hire, say, until
from tests.browser.daemon import Daemon


async def test_a_run_shows_its_way_and_what_it_called(dashboard: Page, daemon: Daemon) -> None:
    await hire(daemon, "writer")
    await hire(daemon, "desk", graph="handover", helpers=["writer"])
    record = await ask(daemon, "demo: say from the desk", "desk")
    parent = record["job"]["executionId"]
    (child,) = (await daemon.api("GET", f"/api/executions/{parent}"))["children"]
    await dashboard.goto("/executions")
    await dashboard.get_by_label("Working mode").select_option("handover")
    await expect(dashboard).to_have_url("/executions?graph=handover")
    await dashboard.get_by_role("row", name="Handover between agents").get_by_text("desk").click()
    await expect(dashboard).to_have_url(f"/executions/{parent}?graph=handover")
    sheet = dashboard.get_by_role("region", name="Handover between agents")
    await expect(sheet.get_by_text("It finished after")).to_be_visible()
    await expect(sheet.get_by_text("The execution called other executions and waits for them.")).to_be_visible()
    await expect(sheet.get_by_text("from the desk").last).to_be_visible()
    await sheet.get_by_text("Show the called executions").click()
    await expect(sheet.get_by_text("This execution called no other execution.")).to_be_visible()
    await sheet.get_by_role("link", name="Agent with tools · desk").click()
    await expect(dashboard).to_have_url(f"/executions/{child['id']}")
    await expect(dashboard.get_by_role("region", name="Agent with tools").get_by_text("demo/demo")).to_be_visible()


async def test_a_run_is_ended_by_hand(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/executions?status=running")
    await expect(dashboard.get_by_role("heading", name="Nothing matches")).to_be_visible()
    message = await say(daemon, "demo: sleep 60", "long")
    await dashboard.get_by_role("row", name="conductor").get_by_text("Agent with tools").click()
    await dashboard.get_by_role("button", name="Cancel the execution").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Cancel the execution").click()
    await expect(dashboard.get_by_text("It was cancelled.")).to_be_visible()
    record = await daemon.api("GET", f"/api/messages/{message}")
    assert record["status"] == "cancelled"
    run = await daemon.api("GET", f"/api/executions/{record['job']['executionId']}")
    assert run["status"] == "cancelled"


async def test_a_run_that_waits_leads_to_its_question(dashboard: Page, daemon: Daemon) -> None:
    await hire(daemon, "scribe", tools=["write_file"])
    record = await ask(daemon, 'demo: tool write_file {"path": "a.txt", "content": "x"}', "scribe")
    (wait,) = (await daemon.api("GET", "/api/questions?agent=scribe"))["items"]
    await dashboard.goto(f"/executions/{record['job']['executionId']}")
    await expect(dashboard.get_by_text("It waits for a person's answer.")).to_be_visible()
    await dashboard.get_by_role("link", name="Decide").click()
    await expect(dashboard).to_have_url(f"/questions/{wait['id']}")
    await dashboard.get_by_role("region").get_by_role("button", name="Approve").click()

    async def answered() -> bool:
        return bool((await daemon.api("GET", f"/api/messages/{record['messageId']}"))["status"] == "answered")

    await until(answered)
