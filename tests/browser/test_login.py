"""The login page with a password, with a link, and with a refusal, and a login that ends while the page is open."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.browser.asking import visitor
from tests.browser.daemon import Daemon
from tests.browser.watching import Watch

PASSWORD = "four words for eva"


@pytest_asyncio.fixture(loop_scope="session")
async def stranger(browser: Browser, daemon: Daemon) -> AsyncIterator[Page]:
    """A page on which nobody is logged in."""
    async with await browser.new_context(base_url=daemon.address) as context:
        page = await context.new_page()
        watch = Watch(daemon.address)
        await watch.over(page)
        yield page
    watch.check()


async def hire_eva(daemon: Daemon) -> None:
    if all(user["id"] != "eva" for user in (await daemon.api("GET", "/api/users"))["items"]):
        await daemon.api("POST", "/api/users", {"id": "eva", "name": "Eva", "role": "viewer"})
    await daemon.api("PUT", "/api/users/eva/password", {"password": PASSWORD})


async def fill(page: Page, user: str, password: str) -> None:
    await page.get_by_label("User", exact=True).fill(user)
    await page.get_by_label("Password", exact=True).fill(password)
    await page.get_by_role("button", name="Log in").click()


async def inside(page: Page) -> None:
    await expect(page.get_by_role("navigation", name="Pages").first).to_be_visible()


async def test_without_any_password_the_page_tells_of_links(stranger: Page) -> None:
    """This test comes first, since the others set passwords."""
    await stranger.goto("/")
    await expect(stranger.get_by_role("heading", name="Log in with a link")).to_be_visible()
    await expect(stranger.get_by_text("arvis login", exact=True)).to_be_visible()
    await expect(stranger.get_by_label("Password", exact=True)).to_be_hidden()


async def test_a_password_leads_to_the_address_that_was_asked_for(stranger: Page, daemon: Daemon) -> None:
    await hire_eva(daemon)
    await stranger.goto("/queue?status=failed")
    await fill(stranger, "eva", "not the right one")
    await expect(stranger.get_by_role("alert")).to_contain_text("is wrong")
    await expect(stranger.get_by_label("User", exact=True)).to_have_value("eva")
    await fill(stranger, "eva", PASSWORD)
    await inside(stranger)
    await expect(stranger).to_have_url("/queue?status=failed")


async def test_a_used_link_says_so_and_a_fresh_one_logs_in(stranger: Page, daemon: Daemon) -> None:
    await stranger.goto("/now")
    await expect(stranger.get_by_role("heading", name="Log in to Arvis")).to_be_visible()
    await stranger.goto("/#login=never-made")
    await expect(stranger.get_by_role("alert")).to_contain_text("used before, or is older than ten minutes")
    assert "never-made" not in stranger.url
    link: dict[str, Any] = await daemon.api("POST", "/api/auth/codes")
    # The page is already open, so the browser changes only the address's fragment.
    await stranger.goto(link["url"])
    await inside(stranger)
    assert link["code"] not in stranger.url
    await stranger.go_back()
    assert link["code"] not in stranger.url


async def test_who_opens_a_dead_link_while_logged_in_goes_on(dashboard: Page) -> None:
    await dashboard.goto("/#login=never-made")
    await dashboard.get_by_role("button", name="Continue as Owner").click()
    await inside(dashboard)


@pytest.mark.parametrize("path", ["/?next=//elsewhere.invalid/", "/now?next=https://elsewhere.invalid/"])
async def test_no_address_leads_to_another_site(stranger: Page, daemon: Daemon, path: str) -> None:
    code = (await daemon.api("POST", "/api/auth/codes"))["code"]
    await stranger.goto(f"{path}#login={code}")
    await inside(stranger)
    assert stranger.url.startswith(f"{daemon.address}/")
    assert code not in stranger.url


async def test_too_many_tries_say_when_to_come_again(browser: Browser, own_daemon: Daemon) -> None:
    await hire_eva(own_daemon)
    async with await browser.new_context(base_url=own_daemon.address) as context:
        page = await context.new_page()
        await page.goto("/")
        await expect(page.get_by_role("button", name="Log in")).to_be_visible()
        for _ in range(5):
            await context.request.post("/api/auth/login", data={"user": "eva", "password": "wrong"})
        await fill(page, "eva", "wrong as well")
        await expect(page.get_by_role("alert")).to_contain_text("Too many failed logins")
        await expect(page.get_by_text("You can try again in")).to_contain_text(" s.")
        await expect(page.get_by_role("button", name="Log in")).to_be_disabled()


async def test_a_login_that_ends_elsewhere_leaves_the_draft_where_it_was(browser: Browser, daemon: Daemon) -> None:
    async with visitor(browser, daemon, "finn", "operator") as page:
        await page.goto("/chat")
        await page.get_by_label("Message", exact=True).fill("half a thought")
        (login,) = (await daemon.api("GET", "/api/auth/sessions?user=finn"))["items"]
        await daemon.api("DELETE", f"/api/auth/sessions/{login['id']}")
        await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
        link = await daemon.api("POST", "/api/users/finn/link")
        await page.goto(link["url"])
        await inside(page)
        await expect(page.get_by_label("Message", exact=True)).to_have_value("half a thought")


async def test_a_refused_call_shows_the_login_even_without_a_socket(browser: Browser, daemon: Daemon) -> None:
    async with visitor(browser, daemon, "gil", "viewer") as page:
        await page.route_web_socket("**/ws", lambda _: None)  # a socket that never says anything
        await page.goto("/now")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        (login,) = (await daemon.api("GET", "/api/auth/sessions?user=gil"))["items"]
        await daemon.api("DELETE", f"/api/auth/sessions/{login['id']}")
        await page.get_by_role("link", name="Queue").first.click()
        await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()


async def test_somebody_else_at_the_same_screen_finds_nothing_of_the_one_before(
    browser: Browser, daemon: Daemon
) -> None:
    await hire_eva(daemon)
    async with visitor(browser, daemon, "hugo", "owner") as page:
        await page.goto("/chat")
        await page.get_by_label("Message", exact=True).fill("for nobody else")
        await page.get_by_title("You", exact=True).click()
        await page.get_by_role("button", name="Log out").click()
        await fill(page, "eva", PASSWORD)
        await expect(page.get_by_title("You", exact=True)).to_contain_text("Eva")
        # The page may reload after the login, so the wait has to survive a navigation.
        kept = "JSON.stringify({ ...sessionStorage })"
        await page.wait_for_function(f"() => !{kept}.includes('for nobody else') && {kept}.includes('eva')")
        await expect(page.get_by_text("for nobody else")).to_have_count(0)
