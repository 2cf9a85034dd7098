"""Credentials: created for a host, assigned to an agent, and removed."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.daemon import Daemon

SECRET = "s3cr3t-token"


async def test_a_credential_from_its_creation_to_its_removal(dashboard: Page, daemon: Daemon) -> None:
    await daemon.api("PUT", "/api/variables/shop.token", {"value": SECRET, "secret": True})
    await dashboard.goto("/settings/credentials/new")
    await dashboard.get_by_label("Name").fill("shop")
    await dashboard.get_by_label("Secret variable").fill("shop.token")
    await dashboard.get_by_label("Hosts").fill("https://api.example.com")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("which is not a host")
    await dashboard.get_by_label("Hosts").fill("api.example.com\n*.example.org")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard).to_have_url("/settings/credentials/shop")
    made = await daemon.api("GET", "/api/credentials/shop")
    assert (made["hosts"], made["template"]) == (["api.example.com", "*.example.org"], "Bearer {value}")

    await daemon.api("POST", "/api/agents", {"slug": "buyer", "credentials": ["shop"], "skills": ["devops"]})
    await dashboard.goto("/agents/buyer/edit")
    await dashboard.get_by_text("More settings").click()
    await expect(dashboard.get_by_role("group", name="Credentials").get_by_role("checkbox")).to_be_checked()
    await expect(dashboard.get_by_role("group", name="Skills").get_by_role("checkbox", checked=True)).to_have_count(1)

    await dashboard.goto("/settings/credentials/shop")
    await expect(dashboard.get_by_text("Agents: buyer.")).to_be_visible()
    assert SECRET not in await dashboard.content()
    await dashboard.get_by_role("button", name="Delete").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(dashboard.get_by_text("No credentials yet")).to_be_visible()
