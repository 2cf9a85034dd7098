"""Bots of chat platforms on their page: checked before they are kept, started, changed, switched off, removed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from playwright.async_api import Locator, Page, Route, ViewportSize, expect

from tests.browser.asking import until
from tests.browser.daemon import Daemon
from tests.browser.secrets_watch import SecretsWatch
from tests.platforms.discord_server import DiscordServer, discord_server
from tests.platforms.discord_server_world import TOKEN as DISCORD_TOKEN
from tests.platforms.telegram_server import TelegramServer, telegram_server
from tests.platforms.telegram_server_state import Bot

FIRST = "123456:AAfirstFIRSTfirstFIRSTfirstFIRSTfi"
SECOND = "223456:AAsecondSECONDsecondSECONDsecondSE"
SLOW_MS = 15_000


@pytest_asyncio.fixture(loop_scope="session")
async def telegram() -> AsyncIterator[TelegramServer]:
    async with telegram_server() as server:
        server.world.bots[FIRST] = Bot(123456, FIRST, "first_bot")
        server.world.bots[SECOND] = Bot(223456, SECOND, "second_bot")
        yield server


@pytest_asyncio.fixture(loop_scope="session")
async def discord() -> AsyncIterator[DiscordServer]:
    async with discord_server() as server:
        yield server


async def bot(daemon: Daemon, name: str, status: int = 200) -> dict[str, Any]:
    found: dict[str, Any] = await daemon.api("GET", f"/api/bots/telegram/{name}", status=status)
    return found


async def with_bot(daemon: Daemon, telegram: TelegramServer, name: str) -> None:
    body = {"platform": "telegram", "name": name, "settings": {"api_url": telegram.url}, "secrets": {"token": FIRST}}
    await daemon.api("POST", "/api/bots", body)


def card(page: Page, title: str) -> Locator:
    return (
        page.get_by_role("main").get_by_role("listitem").filter(has=page.get_by_role("heading", name=title, exact=True))
    )


async def test_a_bot_is_checked_as_its_token_is_pasted_and_comes_up(
    dashboard: Page, daemon: Daemon, telegram: TelegramServer
) -> None:
    page, secrets = dashboard, SecretsWatch(dashboard, FIRST)
    telegram.world.bots[FIRST].reads_all = False
    await page.goto("/settings/bots")
    await card(page, "Telegram").get_by_role("link", name="Add a bot").click()
    await expect(page.get_by_text("write to @BotFather: /newbot")).to_be_visible()
    await page.get_by_text("More settings", exact=True).click()
    await page.get_by_label("API address").fill(telegram.url)
    await page.get_by_label("Agent").select_option("helper")
    await page.get_by_label("Bot token").fill(FIRST)
    await expect(page.get_by_text("The bot is @first_bot.")).to_be_visible()
    await expect(page.get_by_text("Privacy mode is on: in groups")).to_be_visible()
    await expect(page.get_by_text("BotFather: /setprivacy, Disable", exact=False)).to_be_visible()
    await page.get_by_role("button", name="Start the bot").click()
    await expect(page).to_have_url("/settings/bots/telegram/main")
    await expect(card(page, "Telegram")).to_contain_text("Running", timeout=SLOW_MS)
    await expect(card(page, "Telegram")).to_contain_text("@first_bot")
    kept = await bot(daemon, "main")
    assert (kept["settings"], kept["secrets"]) == ({"api_url": telegram.url, "agent": "helper"}, ["token"])
    await secrets.check()


async def test_missing_intents_are_named_with_their_fix(
    dashboard: Page, daemon: Daemon, discord: DiscordServer
) -> None:
    page, secrets = dashboard, SecretsWatch(dashboard, DISCORD_TOKEN)
    discord.world.flags = 0
    await page.goto("/settings/bots/discord")
    await page.get_by_text("More settings", exact=True).click()
    await page.get_by_label("REST address").fill(discord.api_url)
    await page.get_by_label("Bot token").fill(DISCORD_TOKEN)
    findings = page.get_by_role("alert")
    await expect(findings).to_contain_text("the message content intent is off")
    await expect(findings).to_contain_text("Switch on “Message Content Intent” under Bot")
    discord.world.flags = 1 << 19
    await page.get_by_role("button", name="Check").click()
    await expect(page.get_by_text("The token belongs to", exact=False)).to_be_visible()
    assert [one for one in (await daemon.api("GET", "/api/bots"))["items"] if one["platform"] == "discord"] == []
    await secrets.check()


async def test_a_platform_without_its_package_names_the_command(dashboard: Page) -> None:
    """The daemon of the tests has all packages, so the test changes its answer."""

    async def lacking(route: Route) -> None:
        answer = await route.fetch()
        found = await answer.json()
        for platform in found["items"]:
            platform["install"] = "pip install 'arvis[discord]'" if platform["name"] == "discord" else None
        await route.fulfill(response=answer, json=found)

    await dashboard.route("**/api/platforms", lacking)
    await dashboard.goto("/settings/bots/discord")
    note = dashboard.get_by_role("note")
    await expect(note).to_contain_text("A package for Discord is missing on the machine of Arvis.")
    await expect(note).to_contain_text("pip install 'arvis[discord]'")
    await dashboard.goto("/settings/bots/telegram")
    await expect(dashboard.get_by_text("write to @BotFather: /newbot")).to_be_visible()
    await expect(dashboard.get_by_role("note")).to_have_count(0)


async def test_what_is_entered_during_a_save_is_kept(dashboard: Page, daemon: Daemon, telegram: TelegramServer) -> None:
    await with_bot(daemon, telegram, "slowly_saved")
    page, going_on = dashboard, asyncio.Event()

    async def delay(route: Route) -> None:
        if route.request.method == "PATCH":
            await going_on.wait()
        await route.continue_()

    await page.route(lambda url: url.endswith("/slowly_saved"), delay)
    await page.goto("/settings/bots/telegram/slowly_saved")
    await page.get_by_label("Channels").fill("-100")
    await page.get_by_role("button", name="Save").click()
    await page.get_by_label("Channels").fill("-100, -200")
    going_on.set()
    await expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    await expect(page.get_by_label("Channels")).to_have_value("-100, -200")
    await page.get_by_role("button", name="Save").click()
    await until(lambda: saved_channels(daemon, ["-100", "-200"]))


async def saved_channels(daemon: Daemon, channels: list[str]) -> bool:
    return bool((await bot(daemon, "slowly_saved"))["settings"].get("allowed_channels") == channels)


async def test_settings_and_token_of_a_bot_are_changed(
    dashboard: Page, daemon: Daemon, telegram: TelegramServer
) -> None:
    await with_bot(daemon, telegram, "changing")
    page, secrets = dashboard, SecretsWatch(dashboard, FIRST, SECOND)
    await page.goto("/settings/bots/telegram/changing")
    await expect(page.get_by_label("Bot token")).to_have_value("")
    await page.get_by_label("Answer in groups").select_option("all")
    await page.get_by_label("Channels").fill("-100, -200")
    await page.get_by_label("Messages to read as context").fill("5")
    await page.get_by_label("Rich messages").check()
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    expected = {"respond": "all", "allowed_channels": ["-100", "-200"], "observe": 5, "rich": True}
    assert (await bot(daemon, "changing"))["settings"] == {"api_url": telegram.url, **expected}
    await page.get_by_label("Channels").fill("")
    await page.get_by_label("Bot token").fill(SECOND)
    await page.get_by_role("button", name="Save").click()
    await expect(card(page, "Telegram")).to_contain_text("@second_bot", timeout=SLOW_MS)
    assert "allowed_channels" not in (await bot(daemon, "changing"))["settings"]
    await page.get_by_role("button", name="Check").click()
    await expect(page.get_by_text("The bot is @second_bot.")).to_be_visible()
    await secrets.check()


async def test_what_a_platform_cannot_take_is_told_in_the_form(
    dashboard: Page, daemon: Daemon, telegram: TelegramServer
) -> None:
    await with_bot(daemon, telegram, "strict")
    await dashboard.goto("/settings/bots/telegram/strict")
    await dashboard.set_viewport_size(ViewportSize(width=1280, height=500))
    await dashboard.get_by_label("Late after").fill("soon")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("such as 90s, 15m or 24h")
    await expect(dashboard.get_by_role("alert")).to_be_in_viewport()
    await expect(dashboard.get_by_label("Late after")).to_have_value("soon")
    assert "late_after" not in (await bot(daemon, "strict"))["settings"]


async def test_a_bot_is_switched_off_and_on_restarted_and_removed(
    dashboard: Page, daemon: Daemon, telegram: TelegramServer
) -> None:
    await with_bot(daemon, telegram, "spare")
    page = dashboard
    await page.goto("/settings/bots/telegram/spare")
    sheet = page.get_by_role("region", name="spare")
    await expect(sheet).to_contain_text("Running", timeout=SLOW_MS)
    await page.get_by_role("button", name="Disable").click()
    await expect(sheet).to_contain_text("Disabled")
    assert (await bot(daemon, "spare"))["enabled"] is False
    await page.get_by_role("button", name="Enable").click()
    await expect(sheet).to_contain_text("Running", timeout=SLOW_MS)
    since = (await bot(daemon, "spare"))["since"]
    await page.get_by_role("button", name="Restart").click()
    await expect(page.get_by_text("The bot is restarting.")).to_be_visible()
    await expect(sheet).to_contain_text("Running", timeout=SLOW_MS)
    assert (await bot(daemon, "spare"))["since"] >= since
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page).to_have_url("/settings/bots")
    await bot(daemon, "spare", status=404)
