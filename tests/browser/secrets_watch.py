"""A check that a secret typed into a page can be read nowhere again."""

from __future__ import annotations

import asyncio

from playwright.async_api import Error, Page, Response


class SecretsWatch:
    """A watch over a page that reads all API responses."""

    def __init__(self, page: Page, *secrets: str) -> None:
        self._page = page
        self._secrets = secrets
        self._reading: list[asyncio.Task[None]] = []
        self._found: list[str] = []
        page.on("response", self._came)

    async def check(self) -> None:
        """Fail if an API response, the document or the browser's storage contains a secret."""
        await asyncio.gather(*self._reading)
        kept = await self._page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        places = {"the document": await self._page.content(), "the storage": kept}
        found = [
            f"{place} holds {secret}" for place, text in places.items() for secret in self._secrets if secret in text
        ]
        assert not found + self._found

    def _came(self, response: Response) -> None:
        if "/api/" in response.url:
            self._reading.append(asyncio.create_task(self._read(response)))

    async def _read(self, response: Response) -> None:
        try:
            text = await response.text()
        except Error:
            return  # the page navigated before the response was read
        self._found += [f"{response.url} answers {secret}" for secret in self._secrets if secret in text]
