"""Takes the pictures of the documents anew: `python -m tests.browser.screenshots`, into `docs/images`.

A daemon of its own, filled with things that a small team could have, and the browser that the tests use.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from playwright.async_api import Page, ViewportSize, async_playwright

from hatch_build import Dashboard
from tests.browser.daemon import Daemon
from tests.parts import require

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
SIZE = ViewportSize(width=1280, height=800)

AGENTS: list[dict[str, object]] = [
    {
        "slug": "support",
        "name": "Support",
        "description": "Answers customers and knows the handbook",
        "tools": ["get_time"],
    },
    {"slug": "writer", "name": "Writer", "description": "Drafts the weekly letter"},
    {"slug": "analyst", "name": "Analyst", "description": "Counts, compares and explains", "tools": ["calculate"]},
]
ANSWER = (
    "You can return it within **30 days**. What I need from you:\\n\\n"
    "1. the number of the order\\n2. whether the box was opened\\n\\n"
    "| Way | Takes |\\n|---|---|\\n| Parcel shop | 3 days |\\n| Courier | next day |\\n\\n"
    "```\\nreturn --order 1042 --reason size\\n```"
)


async def _fill(daemon: Daemon) -> None:
    for agent in AGENTS:
        await daemon.api("POST", "/api/agents", {"prompt": "You help a small shop.", **agent})
    for number in range(24):
        user = f"guest{number % 6}"
        text = "demo: fail bad_request" if number % 11 == 7 else f"Where is order {1000 + number}?"
        body = {"content": text, "userId": user, "userName": user.title(), "channelId": f"web-{user}"}
        await daemon.api("POST", "/api/message", body)
    asked = {"content": f"Can I send the shoes back?\ndemo: say {ANSWER}", "channelId": "dashboard-agent-support"}
    message = (await daemon.api("POST", "/api/message", asked))["messageId"]
    await daemon.api("GET", f"/api/messages/{message}/wait?timeout=10")
    await daemon.api(
        "POST", "/api/projects", {"title": "Handbook, second edition", "goal": "Forty pages", "agent": "writer"}
    )


async def _take(page: Page, name: str, path: str) -> None:
    await page.goto(path)
    await page.wait_for_load_state("networkidle")
    await page.wait_for_timeout(600)
    await page.screenshot(path=IMAGES / f"{name}.png")


async def main() -> None:
    Dashboard(ROOT).bring_up_to_date()
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        daemon = Daemon(Path(folder))
        await daemon.start()
        try:
            await _fill(daemon)
            failed = (await daemon.api("GET", "/api/jobs?status=failed"))["items"]
            answered = (await daemon.api("GET", "/api/messages?status=answered"))["items"]
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path=require("chromium"), args=["--no-sandbox"] if os.geteuid() == 0 else []
                )
                context = await browser.new_context(base_url=daemon.address, viewport=SIZE)
                await context.add_cookies([await daemon.cookie()])
                page = await context.new_page()
                await _take(page, "chat", "/chat/support")
                await _take(page, "now", "/now")
                await _take(page, "queue", f"/queue/{failed[0]['id']}?status=failed")
                await _take(page, "message", f"/messages/{answered[0]['id']}")
                await _take(page, "agents", "/agents/support")
                await browser.close()
        finally:
            await daemon.close()


if __name__ == "__main__":
    asyncio.run(main())
