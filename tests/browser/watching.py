"""A watch for page errors during a test."""

from __future__ import annotations

from playwright.async_api import ConsoleMessage, Page, Request

from tests.conftest import CSP_LISTENER

#: Messages that Chromium itself logs about responses and missing resources; no page can prevent them.
KNOWN = ("WebSocket connection to", "Failed to load resource:")


class Watch:
    """Errors of scripts and console, violations of the content policy, and requests to other sites."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.complaints: list[str] = []

    async def over(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.complaints.append(f"script error: {error}"))
        page.on("request", self._asked)
        await page.add_init_script(CSP_LISTENER)

    def check(self) -> None:
        assert not self.complaints, "\n".join(self.complaints)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(KNOWN):
            self.complaints.append(f"{message.text} ({message.location['url']})")

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((self._address, "blob:", "data:", "about:")):
            self.complaints.append(f"a request to {request.url}")
