"""Texts of people, models, files and logs are shown as text on every page: they run nothing, fetch nothing and lead
nowhere.

`payloads.txt` holds one text per line. Each one goes into a message, a name, a title, a note, a tool's output, a file
name and a log line. Then every page is opened on a screen tall enough to draw all rows, and its document is checked.
"""

from __future__ import annotations

import asyncio
import json
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, ViewportSize

from tests.browser.daemon import Daemon
from tests.browser.watching import Watch
from tests.parts import LONG

LINES = (Path(__file__).parent / "payloads.txt").read_text(encoding="utf-8").splitlines()[1:]
#: The short form takes every sixth payload.
PAYLOADS: Sequence[str] = [json.loads(line) for line in (LINES if LONG else LINES[::6])]
TALL = ViewportSize(width=1400, height=16_000)

#: Characters that the page shows in a visible form; a payload is compared without them.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")

Make = Callable[[int, str], Awaitable[object]]


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def town(daemon: Daemon) -> AsyncIterator[Daemon]:
    """A daemon in which an attacker has named an object of every kind."""
    await daemon.api("POST", "/api/agents", {"slug": "clerk", "name": "Clerk", "tools": ["calculate"]})
    for make in _makers(daemon):
        await _all(make)
    _write_log(daemon)
    yield daemon


async def _all(make: Make) -> None:
    """Create the objects eight at a time. A name that the API refuses cannot be shown, so an error is ignored."""
    for start in range(0, len(PAYLOADS), 8):
        await asyncio.gather(*(make(start + n, text) for n, text in enumerate(PAYLOADS[start : start + 8])))


def _makers(daemon: Daemon) -> Sequence[Make]:
    async def tried(path: str, body: dict[str, Any]) -> None:
        try:
            await daemon.api("POST", path, body)
        except AssertionError:
            assert "Traceback" not in str(body)

    async def message(number: int, text: str) -> None:
        sender = {"userId": f"guest{number}", "userName": text[:100], "channelId": f"web-guest{number}"}
        file = {"filename": text[:100] or "x", "data": b64encode(b"words").decode()}
        await tried("/api/messages", {**sender, "content": f"demo: say {text}\n{text}", "attachments": [file]})

    async def talk(number: int, text: str) -> None:
        asked = json.dumps({"expression": text[:200]})
        body = {"content": f"demo: tool calculate {asked}\ndemo: say {text}", "channelId": "dashboard-agent-clerk"}
        if number % 10 == 0:
            await tried("/api/messages", body)

    async def named(number: int, text: str) -> None:
        name = text[:100]
        await tried("/api/agents", {"slug": f"x{number}", "name": name, "description": text, "prompt": text})
        await tried("/api/projects", {"title": name, "goal": text, "notes": text})
        await tried("/api/clients", {"name": name, "notes": text})
        await tried("/api/memory", {"agent": "clerk", "content": f"{text} {number}"})
        await tried("/api/webhooks", {"path": f"hook{number}", "name": name, "agent": "clerk", "template": text})
        when = {"kind": "cron", "schedule": "0 9 * * *", "platform": "web", "channelId": "web-owner"}
        if number < 10:
            await tried("/api/schedules", {**when, "agent": "clerk", "name": name, "prompt": text})

    return [message, talk, named, partial(_draw, daemon)]


async def _draw(daemon: Daemon, number: int, text: str) -> None:
    """Create a workflow of every third text, and start some runs, which complete or fail."""
    if number % 3:
        return
    steps = [
        {"type": "response", "data": {"template": f"{text} {{{{trigger}}}}"}},
        {"type": "tool-call", "data": {"tool": text[:100], "arguments": {text: text}}},
    ]
    begin = {"id": "start", "type": "start", "x": 0, "y": 0, "data": {"initialInput": text}}
    last = {"id": "last", "x": 300, "y": 0, "label": text[:200], **steps[number % 2]}
    document = {"nodes": [begin, last], "connections": [{"source": "start", "target": "last"}]}
    body = {"name": text[:100], "description": text, "note": text, "document": document, "draft": True}
    try:
        made = await daemon.api("POST", "/api/workflows", body)
    except AssertionError:
        made = await daemon.api("POST", "/api/workflows", {**body, "name": f"Drawing {number}", "description": ""})
    if made["runnable"] is not None and number % 5 == 0:
        await daemon.api("POST", f"/api/workflows/{made['id']}/runs", {"input": text})


def _write_log(daemon: Daemon) -> None:
    """Append log lines that a library could have written."""
    (file,) = sorted((daemon.folder / "data" / "logs").glob("arvis-*.log"))[-1:]
    with file.open("a", encoding="utf-8") as log:
        for text in PAYLOADS:
            line = {
                "event": text,
                "logger": text[:60],
                "level": "warning",
                "timestamp": "2026-11-22T12:00:00.000+00:00",
            }
            log.write(json.dumps(line) + "\n")


