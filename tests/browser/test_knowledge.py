"""The page Knowledge: a knowledge base from its creation to its removal, and its assignment to an agent."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Page, expect

from tests.browser.daemon import Daemon

LEAVE = "# Leave <b>bold</b>\n\nEmployees get thirty days of leave. <img src=x onerror=alert(1)>"


async def test_a_knowledge_base_from_its_creation_to_its_removal(
    dashboard: Page, daemon: Daemon, tmp_path: Path
) -> None:
    good, empty = tmp_path / "leave.md", tmp_path / "empty.txt"
    good.write_text(LEAVE, "utf-8")
    empty.write_text("  \n", "utf-8")
    await dashboard.goto("/knowledge")
    await dashboard.get_by_role("link", name="New knowledge base").first.click()
    await dashboard.get_by_label("Slug").fill("Not A Slug")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("lower-case letters")
    await dashboard.get_by_label("Slug").fill("handbook")
    await dashboard.get_by_label("Name").fill("Handbook")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard).to_have_url("/knowledge/handbook")

    async with dashboard.expect_file_chooser() as chosen:
        await dashboard.get_by_role("button", name="Add files").click()
    await (await chosen.value).set_files([good, empty])
    entries = dashboard.get_by_role("group")
    await expect(entries.filter(has_text="empty.txt")).to_contain_text("Failed")
    await expect(entries.filter(has_text="Leave <b>bold</b>")).to_contain_text("Indexed")
    await entries.filter(has_text="empty.txt").locator("summary").click()
    await expect(dashboard.get_by_text("there is no text in it")).to_be_visible()

    await dashboard.get_by_role("button", name="Add a web page").click()
    await dashboard.get_by_label("Address").fill("http://127.0.0.1/private")
    await dashboard.get_by_role("form", name="Add a web page").get_by_role("button", name="Add a web page").click()
    await expect(dashboard.get_by_role("alert")).to_be_visible()
    await dashboard.get_by_role("button", name="Cancel").click()

    await dashboard.get_by_label("Words or a question").fill("How many days of leave?")
    await dashboard.get_by_role("button", name="Search", exact=True).click()
    await expect(dashboard.get_by_role("list", name="Try a search")).to_contain_text("thirty days of leave")
    await expect(dashboard.locator("main img")).to_have_count(0)

    await daemon.api("POST", "/api/agents", {"slug": "clerk"})
    await dashboard.goto("/agents/clerk/edit")
    await dashboard.get_by_text("More settings").click()
    await dashboard.get_by_role("group", name="Knowledge bases").get_by_role("checkbox").check()
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_text("Not saved yet")).to_be_hidden()
    assert (await daemon.api("GET", "/api/agents/clerk"))["knowledge"] == ["handbook"]

    await dashboard.goto("/knowledge/handbook")
    await expect(dashboard.get_by_text("clerk").first).to_be_visible()
    await dashboard.get_by_role("button", name="Edit").click()
    await dashboard.get_by_role("button", name="Delete").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(dashboard.get_by_text("No knowledge bases yet")).to_be_visible()
