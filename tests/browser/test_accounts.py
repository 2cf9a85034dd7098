"""Accounts of models on their page: added, tested, changed, switched off, removed. The page never shows a key again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest_asyncio
from playwright.async_api import Page, expect

from arvis.testing.openai_server import Failure, OpenAIServer, openai_server
from tests.browser.asking import until
from tests.browser.daemon import Daemon
from tests.browser.secrets_watch import SecretsWatch

KEY = "sk-canary-of-an-account-7731"
OTHER = "sk-another-canary-of-it-7732"


@pytest_asyncio.fixture(loop_scope="session")
async def model() -> AsyncIterator[OpenAIServer]:
    async with openai_server() as server:
        yield server


async def account(daemon: Daemon, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {one["name"]: one for one in (await daemon.api("GET", "/api/accounts"))["items"]}.get(
        name, {}
    )
    return found


async def with_account(daemon: Daemon, server: OpenAIServer, name: str, **more: object) -> None:
    body = {"name": name, "provider": "openai", "baseUrl": server.base_url, "apiKey": KEY, **more}
    await daemon.api("POST", "/api/accounts", body)


def keys_of(model: OpenAIServer) -> list[str]:
    return [asked.headers.get("Authorization", "") for asked in model.requests]


async def test_an_account_is_tested_as_its_key_is_pasted_and_then_kept(
    dashboard: Page, daemon: Daemon, model: OpenAIServer
) -> None:
    page, secrets = dashboard, SecretsWatch(dashboard, KEY)
    await page.goto("/settings/accounts")
    await page.get_by_role("link", name="New account").first.click()
    await page.get_by_label("Vendor").select_option("openai")
    await page.get_by_label("Address").fill(model.base_url)
    await page.get_by_label("Key").fill(KEY)
    await expect(page.get_by_role("status").filter(has_text="This test call cost")).to_contain_text(
        "gpt-4o-mini answered in"
    )
    await page.get_by_role("button", name="Save").click()
    await expect(page).to_have_url("/settings/accounts/openai")
    await expect(page.get_by_role("row", name="openai")).to_contain_text("In use")
    assert (await account(daemon, "openai"))["hasKey"]
    assert keys_of(model) == [f"Bearer {KEY}"]
    await secrets.check()


async def test_a_key_that_is_refused_says_what_to_do_and_stays_in_its_field(
    dashboard: Page, daemon: Daemon, model: OpenAIServer
) -> None:
    model.script.append(Failure(401, "invalid_api_key"))
    page = dashboard
    await page.goto("/settings/accounts/new")
    await page.get_by_label("Vendor").select_option("openai")
    await page.get_by_label("Address").fill(model.base_url)
    await page.get_by_label("Name").fill("no spaces")
    await page.get_by_label("Key").fill(KEY)
    await expect(page.get_by_role("alert")).to_contain_text("Check the key")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert").filter(has_text="name")).to_be_visible()
    await expect(page.get_by_label("Key")).to_have_value(KEY)
    assert await account(daemon, "no spaces") == {}


async def test_a_key_is_replaced_and_a_model_changed(dashboard: Page, daemon: Daemon, model: OpenAIServer) -> None:
    await with_account(daemon, model, "paid")
    page, secrets = dashboard, SecretsWatch(dashboard, KEY, OTHER)
    await page.goto("/settings/accounts/paid")
    await expect(page.get_by_label("Key")).to_have_value("")
    await page.get_by_label("Key").fill(OTHER)
    await page.get_by_label("Model", exact=True).fill("gpt-5")
    await page.get_by_label("Priority").fill("7")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    found = await account(daemon, "paid")
    assert (found["model"], found["priority"], found["baseUrl"]) == ("gpt-5", 7, model.base_url)
    await page.get_by_role("button", name="Test").click()
    await expect(page.get_by_text("gpt-5 answered in")).to_contain_text("This test call cost")
    assert keys_of(model) == [f"Bearer {OTHER}"]
    await secrets.check()


async def test_another_address_asks_for_the_key_again(dashboard: Page, daemon: Daemon, model: OpenAIServer) -> None:
    await with_account(daemon, model, "moved")
    await dashboard.goto("/settings/accounts/moved")
    await dashboard.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("alert")).to_contain_text("Send the key again")
    await expect(dashboard.get_by_label("Address")).to_have_value("http://127.0.0.1:9/v1")
    assert (await account(daemon, "moved"))["baseUrl"] == model.base_url


async def test_an_account_is_switched_off_and_on_and_removed(
    dashboard: Page, daemon: Daemon, model: OpenAIServer
) -> None:
    await with_account(daemon, model, "spare")
    page = dashboard
    await page.goto("/settings/accounts/spare")
    await page.get_by_role("button", name="Disable").click()
    await expect(page.get_by_role("row", name="spare")).to_contain_text("Disabled")
    assert (await account(daemon, "spare"))["status"] == "disabled"
    await page.get_by_role("button", name="Enable").click()
    await expect(page.get_by_role("row", name="spare")).to_contain_text("In use")
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert await account(daemon, "spare")
    await page.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page).to_have_url("/settings/accounts")
    await expect(page.get_by_role("row", name="spare")).to_have_count(0)
    assert await account(daemon, "spare") == {}


async def test_a_refusal_is_told_until_the_account_answers_again(
    dashboard: Page, daemon: Daemon, model: OpenAIServer
) -> None:
    await with_account(daemon, model, "tired", model="tired-model", priority=0)
    await daemon.api("POST", "/api/agents", {"slug": "worn", "name": "Worn", "model": "openai/tired-model"})
    model.script.extend(Failure(401, "invalid_api_key") for _ in range(9))
    await dashboard.goto("/settings/accounts/tired")
    await daemon.api("POST", "/api/messages", {"content": "hello", "channelId": "dashboard-agent-worn"})

    async def refused() -> bool:
        return bool((await account(daemon, "tired"))["health"])

    await until(refused)
    await dashboard.reload()
    await expect(
        dashboard.get_by_text("tired-model is in cooldown until").or_(dashboard.get_by_text("was refused"))
    ).to_be_visible()
    model.script.clear()
    await dashboard.get_by_role("button", name="Test").click()
    await expect(dashboard.get_by_text("No recent failures.")).to_be_visible()
