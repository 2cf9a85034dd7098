"""Use a browser on another machine over the Chrome DevTools Protocol. `inside.py` loads this text instead of `local.py`.

The connection leads through a port of the sandbox to the daemon, which connects to the endpoint. The remote browser reaches
the network itself. So each of its HTTP requests, also after a redirect and from a worker, is paused until the daemon has
permitted its host. Other connections of pages are disabled, because the protocol cannot pause them.
"""

from __future__ import annotations

import asyncio
import base64
import http.client
import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser as Connected
from playwright.async_api import BrowserContext, CDPSession, Download, Error, Page, Playwright

#: The cookies and the local storage of the agent's pages.
_STATE = Path("profile/state.json")
_CONNECTING = 20.0
#: Web sockets use this proxy, which does not exist, so they fail. Other requests bypass it.
_NO_SOCKETS = {"server": "socks5://127.0.0.1:9", "bypass": "<-loopback>,http://*,https://*"}
_NO_DATAGRAMS = (
    "for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport']) delete globalThis[name];"
)
_PATTERNS = [{"urlPattern": "*"}, {"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"}]
#: Schemes without a connection.
_INNER = frozenset({"about", "blob", "data"})
#: The seconds for which the answer about a host is used again.
_FRESH = 10.0
_PIECE = 262_144
_STATUS = re.compile(r"(?:status|\s)(?:\s)?([45]\d\d)\b")
#: Headers that describe the body as it was transferred, for example its compression. They do not fit the body that was
#: read, which is no longer compressed.
_OF_TRANSFER = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_READ = """async ([url, most]) => {
  const answer = await fetch(url);
  const blob = await answer.blob();
  if (!answer.ok || blob.size > most) return {ok: answer.ok};
  return {ok: true, data: await new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = failed;
    reader.readAsDataURL(blob);
  })};
}"""


