"""Servers of tools: a changed description is read in full and accepted, also on a phone; operators only read."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.acceptance.test_cli_mcp import LONG, SERVER
from tests.browser.asking import until, visitor
from tests.browser.daemon import Daemon


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def daemon(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Daemon]:
    folder = tmp_path_factory.mktemp("servers")
    (folder / "server.py").write_text(SERVER)
    (folder / "description.txt").write_text("Looks.")
    command = json.dumps([sys.executable, str(folder / "server.py"), str(folder / "description.txt")])
    servers = f"[{{name: notes, command: {command}}}, {{name: none, command: [no-such-program]}}]"
    (folder / "config.yaml").write_text(f"mcp: {{servers: {servers}}}\n")
    daemon = Daemon(folder)
    try:
        await daemon.start()
        yield daemon
    finally:
        await daemon.close()


async def change(daemon: Daemon, description: str) -> None:
    """Change the description of the tool, and wait until the daemon has seen the change. The daemon waits longer before
    each new start of a server that ends soon, so a file can do this twice."""
    await until(lambda: has_state(daemon, "accepted"))
    (daemon.folder / "description.txt").write_text(description)
    await until(lambda: has_state(daemon, "changed"))


async def has_state(daemon: Daemon, state: str) -> bool:
    found = await daemon.api("GET", "/api/tool-servers/notes")
    return [tool["state"] for tool in found["items"]] == [state]


async def test_a_long_change_is_read_in_full_and_accepted(dashboard: Page, daemon: Daemon) -> None:
    await change(daemon, f"{LONG}\n<img src=x onerror=alert(1)> \u202eend")
    await dashboard.goto("/settings")
    await dashboard.get_by_role("link", name="Tool servers").click()
    await expect(dashboard.get_by_role("row").filter(has_text="none")).to_contain_text("Not connected")
    await dashboard.get_by_role("row").filter(has_text="notes").click()
    await expect(dashboard).to_have_url("/settings/servers/notes")
    shown = dashboard.get_by_role("region", name="Change of look")
    await expect(shown.get_by_text("− Looks.")).to_be_visible()
    await expect(shown).to_contain_text(LONG)
    await expect(shown).to_contain_text("<img src=x onerror=alert(1)>")
    await expect(shown.locator("img")).to_have_count(0)
    await dashboard.get_by_role("button", name="Accept look").press("Enter")
    await expect(dashboard.get_by_text("Accepted.")).to_be_visible()
    await expect(shown).to_have_count(0)
    assert await has_state(daemon, "accepted")
    [entry] = (await daemon.api("GET", "/api/audit?kind=tool_accepted"))["items"]
    assert entry["subject"] == "notes.look"


async def test_an_owner_accepts_on_a_phone_and_the_open_page_of_an_operator_follows(
    browser: Browser, phone: Page, daemon: Daemon
) -> None:
    await change(daemon, "Looks on a phone.")
    async with visitor(browser, daemon, "olga", "operator") as page:
        await page.goto("/settings/servers/notes")
        await expect(page.get_by_text("+ Looks on a phone.")).to_be_visible()
        await expect(page.get_by_role("button", name="Accept look")).to_have_count(0)
        await phone.goto("/settings/servers/notes")
        await expect(phone.get_by_text("+ Looks on a phone.")).to_be_visible()
        width = await phone.evaluate("document.documentElement.scrollWidth")
        assert width <= 390
        await phone.get_by_role("button", name="Accept look").tap()
        await expect(phone.get_by_role("region", name="Change of look")).to_have_count(0)
        await expect(page.get_by_role("region", name="Change of look")).to_have_count(0)
    assert await has_state(daemon, "accepted")


async def test_a_server_with_an_address_is_added_changed_and_removed(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/servers")
    await dashboard.get_by_role("link", name="New server").click()
    await dashboard.get_by_label("Server", exact=True).fill("net")
    await dashboard.get_by_label("Address").fill("http://127.0.0.1:9/mcp")
    await dashboard.get_by_label("Header Authorization").fill("Bearer very-secret")
    await dashboard.get_by_label("Risk of its tools").select_option("read")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard).to_have_url("/settings/servers/net")
    found = await daemon.api("GET", "/api/tool-servers/net")
    assert (found["source"], found["settings"]["risk"], found["headers"]) == ("product", "read", ["Authorization"])
    await dashboard.get_by_role("button", name="Edit").click()
    await dashboard.get_by_label("Address").fill("http://127.0.0.1:10/mcp")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_text("The stored secret was entered for another address.")).to_be_visible()
    await dashboard.get_by_label("Header Authorization").fill("Bearer another-secret")
    await dashboard.get_by_role("button", name="Save").click()
    await until(lambda: has_address(daemon, "http://127.0.0.1:10/mcp"))
    await dashboard.get_by_role("button", name="Edit").click()
    await dashboard.get_by_role("button", name="Delete").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Delete").last.click()
    await expect(dashboard.get_by_role("row").filter(has_text="net")).to_have_count(0)
    assert "secret" not in json.dumps(found)


async def has_address(daemon: Daemon, url: str) -> bool:
    found = await daemon.api("GET", "/api/tool-servers/net")
    return bool(found["settings"]["url"] == url)
