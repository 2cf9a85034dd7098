"""Unsaved edits: the page asks before it discards them, and offers drafts of agents again."""

from __future__ import annotations

from playwright.async_api import Locator, Page, expect

from tests.browser.daemon import Daemon

PROMPT = "Answer in rhymes only."


def question(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Leave without saving?")


async def edited_agent(page: Page, daemon: Daemon, slug: str) -> Locator:
    """Return the prompt field of an agent with an unsaved edit."""
    await daemon.api("POST", "/api/agents", {"slug": slug, "name": slug.title(), "model": "demo/demo"})
    await page.goto(f"/agents/{slug}/edit")
    prompt = page.get_by_label("Prompt", exact=True)
    await prompt.fill(PROMPT)
    await expect(page.get_by_text("Not saved yet: Prompt.")).to_be_visible()
    return prompt


async def test_a_link_away_from_an_edited_agent_asks_and_the_draft_is_offered_again(
    dashboard: Page, daemon: Daemon
) -> None:
    prompt = await edited_agent(dashboard, daemon, "rhymer")
    await dashboard.get_by_role("link", name="Queue", exact=True).click()
    await question(dashboard).get_by_role("button", name="Cancel").click()
    await expect(prompt).to_have_value(PROMPT)
    await dashboard.get_by_role("link", name="Queue", exact=True).click()
    await question(dashboard).get_by_role("button", name="Leave").click()
    await expect(dashboard).to_have_url("/queue")
    await dashboard.goto("/agents/rhymer/edit")
    await expect(prompt).to_have_value(PROMPT)
    await dashboard.get_by_role("button", name="Discard").click()
    await dashboard.reload()
    await expect(prompt).to_have_value("")


async def test_the_palette_and_the_keyboard_ask_as_links_do(dashboard: Page, daemon: Daemon) -> None:
    prompt = await edited_agent(dashboard, daemon, "scribe")
    await prompt.blur()
    await dashboard.keyboard.press("g")
    await dashboard.keyboard.press("q")
    await question(dashboard).get_by_role("button", name="Cancel").click()
    await dashboard.keyboard.press("Control+k")
    await dashboard.get_by_placeholder("Search or run a command").fill("Schedules")
    await dashboard.keyboard.press("Enter")
    await question(dashboard).get_by_role("button", name="Cancel").click()
    await expect(prompt).to_have_value(PROMPT)


async def test_the_way_back_of_the_browser_keeps_the_draft_of_an_agent(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/queue")
    await daemon.api("POST", "/api/agents", {"slug": "poet", "name": "Poet", "model": "demo/demo"})
    await dashboard.goto("/agents")
    await dashboard.get_by_text("poet", exact=True).click()
    await dashboard.get_by_role("link", name="Edit", exact=True).click()
    prompt = dashboard.get_by_label("Prompt", exact=True)
    await prompt.fill(PROMPT)
    await dashboard.go_back()
    await dashboard.get_by_role("button", name="Go back").click()
    await expect(prompt).to_have_value(PROMPT)


async def test_any_form_asks_until_it_is_sent(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/variables")
    await dashboard.get_by_role("link", name="New variable").first.click()
    await dashboard.get_by_label("Key").fill("CITY")
    await dashboard.get_by_role("link", name="Queue", exact=True).click()
    await question(dashboard).get_by_role("button", name="Leave").click()
    await expect(dashboard).to_have_url("/queue")
