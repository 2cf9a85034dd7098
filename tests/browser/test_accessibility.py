"""Every page is accessible: axe finds nothing serious in light, dark and on a phone, and the keyboard reaches
everything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Request, ViewportSize, expect

from hatch_build import Dashboard
from tests.browser.conftest import PHONE
from tests.browser.daemon import Daemon
from tests.browser.furnishing import DETAILS, PAGES, furnish
from tests.browser.watching import Watch
from tests.parts import LONG

ROOT = Path(__file__).parents[2]
AXE = ROOT / "arvis" / "web" / "ui" / "node_modules" / "axe-core" / "axe.min.js"
DESK: ViewportSize = {"width": 1280, "height": 800}

#: Runs axe, and returns the serious and critical violations.
RUN = """async rules => {
    const options = { resultTypes: ["violations"], ...(rules && { runOnly: { type: "rule", values: rules } }) };
    const { violations } = await axe.run(document, options);
    return violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .flatMap(({ id, nodes }) => nodes.map(({ target, html }) => `${id}: ${target} ${html.slice(0, 200)}`));
}"""

#: Waits until the page has not changed for a moment.
STILL = """() => new Promise(done => {
    let timer = setTimeout(done, 120);
    new MutationObserver(() => { clearTimeout(timer); timer = setTimeout(done, 120); })
        .observe(document.querySelector("#root"), { childList: true, subtree: true });
})"""

WIDTHS = """() => [...document.querySelectorAll("html, body, #root, main, main > *, main > * > *")]
    .filter(one => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX !== "hidden"
        && getComputedStyle(one).display !== "inline")
    .map(one => `${one.tagName} ${one.className}: ${one.scrollWidth} > ${one.clientWidth}`)"""


class Visitor:
    """A page that goes from address to address without reloading."""

    def __init__(self, page: Page, ids: dict[str, str]) -> None:
        self.page = page
        self._ids = ids
        self._asked: set[Request] = set()
        page.on("request", self._began)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._ended)

    def _began(self, request: Request) -> None:
        self._asked.add(request)

    def _ended(self, request: Request) -> None:
        self._asked.discard(request)

    async def go(self, pattern: str) -> None:
        """Open an address, and return when the page has all responses and does not change any more."""
        await self.page.evaluate("path => history.pushState(null, '', path)", pattern.format(**self._ids))
        await expect(self.page.locator("main :is(h1, h2)").first).to_be_visible()
        while True:
            await self.page.evaluate(STILL)
            if not self._asked and not await self.page.get_by_label("Loading").count():
                return

    async def findings(self, rules: list[str] | None = None) -> list[str]:
        found: list[str] = await self.page.evaluate(RUN, rules)
        return found


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def ids(daemon: Daemon) -> dict[str, str]:
    return await furnish(daemon)


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def visitor(browser: Browser, daemon: Daemon, ids: dict[str, str]) -> AsyncIterator[Visitor]:
    if not AXE.exists():
        Dashboard(ROOT).prepare_checks()
    async with await browser.new_context(base_url=daemon.address, reduced_motion="reduce") as context:
        await context.add_cookies([await daemon.cookie()])
        await context.add_init_script(path=AXE)  # the page's policy forbids to add a script later
        page = await context.new_page()
        watch = Watch(daemon.address)
        await watch.over(page)
        await page.goto("/settings")
        yield Visitor(page, ids)
    watch.check()


@pytest.mark.parametrize("address", PAGES + DETAILS)
async def test_axe_finds_nothing_serious_and_nothing_scrolls_sideways(visitor: Visitor, address: str) -> None:
    page = visitor.page
    await page.set_viewport_size(DESK)
    await visitor.go(address)
    found = [f"light {one}" for one in await visitor.findings()]
    await page.emulate_media(color_scheme="dark")
    found += [f"dark {one}" for one in await visitor.findings(["color-contrast"])]
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size(PHONE)
    await page.evaluate(STILL)
    # A phone changes the layout, not the roles and names: the short form looks at colors and sizes there.
    found += [f"phone {one}" for one in await visitor.findings(None if LONG else ["color-contrast", "target-size"])]
    found += [f"phone sideways {one}" for one in await page.evaluate(WIDTHS)]
    assert not found, "\n".join(found)


#: Elements that the tab key must reach, with one radio button of each group.
REACHABLE = """() => {
    const wanted = "a[href], button, input, select, textarea, summary, [tabindex='0']";
    window.wanted = [...document.querySelectorAll(wanted)].filter(one => one.checkVisibility({ visibilityProperty: true })
        && !one.disabled && one.tabIndex >= 0 && !one.closest(":disabled, [inert]")
        && !(one.type === "radio" && !one.checked));
    document.activeElement?.blur();
    return window.wanted.map(one => one.outerHTML.slice(0, 160));
}"""

#: The number of the focused element (-1: not in the list), and true if the focus is visible.
FOCUS = """() => {
    const now = document.activeElement;
    const seen = one => getComputedStyle(one).outlineStyle !== "none";
    return [window.wanted.indexOf(now), now === document.body || seen(now) || seen(now.parentElement)];
}"""


@pytest.mark.parametrize("address", ["/queue", "/agents/new", "/chat", "/settings/users"])
async def test_everything_is_reached_by_tab_and_seen_there(visitor: Visitor, address: str) -> None:
    page = visitor.page
    await page.set_viewport_size(DESK)
    await visitor.go("/settings")
    await visitor.go(address)
    wanted: list[str] = await page.evaluate(REACHABLE)
    assert len(wanted) > 20
    reached: list[int] = []
    for _ in range(len(wanted) + 10):
        await page.keyboard.press("Tab")
        at, seen = await page.evaluate(FOCUS)
        assert seen, f"the focus cannot be seen at {wanted[at]}"
        if at in reached:  # the focus has gone full circle, so there is no trap
            break
        if at >= 0:
            reached.append(at)
    missed = [wanted[at] for at in sorted(set(range(len(wanted))) - set(reached))]
    assert not missed, "\n".join(missed)


async def test_the_first_tab_skips_to_the_page(dashboard: Page) -> None:
    await dashboard.goto("/queue")
    await expect(dashboard.get_by_role("heading", level=1)).to_be_visible()
    await dashboard.keyboard.press("Tab")
    await dashboard.keyboard.press("Enter")
    await expect(dashboard.locator("#main")).to_be_focused()
    await expect(dashboard.get_by_role("heading", level=1)).to_have_text("Queue")


async def test_palette_and_help_open_and_close_by_keys(dashboard: Page) -> None:
    await dashboard.goto("/now")
    await expect(dashboard.get_by_role("heading", level=1)).to_be_visible()
    link = dashboard.get_by_role("link", name="Queue").first
    await link.focus()
    await dashboard.keyboard.press("Control+k")
    await expect(dashboard.get_by_role("combobox")).to_be_focused()
    await dashboard.keyboard.press("Escape")
    await expect(dashboard.get_by_role("dialog")).to_be_hidden()
    await expect(link).to_be_focused()
    await dashboard.keyboard.press("?")
    await expect(dashboard.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await dashboard.keyboard.press("Escape")
    await expect(dashboard.get_by_role("dialog")).to_be_hidden()
    await expect(link).to_be_focused()


async def test_rows_are_walked_and_opened_by_keys(dashboard: Page, ids: dict[str, str]) -> None:
    await dashboard.goto("/queue?status=failed")
    row = dashboard.get_by_role("row", name="of the cellar")
    await row.focus()
    await dashboard.keyboard.press("Enter")
    await expect(dashboard).to_have_url(f"/queue/{ids['job']}?status=failed")
    await dashboard.keyboard.press("Escape")
    await expect(dashboard).to_have_url("/queue?status=failed")
