"""Store the end and the result of an occurrence. After each failure in a row the schedule pauses for a longer time, and
after several failures the owner of the installation gets an alert. Parts of transaction scripts."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.executions import Execution
from arvis.domain.schedules import Occurrence, OccurrenceStatus, Schedule
from arvis.domain.text import storable
from arvis.messaging.owner_alerts import Hint, alert_owner
from arvis.ports.store import Transaction
from arvis.tasks.state import WorkStatus

#: The numbers of failures in a row after which the owner gets an alert: at `TOLD_AFTER`, and at each multiple of
#: `TOLD_EVERY`.
TOLD_AFTER, TOLD_EVERY = 3, 25
MINUTE_MS = 60_000
#: The longest pause in ms, after pauses of 2, 4, 8 … minutes.
LONGEST_REST_MS = 6 * 3_600_000
#: The maximum characters of a stored result.
LONGEST_REPORT = 500

_STATUSES = {
    **{status.value: status for status in OccurrenceStatus},
    WorkStatus.CONTINUE.value: OccurrenceStatus.DONE,
    WorkStatus.OPEN.value: OccurrenceStatus.DONE,
    WorkStatus.EXHAUSTED.value: OccurrenceStatus.FAILED,
}
_WELL = frozenset({OccurrenceStatus.DONE, OccurrenceStatus.SILENT, OccurrenceStatus.IDLE})


def run_ended(tx: Transaction, execution: Execution, status: str, report: str, now: int) -> None:
    """Store the end of an execution that a schedule started; do nothing for another execution. `status`: a value of
    `WorkStatus` or `OccurrenceStatus`."""
    occurrence = tx.occurrences.of_execution(execution.id)
    if occurrence is not None:
        end(tx, occurrence, _STATUSES.get(status, OccurrenceStatus.DONE), report, now)


def end(tx: Transaction, occurrence: Occurrence, status: OccurrenceStatus, report: str, now: int) -> None:
    """Store the end of an occurrence, only once. An ended occurrence changes only if it failed and succeeds after a
    retry by hand."""
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
    elif status is OccurrenceStatus.FAILED:
        _failed(tx, schedule, short, now)


def rest_of(schedule: Schedule, now: int) -> int | None:
    """Return the end of the schedule's pause in ms, or None if there is no pause. A pause that would last longer than
    `LONGEST_REST_MS` is ignored, because the clock was set back after it began."""
    until = schedule.cooldown_until
    return until if until is not None and now < until <= now + LONGEST_REST_MS else None


def _failed(tx: Transaction, schedule: Schedule, report: str, now: int) -> None:
    """Count a failure and set a pause. A schedule without a next time needs no pause."""
    failures = schedule.failures + 1
    rest = min(2 ** min(failures, 20) * MINUTE_MS, LONGEST_REST_MS)
    tx.schedules.rate(schedule.id, failures, now + rest if schedule.next_run is not None else None)
    if failures == TOLD_AFTER or failures % TOLD_EVERY == 0:
        text = (
            f"The {schedule.kind} “{schedule.name}” has failed {failures} times in a row: "
            f"{report or 'it reported no reason'}\n"
            "Arvis runs it again, with longer pauses."
        )
        hint = Hint(f" `arvis schedules show {schedule.id}` shows more.", " The page Schedules shows more.")
        alert_owner(tx, f"schedule:{schedule.id}", text, now, every=0, hint=hint)
