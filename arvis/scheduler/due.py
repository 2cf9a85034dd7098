"""The transaction scripts of the scheduler. They start the work of each due time of a schedule once, and end abandoned
occurrences.

Each handled time has an occurrence. The scheduler never handles such a time again, not even after a restart, after a
change of the clock, or in a second process (docs/adr/0024). The setting `missed` of a schedule is for times at which
the daemon was not running. It selects no run, one run, or one run for each of the last 24 times, one after the other.
"""

from __future__ import annotations

import structlog

from arvis.calendar import At, Every, ScheduleText, last_times, next_times, parse
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Conflict, Unprocessable
from arvis.domain.schedules import Cause, Missed, Occurrence, OccurrenceStatus, Schedule
from arvis.ports.backups import RESTORED_AT
from arvis.ports.store import Transaction
from arvis.process.leases import Holding
from arvis.scheduler import beginning
from arvis.services import schedule_runs
from arvis.services.schedules import Rules, find_schedule, zone_for

#: The maximum number of missed times for which a schedule with the setting `all` runs later.
MOST_MISSED = 24


@dataclass(frozen=True, slots=True)
class TimePlan:
    """The time of a schedule that is handled now, and the decision whether its work runs."""

    #: The time (ms).
    due: int
    #: The cause of the run. None means that there is no run: the time is only recorded as missed.
    cause: Cause | None
    #: The time (ms) at which the schedule is due again; None if it has no further time.
    next_run: int | None


def plan_times(
    schedule: Schedule, text: ScheduleText, zone: str, now: int, late: int, *, handled_until: int = 0
) -> TimePlan:
    """Return the plan for a schedule that is due. A time counts as missed if it is more than `late` ms ago. Times
    at or before the time `handled_until` (ms) are only recorded, because they may have been handled before a backup was
    restored."""
    passed = _passed(schedule, text, zone, now)
    newest, after = passed[-1], _next(text, zone, passed[-1], now)
    if newest <= handled_until:
        return TimePlan(newest, None, after)
    passed = [due for due in passed if due > handled_until]
    if schedule.missed is Missed.ALL:
        wanted = [due for due in passed if _in_grace(schedule, due, now) or due >= now - late]
        if wanted:
            cause = Cause.DUE if wanted[0] >= now - late else Cause.MISSED
            return TimePlan(wanted[0], cause, wanted[1] if len(wanted) > 1 else after)
        return TimePlan(newest, None, after)
    if newest >= now - late:
        return TimePlan(newest, Cause.DUE, after)
    made_up = schedule.missed is Missed.ONCE and _in_grace(schedule, newest, now)
    return TimePlan(newest, Cause.MISSED if made_up else None, after)


def resumed(schedule: Schedule, text: ScheduleText, zone: str, until: int) -> int | None:
    """Return the first time of a due schedule at or after `until` (ms), the end of its pause."""
    return _next(text, zone, schedule.next_run or until, until - 1)


def natural(text: ScheduleText, zone: str, now: int) -> int | None:
    """Return the first time of a schedule after `now`, or None. A stored next time is later than the returned time only
    if the clock was set back."""
    return next(iter(next_times(text, zone, now, 1)), None)


def _passed(schedule: Schedule, text: ScheduleText, zone: str, now: int) -> list[int]:
    """Return the times of the schedule from `next_run` to `now`: at least one, and at most the newest `MOST_MISSED`."""
    first = schedule.next_run if schedule.next_run is not None else now
    later = last_times(text, zone, first, now, MOST_MISSED)
    return later if len(later) == MOST_MISSED else [first, *later]


