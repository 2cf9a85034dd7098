"""How times of schedules end: what came of them is kept, what fails again and again is left alone for longer and longer,
and its owner hears of it (behaviour.md 1.12). Scripts' parts.
"""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.executions import Execution
from arvis.domain.schedules import Occurrence, OccurrenceStatus, Schedule
from arvis.domain.text import storable
from arvis.messaging.owner_alerts import Hint, tell_owner
from arvis.ports.store import Transaction
from arvis.tasks.outcome import WorkStatus

#: After so many failures in a row the owner is told, and then every so many.
TOLD_AFTER, TOLD_EVERY = 3, 25
MINUTE_MS = 60_000
#: It is left alone for 2, 4, 8 … minutes, and for so long (ms) at most.
LONGEST_REST_MS = 6 * 3_600_000
#: Of what came of it, in characters.
LONGEST_REPORT = 500

_STATUSES = {
    **{status.value: status for status in OccurrenceStatus},
    WorkStatus.CONTINUE.value: OccurrenceStatus.DONE,
    WorkStatus.OPEN.value: OccurrenceStatus.DONE,
    WorkStatus.EXHAUSTED.value: OccurrenceStatus.FAILED,
}
_WELL = frozenset({OccurrenceStatus.DONE, OccurrenceStatus.SILENT, OccurrenceStatus.IDLE})


def run_ended(tx: Transaction, execution: Execution, status: str, report: str, now: int) -> None:
    """A run has ended: `status` is that of its work, or `silent`, `idle`, `failed`, `cancelled`. Nothing happens where no
    schedule began it."""
    occurrence = tx.occurrences.of_execution(execution.id)
    if occurrence is not None:
        end(tx, occurrence, _STATUSES.get(status, OccurrenceStatus.DONE), report, now)


def end(tx: Transaction, occurrence: Occurrence, status: OccurrenceStatus, report: str, now: int) -> None:
    """Once: what has ended stays as it is, but a failure that was tried again by hand and went well."""
    known = tx.occurrences.get(occurrence.id)
    if known is None or (known.ended_at is not None and not _is_mended(known, status)):
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


def _is_mended(known: Occurrence, status: OccurrenceStatus) -> bool:
    return known.status is OccurrenceStatus.FAILED and status in _WELL


def rest_of(schedule: Schedule, now: int) -> int | None:
    """Until when it is left alone; None when it is not. A rest that reaches further than any was begun before the clock
    was put back."""
    until = schedule.cooldown_until
    return until if until is not None and now < until <= now + LONGEST_REST_MS else None


def _failed(tx: Transaction, schedule: Schedule, report: str, now: int) -> None:
    """Once more. One that comes no more by itself needs no rest."""
    failures = schedule.failures + 1
    rest = min(2 ** min(failures, 20) * MINUTE_MS, LONGEST_REST_MS)
    tx.schedules.rate(schedule.id, failures, now + rest if schedule.next_run is not None else None)
    if failures == TOLD_AFTER or failures % TOLD_EVERY == 0:
        text = (
            f"The {schedule.kind} “{schedule.name}” has failed {failures} times in a row: {report or 'it said nothing'}\n"
            "It continues by itself, less often."
        )
        hint = Hint(f" `arvis schedules show {schedule.id}` shows more.", " The page Schedules shows more.")
        tell_owner(tx, f"schedule:{schedule.id}", text, now, every=0, hint=hint)
