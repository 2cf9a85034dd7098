"""What stands around every page: login, navigation, palette, keys, theme, offline."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.browser.daemon import Daemon


async def test_the_navigation_leads_to_every_page(dashboard: Page) -> None:
    await dashboard.goto("/")
    links = dashboard.get_by_role("navigation", name="Pages").first.get_by_role("link")
    await expect(links).to_have_count(14)  # thirteen pages and the name of the house
    for link in await links.all():
        await link.click()
        await expect(dashboard.locator("h1").first).to_be_visible()


async def test_the_login_link_opens_the_page_and_leaves_no_code_behind(page: Page, own_daemon: Daemon) -> None:
    await page.goto(own_daemon.login_link)
    await expect(page.get_by_role("navigation", name="Pages").first).to_be_visible()
    assert "login" not in page.url
    await page.reload()
    await expect(page.get_by_role("navigation", name="Pages").first).to_be_visible()


async def test_the_palette_goes_to_a_page(dashboard: Page) -> None:
    await dashboard.goto("/now")
    await expect(dashboard.get_by_role("heading", level=1)).to_be_visible()
    await dashboard.keyboard.press("Control+k")
    await dashboard.get_by_role("combobox").fill("queue")
    await dashboard.keyboard.press("Enter")
    await expect(dashboard).to_have_url("/queue")


async def test_keys_go_to_pages_but_not_while_somebody_types(dashboard: Page) -> None:
    await dashboard.goto("/now")
    await expect(dashboard.get_by_role("heading", level=1)).to_be_visible()
    await dashboard.keyboard.press("g")
    await dashboard.keyboard.press("q")
    await expect(dashboard).to_have_url("/queue")


async def test_a_phone_has_its_bar_below(phone: Page) -> None:
    await phone.goto("/now")
    await phone.get_by_role("button", name="More").click()
    await phone.get_by_role("dialog").get_by_role("link", name="Usage").click()
    await expect(phone).to_have_url("/usage")
