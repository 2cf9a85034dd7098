"""The scripts of the scheduler: each due time becomes work once, and abandoned occurrences are ended.

The rows decide. A time of a schedule is an instant, and an instant with an occurrence has been handled: after a
restart, a jump of the clock or a second scheduler, it is not handled again (docs/adr/0024). After any pause, at most
one time is run immediately. Older ones are made up for as the schedule says, by at most one run, unless it asks for
all: then one after another, the last 24 of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog

from arvis.calendar import At, Every, ScheduleText, last_times, next_times, parse
from arvis.domain.errors import Conflict, Unprocessable
from arvis.domain.schedules import Cause, Missed, Occurrence, OccurrenceStatus, Schedule
from arvis.ports.backups import RESTORED_AT
from arvis.ports.store import Transaction
from arvis.process.leases import Holding
from arvis.scheduler import beginning
from arvis.services import schedule_runs
from arvis.services.schedules import Rules, find_schedule, zone_for

#: Maximum missed times that are made up for if all are requested.
MOST_MISSED = 24
#: A time that is later than this (ms) counts as missed, however often the scheduler checks.
LATE_MS = 60_000


@dataclass(frozen=True, slots=True)
class TimePlan:
    """The decision for one time. `due` is handled now: run (`cause` says why), or only recorded as missed (None).
    `next_run` is the time after it."""

    due: int
    cause: Cause | None
    next_run: int | None


def plan_times(schedule: Schedule, text: ScheduleText, zone: str, now: int, late: int, *, over: int = 0) -> TimePlan:
    """Plan a schedule that is due; a time more than `late` ms ago counts as missed. Times up to `over` (ms) were
    handled in another database and are only recorded."""
    passed = _passed(schedule, text, zone, now)
    newest, after = passed[-1], _next(text, zone, passed[-1], now)
    if newest <= over:
        return TimePlan(newest, None, after)
    passed = [due for due in passed if due > over]
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
    """Return the first time of a due schedule that was paused until this time."""
    return _next(text, zone, schedule.next_run or until, until - 1)


def natural(text: ScheduleText, zone: str, now: int) -> int | None:
    """Return the latest possible next time of a schedule under a clock that only moves forward; None: it has a single
    time, or no more."""
    return next(iter(next_times(text, zone, now, 1)), None)


def _passed(schedule: Schedule, text: ScheduleText, zone: str, now: int) -> list[int]:
    """Return the last of its times from `next_run` on that have passed; there is always one."""
    first = schedule.next_run if schedule.next_run is not None else now
    later = last_times(text, zone, first, now, MOST_MISSED)
    return later if len(later) == MOST_MISSED else [first, *later]


def _next(text: ScheduleText, zone: str, newest: int, now: int) -> int | None:
    """Return the next time. An interval keeps its step, even if a time was handled late."""
    if isinstance(text, Every):
        step = text.seconds * 1000
        return newest + step * max(1, (now - newest) // step + 1)
    return next(iter(next_times(text, zone, now, 1)), None)


def _in_grace(schedule: Schedule, due: int, now: int) -> bool:
    return schedule.grace is None or due >= now - schedule.grace


log = structlog.get_logger(__name__)

#: Maximum schedules in one commit, so that the writer stays free for people's messages.
SLICE = 50
#: More schedules than can exist, given the limits of agents and of schedules per agent.
_ALL = 20_000
_LOST = "Arvis stopped during this run, and the run was not resumed."
_MISSED = "The daemon was not running at this time."
_RESTORED = (
    "This time was before the restore of a backup, so the schedule may have run already. If it did not, run it "
    "manually."
)


@dataclass(frozen=True, slots=True)
class Due:
    """The state of the schedules: is there work now, and the time of the next due schedule (ms; None: never)."""

    now: bool
    soonest: int | None


def look(tx: Transaction, now: int) -> Due:
    """Read what is due, without writing: nearly always there is nothing to write."""
    waiting = tx.schedules.due(now, 1) or tx.occurrences.orphans(1)
    return Due(bool(waiting), tx.schedules.next_due(now))


def take(tx: Transaction, holding: Holding, rules: Rules, late: int, now: int) -> bool:
    """Handle a slice of the due schedules, and end occurrences that no process can end any more. Return whether there
    may be more."""
    holding.check(tx)
    orphans = tx.occurrences.orphans(SLICE)
    for orphan in orphans:
        schedule_runs.end(tx, orphan, OccurrenceStatus.CANCELLED, _LOST, now)
    due = tx.schedules.due(now, SLICE)
    # Until `over` (ms), schedules may have been handled in a database that a backup has replaced.
    over = int(tx.kv.get(RESTORED_AT) or 0) if due else 0
    for schedule in due:
        _take(tx, schedule, rules, late, now, over=over)
    return max(len(due), len(orphans)) == SLICE


def set_back(tx: Transaction, holding: Holding, rules: Rules, now: int, *, back: int) -> int:
    """Correct schedules after the clock was set back by `back` ms, or at a start (0: it may have been set back): a
    schedule that would come later than it can from now on gets an earlier time. Return the number of corrected ones.
    An interval waits as long as it would have. A time that was handled before occurs again, and is skipped."""
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
    """Run a schedule on request (of `by`, a principal), enabled or not; its own times do not change. It still acts
    for the person of the schedule, without rights that `by` lacks. Raises `NotFound`, and `Conflict` while it is
    already running."""
    schedule = find_schedule(tx, schedule_id)
    if tx.occurrences.running(schedule.id):
        raise Conflict(
            "The schedule is already running.",
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
        # A row that cannot be read gets no next time; otherwise it would be read again and again.
        tx.schedules.advance(schedule, last_run=schedule.last_run, next_run=None)
        return
    if (rest := schedule_runs.rest_of(schedule, now)) is not None and not isinstance(text, At):
        tx.schedules.advance(schedule, last_run=schedule.last_run, next_run=resumed(schedule, text, zone, rest))
        return
    plan = plan_times(schedule, text, zone, now, late, over=over)
    if not tx.schedules.advance(schedule, last_run=now if plan.cause else schedule.last_run, next_run=plan.next_run):
        return
    if plan.cause is None:
        report = _RESTORED if plan.due <= over else _MISSED
        beginning.note(tx, schedule, plan.due, Cause.MISSED, report=report, now=now)
    elif beginning.begin(tx, schedule, plan.due, plan.cause, now) is None and isinstance(text, Every):
        _restart_times(tx, replace(schedule, next_run=plan.next_run), plan, text, now)


def _text_of(schedule: Schedule) -> ScheduleText | None:
    """Return the parsed schedule text; None for a row that cannot be read."""
    if not schedule.enabled:
        return None
    try:
        return parse(schedule.schedule)
    except Unprocessable as error:
        log.warning("schedule_unreadable", schedule=schedule.id, why=error.what, fix="Give it another text.")
        return None


def _restart_times(tx: Transaction, schedule: Schedule, plan: TimePlan, text: Every, now: int) -> None:
    """Restart the times after the clock was set back to earlier times. A cron waits until these are over; an interval
    does not need to, because its times may be anywhere."""
    due = plan.due + 1
    while beginning.begin(tx, schedule, due, plan.cause or Cause.DUE, now) is None:
        due += 1
    tx.schedules.advance(schedule, last_run=now, next_run=due + text.seconds * 1000)
