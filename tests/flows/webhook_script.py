"""Insights without webhooks, for tests that need none."""

from __future__ import annotations

from arvis.domain.webhooks import Webhook
from arvis.ports.pages import Page


class NoWebhooks:
    async def webhooks(self, *, agent: str | None, limit: int, cursor: str | None) -> Page[Webhook]:
        return Page((), None)
