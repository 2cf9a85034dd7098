"""Notifications over HTTP: problems and results that owners should know."""

from __future__ import annotations

from typing import Annotated, Self

from starlette.responses import Response

from arvis.domain.errors import Conflict, NotFound
from arvis.domain.notifications import Notification, NotificationState, Remedy, Severity
from arvis.messaging import owner_alerts
from arvis.ports.clock import Clock
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.identity import OPERATE, READ
from arvis.web.http.models import About, Page, Time, View
from arvis.web.http.schema import one_of


class NotificationView(View):
    id: str
    cause: Annotated[str, About("The key of the cause. A cause has at most one open notification.")]
    severity: Severity
    state: NotificationState
    text: str
    hint: Annotated[str, About("The source of further information; may be empty.")]
    link: Annotated[str | None, About("The page of the dashboard that the notification is about.")]
    remedy: Annotated[Remedy | None, About("An action against the cause, on `subject`.")]
    subject: Annotated[str | None, About("The id of a job or another object, or the platform and name of a bot.")]
    count: Annotated[int, About("The number of times that the cause was reported.")]
    first_at: Time
    last_at: Time
    ended_at: Time | None
    ended_by: Annotated[str | None, About("The person who dismissed it.")]

    @classmethod
    def of(cls, found: Notification) -> Self:
        problem = found.problem
        return cls(
            id=found.id,
            cause=problem.cause,
            severity=problem.severity,
            state=found.state,
            text=problem.text,
            hint=problem.hint.page.strip(),
            link=problem.hint.link or None,
            remedy=problem.remedy,
            subject=problem.subject or None,
            count=found.count,
            first_at=found.first_at,
            last_at=found.last_at,
            ended_at=found.ended_at,
            ended_by=found.ended_by,
        )


_ALL = "/api/notifications"


class NotificationRoutes(Routes):
    def __init__(self, *, insights: Insights, store: Store, clock: Clock) -> None:
        self._insights = insights
        self._store = store
        self._clock = clock

    @route(
        "GET",
        _ALL,
        "List notifications for owners, newest first",
        READ,
        {200: Page[NotificationView]},
        query={**PAGING, "state": one_of(NotificationState)},
    )
    async def _list(self, call: Call) -> Response:
        state = call.choice("state", NotificationState)
        page = await self._insights.notifications(
            state=None if state is None else NotificationState(state), limit=call.limit, cursor=call.query("cursor")
        )
        return answer_page([NotificationView.of(each) for each in page.items], page.next_cursor)

    @route(
        "POST",
        f"{_ALL}/{{notification}}/dismiss",
        "Dismiss an open notification; while its cause persists, it stays dismissed",
        OPERATE,
        {200: NotificationView},
    )
    async def _dismiss(self, call: Call) -> Response:
        dismissed = await self._store.write(_dismiss, call.id("notification"), call.identity.name, self._clock.now())
        return answer(NotificationView.of(dismissed))


def _dismiss(tx: Transaction, notification_id: str, by: str, now: int) -> Notification:
    found = tx.notifications.get(notification_id)
    if found is None:
        raise NotFound("There is no such notification.", fix="GET /api/notifications lists the notifications.")
    if found.state is not NotificationState.OPEN:
        raise Conflict("This notification has ended.", why=f"It is {found.state}.", code="ended")
    return owner_alerts.dismiss(tx, found, by, now)
