"""The scripts of the scheduler: what is due is taken, once, and becomes work; what is left over is ended.

The rows decide. A time of a schedule is an instant, and an instant that has an occurrence was dealt with: whatever restarts,
jumps or runs twice, it comes no second time (docs/adr/0024).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog

from arvis.calendar import At, Every, ScheduleText, parse
from arvis.domain.errors import Conflict, Unprocessable
from arvis.domain.schedules import Cause, Occurrence, OccurrenceStatus, Schedule
from arvis.ports.backups import RESTORED_AT
from arvis.ports.store import Transaction
from arvis.process.leases import Holding
from arvis.scheduler import beginning, times
from arvis.scheduler.times import Plan
from arvis.services import schedule_runs
from arvis.services.schedules import Rules, find_schedule, zone_for

log = structlog.get_logger(__name__)

#: Schedules of one commit, so that the writer stays free for people.
SLICE = 50
#: More than there can be: so many agents with so many schedules each.
_ALL = 20_000
_LOST = "It was interrupted, and nobody went on with it."
_MISSED = "It was missed: nobody was there in time."
_RESTORED = (
    "It was due before the database was restored from a backup, and may have been done then. Run it by hand if not."
)


@dataclass(frozen=True, slots=True)
class Due:
    """Whether anything is to be done now, and when the next time comes (ms; None: never)."""

    now: bool
    soonest: int | None


def look(tx: Transaction, now: int) -> Due:
    """Reads alone: nearly always there is nothing to write."""
    waiting = tx.schedules.due(now, 1) or tx.occurrences.orphans(1)
    return Due(bool(waiting), tx.schedules.next_due(now))


def take(tx: Transaction, holding: Holding, rules: Rules, late: int, now: int) -> bool:
    """Deal with a slice of what is due, and end what nobody can end any more; whether there may be more."""
    holding.check(tx)
    orphans = tx.occurrences.orphans(SLICE)
    for orphan in orphans:
        schedule_runs.end(tx, orphan, OccurrenceStatus.CANCELLED, _LOST, now)
    due = tx.schedules.due(now, SLICE)
    over = _restored_at(tx) if due else 0
    for schedule in due:
        _take(tx, schedule, rules, late, now, over=over)
    return max(len(due), len(orphans)) == SLICE


def _restored_at(tx: Transaction) -> int:
    """Until when (ms) times may have been dealt with in a database that is gone."""
    return int(tx.kv.get(RESTORED_AT) or 0)


def set_back(tx: Transaction, holding: Holding, rules: Rules, now: int, *, back: int) -> int:
    """After a clock that was put back by `back` ms, or a start (0: it may have been): what would come later than it can from
    now on comes then; how many. An interval waits as long as it would have. A time that was dealt with before is met
    again, and left alone."""
    holding.check(tx)
    moved = 0
    for schedule in tx.schedules.to_come(now, _ALL):
        if (text := _text_of(schedule)) is None:
            continue
        first = times.natural(text, zone_for(tx, schedule, rules), now)
        if isinstance(text, Every) and back and first is not None and schedule.next_run is not None:
            first = max(now, min(first, schedule.next_run - back))
        if first is not None and schedule.next_run is not None and first < schedule.next_run:
            moved += tx.schedules.advance(schedule, last_run=schedule.last_run, next_run=first)
    return moved


def run_now(tx: Transaction, schedule_id: str, now: int, *, by: str | None = None) -> Occurrence:
    """Run it because somebody asked (`by`, a principal), switched off or not; its own times stay. It is still done for the
    person of the schedule, with no rights that `by` lacks. Raises `NotFound`, and `Conflict` while it
    runs already."""
    schedule = find_schedule(tx, schedule_id)
    if tx.occurrences.running(schedule.id):
        raise Conflict(
            "The schedule is running already.",
            fix="Wait for its end, or POST /api/executions/ID/cancel.",
            code="running",
        )
    due = now
    while (occurrence := beginning.begin(tx, schedule, due, Cause.MANUAL, now, by=by)) is None:
        due += 1
    if occurrence.status is OccurrenceStatus.RUNNING:
        tx.schedules.ran(schedule.id, now)
    return occurrence


# -- one schedule ------------------------------------------------------------------------------------------


def _take(tx: Transaction, schedule: Schedule, rules: Rules, late: int, now: int, *, over: int) -> None:
    text, zone = _text_of(schedule), zone_for(tx, schedule, rules)
    if text is None:
        # A row that cannot be read has no next time: it would be looked at again and again.
        tx.schedules.advance(schedule, last_run=schedule.last_run, next_run=None)
        return
    if (rest := schedule_runs.rest_of(schedule, now)) is not None and not isinstance(text, At):
        tx.schedules.advance(schedule, last_run=schedule.last_run, next_run=times.resumed(schedule, text, zone, rest))
        return
    plan = times.plan(schedule, text, zone, now, late, over=over)
    if not tx.schedules.advance(schedule, last_run=now if plan.cause else schedule.last_run, next_run=plan.next_run):
        return
    if plan.cause is None:
        report = _RESTORED if plan.due <= over else _MISSED
        beginning.note(tx, schedule, plan.due, Cause.MISSED, report=report, now=now)
    elif beginning.begin(tx, schedule, plan.due, plan.cause, now) is None and isinstance(text, Every):
        _begin_anew(tx, replace(schedule, next_run=plan.next_run), plan, text, now)


def _text_of(schedule: Schedule) -> ScheduleText | None:
    """What its text means; None for a row that cannot be read."""
    if not schedule.enabled:
        return None
    try:
        return parse(schedule.schedule)
    except Unprocessable as error:
        log.warning("schedule_unreadable", schedule=schedule.id, why=error.what, fix="Give it another text.")
        return None


def _begin_anew(tx: Transaction, schedule: Schedule, plan: Plan, text: Every, now: int) -> None:
    """The clock was put back onto times that it had before. A cron waits until they are over; an interval need not, for its
    times may lie anywhere."""
    due = plan.due + 1
    while beginning.begin(tx, schedule, due, plan.cause or Cause.DUE, now) is None:
        due += 1
    tx.schedules.advance(schedule, last_run=now, next_run=due + text.seconds * 1000)
