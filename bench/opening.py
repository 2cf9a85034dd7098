"""The benchmark row about the chat page: the time from opening it in a browser until a message can be written, and the
size of its downloads."""

from __future__ import annotations

import os
import time
from functools import partial

import aiohttp
from playwright.async_api import Browser, BrowserContext, async_playwright

from bench.people import Endpoint
from bench.report import Figure, Target
from bench.rounds import Setting, in_turn
from bench.servers import daemon
from tests.parts import find

COOKIE = "arvis_session"
KB = 1024

#: A script for the page that returns the transferred bytes of all response bodies, except those of the API.
_FETCHED = """() => performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
    .filter(entry => !entry.name.includes('/api/')).reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""


async def page(setting: Setting) -> list[Figure]:
    """Measure the chat page in a browser with an empty cache; the control is an empty page of the same server."""
    program = find("chromium")
    if program is None:
        raise LookupError("it needs Chromium")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with daemon(setting.folder / "daemon") as server:
        endpoint = server.endpoints[0]
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=program, args=arguments)
            control, measure = (
                partial(_empty, browser, endpoint),
                partial(_chat, browser, endpoint, await _log_in(endpoint)),
            )
            opened = await in_turn(setting.scale.rounds * 2, control, measure)
            fetched = await _fetched(browser, endpoint, await _log_in(endpoint))
            await browser.close()
    against = "an empty page of the same server"
    return [
        Figure(
            "chat page, until a message can be written",
            opened.value,
            "ms",
            opened.control,
            against,
            opened.ratio,
            Target(1_000, 600, lower=True),
        ),
        Figure("… fetched for it, packed", fetched / KB, "KB", target=Target(250, 200, lower=True)),
    ]


async def _log_in(endpoint: Endpoint) -> str:
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session:
        headers = {"Authorization": f"Bearer {endpoint.api_key}"}
        async with session.post(f"{endpoint.url}/api/auth/codes", headers=headers) as made:
            code = (await made.json())["code"]
        async with session.post(f"{endpoint.url}/api/auth/login", json={"code": code}) as entered:
            return entered.cookies[COOKIE].value


async def _context(browser: Browser, endpoint: Endpoint, cookie: str | None) -> BrowserContext:
    """Open a browser context with an empty cache."""
    context = await browser.new_context(base_url=endpoint.url)
    if cookie is not None:
        await context.add_cookies([{"name": COOKIE, "value": cookie, "url": endpoint.url}])
    return context


async def _empty(browser: Browser, endpoint: Endpoint) -> float:
    """Return the milliseconds until the short text of `/health` is shown."""
    async with await _context(browser, endpoint, None) as context:
        shown = await context.new_page()
        begun = time.perf_counter()
        await shown.goto("/health")
        return (time.perf_counter() - begun) * 1000


async def _chat(browser: Browser, endpoint: Endpoint, cookie: str) -> float:
    """Return the milliseconds until the message field accepts typed text."""
    async with await _context(browser, endpoint, cookie) as context:
        shown = await context.new_page()
        begun = time.perf_counter()
        await shown.goto("/chat", wait_until="commit")
        await shown.get_by_label("Message", exact=True).fill("hello")
        return (time.perf_counter() - begun) * 1000


async def _fetched(browser: Browser, endpoint: Endpoint, cookie: str) -> float:
    async with await _context(browser, endpoint, cookie) as context:
        shown = await context.new_page()
        await shown.goto("/chat", wait_until="networkidle")
        return float(await shown.evaluate(_FETCHED))
