"""The browsers of the agents: started at their first use, ended when they are unused, with the pages of each conversation.

An agent has one browser and one profile, which its conversations share. A page belongs to one conversation. Its id changes
with every document, so a call can only affect the document that the model has read.
"""

from __future__ import annotations

import asyncio
import shutil
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import structlog

from arvis.config.sections import Browser
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.domain.regex import regex
from arvis.domain.text import storable
from arvis.ports.clock import Clock
from arvis.ports.extras import missing_package
from arvis.ports.http import Dialer
from arvis.ports.tool import Caller, PageFile
from arvis.process.sandbox import Bubblewrap
from arvis.tools.browser.endpoint import Endpoint, read_endpoint
from arvis.tools.browser.process import BrowserEnded, BrowserProcess, Declined, Launch, start_browser
from arvis.tools.workspace import remove_folder

log = structlog.get_logger(__name__)

#: The programs that are searched in this order if the configuration names no browser. The first one that is installed
#: is used.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
EXTRA, PACKAGE = "browser", "playwright"

_PRIVATE = 0o700
#: The seconds that a call may take in addition to the time limit of a navigation.
_MORE = 90.0
#: The seconds in which a file must arrive.
_DOWNLOAD_SECONDS = 120.0
#: The maximum number of texts of pages that are stored for each browser.
_MOST_TEXTS = 60
_LONGEST_TEXT = 400_000
_LONGEST_TITLE = 300
_MOST_NOTES = 12
#: The characters that stay unchanged in a fragment. `%` is one of them, so that text that is already encoded is not
#: encoded again.
_FRAGMENT = "%/?:@!$&'()*+,;=~"
_ID = regex(r"[0-9a-f]{6}")
_REFERENCE = regex(r"(?:f[0-9]+)?e[0-9]+")

_GONE = (
    "The page {page} or this element of it does not exist any more: the page shows another document, the element has "
    "changed, or the page was closed because it was unused or Arvis restarted. Read the page again with browser_read, "
    "or open its address with browser_open, and use the new references."
)


@dataclass(frozen=True, slots=True)
class PageText:
    """The address, title and text of a page when it was last read."""

    key: str
    url: str
    title: str
    text: str


class _Running:
    """A running browser, the texts of its pages, the number of calls that use it, and the time of its last use."""

    def __init__(self, process: BrowserProcess, now: float) -> None:
        self.process = process
        self.texts: OrderedDict[str, PageText] = OrderedDict()
        self.calls = 0
        self.used_at = now

    def keep(self, page_id: str, text: PageText) -> None:
        self.texts.pop(page_id, None)
        self.texts[page_id] = text
        while len(self.texts) > _MOST_TEXTS:
            self.texts.popitem(last=False)


