"""Use a browser for one agent, inside the sandbox; the interpreter gets this file's text with `-c`.

The first argument is a JSON object: `executable`, `channel` (a file descriptor), `site` (the folder of the packages),
`pages` (the maximum number of pages), `download` (bytes), `navigation` (seconds), and the texts of `hide.js` (`hide`)
and of `local.py` or `remote.py` (`browser`). Over the channel, this program sends a listening socket to the daemon,
because its network namespace has no other connection to the outside. The daemon answers with the endpoint of a remote
browser (null: the browser is local). Each line of standard input is a JSON object, answered on standard output by a
line `{"id", "value" or "error", "size"}` and `size` bytes. A line `{"check", "id"}` asks for permission to request an
address; the answer is a line `{"permitted", "id"}`. This file imports only the standard library and Playwright.
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
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

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
    Request,
    Response,
    async_playwright,
)
from playwright.async_api import TimeoutError as Late  # noqa: E402 (as above)

_SIZE = (1280, 900)
#: The operations that may change the profile.
_CHANGING = frozenset({"open", "click", "type"})
#: The maximum height in pixels of a picture of a whole page.
_TALLEST = 4_000

#: The time limits in seconds: for all files of a page, for a pause in its requests, for its text, and for the effect of
#: an action. A page that exceeds one of the last two limits counts as a page that does not answer. These two are never
#: longer than the time limit of a navigation.
_LOADING, _QUIET, _TEXT, _ACTION = 5.0, 1.5, *(min(each, GIVEN.get("navigation", each)) for each in (15.0, 10.0))
#: The time limits in seconds for an answer of a frame, and of a frame that did not answer before. The pause in seconds
#: after an action.
_FRAME, _SILENT_FRAME, _AFTER_ACTION = 2.0, 0.5, 0.3

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
#: The beginning of a line of an element: its indent, role, name and attributes. Names and texts come from the page and
#: can imitate a reference, so references are read only from the attributes.
_REST = r"""(?: "(?:[^"\\]|\\.)*")?(?P<attributes>(?: \[[^\]\n]*\])*)'?"""
_ELEMENT = re.compile(r"(?P<indent>\s*)- '?[\w-]+" + _REST + r"(?=:|$)")
#: A field with its content. The content follows the head of the field or, if the field has properties such as a
#: placeholder, these properties.
_FIELD = re.compile(
    r"^(?P<head>(?P<indent> *)- '?(?:textbox|searchbox|combobox|spinbutton)" + _REST + r")"
    r"(?P<props>:(?:\n(?P=indent) +- /.*)+)?(?P<text>\n(?P=indent) +- text)?: (?=\S).*$",
    re.MULTILINE,
)

_HAS_PASSWORDS = """fields => fields.some(field => field.value)"""
_MAY_BE_SHOWN = """field => field.type !== 'password' && !/password|one-time-code/.test(field.autocomplete || '')"""
_KIND = """element => element.tagName === 'INPUT' ? element.type : element.tagName.toLowerCase()"""


class Failure(Exception):
    """A failure that the daemon reports to the model. `code` is the network error, and `host` the host of the page.
    `gone` is True if the page or the element does not exist any more."""

    def __init__(self, text: str, *, code: str = "", host: str = "", gone: bool = False) -> None:
        super().__init__(text)
        self.about = {"code": code, "host": host, "gone": gone}


