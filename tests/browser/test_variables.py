"""Variables and projects on their pages: created, changed, removed and restored."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.daemon import Daemon


async def test_a_secret_variable_is_set_and_never_shown_again(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/variables")
    await dashboard.get_by_role("link", name="New variable").first.click()
    await dashboard.get_by_label("Key").fill("SHOP_TOKEN")
    await dashboard.get_by_label("Value").fill("very-secret-value")
    await dashboard.get_by_label("Secret").check()
    await dashboard.get_by_role("button", name="Save").click()
    row = dashboard.get_by_role("row", name="SHOP_TOKEN")
    await expect(row).to_contain_text("Encrypted")
    assert (await daemon.api("GET", "/api/variables/SHOP_TOKEN"))["secret"] is True
    await dashboard.reload()
    await expect(row).to_be_visible()
    assert "very-secret-value" not in await dashboard.content()


async def test_a_variable_without_a_right_name_is_refused_in_the_form(dashboard: Page) -> None:
    await dashboard.goto("/settings/variables/new")
    await dashboard.get_by_label("Key").fill("no spaces")
    await dashboard.get_by_label("Value").fill("kept")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("alert")).to_be_visible()
    await expect(dashboard.get_by_label("Value")).to_have_value("kept")


async def test_a_variable_is_removed_once_that_was_confirmed(dashboard: Page, daemon: Daemon) -> None:
    await daemon.api("PUT", "/api/variables/OLD_THING", {"value": "1"})
    await dashboard.goto("/settings/variables/OLD_THING")
    await dashboard.get_by_role("button", name="Delete").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert (await daemon.api("GET", "/api/variables/OLD_THING"))["value"] == "1"
    await dashboard.get_by_role("button", name="Delete").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(dashboard).to_have_url("/settings/variables")
    await daemon.api("GET", "/api/variables/OLD_THING", status=404)


async def test_a_project_is_made_changed_removed_and_brought_back(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/projects")
    await dashboard.get_by_role("link", name="New project").first.click()
    await dashboard.get_by_label("Title").fill("Write the handbook")
    await dashboard.get_by_label("Goal").fill("Ten pages")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("row", name="Write the handbook")).to_be_visible()
    (project,) = (await daemon.api("GET", "/api/projects"))["items"]
    assert (project["goal"], project["status"]) == ("Ten pages", "active")

    await expect(dashboard).to_have_url(f"/projects/{project['id']}")
    await dashboard.get_by_role("combobox", name="Status").select_option("done")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("row", name="Write the handbook")).to_contain_text("Done")

    await dashboard.get_by_role("button", name="Delete").click()
    await expect(dashboard.get_by_text("No projects here")).to_be_visible()
    await dashboard.get_by_role("button", name="Undo").click()
    await expect(dashboard.get_by_role("row", name="Write the handbook")).to_be_visible()
    assert len((await daemon.api("GET", "/api/projects"))["items"]) == 1


async def test_what_somebody_else_changes_appears_by_itself(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/variables")
    await expect(dashboard.get_by_role("heading", name="Variables")).to_be_visible()
    await daemon.api("PUT", "/api/variables/FROM_ELSEWHERE", {"value": "2"})
    await expect(dashboard.get_by_role("row", name="FROM_ELSEWHERE")).to_be_visible()
