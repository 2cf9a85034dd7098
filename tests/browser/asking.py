"""Helpers of the page tests that use the API: messages, agents and users."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Browser, Page

from tests.browser.daemon import Daemon
from tests.browser.watching import Watch

_PATIENCE = 30


async def say(daemon: Daemon, text: str, channel: str, **more: object) -> str:
    """Send a message, and return its id."""
    body = {"content": text, "channelId": channel, **more}
    return str((await daemon.api("POST", "/api/messages", body))["messageId"])


async def ask(daemon: Daemon, text: str, channel: str, **more: object) -> dict[str, Any]:
    """Send a message, and return its timeline once it has a final status or waits for a person."""
    message = await say(daemon, text, channel, **more)
    found: dict[str, Any] = await daemon.api("GET", f"/api/messages/{message}/wait?timeout=10")
    return found


async def hire(daemon: Daemon, slug: str, **more: object) -> None:
    """Create an agent with the channel of its slug."""
    place = {"platform": "web", "channel": slug}
    await daemon.api("POST", "/api/agents", {"slug": slug, "name": slug.title(), "bindings": [place], **more})


async def until(ask: Callable[[], Awaitable[bool]]) -> None:
    """Poll until `ask` returns true."""
    async with asyncio.timeout(_PATIENCE):
        while not await ask():  # noqa: ASYNC110  (only pages learn what is asked)
            await asyncio.sleep(0.05)


@asynccontextmanager
async def visitor(browser: Browser, daemon: Daemon, name: str, role: str) -> AsyncIterator[Page]:
    """Yield a page on which a new user with this role is logged in."""
    made = await daemon.api("POST", "/api/users", {"id": name, "name": name.title(), "role": role})
    async with await browser.new_context(base_url=daemon.address) as context:
        login = await context.request.post("/api/auth/login", data={"code": made["link"]["code"]})
        assert login.ok, await login.text()
        page = await context.new_page()
        watch = Watch(daemon.address)
        await watch.over(page)
        yield page
    watch.check()
