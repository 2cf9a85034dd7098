"""Take the screenshots of the documentation: `python -m tests.browser.screenshots` writes them to `docs/images`.

It starts a daemon with the data of a small shop, and the browser of the tests.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

from aiohttp import web
from playwright.async_api import Page, ViewportSize, async_playwright

from arvis.testing.openai_server import Failure, ReceivedRequest, Reply, openai_server
from hatch_build import Dashboard
from tests.browser.daemon import Daemon
from tests.browser.drawn import begin, draw, run_until
from tests.parts import require

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
SIZE = ViewportSize(width=1280, height=800)
#: A wide screen for drawings.
WIDE = ViewportSize(width=1600, height=1000)

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
RETURNS = """You can return them within **30 days**. What I need from you:

1. the number of the order
2. whether the box was opened

| Way | Takes |
|---|---|
| Parcel shop | 3 days |
| Courier | next day |

If you have the label at hand, this starts it:

```
return --order 1042 --reason size
```
"""


ADDRESS = "You ask how to change the address of your account. Open Account, then Addresses, and choose Edit."
SENT = "It left our house yesterday and arrives tomorrow before noon."
#: Replies by a part of the question. The workflow's steps come first, since their questions contain earlier replies.
SAID = {"How sure is this answer?": "unsure", "APPROVED": "APPROVED", "address of my account": ADDRESS, "back": RETURNS}


class Shop:
    """A model that knows the shop's handbook; for one order the request fails."""

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        asked = str(received.document["messages"][-1]["content"])
        if "1007" in asked:
            return await Failure(400, message="the order number was not understood").answer(received)
        text = next((said for part, said in SAID.items() if part in asked), SENT)
        return await Reply((text,), usage=(1_840, 96), delay=0.2).answer(received)


async def _fill(daemon: Daemon, model: str) -> None:
    account = {
        "name": "main",
        "provider": "openai",
        "model": "gpt-4o-mini",
        "apiKey": "sk-shown-nowhere",
        "baseUrl": model,
    }
    await daemon.api("POST", "/api/accounts", account)
    for agent in AGENTS:
        await daemon.api("POST", "/api/agents", {"prompt": "You help a small shop.", **agent})
    for number in range(24):
        user = f"guest{number % 6}"
        body = {"content": f"Where is order {1000 + number}?", "userId": user, "userName": user.title()}
        sent = await daemon.api("POST", "/api/messages", {**body, "channelId": f"web-{user}"})
        await daemon.api("GET", f"/api/messages/{sent['messageId']}/wait?timeout=30")
    asked = {"content": "Can I send the shoes back? They are too small.", "channelId": "dashboard-agent-support"}
    message = (await daemon.api("POST", "/api/messages", asked))["messageId"]
    await daemon.api("GET", f"/api/messages/{message}/wait?timeout=30")
    await daemon.api(
        "POST", "/api/projects", {"title": "Handbook, second edition", "goal": "Forty pages", "agent": "writer"}
    )


async def _draw(daemon: Daemon) -> tuple[str, str]:
    """Save an example workflow and start a run that waits for a person. Return the slug and the run's id."""
    examples = (await daemon.api("GET", "/api/workflows/examples"))["items"]
    (support,) = [each for each in examples if each["slug"] == "support-answer"]
    made = await draw(daemon, support["name"], support["document"])
    run = await begin(daemon, made)
    await run_until(daemon, run, ["paused", "completed", "failed"])
    return made["slug"], run


async def _take(page: Page, name: str, path: str, *, shows: str, step: str = "") -> None:
    """Take a screenshot of a page when it shows this text; `step` names a step of the drawing to click first."""
    await page.goto(path)
    await page.wait_for_load_state("networkidle")
    await page.get_by_text(shows).first.wait_for()
    await page.wait_for_timeout(600)
    if step:
        await page.locator(".react-flow__node").filter(has_text=step).first.click()
        await page.wait_for_timeout(600)
    await page.screenshot(path=IMAGES / f"{name}.png")


async def main() -> None:
    Dashboard(ROOT).bring_up_to_date()
    IMAGES.mkdir(exist_ok=True)
    async with openai_server(default=Shop()) as model:
        with tempfile.TemporaryDirectory() as folder:
            daemon = Daemon(Path(folder))
            await daemon.start()
            try:
                await _fill(daemon, model.base_url)
                await _pictures(daemon)
            finally:
                await daemon.close()


async def _pictures(daemon: Daemon) -> None:
    failed = (await daemon.api("GET", "/api/jobs?status=failed"))["items"]
    answered = (await daemon.api("GET", "/api/messages?status=answered"))["items"]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=require("chromium"), args=["--no-sandbox"] if os.geteuid() == 0 else []
        )
        context = await browser.new_context(base_url=daemon.address, viewport=SIZE)
        await context.add_cookies([await daemon.cookie()])
        page = await context.new_page()
        await _take(page, "chat", "/chat/support", shows="Parcel shop")
        await _take(page, "now", "/now", shows="Recent failures")
        await _take(page, "queue", f"/queue/{failed[0]['id']}?status=failed", shows="HTTP 400")
        await _take(page, "message", f"/messages/{answered[0]['id']}", shows="Answered by")
        await _take(page, "agents", "/agents/support", shows="Answers customers")
        workflow, run = await _draw(daemon)
        await page.set_viewport_size(WIDE)
        await _take(page, "workflow", f"/workflows/{workflow}/edit", shows="Read first", step="Read first")
        await _take(page, "workflow-run", f"/workflows/{workflow}/runs/{run}", shows="Open question")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
