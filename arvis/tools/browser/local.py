"""Start Chromium in the sandbox. `inside.py` loads this text, or the text of `remote.py`, and uses the class `Browser`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext, Download, Error, Page, Playwright

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
#: The interval in seconds of the checks of a file's size.
_LOOK = 0.05


class Browser:
    """A browser of this machine, with the profile of the agent."""

    #: Always False, because Chromium itself saves a download. If no download begins soon after a click, no download
    #: will begin.
    receives = False

    def __init__(self, context: BrowserContext) -> None:
        self.context = context

    @classmethod
    async def start(
        cls,
        playwright: Playwright,
        given: dict[str, Any],
        *,
        port: int,
        endpoint: None,  # noqa: ARG003 (only remote browsers have one)
        permitted: Callable[[str], Awaitable[bool]],  # noqa: ARG003 (the proxy checks the requests)
        viewport: Any,
    ) -> Browser | str:
        """Start Chromium, whose proxy listens on `port`."""
        await asyncio.to_thread(_prepare)
        context = await playwright.chromium.launch_persistent_context(
            _PROFILE,
            executable_path=given["executable"],
            args=list(_OPTIONS),
            proxy={"server": f"socks5://127.0.0.1:{port}"},
            # The daemon's sandbox contains all processes; Chromium's own does not work inside it.
            chromium_sandbox=False,
            downloads_path=_DOWNLOADS,
            accept_downloads=True,
            permissions=[],
            viewport=viewport,
        )
        return cls(context)

    def on_end(self, end: Callable[[], object]) -> None:
        """Call `end` when the browser ends."""

        def ended(_: BrowserContext) -> None:
            end()

        self.context.on("close", ended)

    @contextmanager
    def receiving(self, most: int) -> Iterator[None]:  # noqa: ARG002 (only remote browsers need it)
        yield

    async def file(self, page: Page, download: Download, most: int, seconds: float) -> bytes | str:  # noqa: ARG002
        """Return the bytes of a file, or the reason if it is too large or takes too long."""
        arriving = asyncio.ensure_future(download.path())
        try:
            async with asyncio.timeout(seconds):
                while True:
                    await asyncio.wait([arriving], timeout=_LOOK)
                    if _size(_DOWNLOADS) > most:
                        return f"The file is larger than {most:,} bytes, so it was not saved."
                    if arriving.done():
                        break
            return await asyncio.to_thread(Path(await arriving).read_bytes)
        except TimeoutError:
            return f"The file did not arrive within {seconds:g} seconds."
        except Error:
            return "The download failed: the connection broke, or the address is not allowed."
        finally:
            if not arriving.done():
                await download.cancel()
                await asyncio.gather(arriving, return_exceptions=True)
            with suppress(Error):
                await download.delete()

    async def save(self) -> None:
        """Do nothing: Chromium saves the profile."""

    async def close(self) -> None:
        await self.context.close()


def _prepare() -> None:
    _DOWNLOADS.mkdir()
    for lock in _PROFILE.glob("Singleton*"):
        lock.unlink()


def _size(folder: Path) -> int:
    size = 0
    for file in folder.iterdir():
        with suppress(OSError):
            size += file.stat().st_size
    return size
