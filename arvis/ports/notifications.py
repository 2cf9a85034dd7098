"""The repository of notifications, and their list for the dashboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arvis.domain.notifications import Notification, NotificationState
from arvis.ports.pages import Page


class Notifications(Protocol):
    def get(self, notification_id: str) -> Notification | None: ...

    def newest(self, cause: str) -> Notification | None:
        """Return the newest notification of this cause, in any state."""
        ...

    def lasting(self, limit: int) -> Sequence[Notification]:
        """Return the notifications whose cause may persist, oldest first: all open notifications, and dismissed
        notifications that do not expire."""
        ...

    def unmailed_ends(self, limit: int) -> Sequence[Notification]:
        """Return the ended notifications whose end must be reported by e-mail, oldest first."""
        ...

    def add(self, notification: Notification) -> None: ...

    def save(self, notification: Notification) -> None:
        """Store a changed notification."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` notifications that ended before this time; return their number."""
        ...


class NotificationInsights(Protocol):
    async def notifications(
        self, *, state: NotificationState | None, limit: int, cursor: str | None
    ) -> Page[Notification]:
        """Return notifications, newest first."""
        ...
