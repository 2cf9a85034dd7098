"""A workflow as the graph of an agent, a schedule and a webhook: chosen by its name, and linked from their pages."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect

from tests.browser.asking import hire
from tests.browser.daemon import Daemon
from tests.browser.drawn import ASKING, draw

NAME = "Ask the boss"
GRAPH = "workflow:ask-the-boss"


async def test_a_workflow_is_chosen_by_its_name_and_leads_to_its_page(dashboard: Page, daemon: Daemon) -> None:
    await draw(daemon, NAME, ASKING, slug="ask-the-boss")
    await draw(daemon, "Only a draft", {"nodes": [], "connections": []}, draft=True)
    await hire(daemon, "porter")
    place = {"agent": "porter", "platform": "web", "channelId": "hall"}
    hook = await daemon.api("POST", "/api/webhooks", {"path": "bell", "template": "It rang.", **place})
    cron = {"kind": "cron", "name": "Round", "schedule": "0 8 * * *", "prompt": "Go round"}
    schedule = await daemon.api("POST", "/api/schedules", {**cron, **place})

    await dashboard.goto("/agents/porter/edit")
    await dashboard.get_by_text("More settings").click()
    await _choose(dashboard.get_by_label("Working mode"))
    await dashboard.get_by_role("button", name="Save").click()
    await _shown(dashboard, "/agents/porter", "/agents", daemon, "/api/agents/porter")

    await dashboard.goto(f"/schedules/{schedule['id']}")
    await dashboard.get_by_role("button", name="Edit").click()
    await dashboard.get_by_text("More settings").click()
    await _choose(dashboard.get_by_label("Working mode"))
    await dashboard.get_by_role("button", name="Save").click()
    await _shown(dashboard, f"/schedules/{schedule['id']}", "/schedules", daemon, f"/api/schedules/{schedule['id']}")

    address = f"/settings/webhooks/{hook['id']}"
    await dashboard.goto(address)
    await dashboard.get_by_role("button", name="Edit").click()
    await _choose(dashboard.get_by_label("Started by a call"))
    await dashboard.get_by_role("button", name="Save").click()
    await _shown(dashboard, address, "/settings/webhooks", daemon, f"/api/webhooks/{hook['id']}")

    await dashboard.goto(address)
    await dashboard.get_by_role("link", name=NAME).first.click()
    await expect(dashboard.get_by_role("heading", name=NAME)).to_be_visible()


async def _choose(field: Locator) -> None:
    await expect(field.get_by_role("option", name="Only a draft")).to_have_count(0)
    await field.select_option(label=f"Workflow: {NAME}")


async def _shown(page: Page, detail: str, all_: str, daemon: Daemon, path: str) -> None:
    """Expect the link to the workflow in the detail and in the list, after saving."""
    await expect(page.get_by_text("Saved.")).to_be_visible()
    assert (await daemon.api("GET", path))["graph"] == GRAPH
    for address in (detail, all_):
        await page.goto(address)
        await expect(page.get_by_role("link", name=NAME).first).to_have_attribute("href", "/workflows/ask-the-boss")
