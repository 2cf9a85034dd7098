"""Run Chromium for one agent, inside the sandbox; the interpreter gets this file's text with `-c`.

The first argument is a JSON object: `executable`, `channel` (a file descriptor), `site` (the folder of the packages),
`pages` (the maximum number of pages), `download` (bytes) and `hide` (the text of `hide.js`). Over the channel, the
daemon gets the socket on which Chromium's proxy listens: this network namespace has no other way out. Each line of
standard input is a JSON object, answered on standard output by a line `{"id", "value" or "error", "size"}` and `size`
bytes. This file imports only the standard library and Playwright.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import re
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

GIVEN: dict[str, Any] = {}
if __name__ == "__main__":
    GIVEN = json.loads(sys.argv[1])
    sys.path.append(GIVEN["site"])

from playwright.async_api import (  # noqa: E402 (the path is set above)
    BrowserContext,
    Dialog,
    Download,
    Error,
    Frame,
    JSHandle,
    Locator,
    Page,
    Response,
    async_playwright,
)
from playwright.async_api import TimeoutError as Late  # noqa: E402 (as above)

_PROFILE = Path("profile")
_DOWNLOADS = Path("/tmp/downloads")  # noqa: S108 (a folder of the sandbox alone)
_OPTIONS = (
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--deny-permission-prompts",
    "--disk-cache-size=50000000",
    "--no-pings",
)
_SIZE = (1280, 900)
#: The maximum height in pixels of a picture of a whole page.
_TALLEST = 4_000

#: The maximum seconds of waits: for all files of a page, for a pause in its requests, for its text, and for the effect
#: of an action. A page that exceeds the last two does not answer.
_LOADING, _QUIET, _TEXT, _ACTION = 5.0, 1.5, 15.0, 10.0
#: The seconds in which a frame must answer, the pause after an action, and the interval of repeated checks.
_FRAME, _AFTER_ACTION, _LOOK = 2.0, 0.3, 0.05

_LONGEST_TEXT = 400_000
_LONGEST_NOTE = 300
_MOST_NOTES = 10
_MOST_FRAMES = 30
_MOST_POPUPS = 3
_SILENT = "The page does not answer, so it was closed."
_MASK = r"\g<head>\g<props>\g<text>: ••••••••"
_FIRST_ERROR = 400

#: The maximum number of lines and characters of an element in a question.
_INNER_LINES, _INNER_CHARS = 6, 500
_UNSTEADY = re.compile(r" \[(?:active|cursor=pointer)\]|:$", re.MULTILINE)
_REFERENCE = re.compile(r"\[ref=(\w+)\]")
_NET_ERROR = re.compile(r"net::(ERR_\w+)")
#: The beginning of a line of an element: its indent, role, name and attributes. Names and texts come from the page, so
#: references are read only here.
_REST = r"""(?: "(?:[^"\\]|\\.)*")?(?P<attributes>(?: \[[^\]\n]*\])*)'?"""
_ELEMENT = re.compile(r"(?P<indent>\s*)- '?[\w-]+" + _REST + r"(?=:|$)")
#: A field with its content, which follows the head, or the properties of the field, such as its placeholder.
_FIELD = re.compile(
    r"^(?P<head>(?P<indent> *)- '?(?:textbox|searchbox|combobox|spinbutton)" + _REST + r")"
    r"(?P<props>:(?:\n(?P=indent) +- /.*)+)?(?P<text>\n(?P=indent) +- text)?: (?=\S).*$",
    re.MULTILINE,
)

_HAS_PASSWORDS = """fields => fields.some(field => field.value)"""
_MAY_BE_SHOWN = """field => field.type !== 'password' && !/password|one-time-code/.test(field.autocomplete || '')"""
_KIND = """element => element.tagName === 'INPUT' ? element.type : element.tagName.toLowerCase()"""


