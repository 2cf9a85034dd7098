"""Webhooks: created with a secret that is shown once and a working command, rotated, turned off and removed."""

from __future__ import annotations

import asyncio
from typing import Any

from playwright.async_api import Page, expect

from tests.browser.asking import until
from tests.browser.daemon import Daemon


async def hook(daemon: Daemon, path: str, **more: object) -> dict[str, Any]:
    body = {"path": path, "agent": "conductor", "template": "demo: say heard", "platform": "web", "channelId": "hall"}
    made: dict[str, Any] = await daemon.api("POST", "/api/webhooks", {**body, **more})
    return made


async def call(command: str) -> str:
    """Run the command that the page shows, and return its output."""
    process = await asyncio.create_subprocess_exec("bash", "-c", command, stdout=-1, stderr=-1)
    answer, _ = await process.communicate()
    return answer.decode()


async def test_a_web_hook_is_made_and_the_shown_command_calls_it(dashboard: Page, daemon: Daemon) -> None:
    await dashboard.goto("/settings/webhooks")
    await dashboard.get_by_role("link", name="New webhook").first.click()
    form = dashboard.get_by_role("form", name="New webhook")
    await form.get_by_label("Path").fill("ci/deploy")
    await form.get_by_label("Agent", exact=True).select_option("conductor")
    await form.get_by_label("Prompt").fill("demo: say {{payload.build}}")
    await form.get_by_label("Channel").fill("hall")
    await form.get_by_role("button", name="Save").click()

    shown = dashboard.get_by_role("region", name="The secret is shown only once")
    secret = await shown.locator("[data-secret]").text_content()
    assert secret
    assert len(secret) == 48
    command = await shown.get_by_role("region", name="Example call").text_content()
    assert command
    assert '"ok":true' in (await call(command)).replace(" ", "")
    (made,) = (await daemon.api("GET", "/api/webhooks"))["items"]
    assert (made["path"], made["triggerCount"], made["secret"]) == ("/ci/deploy", 1, f"••••{secret[-4:]}")

    await shown.get_by_role("button", name="I have copied the secret").click()
    await expect(dashboard.get_by_role("row", name="/hooks/ci/deploy")).to_be_visible()
    await dashboard.reload()
    await expect(dashboard.get_by_role("heading", name="ci/deploy")).to_be_visible()
    assert secret not in await dashboard.content()


async def test_another_secret_is_made_once_that_was_confirmed(dashboard: Page, daemon: Daemon) -> None:
    for preset in ("github", "stripe"):
        made = await hook(daemon, f"signed/{preset}", preset=preset)
        await dashboard.goto(f"/settings/webhooks/{made['id']}")
        await dashboard.get_by_role("button", name="New secret").click()
        await dashboard.get_by_role("dialog").get_by_role("button", name="New secret").click()
        shown = dashboard.get_by_role("region", name="The secret is shown only once")
        secret = await shown.locator("[data-secret]").text_content()
        assert secret != made["secret"]
        command = await shown.get_by_role("region", name="Example call").text_content()
        assert command
        assert '"ok":true' in (await call(command)).replace(" ", ""), preset


async def test_one_is_changed_turned_off_and_removed(dashboard: Page, daemon: Daemon) -> None:
    made = await hook(daemon, "sensor")
    path = f"/api/webhooks/{made['id']}"
    await dashboard.goto("/settings/webhooks")
    await dashboard.get_by_role("checkbox", name="Turn /sensor off").click()
    await expect(dashboard.get_by_role("checkbox", name="Turn /sensor on")).not_to_be_checked()
    await until(lambda: _off(daemon, path))

    await dashboard.get_by_role("row", name="/hooks/sensor").click()
    await dashboard.get_by_role("button", name="Edit").click()
    await dashboard.get_by_label("Path").fill("not a path")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("alert")).to_be_visible()
    await expect(dashboard.get_by_label("Path")).to_have_value("not a path")
    await dashboard.get_by_label("Path").fill("sensor/2")
    await dashboard.get_by_role("button", name="Save").click()
    await expect(dashboard.get_by_role("row", name="/hooks/sensor/2")).to_be_visible()

    await dashboard.get_by_role("button", name="Delete").click()
    await dashboard.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(dashboard).to_have_url("/settings/webhooks")
    await daemon.api("GET", path, status=404)


async def _off(daemon: Daemon, path: str) -> bool:
    return (await daemon.api("GET", path))["enabled"] is False
