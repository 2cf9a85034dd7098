"""Notifications over SQL. Each change is announced to the dashboard after its commit."""

from __future__ import annotations

import json
from typing import Any

from arvis.domain.changes import ChangeTopic
from arvis.domain.messages import Address
from arvis.domain.notifications import Hint, Notification, NotificationState, Problem, Remedy, Severity
from arvis.store.sql.session import Row, Session, dump


class SqlNotifications:
    """Implements the port `Notifications` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, notification_id: str) -> Notification | None:
        row = self._session.one("get_notification", id=notification_id)
        return notification_of(row) if row else None

    def newest(self, cause: str) -> Notification | None:
        row = self._session.one("newest_notification", cause=cause)
        return notification_of(row) if row else None

    def lasting(self, limit: int) -> list[Notification]:
        return [notification_of(row) for row in self._session.rows("lasting_notifications", limit=limit)]

    def unmailed_ends(self, limit: int) -> list[Notification]:
        return [notification_of(row) for row in self._session.rows("unmailed_ends", limit=limit)]

    def add(self, notification: Notification) -> None:
        self._session.execute(
            "add_notification",
            cause=notification.problem.cause,
            first_at=notification.first_at,
            **_columns_of(notification),
        )
        self._session.notices.topics.add(ChangeTopic.NOTIFICATIONS)

    def save(self, notification: Notification) -> None:
        self._session.execute("save_notification", **_columns_of(notification))
        self._session.notices.topics.add(ChangeTopic.NOTIFICATIONS)

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_notifications", before=before, limit=limit)


def notification_of(row: Row) -> Notification:
    problem = Problem(
        cause=row["cause"],
        text=row["text"],
        severity=Severity(row["severity"]),
        hint=Hint(row["command"], row["page"], row["link"]),
        remedy=Remedy(row["remedy"]) if row["remedy"] is not None else None,
        subject=row["subject"],
        interval=row["pause"],
        lasts=row["expires_at"] - row["last_at"] if row["expires_at"] is not None else None,
        avoid=Address.from_json(json.loads(row["avoid"])) if row["avoid"] is not None else None,
    )
    return Notification(
        id=row["id"],
        problem=problem,
        state=NotificationState(row["state"]),
        first_at=row["first_at"],
        last_at=row["last_at"],
        count=row["count"],
        sent_at=row["sent_at"],
        mailed_at=row["mailed_at"],
        end_unmailed=bool(row["end_unmailed"]),
        expires_at=row["expires_at"],
        ended_at=row["ended_at"],
        ended_by=row["ended_by"],
    )


def _columns_of(notification: Notification) -> dict[str, Any]:
    """Return the columns that may change, and the id."""
    problem = notification.problem
    return {
        "id": notification.id,
        "severity": problem.severity,
        "state": notification.state,
        "text": problem.text,
        "command": problem.hint.command,
        "page": problem.hint.page,
        "link": problem.hint.link,
        "remedy": problem.remedy,
        "subject": problem.subject,
        "pause": problem.interval,
        "avoid": dump(problem.avoid.to_json()) if problem.avoid is not None else None,
        "last_at": notification.last_at,
        "count": notification.count,
        "sent_at": notification.sent_at,
        "mailed_at": notification.mailed_at,
        "end_unmailed": int(notification.end_unmailed),
        "expires_at": notification.expires_at,
        "ended_at": notification.ended_at,
        "ended_by": notification.ended_by,
    }
