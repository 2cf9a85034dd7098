"""Store the end and the result of an occurrence. Each further failure in a row makes the schedule's pause longer, and
after several failures the owner of the installation gets an alert. Parts of transaction scripts."""

from __future__ import annotations

from arvis.domain.dataclass import replace
from arvis.domain.executions import Execution
from arvis.domain.notifications import Hint, Problem
from arvis.domain.schedules import Occurrence, OccurrenceStatus, Schedule
from arvis.domain.text import storable
from arvis.messaging.owner_alerts import alert_owner, resolve
from arvis.ports.store import Transaction
from arvis.tasks.state import WorkStatus

#: The owner gets an alert when a schedule has failed `ALERT_AFTER` times in a row, and at each multiple of
#: `ALERT_EVERY`.
ALERT_AFTER, ALERT_EVERY = 3, 25
MINUTE_MS = 60_000
#: The longest pause (ms) of a schedule. The pauses after failures are 2, 4, 8 … minutes, up to this limit.
LONGEST_REST_MS = 6 * 3_600_000
#: The maximum length of a stored result, in characters.
LONGEST_REPORT = 500

_STATUSES = {
    **{status.value: status for status in OccurrenceStatus},
    WorkStatus.CONTINUE.value: OccurrenceStatus.DONE,
    WorkStatus.OPEN.value: OccurrenceStatus.DONE,
    WorkStatus.EXHAUSTED.value: OccurrenceStatus.FAILED,
}
_WELL = frozenset({OccurrenceStatus.DONE, OccurrenceStatus.SILENT, OccurrenceStatus.IDLE})


def run_ended(tx: Transaction, execution: Execution, status: str, report: str, now: int) -> None:
    """Store the end of the occurrence to which this execution belongs, if a schedule started the execution. `status` is
    a value of `WorkStatus` or `OccurrenceStatus`."""
    occurrence = tx.occurrences.of_execution(execution.id)
    if occurrence is not None:
        end(tx, occurrence, _STATUSES.get(status, OccurrenceStatus.DONE), report, now)


def end(tx: Transaction, occurrence: Occurrence, status: OccurrenceStatus, report: str, now: int) -> None:
    """Store the end of an occurrence. If the end is already stored, change it only if the occurrence had failed and a
    person's retry was successful."""
    known = tx.occurrences.get(occurrence.id)
    if known is None or (
        known.ended_at is not None and not (known.status is OccurrenceStatus.FAILED and status in _WELL)
    ):
        return
    short = storable(report.strip())[:LONGEST_REPORT]
    tx.occurrences.save(replace(known, status=status, report=short, ended_at=now))
    schedule = tx.schedules.get(known.schedule_id)
    if schedule is None:
        return
    if status in _WELL and schedule.failures:
        tx.schedules.rate(schedule.id, 0, None)
        resolve(tx, _cause_of(schedule.id), now)
    elif status is OccurrenceStatus.FAILED:
        _failed(tx, schedule, short, now)


def rest_of(schedule: Schedule, now: int) -> int | None:
    """Return the time (ms) at which the schedule's pause ends, or None if there is no pause. A pause that would last
    longer than `LONGEST_REST_MS` from now is ignored, because such a pause means that the clock was set back after the
    pause began."""
    until = schedule.cooldown_until
    return until if until is not None and now < until <= now + LONGEST_REST_MS else None


def _failed(tx: Transaction, schedule: Schedule, report: str, now: int) -> None:
    """Count a failure and set a pause. A schedule that will not run again needs no pause."""
    failures = schedule.failures + 1
    rest = min(2 ** min(failures, 20) * MINUTE_MS, LONGEST_REST_MS)
    tx.schedules.rate(schedule.id, failures, now + rest if schedule.next_run is not None else None)
    if failures == ALERT_AFTER or failures % ALERT_EVERY == 0:
        text = (
            f"The {schedule.kind} “{schedule.name}” has failed {failures} times in a row: "
            f"{report or 'it reported no reason'}\n"
            "Arvis runs it again, with longer pauses."
        )
        hint = Hint(
            f" `arvis schedules show {schedule.id}` shows more.",
            " The page Schedules shows more.",
            f"/schedules/{schedule.id}",
        )
        problem = Problem(cause=_cause_of(schedule.id), text=text, hint=hint, subject=schedule.id, interval=0)
        alert_owner(tx, problem, now)


def _cause_of(schedule_id: str) -> str:
    return f"schedule:{schedule_id}"
