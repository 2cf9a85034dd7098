"""Insights without receipts and notifications, for tests that need none."""

from __future__ import annotations

from arvis.domain.notifications import Notification, NotificationState
from arvis.ports.pages import Page
from arvis.ports.receipts import Receipts


class NoReceipts:
    async def receipts(self, of: str) -> Receipts | None:
        return None


class NoNotifications:
    async def notifications(
        self, *, state: NotificationState | None, limit: int, cursor: str | None
    ) -> Page[Notification]:
        return Page([], None)