class Failure(Exception):
    """A failure that the model should know. `code` is the network error, and `gone` is True if the page is closed."""

    def __init__(self, text: str, *, code: str = "", gone: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.gone = gone


class Tab:
    """A page. `key` names its conversation. `id` changes when the page shows another document."""

    def __init__(self, page: Page, key: str) -> None:
        self.page = page
        self.key = key
        self.id = secrets.token_hex(3)
        #: The last text of the page, with its address and title, and the elements about which people were asked.
        self.text = self.url = self.title = ""
        self.asked: dict[str, str] = {}
        self.notes: list[str] = []
        self.turn = asyncio.Lock()
        self.downloads = False
        self.popups = 0

    def renew(self) -> None:
        """Give the page a new id, so that earlier references and approvals no longer apply."""
        self.id = secrets.token_hex(3)
        self.text = self.url = self.title = ""
        self.asked.clear()
        self.popups = 0

    def note(self, text: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(" ".join(text.split())[:_LONGEST_NOTE])

    def take_notes(self) -> list[str]:
        notes, self.notes = self.notes, []
        return notes


class Tabs:
    """The open pages, the one that was unused for the longest time first."""

    def __init__(self, context: BrowserContext, most: int) -> None:
        self._context = context
        self._most = most
        self._tabs: list[Tab] = []

    async def new(self, key: str) -> Tab:
        return await self._add(await self._context.new_page(), key)

    def find(self, key: str, page_id: str) -> Tab:
        for tab in self._tabs:
            if tab.id == page_id and tab.key == key:
                self._tabs.remove(tab)
                self._tabs.append(tab)
                return tab
        raise Failure("", gone=True)

    async def close(self, tab: Tab) -> None:
        if tab in self._tabs:
            self._tabs.remove(tab)
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(_ACTION):
                await tab.page.close()

    async def _add(self, page: Page, key: str) -> Tab:
        tab = Tab(page, key)
        self._tabs.append(tab)
        page.on("framenavigated", lambda frame: tab.renew() if frame is page.main_frame else None)
        page.on("dialog", lambda dialog: _answer(tab, dialog))
        page.on("popup", lambda opened: self._popup(tab, opened))
        page.on("download", lambda download: _dropped(tab, download))
        page.on("filechooser", lambda _: tab.note("The page asked for a file of this machine. Files cannot be sent."))
        page.on("crash", lambda _: self._tabs.remove(tab) if tab in self._tabs else None)
        page.on("close", lambda _: self._tabs.remove(tab) if tab in self._tabs else None)
        # A page in the middle of a call is not closed.
        idle = [each for each in self._tabs[:-1] if not each.turn.locked()]
        for each in idle[: max(0, len(self._tabs) - self._most)]:
            await self.close(each)
        return tab

    async def _popup(self, opener: Tab, page: Page) -> None:
        opener.popups += 1
        if opener.popups > _MOST_POPUPS:
            await page.close()
            return
        tab = await self._add(page, opener.key)
        opener.note(f"The page opened another page: {tab.id}")


async def _answer(tab: Tab, dialog: Dialog) -> None:
    with suppress(Error):
        if dialog.type == "beforeunload":
            await dialog.accept()
            return
        tab.note(f"The page showed a dialog ({dialog.type}), which was dismissed: {dialog.message}")
        await dialog.dismiss()


async def _dropped(tab: Tab, download: Download) -> None:
    if tab.downloads:
        tab.downloads = False  # a call takes one file
        return
    tab.note(f"The page offered a file, which was not saved: {download.suggested_filename}")
    with suppress(Error):
        await download.cancel()


class Worker:
    """The operations. Each gets the conversation (`key`) and the arguments of its line."""

    def __init__(self, tabs: Tabs, download: int) -> None:
        self._tabs = tabs
        self._most_bytes = download
        self.operations: dict[str, Callable[..., Awaitable[tuple[dict[str, Any], bytes]]]] = {
            "open": self.open,
            "read": self.read,
            "element": self.element,
            "click": self.click,
            "type": self.type,
            "picture": self.picture,
            "download": self.download,
        }

    async def open(self, key: str, url: str, seconds: float) -> tuple[dict[str, Any], bytes]:
        tab = await self._tabs.new(key)
        try:
            async with tab.turn:
                response = await _goto(tab.page, url, seconds)
                await _settle(tab.page)
                if response is not None and response.status >= _FIRST_ERROR:
                    tab.note(f"The server answered with the status {response.status}")
                return await _shown(tab), b""
        except (Failure, Error, TimeoutError):
            await self._tabs.close(tab)
            raise

    async def read(self, key: str, page: str) -> tuple[dict[str, Any], bytes]:
        async with self._using(key, page) as tab:
            return await _shown(tab), b""

    async def element(self, key: str, page: str, ref: str) -> tuple[dict[str, Any], bytes]:
        """Return an element as the last text of the page shows it, for a question. The call that is approved can then
        use the element only as it is now."""
        tab = self._tabs.find(key, page)
        lines = lines_of(tab.text, ref)
        if not lines:
            raise Failure("", gone=True)
        tab.asked[ref] = lines
        return {"lines": lines, "url": tab.url, "title": tab.title}, b""

    async def click(self, key: str, page: str, ref: str) -> tuple[dict[str, Any], bytes]:
        async with self._using(key, page) as tab:
            element = await _element(tab, ref)
            await _act(element.click)
            return await self._after(tab)

    async def type(self, key: str, page: str, ref: str, text: str, submit: bool) -> tuple[dict[str, Any], bytes]:
        async with self._using(key, page) as tab:
            element = await _element(tab, ref)
            kind = await element.evaluate(_KIND)
            if kind == "file":
                raise Failure("This field takes a file. Files cannot be sent to pages.")
            if kind == "select":
                await _act(lambda: element.select_option(label=text))
            else:
                await _act(lambda: element.fill(text))
            if submit:
                await _act(lambda: element.press("Enter"))
            return await self._after(tab)

    async def picture(self, key: str, page: str, whole: bool) -> tuple[dict[str, Any], bytes]:
        async with self._using(key, page) as tab:
            async with asyncio.timeout(_TEXT):
                height = await tab.page.evaluate("document.documentElement.scrollHeight") if whole else 0
                tall = {"width": _SIZE[0], "height": max(_SIZE[1], min(int(height), _TALLEST))}
                await tab.page.set_viewport_size(tall)  # type: ignore[arg-type]
                try:
                    data = await tab.page.screenshot(type="jpeg", quality=80)
                finally:
                    await tab.page.set_viewport_size({"width": _SIZE[0], "height": _SIZE[1]})
                title = (await tab.page.title())[:_LONGEST_NOTE]
            return {"url": tab.page.url, "title": title, "notes": tab.take_notes()}, data

    async def download(self, key: str, page: str, ref: str, seconds: float) -> tuple[dict[str, Any], bytes]:
        async with self._using(key, page) as tab:
            element = await _element(tab, ref)
            tab.downloads = True
            try:
                download = await _started(tab.page, element)
                try:
                    data = await self._arrived(download, seconds)
                finally:
                    with suppress(Error):
                        await download.delete()
            finally:
                tab.downloads = False
            about = {"name": download.suggested_filename, "url": download.url, "notes": tab.take_notes()}
            return about, data

    @asynccontextmanager
    async def _using(self, key: str, page: str) -> AsyncIterator[Tab]:
        """Yield a page to one call at a time. Close a page that does not answer."""
        tab = self._tabs.find(key, page)
        async with tab.turn:
            if tab.id != page or tab.page.is_closed():
                raise Failure("", gone=True)
            try:
                yield tab
            except (TimeoutError, Late):
                await self._tabs.close(tab)
                raise Failure(_SILENT) from None

    async def _after(self, tab: Tab) -> tuple[dict[str, Any], bytes]:
        """Return the page after an action."""
        await asyncio.sleep(_AFTER_ACTION)
        try:
            with suppress(Late):
                await tab.page.wait_for_load_state("domcontentloaded", timeout=_TEXT * 1000)
            await _settle(tab.page)
            return await _shown(tab), b""
        except Error:
            if not tab.page.is_closed():
                raise
            return {"page": "", "notes": tab.take_notes()}, b""

    async def _arrived(self, download: Download, seconds: float) -> bytes:
        """Return the bytes of a file. Cancel a download that is too large or takes too long."""
        arriving = asyncio.ensure_future(download.path())
        try:
            async with asyncio.timeout(seconds):
                while not arriving.done():
                    if _size(_DOWNLOADS) > self._most_bytes:
                        raise Failure(f"The file is larger than {self._most_bytes:,} bytes, so it was not saved.")
                    await asyncio.wait([arriving], timeout=_LOOK)
            path = Path(await arriving)
        except TimeoutError:
            raise Failure(f"The file did not arrive within {seconds:g} seconds.") from None
        except Error:
            raise Failure("The download failed: the connection broke, or the address is not allowed.") from None
        finally:
            if not arriving.done():
                await download.cancel()
                await asyncio.gather(arriving, return_exceptions=True)
        return await asyncio.to_thread(self._content, path)

    def _content(self, path: Path) -> bytes:
        if path.stat().st_size > self._most_bytes:
            raise Failure(f"The file is larger than {self._most_bytes:,} bytes, so it was not saved.")
        return path.read_bytes()


def _size(folder: Path) -> int:
    size = 0
    for file in folder.iterdir():
        with suppress(OSError):
            size += file.stat().st_size
    return size


# -- pages -------------------------------------------------------------------------------------------------------------


async def _goto(page: Page, url: str, seconds: float) -> Response | None:
    try:
        return await page.goto(url, wait_until="domcontentloaded", timeout=seconds * 1000)
    except Late:
        raise Failure(f"No page came within {seconds:g} seconds.") from None
    except Error as error:
        if "Download is starting" in error.message:
            raise Failure(
                "This address offers a file, not a page. Read it with http_fetch, or open a page that links to it and "
                "use browser_download."
            ) from None
        found = _NET_ERROR.search(error.message)
        code = found[1] if found else ""
        raise Failure(f"The page could not be loaded ({code or 'no reason given'}).", code=code) from None


async def _settle(page: Page) -> None:
    """Wait until the page has loaded its files and makes no requests, within limits."""
    for state, seconds in (("load", _LOADING), ("networkidle", _QUIET)):
        with suppress(Error):
            await page.wait_for_load_state(state, timeout=seconds * 1000)  # type: ignore[arg-type]


async def _shown(tab: Tab) -> dict[str, Any]:
    """Return the text form of a page. A page that changes to another document meanwhile is read again."""
    async with asyncio.timeout(_TEXT):
        while True:
            before = tab.id
            try:
                text = await _text(tab.page)
                title = (await tab.page.title())[:_LONGEST_NOTE]
            except Error:
                if tab.id == before or tab.page.is_closed():
                    raise
                continue
            if tab.id == before:
                break
    if any(lines_of(text, ref) != lines for ref, lines in tab.asked.items()):
        # An approval of the old element must not apply to the present one.
        tab.renew()
    tab.text, tab.url, tab.title = text, tab.page.url, title
    notes = tab.take_notes()
    if len(text) > _LONGEST_TEXT:
        text = text[: text.rfind("\n", 0, _LONGEST_TEXT) + 1 or _LONGEST_TEXT]
        notes.append("The page is too long: the end of its text is missing")
    return {"page": tab.id, "url": tab.page.url, "title": title, "text": text, "notes": notes}


async def _text(page: Page) -> str:
    frames = page.frames[:_MOST_FRAMES]
    hidden = await asyncio.gather(*(_hide(frame) for frame in frames))
    try:
        text = await page.aria_snapshot(mode="ai")
        # Each query of a frame that does not answer takes time, so such a frame counts as one with passwords.
        certain = None not in hidden and not any(await asyncio.gather(*map(_has_passwords, frames)))
        return text if certain else await _masked(page, text)
    finally:
        await asyncio.gather(*(_show(frame, each) for frame, each in zip(frames, hidden, strict=True)))


async def _hide(frame: Frame) -> JSHandle | None:
    """Hide the texts of a frame that people cannot see. A frame that has no document yet does not answer."""
    with suppress(Error, TimeoutError):
        async with asyncio.timeout(_FRAME):
            return await frame.evaluate_handle(GIVEN["hide"])
    return None


async def _show(frame: Frame, hidden: JSHandle | None) -> None:
    if hidden is not None:
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(_FRAME):
                await frame.evaluate(GIVEN["hide"], hidden)
                await hidden.dispose()


async def _has_passwords(frame: Frame) -> bool:
    fields = frame.locator("input[type=password], input[autocomplete*=password], input[autocomplete=one-time-code]")
    with suppress(Error, TimeoutError):
        async with asyncio.timeout(_FRAME):
            return bool(await fields.evaluate_all(_HAS_PASSWORDS))
    return True


async def _masked(page: Page, text: str) -> str:
    """Replace the values of fields that may contain passwords."""
    secret: set[str] = set()
    for line in _FIELD.finditer(text):
        ref = _REFERENCE.search(line["attributes"])
        try:
            open_text = ref is not None and await page.locator(f"aria-ref={ref[1]}").evaluate(
                _MAY_BE_SHOWN, timeout=1000
            )
        except Error:
            open_text = False
        if not open_text:
            secret.add(line[1])
    return _FIELD.sub(lambda line: line.expand(_MASK) if line[1] in secret else line[0], text)


def lines_of(text: str, ref: str) -> str:
    """Return the line of an element and the lines of the elements in it, up to a limit; "" if the text has no such
    element. The states that change by themselves and the content of fields are left out."""
    lines = iter(_FIELD.sub(r"\g<head>\g<props>", text).split("\n"))
    for line in lines:
        head = _ELEMENT.match(line)
        if head is not None and f" [ref={ref}]" in head["attributes"]:
            following = itertools.islice(lines, _INNER_LINES)
            inner = itertools.takewhile(partial(_is_deeper, len(head["indent"])), following)
            shown = [_UNSTEADY.sub("", each).strip() for each in (line, *inner)]
            return "\n".join(shown)[:_INNER_CHARS]
    return ""


def _is_deeper(depth: int, line: str) -> bool:
    return not line[: depth + 1].strip()


async def _element(tab: Tab, ref: str) -> Locator:
    """Return an element that still is as in the question about the call, or else as in the last text of the page.
    Elements get a new reference if their role or name changes."""
    before = tab.asked.get(ref) or lines_of(tab.text, ref)
    async with asyncio.timeout(_TEXT):
        now = lines_of(await _text(tab.page), ref)
    if not now or now != before:
        raise Failure("", gone=True)
    return tab.page.locator(f"aria-ref={ref}")


async def _act(action: Callable[[], Awaitable[Any]]) -> None:
    try:
        await action()
    except Late:
        raise Failure("The element cannot be used: it is covered, disabled, or has no such option.") from None
    except Error as error:
        first = error.message.partition("\n")[0]  # the rest contains text of the page
        if "has been closed" not in first:
            raise Failure(f"The element cannot be used in this way: {first.partition(': ')[2][:200]}") from None


async def _started(page: Page, element: Locator) -> Download:
    try:
        async with page.expect_download() as waiting:
            await _act(element.click)
        return await waiting.value
    except Error:
        raise Failure("The element started no download. Read the page: it may show the content.") from None


# -- the process -------------------------------------------------------------------------------------------------------


class Answers:
    """The channel of the answers."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._turn = asyncio.Lock()

    async def send(self, answer: dict[str, Any], data: bytes = b"") -> None:
        line = json.dumps({**answer, "size": len(data)}).encode() + b"\n"
        async with self._turn:
            await asyncio.to_thread(self._write, line + data)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]


async def _handle(worker: Worker, answers: Answers, asked: dict[str, Any]) -> None:
    number, operation = asked.pop("id"), worker.operations[asked.pop("do")]
    try:
        value, data = await operation(**asked)
    except Failure as failure:
        await answers.send({"id": number, "error": str(failure), "code": failure.code, "gone": failure.gone})
    except (TimeoutError, Late):
        await answers.send({"id": number, "error": _SILENT})
    except Error as error:
        first = error.message.partition("\n")[0][:_LONGEST_NOTE]
        await answers.send({"id": number, "error": f"The browser reports: {first}"})
    else:
        await answers.send({"id": number, "value": value}, data)


async def main() -> None:
    output = os.dup(1)
    os.dup2(2, 1)
    answers = Answers(output)
    with socket.socket(fileno=GIVEN["channel"]) as channel, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        port = listener.getsockname()[1]
        socket.send_fds(channel, [b"."], [listener.fileno()])
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            _PROFILE,
            executable_path=GIVEN["executable"],
            args=list(_OPTIONS),
            proxy={"server": f"socks5://127.0.0.1:{port}"},
            # The daemon's sandbox contains all processes; Chromium's own does not work inside it.
            chromium_sandbox=False,
            downloads_path=_DOWNLOADS,
            accept_downloads=True,
            permissions=[],
            viewport={"width": _SIZE[0], "height": _SIZE[1]},
        )
        context.set_default_timeout(_ACTION * 1000)
        ended = asyncio.Event()
        context.on("close", lambda _: ended.set())
        worker = Worker(Tabs(context, GIVEN["pages"]), GIVEN["download"])
        await answers.send({"id": 0, "value": {}})
        reading = asyncio.create_task(_serve(worker, answers))
        watching = asyncio.create_task(ended.wait())
        await asyncio.wait([reading, watching], return_when=asyncio.FIRST_COMPLETED)
        if not ended.is_set():
            await context.close()
        reading.cancel()
        watching.cancel()


async def _serve(worker: Worker, answers: Answers) -> None:
    """Answer the lines of standard input until it ends."""
    reader = asyncio.StreamReader(limit=4_194_304)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running: set[asyncio.Task[None]] = set()
    while line := await reader.readline():
        task = asyncio.create_task(_handle(worker, answers, json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)
    for task in running:
        task.cancel()


if __name__ == "__main__":
    _DOWNLOADS.mkdir()
    for lock in _PROFILE.glob("Singleton*"):
        lock.unlink()
    asyncio.run(main())
