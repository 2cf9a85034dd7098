"""Reports the results of a start: a repaired database, a restored backup, and migrations. Part of a transaction script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from arvis.domain.dataclass import dataclass
from arvis.domain.notifications import DAY_MS, Hint, Problem, Severity
from arvis.messaging.owner_alerts import alert_owner
from arvis.ports.backups import RESTORED_AT
from arvis.ports.store import Transaction

_FIRST_MIGRATION = "0001_initial"
_KEPT_MS = 7 * DAY_MS
_DOCTOR = Hint(
    "\n`arvis doctor` examines the installation.", "\nThe page Doctor examines the installation.", "/settings/doctor"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartReport:
    """The results of a start. `level` and `what` describe the repair of the database; `report` is the path of a file
    with details. `what` is empty if nothing was repaired."""

    level: Literal["info", "warning", "error"] = "info"
    what: str = ""
    report: str | None = None
    #: The names of the migrations that were applied.
    migrations: Sequence[str] = ()


def report_start(tx: Transaction, start: StartReport, now: int) -> None:
    """Store notifications about the results of a start."""
    if start.what and start.level != "info":
        details = f" Details: {start.report}" if start.report else ""
        severity = Severity.ERROR if start.level == "error" else Severity.WARNING
        text = f"At its start, Arvis found a problem: {start.what}.{details}"
        alert_owner(
            tx, Problem(cause="database", text=text, severity=severity, hint=_DOCTOR, interval=0, lasts=_KEPT_MS), now
        )
    if start.migrations and not start.migrations[0].startswith(_FIRST_MIGRATION):
        text = f"Arvis was updated and has changed its database: {', '.join(start.migrations)}."
        _report(tx, "updated", text, now)
    _report_restore(tx, now)


def _report_restore(tx: Transaction, now: int) -> None:
    restored_at = tx.kv.get(RESTORED_AT) or ""
    cause = f"restored:{restored_at}"
    is_recent = restored_at.isdecimal() and now - int(restored_at) < _KEPT_MS
    if is_recent and tx.notifications.newest(cause) is None:
        text = (
            "A backup was restored. Messages and work that are newer than the backup are missing, and work that may "
            "already have been done was not repeated."
        )
        _report(tx, cause, text, now, Hint(link="/queue?status=failed"))


def _report(tx: Transaction, cause: str, text: str, now: int, hint: Hint = _DOCTOR) -> None:
    alert_owner(tx, Problem(cause=cause, text=text, severity=Severity.INFO, hint=hint, lasts=_KEPT_MS), now)