class Tab:
    """A page. `key` names its conversation. `id` changes when the page shows another document."""

    def __init__(self, page: Page, key: str) -> None:
        self.page = page
        self.key = key
        self.id = secrets.token_hex(3)
        #: The last text of the page, with its address and title, and the elements about which people were asked.
        self.text = self.url = self.title = ""
        self.asked: dict[str, str] = {}
        #: The host from which the page was requested, and the frames that did not answer.
        self.host = ""
        self.silent: set[Frame] = set()
        self.notes: list[str] = []
        self.turn = asyncio.Lock()
        #: The download for which a call waits.
        self.download: asyncio.Future[Download] | None = None
        self.popups = 0

    def renew(self) -> None:
        """Give the page a new id, so that earlier references and approvals no longer apply."""
        self.id = secrets.token_hex(3)
        self.text = self.url = self.title = ""
        self.asked.clear()
        self.popups = 0

    def note_request(self, request: Request) -> None:
        """Store the host from which the page is requested. A redirect may change this host."""
        with suppress(Error, ValueError):  # a request without a frame, or an address without a host
            if request.is_navigation_request() and request.frame is self.page.main_frame:
                self.host = urlsplit(request.url).hostname or ""

    def note(self, text: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(" ".join(text.split())[:_LONGEST_NOTE])

    def take_notes(self) -> list[str]:
        notes, self.notes = self.notes, []
        return notes


class Tabs:
    """The open pages, least recently used first."""

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
        page.on("request", tab.note_request)
        page.on("framenavigated", lambda frame: tab.renew() if frame is page.main_frame else tab.silent.discard(frame))
        page.on("dialog", lambda dialog: _answer(tab, dialog))
        page.on("popup", lambda opened: self._popup(tab, opened))
        page.on("download", lambda download: _dropped(tab, download))
        page.on("filechooser", lambda _: tab.note("The page asked for a file of this machine. Files cannot be sent."))
        page.on("crash", lambda _: self._tabs.remove(tab) if tab in self._tabs else None)
        page.on("close", lambda _: self._tabs.remove(tab) if tab in self._tabs else None)
        # A page that a call is using is not closed.
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
    if tab.download is not None and not tab.download.done():  # a call accepts only one file
        tab.download.set_result(download)
        return
    tab.note(f"The page offered a file, which was not saved: {download.suggested_filename}")
    with suppress(Error):
        await download.cancel()


class Worker:
    """The operations that the daemon can request by name. Each operation gets the conversation (`key`) and the
    arguments of the request."""

    def __init__(self, tabs: Tabs, browser: Any, download: int) -> None:
        self._tabs = tabs
        self._browser = browser
        self._most_bytes = download

    async def save(self) -> None:
        """Save the profile."""
        await self._browser.save()

    async def open(self, key: str, url: str, seconds: float) -> tuple[dict[str, Any], bytes]:
        tab = await self._tabs.new(key)
        try:
            async with tab.turn:
                response = await _goto(tab, url, seconds)
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
        """Return the lines of an element from the last text of the page, for the question to a person. The approved
        call can then use the element only if these lines have not changed."""
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
            with self._browser.receiving(self._most_bytes):
                download = await self._started(tab, element)
                data = await self._browser.file(tab.page, download, self._most_bytes, seconds)
            if isinstance(data, str):
                raise Failure(data)
            about = {"name": download.suggested_filename, "url": download.url, "notes": tab.take_notes()}
            return about, data

    async def _started(self, tab: Tab, element: Locator) -> Download:
        """Click on an element, and return the download that this starts."""
        started: asyncio.Future[Download] = asyncio.get_running_loop().create_future()
        tab.download = started
        try:
            await _act(element.click)
            while not started.done():
                await asyncio.wait([started], timeout=_ACTION)
                if not started.done() and not self._browser.receives:
                    raise Failure("The element started no download. Read the page: it may show the content.")
            return await started
        finally:
            tab.download = None

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


# -- pages -------------------------------------------------------------------------------------------------------------


async def _goto(tab: Tab, url: str, seconds: float) -> Response | None:
    try:
        return await tab.page.goto(url, wait_until="domcontentloaded", timeout=seconds * 1000)
    except Late:
        raise Failure(f"No page came within {seconds:g} seconds.") from None
    except Error as error:
        if "Download is starting" in error.message:
            raise Failure(
                "This address offers a file, not a page. Read it with http_fetch, or open a page that links to it and "
                "use browser_download."
            ) from None
        code = found[1] if (found := _NET_ERROR.search(error.message)) else ""
        text = f"The page could not be loaded ({code or 'no reason given'})."
        raise Failure(text, code=code, host=tab.host) from None


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
                text = await _text(tab)
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
    if tab.silent:
        notes.append("A part of the page (a frame) does not answer, so its text is missing")
    if len(text) > _LONGEST_TEXT:
        text = text[: text.rfind("\n", 0, _LONGEST_TEXT) + 1 or _LONGEST_TEXT]
        notes.append("The page is too long: the end of its text is missing")
    return {"page": tab.id, "url": tab.page.url, "title": title, "text": text, "notes": notes}


async def _text(tab: Tab) -> str:
    frames = tab.page.frames[:_MOST_FRAMES]
    hidden = await asyncio.gather(*(_hide(tab, frame) for frame in frames))
    tab.silent.intersection_update(frames)
    try:
        # Playwright waits for all frames when it reads the text of a page, so silent frames are hidden first.
        hidden += await asyncio.gather(*map(_cover, tab.silent))
        text = await tab.page.aria_snapshot(mode="ai")
        # A frame that does not answer counts as a frame with passwords.
        certain = not tab.silent and not any(await asyncio.gather(*map(_has_passwords, frames)))
        return text if certain else await _masked(tab.page, text)
    finally:
        await asyncio.gather(*map(_show, filter(None, hidden)))


async def _answer_of(question: Awaitable[Any], seconds: float = _FRAME) -> Any:
    """Return the answer of a frame; None if the frame fails or does not answer within `seconds`. A frame that has no
    document yet does not answer."""
    with suppress(Error, TimeoutError):
        async with asyncio.timeout(seconds):
            return await question


async def _hide(tab: Tab, frame: Frame) -> JSHandle | None:
    """Hide those texts of a frame that are invisible to people."""
    if frame in tab.silent and not await _answer_of(frame.evaluate("true"), _SILENT_FRAME):
        return None
    hidden: JSHandle | None = await _answer_of(frame.evaluate_handle(GIVEN["hide"]))
    (tab.silent.add if hidden is None else tab.silent.discard)(frame)
    return hidden


async def _cover(frame: Frame) -> JSHandle | None:
    """Hide a whole frame, because it does not answer. This is not possible for the main frame, or if the parent frame
    does not answer either."""
    element = await _answer_of(frame.frame_element())
    hidden: JSHandle | None = element and await _answer_of(element.evaluate_handle(GIVEN["hide"]))
    return hidden


async def _show(hidden: JSHandle) -> None:
    await _answer_of(hidden.evaluate(GIVEN["hide"]))
    await _answer_of(hidden.dispose())


async def _has_passwords(frame: Frame) -> bool:
    fields = frame.locator("input[type=password], input[autocomplete*=password], input[autocomplete=one-time-code]")
    return await _answer_of(fields.evaluate_all(_HAS_PASSWORDS)) is not False


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
    lines = _FIELD.sub(r"\g<head>\g<props>", text).split("\n")
    heads = ((place, head) for place, line in enumerate(lines) if (head := _ELEMENT.match(line)) is not None)
    place, head = next(((place, head) for place, head in heads if f" [ref={ref}]" in head["attributes"]), (0, None))
    if head is None:
        return ""
    indent = len(head["indent"]) + 1
    inner = itertools.takewhile(lambda line: not line[:indent].strip(), lines[place + 1 : place + 1 + _INNER_LINES])
    return "\n".join(_UNSTEADY.sub("", each).strip() for each in (lines[place], *inner))[:_INNER_CHARS]


async def _element(tab: Tab, ref: str) -> Locator:
    """Return an element. Raise `Failure` if its lines have changed since the question about the call or, if no question
    was asked, since the last text of the page. An element gets a new reference if its role or name changes."""
    before = tab.asked.get(ref) or lines_of(tab.text, ref)
    async with asyncio.timeout(_TEXT):
        now = lines_of(await _text(tab), ref)
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


# -- the process -------------------------------------------------------------------------------------------------------


class Answers:
    """The channel over which this program sends its answers to the daemon, and asks the daemon to permit requests."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "wb")
        self._turn = asyncio.Lock()
        self._questions: dict[int, asyncio.Future[bool]] = {}
        self._numbers = itertools.count()

    async def send(self, answer: dict[str, Any], data: bytes = b"") -> None:
        line = json.dumps({**answer, "size": len(data)}).encode() + b"\n"
        async with self._turn:
            await asyncio.to_thread(self._file.write, line + data)
            await asyncio.to_thread(self._file.flush)

    async def permitted(self, url: str) -> bool:
        """Return whether the daemon permits requests to an address."""
        number = next(self._numbers)
        question: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._questions[number] = question
        await self.send({"check": url, "id": number})
        return await question

    def settle(self, number: int, permitted: bool) -> None:
        self._questions.pop(number).set_result(permitted)


async def _handle(opened: asyncio.Future[Worker], answers: Answers, asked: dict[str, Any]) -> None:
    worker, number, operation = await opened, asked.pop("id"), asked.pop("do")
    try:
        value, data = await getattr(worker, operation)(**asked)
    except Failure as failure:
        await answers.send({"id": number, "error": str(failure), **failure.about})
    except (TimeoutError, Late):
        await answers.send({"id": number, "error": _SILENT})
    except Error as error:
        first = error.message.partition("\n")[0][:_LONGEST_NOTE]
        await answers.send({"id": number, "error": f"The browser reports: {first}"})
    else:
        await answers.send({"id": number, "value": value}, data)
        if operation in _CHANGING:
            await worker.save()


async def main() -> None:
    output = os.dup(1)
    os.dup2(2, 1)
    answers = Answers(output)
    with socket.socket(fileno=GIVEN["channel"]) as channel, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(128)
        port = listener.getsockname()[1]
        socket.send_fds(channel, [b"."], [listener.fileno()])
        endpoint = json.loads(channel.recv(65_536))
    opened: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
    reading = asyncio.create_task(_serve(opened, answers))
    async with async_playwright() as playwright:
        browser = await _browser_class().start(
            playwright,
            GIVEN,
            port=port,
            endpoint=endpoint,
            permitted=answers.permitted,
            viewport={"width": _SIZE[0], "height": _SIZE[1]},
        )
        if isinstance(browser, str):
            await answers.send({"id": 0, "error": browser})
            return
        browser.context.set_default_timeout(_ACTION * 1000)
        browser.on_end(reading.cancel)
        opened.set_result(Worker(Tabs(browser.context, GIVEN["pages"]), browser, GIVEN["download"]))
        await answers.send({"id": 0, "value": {}})
        await asyncio.wait([reading])
        if not reading.cancelled():
            await browser.close()


def _browser_class() -> Any:
    module = ModuleType("browser")
    exec(compile(GIVEN["browser"], "browser", "exec"), module.__dict__)  # noqa: S102 (a text of the daemon)
    return module.Browser


async def _serve(opened: asyncio.Future[Worker], answers: Answers) -> None:
    """Answer the lines of standard input until it ends."""
    reader = asyncio.StreamReader(limit=4_194_304)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    running: set[asyncio.Task[None]] = set()
    while line := await reader.readline():
        asked = json.loads(line)
        if "permitted" in asked:
            answers.settle(asked["id"], asked["permitted"])
            continue
        task = asyncio.create_task(_handle(opened, answers, asked))
        running.add(task)
        task.add_done_callback(running.discard)
    for task in running:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main())
