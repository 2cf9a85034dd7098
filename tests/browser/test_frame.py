"""Elements around every page: login, navigation, palette, keys, theme, offline."""

from __future__ import annotations

from playwright.async_api import Browser, Page, expect

from tests.browser.chatting import PATIENCE_MS, guest, log_in
from tests.browser.daemon import Daemon


async def test_the_navigation_leads_to_every_page(dashboard: Page) -> None:
    await dashboard.goto("/")
    links = dashboard.get_by_role("navigation", name="Pages").first.get_by_role("link")
    await expect(links).to_have_count(18)  # seventeen pages and the name of the product
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


async def test_the_palette_finds_a_conversation_by_its_words(dashboard: Page, daemon: Daemon) -> None:
    said = {"content": "the purple umbrella", "channelId": "web-finder", "userId": "finder"}
    message = (await daemon.api("POST", "/api/messages", said))["messageId"]
    await daemon.api("GET", f"/api/messages/{message}/wait?timeout=10")
    (talk,) = (await daemon.api("GET", "/api/conversations?q=umbrella"))["items"]
    await dashboard.goto("/now")
    await expect(dashboard.get_by_role("heading", level=1)).to_be_visible()
    await dashboard.keyboard.press("Control+k")
    await dashboard.get_by_role("combobox").fill("umbrella")
    await dashboard.get_by_role("option", name="the purple umbrella").click()
    await expect(dashboard).to_have_url(f"/conversations/{talk['id']}")


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


async def test_the_theme_is_kept(dashboard: Page) -> None:
    await dashboard.goto("/now")
    root, ground = dashboard.locator("html"), "getComputedStyle(document.body).backgroundColor"
    await expect(dashboard.get_by_role("heading", level=1)).to_be_visible()
    light = await dashboard.evaluate(ground)
    await dashboard.get_by_role("button", name="Theme: same as the system").click()
    await dashboard.get_by_role("button", name="Theme: light").click()
    await expect(root).to_have_attribute("data-theme", "dark")
    await dashboard.reload()
    await expect(root).to_have_attribute("data-theme", "dark")
    assert await dashboard.evaluate(ground) != light


async def test_a_lost_connection_is_told_and_comes_back_by_itself(page: Page, own_daemon: Daemon) -> None:
    await log_in(page, own_daemon)
    banner = page.get_by_text("No connection to Arvis.", exact=False)
    await own_daemon.kill()
    await expect(banner).to_be_visible(timeout=10_000)
    # Clicked before the daemon is back: afterwards the page may connect, and remove the button, at any moment.
    async with page.expect_websocket():
        await page.get_by_role("button", name="Try now").click()
    await own_daemon.start()
    await expect(banner).to_have_count(0, timeout=PATIENCE_MS)
    await expect(page.locator("[data-channel] [data-link=ready]")).to_be_attached(timeout=PATIENCE_MS)


async def test_a_question_mark_shows_the_keys(dashboard: Page) -> None:
    await dashboard.goto("/now")
    await expect(dashboard.get_by_role("heading", level=1)).to_be_visible()
    await dashboard.keyboard.press("?")
    help_ = dashboard.get_by_role("dialog", name="Keyboard shortcuts")
    await expect(help_).to_contain_text("Search pages, agents, conversations and commands")
    await dashboard.keyboard.press("Escape")
    await expect(help_).to_have_count(0)


async def test_where_somebody_types_letters_are_letters(dashboard: Page) -> None:
    await dashboard.goto("/chat")
    field = dashboard.get_by_label("Message", exact=True)
    await field.press_sequentially("gq?")
    await expect(field).to_have_value("gq?")
    await expect(dashboard).to_have_url("/chat")
    await field.press("Escape")
    await dashboard.keyboard.press("g")
    await dashboard.keyboard.press("q")
    await expect(dashboard).to_have_url("/queue")


async def test_who_may_only_chat_sees_their_own_and_nothing_else(browser: Browser, daemon: Daemon) -> None:
    page, watch = await guest(browser, daemon, "chat")
    links = page.get_by_role("navigation", name="Pages").first.get_by_role("link")
    await expect(links).to_have_text(["Arvis", "Chat", "Memory"])
    await page.goto("/queue")
    await expect(
        page.get_by_text("Your role does not allow you to see this page. Ask an owner for another role.")
    ).to_be_visible()
    await page.context.close()
    watch.check()
