"""Customers on their pages: created, bound to channels, charged; operators only read."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Browser, Page, expect

from tests.browser.asking import visitor
from tests.browser.daemon import Daemon


async def client(daemon: Daemon, name: str) -> dict[str, Any]:
    made: dict[str, Any] = await daemon.api("POST", "/api/clients", {"name": name, "pricePerTaskUsd": 2})
    return made


async def test_a_client_is_made_changed_and_the_change_undone(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/clients")
    await dashboard.get_by_role("link", name="New customer").first.click()
    form = dashboard.get_by_role("form", name="New customer")
    await form.get_by_label("Name").fill("Harbour Ltd")
    await form.get_by_label("Plan").select_option("prepaid")
    await form.get_by_label("Monthly limit, in USD").fill("12.5")
    await form.get_by_role("button", name="Save").click()
    row = dashboard.get_by_role("row", name="Harbour Ltd")
    await expect(row).to_be_visible()
    (made,) = (await daemon.api("GET", "/api/clients"))["items"]
    assert (made["plan"], made["monthlyLimitUsd"]) == ("prepaid", 12.5)

    await dashboard.get_by_role("button", name="Edit").click()
    await dashboard.get_by_label("Monthly limit, in USD").fill("")
    await dashboard.get_by_role("combobox", name="Status").select_option("paused")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(row).to_contain_text("Paused")
    assert (await daemon.api("GET", f"/api/clients/{made['id']}"))["monthlyLimitUsd"] is None
    await dashboard.get_by_role("button", name="Undo the last change").click()
    await expect(row).to_contain_text("Active")
    assert (await daemon.api("GET", f"/api/clients/{made['id']}"))["monthlyLimitUsd"] == 12.5


async def test_channels_come_go_and_come_back(dashboard: Page, daemon: Daemon) -> None:
    made = await client(daemon, "Channel Ltd")
    await dashboard.goto(f"/settings/clients/{made['id']}")
    await dashboard.get_by_text("Add the channel").first.click()
    await dashboard.get_by_label("Channel", exact=True).fill("front-desk")
    await dashboard.get_by_role("button", name="Add the channel").click()
    listed = dashboard.get_by_role("list", name="Channels").get_by_role("listitem")
    await expect(listed).to_have_text(["web front-desk"])
    await dashboard.get_by_role("button", name="Remove front-desk").click()
    await expect(
        dashboard.get_by_text("No channels yet. Answers in a channel that you add are charged to this customer.")
    ).to_be_visible()
    await dashboard.get_by_role("button", name="Undo", exact=True).click()
    await expect(listed).to_have_text(["web front-desk"])
    found = await daemon.api("GET", f"/api/clients/{made['id']}")
    assert found["channels"] == [{"platform": "web", "channel": "front-desk"}]


async def test_a_payment_moves_the_balance_and_its_line_can_be_disputed(dashboard: Page, daemon: Daemon) -> None:
    made = await client(daemon, "Payer Ltd")
    await dashboard.goto(f"/settings/clients/{made['id']}")
    await dashboard.get_by_text("Add an entry").first.click()
    await dashboard.get_by_label("Amount, in USD").fill("40")
    await dashboard.get_by_label("Description").fill("Invoice 7")
    await dashboard.get_by_role("button", name="Add an entry").click()
    line = dashboard.get_by_role("list", name="Entries").get_by_role("listitem")
    await expect(line).to_contain_text("$40.00")
    await expect(dashboard.get_by_role("row", name="Payer Ltd")).to_contain_text("$40.00")
    summary = await daemon.api("GET", f"/api/clients/{made['id']}/summary")
    assert (summary["paidUsd"], summary["balanceUsd"]) == (40, 40)

    await line.get_by_label("Status of Payment").select_option("disputed")
    await expect(dashboard.get_by_text("Saved.")).to_be_visible()
    (kept,) = (await daemon.api("GET", f"/api/clients/{made['id']}/charges"))["items"]
    assert (kept["status"], kept["description"]) == ("disputed", "Invoice 7")

    await dashboard.get_by_label("Month").fill("2026-01")
    await expect(dashboard.get_by_text("No entries in this month.")).to_be_visible()


async def test_a_wrong_amount_is_told_in_the_form(dashboard: Page, daemon: Daemon) -> None:
    made = await client(daemon, "Zero Ltd")
    await dashboard.goto(f"/settings/clients/{made['id']}")
    await dashboard.get_by_text("Add an entry").first.click()
    await dashboard.get_by_label("Amount, in USD").fill("-3")
    await dashboard.get_by_role("button", name="Add an entry").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("amountUsd")
    await expect(dashboard.get_by_label("Amount, in USD")).to_have_value("-3")


async def test_operators_read_and_change_nothing(browser: Browser, daemon: Daemon) -> None:
    made = await client(daemon, "Quiet Ltd")
    async with visitor(browser, daemon, "opal", "operator") as page:
        await page.goto(f"/settings/clients/{made['id']}")
        await expect(page.get_by_role("heading", name="Quiet Ltd")).to_be_visible()
        await expect(page.get_by_text("No entries in this month.")).to_be_visible()
        await expect(page.get_by_role("link", name="New customer")).to_have_count(0)
        for name in ("Edit", "Undo the last change", "Add the channel", "Add an entry"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