def _next(text: ScheduleText, zone: str, newest: int, now: int) -> int | None:
    """Return the first time of the schedule after `now`. `newest` is the planned time of the newest run. The times of
    an interval follow `newest` in steps of the interval, even if that run began late."""
    if isinstance(text, Every):
        step = text.seconds * 1000
        return newest + step * max(1, (now - newest) // step + 1)
    return next(iter(next_times(text, zone, now, 1)), None)


def _in_grace(schedule: Schedule, due: int, now: int) -> bool:
    return schedule.grace is None or due >= now - schedule.grace


log = structlog.get_logger(__name__)

#: The maximum number of schedules in one commit. A longer commit would delay people's messages.
SLICE = 50
#: The maximum number of schedules that one call of `set_back` corrects.
_ALL = 20_000
_LOST = "Arvis stopped during this run, and the run was not resumed."
_MISSED = "The daemon was not running at this time."
_RESTORED = (
    "This time was before the restore of a backup, so the schedule may have run already. If it did not, run it "
    "manually."
)


def take(tx: Transaction, holding: Holding, rules: Rules, late: int, now: int) -> bool:
    """Handle at most `SLICE` due schedules. End at most `SLICE` abandoned occurrences, on which no process works any
    more. Return True if more schedules or occurrences may be left."""
    holding.check(tx)
    orphans = tx.occurrences.orphans(SLICE)
    for orphan in orphans:
        schedule_runs.end(tx, orphan, OccurrenceStatus.CANCELLED, _LOST, now)
    due = tx.schedules.due(now, SLICE)
    # The times up to `handled_until` (ms) may have been handled before a backup was restored.
    handled_until = int(tx.kv.get(RESTORED_AT) or 0) if due else 0
    for schedule in due:
        _take(tx, schedule, rules, late, now, handled_until=handled_until)
    return max(len(due), len(orphans)) == SLICE


def set_back(tx: Transaction, holding: Holding, rules: Rules, now: int, *, back: int) -> int:
    """Correct the next times of schedules after the clock was set back by `back` ms. At a start of the daemon `back` is
    0, because it is unknown.

    A stored next time may now be later than the first time of the schedule after `now`; it is replaced by that first
    time. The next time of an interval is moved back by `back`. A time that was handled before the change of the clock
    is not handled again. Return the number of corrected schedules.
    """
    holding.check(tx)
    moved = 0
    for schedule in tx.schedules.to_come(now, _ALL):
        if (text := _text_of(schedule)) is None:
            continue
        first = natural(text, zone_for(tx, schedule, rules), now)
        if isinstance(text, Every) and back and first is not None and schedule.next_run is not None:
            first = max(now, min(first, schedule.next_run - back))
        if first is not None and schedule.next_run is not None and first < schedule.next_run:
            moved += tx.schedules.advance(schedule, last_run=schedule.last_run, next_run=first)
    return moved


def run_now(tx: Transaction, schedule_id: str, now: int, *, by: str | None = None) -> Occurrence:
    """Run a schedule on request, even if it is disabled. The schedule's next time does not change.

    The run acts for the person of the schedule, but has no rights that the person `by` (an id) lacks. Raise `NotFound`,
    or `Conflict` if the schedule is already running.
    """
    schedule = find_schedule(tx, schedule_id)
    if tx.occurrences.running(schedule.id):
        raise Conflict(
            "The schedule is already running.",
            fix="Wait until the run ends, or cancel its execution with POST /api/executions/ID/cancel.",
            code="running",
        )
    due = now
    while (occurrence := beginning.begin(tx, schedule, due, Cause.MANUAL, now, by=by)) is None:
        due += 1
    if occurrence.status is OccurrenceStatus.RUNNING:
        tx.schedules.ran(schedule.id, now)
    return occurrence


# -- one schedule ------------------------------------------------------------------------------------------


def _take(tx: Transaction, schedule: Schedule, rules: Rules, late: int, now: int, *, handled_until: int) -> None:
    text, zone = _text_of(schedule), zone_for(tx, schedule, rules)
    if text is None:
        # The schedule is disabled or its text cannot be read. It gets no next time, so that it is not due again.
        tx.schedules.advance(schedule, last_run=schedule.last_run, next_run=None)
        return
    if (rest := schedule_runs.rest_of(schedule, now)) is not None and not isinstance(text, At):
        tx.schedules.advance(schedule, last_run=schedule.last_run, next_run=resumed(schedule, text, zone, rest))
        return
    plan = plan_times(schedule, text, zone, now, late, handled_until=handled_until)
    if not tx.schedules.advance(schedule, last_run=now if plan.cause else schedule.last_run, next_run=plan.next_run):
        return
    if plan.cause is None:
        report = _RESTORED if plan.due <= handled_until else _MISSED
        beginning.note(tx, schedule, plan.due, Cause.MISSED, report=report, now=now)
    elif beginning.begin(tx, schedule, plan.due, plan.cause, now) is None and isinstance(text, Every):
        _restart_times(tx, replace(schedule, next_run=plan.next_run), plan, text, now)


def _text_of(schedule: Schedule) -> ScheduleText | None:
    """Return the parsed text of a schedule; None if the schedule is disabled or its text cannot be read."""
    if not schedule.enabled:
        return None
    try:
        return parse(schedule.schedule)
    except Unprocessable as error:
        log.warning("schedule_unreadable", schedule=schedule.id, why=error.what, fix="Change the text of the schedule.")
        return None


def _restart_times(tx: Transaction, schedule: Schedule, plan: TimePlan, text: Every, now: int) -> None:
    """Run a schedule with an interval now, and compute its next time from now. Its planned time already has an
    occurrence, because the clock was set back. A cron would wait for its next time; an interval has no fixed times and
    need not wait."""
    due = plan.due + 1
    while beginning.begin(tx, schedule, due, plan.cause or Cause.DUE, now) is None:
        due += 1
    tx.schedules.advance(schedule, last_run=now, next_run=due + text.seconds * 1000)