class Browser:
    """A browsing context of a remote browser, which no other client of this browser shares."""

    def __init__(self, connected: Connected, control: CDPSession, permitted: Callable[[str], Awaitable[bool]]) -> None:
        self._connected = connected
        self._control = control
        self._permitted = permitted
        self._known: dict[str, tuple[float, asyncio.Task[bool]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._saving = asyncio.Lock()
        #: The maximum size of the file for which a call waits (None: no call waits), the number of files that are
        #: arriving, and the bodies by address (None: too large).
        self._most: int | None = None
        self._arriving = 0
        self._bodies: dict[str, bytes | None] = {}
        self.context: BrowserContext

    @classmethod
    async def start(
        cls,
        playwright: Playwright,
        given: dict[str, Any],  # noqa: ARG003 (only local browsers need it)
        *,
        port: int,
        endpoint: Mapping[str, Any],
        permitted: Callable[[str], Awaitable[bool]],
        viewport: Any,
    ) -> Browser | str:
        """Connect to the endpoint, to which the connections to `port` lead. Return the reason if it cannot be used."""
        try:
            path, headers = await asyncio.to_thread(_address, port, endpoint)
            connected = await playwright.chromium.connect_over_cdp(
                f"ws://127.0.0.1:{port}{path}", headers=headers, timeout=_CONNECTING * 1000
            )
        except (OSError, http.client.HTTPException, ValueError, Error) as error:
            return _reason(str(error))
        try:
            control = await connected.new_browser_cdp_session()
            browser = cls(connected, control, permitted)
            control.on("Fetch.requestPaused", browser._paused)
            await control.send("Fetch.enable", {"patterns": _PATTERNS})
        except Error:
            return "it does not let Arvis check the requests of its pages (Fetch.enable)"
        browser.context = await _context(connected, viewport)
        await browser.context.add_init_script(_NO_DATAGRAMS)
        await browser.context.grant_permissions([])  # refuses all
        return browser

    def on_end(self, end: Callable[[], object]) -> None:
        """Call `end` when the connection ends."""

        def ended(_: Connected) -> None:
            end()

        self._connected.on("disconnected", ended)

    # -- requests ------------------------------------------------------------------------------------------------------

    def _paused(self, event: Mapping[str, Any]) -> None:
        task = asyncio.ensure_future(self._decide(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _decide(self, event: Mapping[str, Any]) -> None:
        with suppress(Error):  # the page or the connection has ended
            request = {"requestId": event["requestId"]}
            if "responseStatusCode" in event or "responseErrorReason" in event:
                await self._pass_on(event, request)
            elif await self._allows(event["request"]["url"]):
                await self._control.send("Fetch.continueRequest", request)
            else:
                await self._control.send("Fetch.failRequest", {**request, "errorReason": "AccessDenied"})

    async def _allows(self, url: str) -> bool:
        try:
            parts = urlsplit(url)
            host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
            port = "" if parts.port is None else f":{parts.port}"
        except ValueError:
            return False
        if parts.scheme in _INNER:
            return True
        if parts.scheme not in {"http", "https"} or not host:
            return False
        origin = f"{parts.scheme}://{host}{port}/"
        now = time.monotonic()
        asked_at, task = self._known.get(origin, (-_FRESH, None))
        if task is None or now - asked_at >= _FRESH:
            task = asyncio.ensure_future(self._permitted(origin))
            self._known = {key: each for key, each in self._known.items() if now - each[0] < _FRESH}
            self._known[origin] = now, task
        return await asyncio.shield(task)

    # -- files -------------------------------------------------------------------------------------------------------

    @property
    def receives(self) -> bool:
        """True while the body of a file arrives."""
        return self._arriving > 0

    @contextmanager
    def receiving(self, most: int) -> Iterator[None]:
        """Store the bodies of documents while the context is open, each with at most `most` bytes."""
        self._most = most
        try:
            yield
        finally:
            self._most = None
            self._bodies.clear()

    async def _pass_on(self, event: Mapping[str, Any], request: dict[str, Any]) -> None:
        """Pass a response to its page. If a call waits for a file, first read the body: the browser cannot send the files
        that it saves."""
        status, headers = event.get("responseStatusCode", 0), event.get("responseHeaders", [])
        if self._most is None or not 200 <= status < 300:  # noqa: PLR2004 (the statuses of success)
            await self._control.send("Fetch.continueResponse", request)
            return
        self._arriving += 1
        try:
            body = self._bodies[event["request"]["url"]] = await self._body(request, self._most)
        finally:
            self._arriving -= 1
        whole = b"" if body is None or _is_attachment(headers) else body
        kept = [each for each in headers if each["name"].lower() not in _OF_TRANSFER]
        await self._control.send(
            "Fetch.fulfillRequest",
            {
                **request,
                "responseCode": status,
                "responseHeaders": kept,
                "body": base64.b64encode(whole).decode(),
            },
        )

    async def _body(self, request: dict[str, Any], most: int) -> bytes | None:
        stream = (await self._control.send("Fetch.takeResponseBodyAsStream", request))["stream"]
        body = bytearray()
        while len(body) <= most:
            piece = await self._control.send("IO.read", {"handle": stream, "size": _PIECE})
            text = piece.get("data", "")
            body += base64.b64decode(text) if piece.get("base64Encoded") else text.encode()
            if piece.get("eof"):
                break
        await self._control.send("IO.close", {"handle": stream})
        return bytes(body) if len(body) <= most else None

    async def file(self, page: Page, download: Download, most: int, seconds: float) -> bytes | str:
        """Return the bytes of a file, or the reason if it is too large or takes too long."""
        too_large = f"The file is larger than {most:,} bytes, so it was not saved."
        if download.url in self._bodies:
            body = self._bodies[download.url]
            return too_large if body is None else body
        try:
            async with asyncio.timeout(seconds):
                found = await page.evaluate(_READ, [download.url, most])
            if not found["ok"]:
                return "The download failed: the server answered with an error."
            return base64.b64decode(found["data"].partition(",")[2]) if "data" in found else too_large
        except TimeoutError:
            return f"The file did not arrive within {seconds:g} seconds."
        except (Error, KeyError, TypeError, AttributeError, ValueError):
            return "The download failed: the connection broke, or the address is not allowed."

    # -- the profile ---------------------------------------------------------------------------------------------------

    async def save(self) -> None:
        """Save the cookies and the local storage."""
        async with self._saving:
            with suppress(Error):
                state = json.dumps(await self.context.storage_state())
                await asyncio.to_thread(_write, state)

    async def close(self) -> None:
        await self.save()
        with suppress(Error):
            await self.context.close()
            await self._connected.close()


async def _context(connected: Connected, viewport: Any) -> BrowserContext:
    """Return a context with the saved state. If the local storage cannot be restored, for example because one of its
    hosts is not reachable, leave it out."""
    for state in _states():
        with suppress(Error):
            return await connected.new_context(
                storage_state=state,
                proxy=_NO_SOCKETS,  # type: ignore[arg-type]
                service_workers="block",
                accept_downloads=False,
                viewport=viewport,
            )
    raise Error("The browser creates no context.")


def _states() -> Iterator[Any]:
    with suppress(OSError, ValueError, TypeError):
        saved = json.loads(_STATE.read_text(encoding="utf-8"))
        yield saved
        yield {"cookies": saved["cookies"], "origins": []}
    yield None


def _write(state: str) -> None:
    new = _STATE.with_suffix(".new")
    new.write_text(state, encoding="utf-8")
    new.replace(_STATE)


def _is_attachment(headers: list[dict[str, str]]) -> bool:
    return any(
        each["name"].lower() == "content-disposition" and each["value"].strip().lower().startswith("attachment")
        for each in headers
    )


def _address(port: int, endpoint: Mapping[str, Any]) -> tuple[str, dict[str, str]]:
    """Return the path of the web socket and the headers. If the endpoint has an HTTP address, request the path from it.
    Raise `OSError`, `HTTPException` or `ValueError`."""
    path, query, headers = endpoint["path"], endpoint["query"], endpoint["headers"]
    tail = f"?{query}" if query else ""
    if not endpoint["discover"]:
        return f"{path or '/'}{tail}", headers
    failed = ""
    # Chromium answers only requests to `localhost` or an IP address. A proxy in front of it answers only requests to
    # the name of the proxy.
    for host in (headers["Host"], "localhost"):
        tried = {**headers, "Host": host}
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_CONNECTING)
        try:
            connection.request("GET", f"{path.rstrip('/')}/json/version{tail}", headers=tried)
            answer = connection.getresponse()
            if answer.status != http.HTTPStatus.OK:
                failed = f"status {answer.status}"
                continue
            found = urlsplit(json.loads(answer.read(_PIECE))["webSocketDebuggerUrl"])
        except (KeyError, TypeError) as error:
            raise ValueError("no web socket") from error
        finally:
            connection.close()
        return f"{found.path}?{found.query}" if found.query else f"{found.path}{tail}", tried
    raise ValueError(failed)


def _reason(text: str) -> str:
    """Return the reason of a failed connection, without the addresses in the text, which may contain keys."""
    status = _STATUS.search(text)
    if status is not None:
        return f"it answered with the status {status[1]}"
    return "it does not answer in the Chrome DevTools Protocol"
