"""Notifications: problems and results that the owners of this installation should know."""

from __future__ import annotations

from enum import StrEnum

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class Severity(StrEnum):
    """The weight of a notification. An `info` reports a result and needs no action."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class NotificationState(StrEnum):
    OPEN = "open"
    #: The cause is gone, or the notification has expired.
    RESOLVED = "resolved"
    #: A person has dismissed the notification. It is not opened again while the cause persists.
    DISMISSED = "dismissed"


class Remedy(StrEnum):
    """An action that may remove the cause. The dashboard offers it as a button. It applies to the `subject` of the
    notification: the id of a job, or the platform and the name of a bot."""

    RETRY_JOB = "retry_job"
    RESTART_BOT = "restart_bot"
    MAKE_BACKUP = "make_backup"


@dataclass(frozen=True, slots=True)
class Hint:
    """A sentence that says where to find more: `page` for readers of the dashboard, `command` for all others. `link` is
    the address of the page in the dashboard, such as `/queue`."""

    command: str = ""
    page: str = ""
    link: str = ""


NO_HINT = Hint()


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The content of a notification. Times in ms."""

    #: The key of the cause, as in `compaction:CONVERSATION`. A cause has at most one open notification.
    cause: str
    text: str
    severity: Severity = Severity.ERROR
    hint: Hint = NO_HINT
    remedy: Remedy | None = None
    #: The id of the object that the notification is about; "" if there is none.
    subject: str = ""
    #: The minimum time (ms) between two messages about the same cause.
    interval: int = HOUR_MS
    #: The time (ms) after which the notification ends by itself. None for a state of the installation: the notification
    #: ends when Arvis notices the end of this state.
    lasts: int | None = None
    #: A bot or channel that must not be used for messages, because the notification reports its failure.
    avoid: Address | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A stored notification. Times in ms."""

    id: str
    problem: Problem
    state: NotificationState
    first_at: int
    last_at: int
    #: The number of times that the cause was reported since `first_at`.
    count: int
    #: The times of the newest message in a chat and of the newest e-mail about the cause; None before the first one.
    sent_at: int | None = None
    mailed_at: int | None = None
    #: True if an e-mail must still report the end.
    end_unmailed: bool = False
    expires_at: int | None = None
    ended_at: int | None = None
    #: The name of the person who dismissed the notification.
    ended_by: str | None = None

    def may_send(self, now: int) -> bool:
        """Return whether a chat message may report the notification now."""
        return self._is_due(self.sent_at, now)

    def may_mail(self, now: int) -> bool:
        """Return whether an e-mail may report the notification now."""
        return self._is_due(self.mailed_at, now)

    def _is_due(self, reported_at: int | None, now: int) -> bool:
        """Return True if no message was sent yet (`reported_at` is None), or if the cause occurred again after the last
        message and the interval has passed. A time in the future means that the clock was set back. Return False for a
        result (`info`), because results are only listed."""
        if self.problem.severity is Severity.INFO:
            return False
        if reported_at is None:
            return True
        return self.last_at > reported_at and not 0 <= now - reported_at < self.problem.interval
