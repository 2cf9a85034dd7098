"""Users and keys: the own password and logins, all users, and keys for programs."""

from __future__ import annotations

import re
from typing import Any

import aiohttp
from playwright.async_api import Browser, Page, expect

from tests.browser.asking import until, visitor
from tests.browser.daemon import Daemon
from tests.browser.watching import Watch

PASSWORD = "four words for ann"


async def enter(daemon: Daemon, body: dict[str, str]) -> int:
    """Log in from another browser, and return the status."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{daemon.address}/api/auth/login", json=body) as answer,
    ):
        return answer.status


async def logins_of(daemon: Daemon, user: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await daemon.api("GET", f"/api/auth/sessions?user={user}"))["items"]
    return found


async def test_everybody_chooses_a_password_and_changes_it(browser: Browser, daemon: Daemon) -> None:
    async with visitor(browser, daemon, "ann", "chat") as page:
        await page.goto("/settings/users")
        await expect(page.get_by_role("navigation", name="Parts of this page")).to_be_hidden()
        await page.get_by_label("New password").fill("short")
        await page.get_by_role("button", name="Set password").click()
        await expect(page.get_by_role("alert")).to_contain_text("fewer than 8 characters")
        await expect(page.get_by_label("New password")).to_have_value("short")
        await page.get_by_label("New password").fill(PASSWORD)
        await page.get_by_role("button", name="Set password").click()
        await expect(page.get_by_label("Current password")).to_be_visible()
        assert await enter(daemon, {"user": "ann", "password": PASSWORD}) == 200

        await page.get_by_label("New password").fill("another four words")
        await page.get_by_label("Current password").fill("not this one")
        await page.get_by_role("button", name="Change password").click()
        await expect(page.get_by_role("alert")).to_contain_text("is wrong")
        await page.get_by_label("Current password").fill(PASSWORD)
        await page.get_by_role("button", name="Change password").click()
        await expect(page.get_by_label("Current password")).to_have_value("")
        assert await enter(daemon, {"user": "ann", "password": "another four words"}) == 200


async def test_a_login_elsewhere_is_ended(browser: Browser, daemon: Daemon) -> None:
    async with visitor(browser, daemon, "bea", "viewer") as page:
        for _ in range(3):
            link = await daemon.api("POST", "/api/users/bea/link")
            assert await enter(daemon, {"code": link["code"]}) == 200
        await page.goto("/settings/users")
        await expect(page.get_by_text("This login")).to_be_visible()
        await page.get_by_role("button", name=re.compile("^End .*(?<!other logins)$")).first.click()
        await expect(page.get_by_role("row")).to_have_count(4)
        assert len(await logins_of(daemon, "bea")) == 3
        await page.get_by_role("button", name="End all other logins").click()
        await page.get_by_role("dialog").get_by_role("button", name="End all other logins").click()
        await expect(page.get_by_role("row")).to_have_count(2)
        (left,) = await logins_of(daemon, "bea")
        assert "Chrom" in left["device"]


async def test_an_owner_adds_a_user_whose_link_logs_in(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/users")
    await dashboard.get_by_role("link", name="Users", exact=True).click()
    await dashboard.get_by_role("link", name="Add a user").click()
    await dashboard.get_by_label("Id", exact=True).fill("Not Allowed")
    await dashboard.get_by_label("Name", exact=True).fill("Carla Berg")
    await dashboard.get_by_role("radio", name="Operator").check()
    await dashboard.get_by_role("button", name="Add", exact=True).click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("lower-case letter")
    await dashboard.get_by_label("Id", exact=True).fill("carla")
    await dashboard.get_by_role("button", name="Add", exact=True).click()
    shown = dashboard.get_by_role("region", name="Login link").locator("pre")
    link = await shown.inner_text()
    assert (await daemon.api("GET", "/api/users/carla"))["role"] == "operator"
    assert await enter(daemon, {"code": link.split("#login=")[1]}) == 200

    await dashboard.get_by_role("button", name="Done").click()
    await expect(dashboard.get_by_role("row", name="Carla Berg")).to_contain_text("Operator")
    assert link not in await dashboard.content()


async def test_another_role_logs_out_and_a_removed_user_is_gone(
    browser: Browser, dashboard: Page, daemon: Daemon
) -> None:
    async with visitor(browser, daemon, "dora", "operator") as page:
        await page.goto("/usage")
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await dashboard.goto("/settings/users/all/dora")
        await dashboard.get_by_role("radio", name="Viewer").check()
        await dashboard.get_by_role("button", name="Save").click()
        await expect(dashboard.get_by_role("row", name="Dora").first).to_contain_text("Viewer")
        await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
        assert (await daemon.api("GET", "/api/users/dora"))["role"] == "viewer"

        await dashboard.get_by_role("button", name="New login link").click()
        link = await dashboard.get_by_role("region", name="Login link").locator("pre").inner_text()
        await page.goto(link)
        await expect(page.get_by_role("navigation", name="Pages").first).to_be_visible()
        await dashboard.get_by_role("button", name="Delete").click()
        await expect(dashboard.get_by_role("dialog")).to_contain_text("end immediately")
        await dashboard.get_by_role("dialog").get_by_role("button", name="Delete").click()
        await expect(dashboard).to_have_url("/settings/users/all")
        await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
    await daemon.api("GET", "/api/users/dora", status=404)


async def test_the_first_user_stays_an_owner(dashboard: Page) -> None:
    await dashboard.goto("/settings/users/all/owner")
    await expect(dashboard.get_by_text("The first user always stays an owner")).to_be_visible()
    await expect(dashboard.get_by_role("radio", name="Viewer")).to_be_disabled()
    await expect(dashboard.get_by_role("button", name="Delete")).to_be_hidden()


async def test_a_key_is_shown_once_works_and_is_revoked(browser: Browser, daemon: Daemon) -> None:
    async with await browser.new_context(base_url=daemon.address) as context:
        await context.grant_permissions(["clipboard-read", "clipboard-write"])
        await context.add_cookies([await daemon.cookie()])
        page = await context.new_page()
        watch = Watch(daemon.address)
        await watch.over(page)
        await page.goto("/settings/users/keys")
        await expect(page.get_by_text("No keys yet")).to_be_visible()
        await page.get_by_role("link", name="Create a key").first.click()
        await page.get_by_label("Name", exact=True).fill("nightly report")
        await page.get_by_role("radio", name="Viewer").check()
        await page.get_by_role("button", name="Create key").click()
        once = page.get_by_role("region", name="Your new key").first
        await once.get_by_role("button", name="Copy").click()
        key = await page.evaluate("navigator.clipboard.readText()")
        await expect(once.locator("pre")).to_have_text(key)
        await expect(page.get_by_role("region", name="Try it")).to_contain_text(f"Bearer {key}")
        assert await status(daemon, key) == 200
        await page.get_by_role("button", name="Done").click()
        await page.get_by_role("row", name="nightly report").click()
        assert key not in await page.content()
        await page.get_by_role("button", name="Revoke").click()
        await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        await expect(page.get_by_text("No keys yet")).to_be_visible()
        assert await status(daemon, key) == 401
    watch.check()


async def test_a_chat_key_is_limited_to_the_agents_that_were_chosen(dashboard: Page, daemon: Daemon) -> None:
    await daemon.api("POST", "/api/agents", {"slug": "porter", "name": "Porter"})
    await dashboard.goto("/settings/users/add-key")
    await dashboard.get_by_label("Name", exact=True).fill("door bell")
    await dashboard.get_by_label("Porter").check()
    await dashboard.get_by_role("button", name="Create key").click()
    await expect(dashboard.get_by_role("region", name="Try it")).to_contain_text("/api/messages")

    async def made() -> bool:
        keys = (await daemon.api("GET", "/api/keys"))["items"]
        return [(key["name"], key["role"], key["agents"]) for key in keys] == [("door bell", "chat", ["porter"])]

    await until(made)


async def status(daemon: Daemon, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.get(f"{daemon.address}/api/overview") as answer,
    ):
        return answer.status
