"""The process of one agent's browser: a Python program with Playwright (`inside.py`), in the sandbox, with Chromium or with a
connection to a remote browser.

The program and this process exchange lines of JSON over pipes. A page may have taken control of Chromium, so answers are
untrusted: their size is limited, and their parts are checked.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import structlog

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ToolError
from arvis.domain.text import strict_json
from arvis.ports.http import Dialer
from arvis.ports.sandbox import Task
from arvis.process.sandbox import Bubblewrap
from arvis.process.subprocesses import Lifeline
from arvis.tools.browser.endpoint import Endpoint
from arvis.tools.browser.proxy import Proxy, Relay, Tunnel
from arvis.tools.code import daemons_interpreter

log = structlog.get_logger(__name__)

#: The seconds in which a browser must start, and in which it must end before it is killed.
_STARTING, _ENDING = 45.0, 5.0
#: The maximum length of an answer's line in bytes, and of a picture.
_MOST_LINE = 8_388_608
_MOST_PICTURE = 33_554_432
#: The maximum number of requests that are checked at a time. Further requests get no answer.
_MOST_CHECKS = 1_000
#: The number of bytes of standard error that are stored for the error message if the browser does not start.
_LAST_WORDS = 2_000
_LONGEST_HOST = 255
_SCRATCH = 536_870_912
#: The folders outside of the system's programs that a browser needs: fonts, and the settings and policies of Debian's
#: Chromium.
_SETTINGS = ("/etc/fonts", "/etc/chromium", "/etc/chromium.d")


class BrowserEnded(ToolError):
    """The error of a call whose browser has ended. All pages of the browser are then closed."""


class Declined(ToolError):
    """The error of an operation that the browser could not carry out. `gone` is True if the page or the element does
    not exist any more. `network` is the network error of Chromium, and `host` the last host from which the page was
    requested."""

    def __init__(self, what: str, *, gone: bool, network: str, host: str) -> None:
        super().__init__(what)
        self.gone = gone
        self.network = network
        self.host = host


@dataclass(frozen=True, slots=True)
class Launch:
    """The settings of a browser. `browser` is the path of Chromium or the endpoint of a remote browser, `folder` the profile
    folder of the agent, and `navigation` the longest wait for a page in seconds."""

    browser: Path | Endpoint
    folder: Path
    pages: int
    memory: int
    download_bytes: int
    navigation: float


class BrowserProcess:
    """A running browser. `relay` connects the browser to the network. `most_data` is the maximum number of bytes of a
    file that the browser sends."""

    def __init__(
        self, *, process: asyncio.subprocess.Process, lifeline: Lifeline, relay: Relay, most_data: int
    ) -> None:
        self._process = process
        self._most_data = most_data
        self._lifeline = lifeline
        self._number = 0
        self._waiting: dict[int, asyncio.Future[tuple[Mapping[str, Any], bytes]]] = {}
        self._last_words = b""
        self.relay = relay
        self._checks: set[asyncio.Task[None]] = set()
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._listen())]
        self._ready = self._expect(0)

    @property
    def ended(self) -> bool:
        return self._tasks[0].done()

    async def ask(self, operation: str, *, timeout: float, **arguments: Any) -> tuple[Mapping[str, Any], bytes]:
        """Request an operation, and return the value and the data of the answer. Raise `Declined`, `BrowserEnded`, or
        `ToolError` if there is no answer within `timeout` seconds."""
        self._number += 1
        number = self._number
        answer = self._expect(number)
        line = json.dumps({"id": number, "do": operation, **arguments}).encode() + b"\n"
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - it was started with pipes
        try:
            stdin.write(line)
            async with asyncio.timeout(timeout):
                await stdin.drain()
                return await answer
        except ConnectionError:
            raise _ended() from None
        except TimeoutError:
            raise ToolError(
                f"The browser gave no answer within {timeout:g} seconds. Open the page again with browser_open."
            ) from None
        finally:
            self._waiting.pop(number, None)

    async def started(self) -> None:
        """Wait until the browser runs. Raise `ToolError` if it does not start."""
        try:
            async with asyncio.timeout(_STARTING):
                await self._ready
        except (TimeoutError, BrowserEnded):
            words = " ".join(self._last_words.decode("utf-8", "replace").split())[-300:]
            log.warning("browser_not_started", words=words)
            raise ToolError(self.relay.not_started(words=words)) from None
        except Declined as declined:
            raise ToolError(self.relay.not_started(reason=declined.what)) from None

    async def close(self) -> None:
        """End the browser. Close its input first, so that it saves the profile. Kill it if it does not end in time."""
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
            with suppress(TimeoutError):
                async with asyncio.timeout(_ENDING):
                    await asyncio.shield(self._tasks[0])
        finally:
            self._lifeline.close()
            self.relay.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENDING):
                await self._process.wait()
        ending = (*self._tasks, *self._checks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def _expect(self, number: int) -> asyncio.Future[tuple[Mapping[str, Any], bytes]]:
        answer = asyncio.get_running_loop().create_future()
        # An answer for which no call waits any more must not be reported as an error.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._waiting[number] = answer
        if self.ended:
            answer.set_exception(_ended())
        return answer

    async def _read(self) -> None:
        """Pass each answer to the call that waits for it, until the browser ends or sends an invalid answer."""
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 (as above)
        try:
            while line := await stdout.readline():
                answer = strict_json(line)
                size = answer["size"]
                if not 0 <= size <= self._most_data:
                    break
                self._settle(answer, await stdout.readexactly(size))
        except (ValueError, KeyError, TypeError, RecursionError, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self._lifeline.close()
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(_ended())

    def _settle(self, answer: Mapping[str, Any], data: bytes) -> None:
        if "check" in answer:
            if len(self._checks) < _MOST_CHECKS:
                check = asyncio.create_task(self._check(int(answer["id"]), str(answer["check"])))
                self._checks.add(check)
                check.add_done_callback(self._checks.discard)
            return
        waiting = self._waiting.get(answer["id"])
        if waiting is None or waiting.done():
            return
        if isinstance(value := answer.get("value"), Mapping):
            waiting.set_result((value, data))
        else:
            what, network = str(answer.get("error"))[:1_000], str(answer.get("code", ""))[:60]
            host = str(answer.get("host", ""))[:_LONGEST_HOST]
            waiting.set_exception(Declined(what, gone=answer.get("gone") is True, network=network, host=host))

    async def _check(self, number: int, url: str) -> None:
        """Check a request of a remote browser, and send the result to the program."""
        permitted = await self.relay.permits(url)
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 (as above)
        stdin.write(json.dumps({"id": number, "permitted": permitted}).encode() + b"\n")

    async def _listen(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101 (as above)
        while piece := await stderr.read(8_192):
            self._last_words = (self._last_words + piece)[-_LAST_WORDS:]


def _ended() -> BrowserEnded:
    return BrowserEnded(
        "The browser ended unexpectedly, and its pages are closed. Open the page again with browser_open."
    )


async def start_browser(launch: Launch, *, sandbox: Bubblewrap, dialer: Dialer) -> BrowserProcess:
    """Start a browser in the sandbox. Raise `ToolError` if it does not start."""
    interpreter, site = daemons_interpreter(), _site()
    local = launch.browser if isinstance(launch.browser, Path) else None
    endpoint = None if isinstance(launch.browser, Path) else launch.browser
    relay = Proxy(dialer=dialer) if endpoint is None else Tunnel(endpoint=endpoint, dialer=dialer)
    lifeline = Lifeline()
    ours, theirs = socket.socketpair()
    given = {
        "executable": str(local),
        "channel": theirs.fileno(),
        "site": str(site),
        "pages": launch.pages,
        "download": launch.download_bytes,
        "navigation": launch.navigation,
        "hide": _file("hide.js"),
        "browser": _file("remote.py" if endpoint else "local.py"),
    }
    task = Task(
        [str(interpreter.program), "-I", "-B", "-X", "utf8", "-c", _file("inside.py"), json.dumps(given)],
        launch.folder,
        readable=[*interpreter.readable, site, *(_places(local) if local else ())],
        memory=launch.memory,
        scratch=max(_SCRATCH, 2 * launch.download_bytes),
    )
    try:
        with ours:
            with theirs:
                process = await sandbox.start(task, lifeline, inherited=[theirs.fileno()], line=_MOST_LINE)
            most_data = max(_MOST_PICTURE, launch.download_bytes)
            browser = BrowserProcess(process=process, lifeline=lifeline, relay=relay, most_data=most_data)
            try:
                if (listener := await _listener(ours)) is not None:
                    await relay.start(listener)
                    # The endpoint is sent over the channel, because arguments are visible to every user of the machine.
                    ours.sendall(json.dumps(endpoint and asdict(endpoint)).encode())
                await browser.started()
            except BaseException:
                await browser.close()
                raise
    except BaseException:
        lifeline.close()
        raise
    return browser


async def _listener(channel: socket.socket) -> socket.socket | None:
    """Receive the socket on which the browser's proxy listens; it belongs to the sandbox's network. Return None if the
    program ends before it sends the socket."""
    channel.setblocking(False)
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    loop.add_reader(channel, arrived.set)
    try:
        async with asyncio.timeout(_STARTING):
            await arrived.wait()
        _, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    except (TimeoutError, ConnectionError):
        return None
    finally:
        loop.remove_reader(channel)
    return socket.socket(fileno=descriptors[0]) if descriptors else None


def _site() -> Path:
    """Return the folder of the installed packages that contains Playwright."""
    found = find_spec("playwright")
    places = found.submodule_search_locations if found is not None else None
    if not places:
        raise ToolError("The package playwright is not installed.")
    return Path(places[0]).resolve().parent


def _places(executable: Path) -> Sequence[Path]:
    """Return the existing folders that Chromium needs in addition to the folders of the system."""
    own = executable.resolve().parent
    return [path for path in (*map(Path, _SETTINGS), own) if path.is_dir() and not path.is_relative_to("/usr")]


@cache
def _file(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