class Browsers:
    """The running browsers of the agents. `settings` is the section `browser` of the configuration, and `folder` the
    directory that contains the profiles. `dialer` returns the service that connects to public hosts.

    Each agent has its own lock, which is held while its browser starts. So browsers of several agents can start at the
    same time. A browser that ends is in `_ending` until its process has ended, because two processes must not use one
    profile.
    """

    def __init__(
        self,
        *,
        settings: Browser,
        folder: Path,
        sandbox: Bubblewrap,
        dialer: Callable[[], Awaitable[Dialer]],
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._idle, self._navigation = settings.idle / 1000, settings.navigation / 1000
        self._folder = folder
        self._sandbox = sandbox
        self._dialer = dialer
        self._clock = clock
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._starting: set[str] = set()
        self._running: dict[str, _Running] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._retiring: asyncio.Task[None] | None = None

    # -- the operations of the tools ---------------------------------------------------------------------------

    async def open(self, caller: Caller, url: str) -> str:
        address = (await self._dialer()).check(url) + _fragment(url)
        async with self._using(caller, start=True) as running:
            try:
                shown = await self._ask(running, "open", caller, url=address, seconds=self._navigation)
            except Declined as failed:
                # The relay serves all conversations of the agent, so only the refusal of this host is reported.
                reason = running.process.relay.refusals.get(failed.host, "") if failed.network else ""
                raise ToolError(f"{failed.what} {reason}".strip()) from None
            return self._read(running, caller, *shown)

    async def read(self, caller: Caller, page: str, offset: int) -> str:
        """Return a part of a page. If `offset` is 0, read the page again. Otherwise return a later part of the text
        that was read last."""
        async with self._using(caller) as running:
            if offset:
                return _part(page, self._known(running, caller, page), offset, self._settings.text_chars, [])
            return self._read(running, caller, *await self._ask(running, "read", caller, page=page))

    async def click(self, caller: Caller, page: str, ref: str) -> str:
        async with self._using(caller) as running:
            shown = await self._ask(running, "click", caller, page=page, ref=_reference(ref))
            return self._read(running, caller, *shown)

    async def type(self, caller: Caller, page: str, ref: str, text: str, *, submit: bool) -> str:
        async with self._using(caller) as running:
            shown = await self._ask(running, "type", caller, page=page, ref=_reference(ref), text=text, submit=submit)
            return self._read(running, caller, *shown)

    async def picture(self, caller: Caller, page: str, *, whole: bool) -> PageFile:
        async with self._using(caller) as running:
            value, data = await self._ask(running, "picture", caller, page=page, whole=whole)
            about = [f"Page {page}: {_text(value, 'url')} ({_text(value, 'title')[:_LONGEST_TITLE]})", *_notes(value)]
            return PageFile(f"page-{page}.jpg", data, "\n".join(about))

    async def download(self, caller: Caller, page: str, ref: str) -> PageFile:
        async with self._using(caller) as running:
            value, data = await self._ask(
                running, "download", caller, page=page, ref=_reference(ref), seconds=_DOWNLOAD_SECONDS
            )
            if len(data) > self._settings.download_bytes:
                raise ToolError(
                    f"The file is larger than {self._settings.download_bytes:,} bytes, so it was not saved."
                )
            about = [*_notes(value), f"Downloaded from {_text(value, 'url')}."]
            return PageFile(_text(value, "name"), data, "\n".join(about))

    async def element(self, caller: Caller, page: str, ref: str) -> str:
        """Return lines that describe an element, for the person who decides about a call. Raise `ToolError` if the page
        or the element does not exist any more."""
        async with self._using(caller) as running:
            value, _ = await self._ask(running, "element", caller, page=page, ref=_reference(ref))
            title = f" ({_text(value, 'title')[:_LONGEST_TITLE]})" if _text(value, "title") else ""
            return f"Page: {_text(value, 'url')}{title}\nElement: {_text(value, 'lines', 1_000)}"

    # -- the browsers ------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End all browsers."""
        if self._retiring is not None:
            self._retiring.cancel()
            await asyncio.gather(self._retiring, return_exceptions=True)
        await asyncio.gather(*(self._end_locked(agent_id) for agent_id in list(self._locks)))

    async def forget(self, agent_ids: Collection[str]) -> None:
        """End the browsers of these agents, and remove their profiles. Raise `OSError` if a folder cannot be
        removed."""
        for agent_id in agent_ids:
            async with self._locks[agent_id]:
                await self._end(agent_id)
                await asyncio.to_thread(remove_folder, self._folder / agent_id)

    @asynccontextmanager
    async def _using(self, caller: Caller, *, start: bool = False) -> AsyncIterator[_Running]:
        """Yield the agent's browser. With `start`, start it if it does not run."""
        agent_id = caller.agent.id
        async with self._locks[agent_id]:
            running = self._running.get(agent_id)
            if running is None or running.process.ended:
                await self._end(agent_id)
                if not start:
                    raise ToolError(
                        "No page is open: the browser has not started yet, or it ended because it was unused or Arvis "
                        "restarted. Open a page with browser_open."
                    )
                running = await self._start(agent_id)
            running.calls += 1
        try:
            yield running
        finally:
            running.calls -= 1
            running.used_at = self._clock.monotonic()

    async def _start(self, agent_id: str) -> _Running:
        if find_spec(PACKAGE) is None:
            missing = missing_package("The browser", PACKAGE, EXTRA)
            raise ToolError(f"{missing.what}. {missing.fix}")
        browser = self._browser()
        await self._make_room()
        self._starting.add(agent_id)
        try:
            folder = self._folder / agent_id
            await asyncio.to_thread((folder / "profile").mkdir, _PRIVATE, parents=True, exist_ok=True)
            limits = self._settings
            launch = Launch(browser, folder, limits.pages, limits.memory_bytes, limits.download_bytes, self._navigation)
            process = await start_browser(launch, sandbox=self._sandbox, dialer=await self._dialer())
        finally:
            self._starting.discard(agent_id)
        running = self._running[agent_id] = _Running(process, self._clock.monotonic())
        if self._retiring is None or self._retiring.done():
            self._retiring = asyncio.create_task(self._retire())
        return running

    def _browser(self) -> Path | Endpoint:
        """Return the endpoint of the remote browser, or the path of Chromium. Raise `ToolError` if there is neither."""
        if self._settings.endpoint is not None:
            return read_endpoint(self._settings.endpoint.get_secret_value())
        if (program := program_of(self._settings.executable)) is None:
            raise ToolError(
                "No Chromium is installed, so no page can be opened. An operator installs the package "
                "chromium-headless-shell or chromium, or sets `browser.executable` or `browser.endpoint`."
            )
        return program

    async def _make_room(self) -> None:
        """If too many browsers run, end the one that was unused for the longest time. The caller must register its new
        browser before it awaits anything else, so that no other task uses the free slot."""
        while len(self._running) + len(self._starting) + len(self._ending) >= self._settings.browsers:
            unused = [agent_id for agent_id, each in self._running.items() if each.calls == 0]
            if self._ending:
                await asyncio.wait(self._ending.values(), return_when=asyncio.FIRST_COMPLETED)
            elif unused:
                await self._end(min(unused, key=lambda agent_id: self._running[agent_id].used_at))
            else:
                raise ToolError("All browsers are busy with pages of other agents. Try again in a minute.")

    async def _retire(self) -> None:
        """End each browser that was unused for the configured time. Return when no browser runs."""
        while self._running:
            now = self._clock.monotonic()
            ends = {agent_id: each.used_at + self._idle for agent_id, each in self._running.items() if each.calls == 0}
            # `_ending_of` removes all these browsers from `_running` before another task can use them.
            ending = [self._ending_of(agent_id) for agent_id, end in ends.items() if end <= now]
            await asyncio.gather(*(asyncio.shield(each) for each in ending if each is not None))
            later = [end - now for end in ends.values() if end > now]
            await self._clock.sleep(min(later, default=self._idle))

    async def _end_locked(self, agent_id: str) -> None:
        async with self._locks[agent_id]:
            await self._end(agent_id)

    async def _end(self, agent_id: str) -> None:
        """End the agent's browser if it runs, and wait until its process has ended."""
        if (ending := self._ending_of(agent_id)) is not None:
            await asyncio.shield(ending)

    def _ending_of(self, agent_id: str) -> asyncio.Task[None] | None:
        """Begin to end the agent's browser if it runs. Return the task that ends the browser. Return None if the agent
        has no browser, not even one that is ending."""
        if (running := self._running.pop(agent_id, None)) is not None:
            ending = self._ending[agent_id] = asyncio.create_task(running.process.close())
            ending.add_done_callback(lambda _: self._ending.pop(agent_id))
        return self._ending.get(agent_id)

    # -- requests to a browser, and the texts of its pages -----------------------------------------------------

    async def _ask(
        self, running: _Running, operation: str, caller: Caller, **arguments: Any
    ) -> tuple[Mapping[str, Any], bytes]:
        timeout = self._navigation + _MORE + (_DOWNLOAD_SECONDS if operation == "download" else 0)
        try:
            return await running.process.ask(operation, timeout=timeout, key=_key(caller), **arguments)
        except Declined as failed:
            if not failed.gone:
                raise
            raise ToolError(_GONE.format(page=arguments.get("page", "")[:40])) from None
        except BrowserEnded:
            log.warning("browser_ended", agent=caller.agent.slug, operation=operation)
            raise

    def _read(self, running: _Running, caller: Caller, value: Mapping[str, Any], _data: bytes) -> str:
        """Store the text of a page that the browser has sent, and return its first part."""
        page, notes = _text(value, "page"), _notes(value)
        if not _ID.fullmatch(page):
            return "\n".join(["The page was closed.", *notes])
        known = PageText(
            _key(caller),
            _text(value, "url"),
            _text(value, "title")[:_LONGEST_TITLE],
            _text(value, "text", _LONGEST_TEXT),
        )
        running.keep(page, known)
        return _part(page, known, 0, self._settings.text_chars, notes)

    def _known(self, running: _Running, caller: Caller, page: str) -> PageText:
        known = running.texts.get(page)
        if known is None or known.key != _key(caller):
            raise ToolError(_GONE.format(page=page[:40]))
        return known


def program_of(configured: str | None) -> Path | None:
    """Return the path of Chromium; None if it is not installed."""
    names = (configured,) if configured else PROGRAMS
    found = next(filter(None, map(shutil.which, names)), None)
    return Path(found) if found else None


def _fragment(url: str) -> str:
    """Return the fragment of an address, with `#`. Browsers do not send the fragment to the server, but many pages
    choose their content by it."""
    _, mark, fragment = url.strip().partition("#")
    return mark + quote(fragment, safe=_FRAGMENT)


def _reference(ref: str) -> str:
    if not _REFERENCE.fullmatch(ref):
        raise ToolError(f"{ref[:40]!r} is not a reference to an element. Use one from the page, such as e12.")
    return ref


def _key(caller: Caller) -> str:
    return caller.conversation_id or caller.execution_id


def _text(value: Mapping[str, Any], name: str, most: int = 8_000) -> str:
    """Return a text from an answer, cut at `most` characters. The browser is not trusted, so its texts may have any
    length."""
    return storable(str(value.get(name, ""))[:most])


def _notes(value: Mapping[str, Any]) -> list[str]:
    """Return the lines about events on a page since its last answer, such as dialogs."""
    notes = value.get("notes")
    if not isinstance(notes, list):
        return []
    return [f"[{storable(str(each))[:_LONGEST_TITLE]}.]" for each in notes[:_MOST_NOTES]]


def _part(page: str, known: PageText, offset: int, most: int, notes: list[str]) -> str:
    """Return a part of a page as text for the model. A part ends after its last line break, if it contains one."""
    text = known.text
    if offset and offset >= len(text):
        raise ToolError(f"The text has only {len(text):,} characters, so nothing follows offset {offset:,}.")
    end = min(len(text), offset + most)
    if end < len(text):
        broken = text.rfind("\n", offset + 1, end)
        end = broken + 1 if broken > 0 else end
    lines = [known.url, *([f"Title: {known.title}"] if known.title else []), f"Page: {page}"]
    lines += [*notes, "", text[offset:end].rstrip("\n") or "(nothing to read)"]
    if end < len(text):
        lines += ["", f"[Characters {offset:,} to {end:,} of {len(text):,}. Continue with browser_read, offset={end}.]"]
    return "\n".join(lines)