@pytest_asyncio.fixture(loop_scope="session")
async def tall(browser: Browser, town: Daemon) -> AsyncIterator[Page]:
    async with await browser.new_context(base_url=town.address, viewport=TALL) as context:
        await context.add_cookies([await town.cookie()])
        page = await context.new_page()
        watch = Watch(town.address)
        await watch.over(page)
        page.on("dialog", lambda dialog: watch.complaints.append(f"a dialog: {dialog.message}"))
        page.on("popup", lambda popup: watch.complaints.append(f"a window: {popup.url}"))
        yield page
    watch.check()


PAGES = {
    "/chat/clerk": 5,
    "/now": 0,
    "/queue": 60,
    "/messages": 60,
    "/executions": 0,
    "/schedules": 5,
    "/workflows": 30,
    "/workflows/examples": 0,
    "/workflows/import": 0,
    "/questions": 0,
    "/agents": 60,
    "/memory": 60,
    "/skills": 0,
    "/projects": 60,
    "/conversations": 30,
    "/usage": 0,
    "/settings/people": 60,
    "/settings/clients": 60,
    "/settings/webhooks": 60,
    "/settings/logs": 60,
    "/settings/audit": 0,
    "/settings/accounts": 0,
    "/settings/bots": 0,
    "/settings/variables": 0,
    "/settings/servers": 0,
    "/settings/users": 0,
    "/settings/configuration": 0,
}


@pytest.mark.parametrize(("path", "least"), PAGES.items())
async def test_a_list_shows_them_as_text(tall: Page, path: str, least: int) -> None:
    """`least` is the minimum number of texts whose first 20 characters must be visible, so that an empty page fails."""
    await tall.goto(path)
    await tall.locator("h1").first.wait_for()
    await _settled(tall)
    await _harmless(tall)
    shown = " ".join((await tall.locator("body").inner_text()).split())
    heads = {" ".join(_revealed(text).split())[:20] for text in PAYLOADS}
    seen = [head for head in heads if head in shown]
    assert len(seen) >= (least if LONG else least // 8), f"{len(seen)} of {len(heads)} on {path}"


@pytest.mark.parametrize(
    ("listing", "address"),
    [
        ("/api/jobs?kind=message", "/queue/{id}"),
        ("/api/messages", "/messages/{id}"),
        ("/api/projects", "/projects/{id}"),
        ("/api/agents", "/agents/{slug}"),
        ("/api/clients", "/settings/clients/{id}"),
        ("/api/webhooks", "/settings/webhooks/{id}"),
        ("/api/people", "/settings/people/{id}"),
        ("/api/schedules", "/schedules/{id}"),
        ("/api/conversations", "/conversations/{id}"),
        ("/api/memory", "/memory/{id}"),
        ("/api/executions", "/executions/{id}"),
        ("/api/workflows", "/workflows/{id}"),
        ("/api/workflows", "/workflows/{id}/edit"),
        ("/api/workflows", "/workflows/{id}/versions/1"),
        ("/api/runs?status=completed", "/workflows/{workflow[id]}/runs/{id}"),
        ("/api/runs?status=failed", "/workflows/{workflow[id]}/runs/{id}"),
    ],
)
async def test_a_detail_shows_them_as_text(dashboard: Page, town: Daemon, listing: str, address: str) -> None:
    items = (await town.api("GET", listing))["items"]
    for item in items[:: max(1, len(items) // 2)]:
        await dashboard.goto(address.format(**{"slug": "", **item}))
        await _settled(dashboard)
        await _harmless(dashboard)


async def _settled(page: Page) -> None:
    await page.wait_for_load_state("networkidle")


async def _harmless(page: Page) -> None:
    assert await page.evaluate("window.pwned") is None
    assert await page.evaluate("Object.prototype.pwned") is None
    foreign = "img:not([src^='/']):not([src^='blob:']), iframe, object, embed, base, meta[http-equiv], form[action], portal, frame"
    assert await page.locator(foreign).count() == 0
    assert await page.locator("body script, body style, body link").count() == 0
    handlers = (
        "[...document.querySelectorAll('*')].flatMap(e => [...e.attributes]).filter(a => /^on/i.test(a.name)).length"
    )
    assert await page.evaluate(handlers) == 0
    schemes = "[...document.querySelectorAll('a[href]')].map(a => a.protocol).filter(p => !['http:', 'https:', 'mailto:', 'blob:'].includes(p))"
    assert await page.evaluate(schemes) == []
    outward = "[...document.querySelectorAll('a[href]')].filter(a => a.origin !== location.origin && !/noopener/.test(a.rel)).length"
    assert await page.evaluate(outward) == 0


def _revealed(text: str) -> str:
    return HIDDEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text.replace("\r\n", "\n").replace("\r", "\n"))
