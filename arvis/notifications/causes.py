"""The causes that are observed regularly, and the rules by which notifications end.

`due_steps` only reads. It returns the changes to make, so that a round without changes writes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from functools import partial

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.executions import ExecutionStatus
from arvis.domain.jobs import JobStatus
from arvis.domain.money import Budget, Pot, SpendingLimits, day_of, usd
from arvis.domain.notifications import DAY_MS, Hint, Notification, NotificationState, Problem, Remedy, Severity
from arvis.domain.runs import CIRCUIT, Cooldown
from arvis.domain.schedules import OccurrenceStatus
from arvis.messaging import owner_alerts
from arvis.messaging.owner_alerts import GIVEN_UP, UNDELIVERED
from arvis.ports.clock import Clock
from arvis.ports.store import Transaction

#: The maximum number of notifications that one round handles.
MOST = 500

#: An account counts as failing after this number of failed probes in a row, which takes about four minutes.
_PROBES = 4
#: A refusal that is older than this time (ms) no longer counts, because the account may no longer be in use.
_OLD_MS = 7 * DAY_MS
#: A backup is overdue if none was made for the configured interval multiplied by this factor.
_LATE = 1.5
#: The backups are checked at intervals of this many seconds, because a check opens all of them.
_BACKUPS_SECONDS = 600.0

_DISK, _BACKUP_AGE, _BUDGET, _ACCOUNT = "disk", "backup_age", "budget:day", "account:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The observed state of this process and its data folder."""

    disk_low: bool
    #: The time (ms) since which no backup was made; None if this process makes no backups.
    without_backup_since: int | None
    backup_every: int
    #: The names of the accounts in use.
    accounts: Collection[str]
    limits: SpendingLimits


class Observations:
    """Reads the facts. `newest_backup` returns the time (ms) of the newest backup, or None if no backup exists.
    `newest_backup` itself is None if this process makes no backups."""

    def __init__(
        self,
        *,
        disk_low: Callable[[], bool],
        newest_backup: Callable[[], Awaitable[int | None]] | None,
        backup_every: int,
        accounts: Callable[[], Collection[str]],
        limits: Callable[[], SpendingLimits],
        clock: Clock,
    ) -> None:
        self._disk_low = disk_low
        self._newest_backup = newest_backup
        self._backup_every = backup_every
        self._accounts = accounts
        self._limits = limits
        #: The time of the start counts as the time of a backup, because a daemon that starts after a long pause first
        #: makes a backup.
        self._started_at = clock.now()
        self._clock = clock
        #: The time of the newest backup, and the monotonic time (s) from which it is read again.
        self._backup_at, self._read_again_at = 0, clock.monotonic()

    async def read(self) -> Facts:
        since = None
        if self._newest_backup is not None:
            if self._clock.monotonic() >= self._read_again_at:
                self._read_again_at = self._clock.monotonic() + _BACKUPS_SECONDS
                self._backup_at = await self._newest_backup() or 0
            since = max(self._started_at, self._backup_at)
        return Facts(
            disk_low=self._disk_low(),
            without_backup_since=since,
            backup_every=self._backup_every,
            accounts=self._accounts(),
            limits=self._limits(),
        )


Step = Callable[[Transaction, int], object]


def due_steps(tx: Transaction, facts: Facts, now: int) -> Sequence[Step]:
    """Return the changes that are due: notifications to store, to end, and to report again."""
    return list(_steps(tx, facts, now))


def _steps(tx: Transaction, facts: Facts, now: int) -> Iterator[Step]:
    lasting = {each.problem.cause: each for each in tx.notifications.lasting(MOST)}
    observed = {each.cause: each for each in _observed(tx, facts, now)}
    for cause, problem in observed.items():
        if cause not in lasting:
            yield partial(_observe, problem)
    for cause, found in lasting.items():
        if cause in observed:
            if _may_send(tx, found, now):
                yield partial(_send_again, found)
        elif _is_observed(cause) or _is_over(tx, found):
            yield partial(_end, found, silent=False)
        elif found.expires_at is not None and found.expires_at <= now:
            yield partial(_end, found, silent=True)
        elif _may_send(tx, found, now):
            yield partial(_send_again, found)


def _may_send(tx: Transaction, found: Notification, now: int) -> bool:
    open_ = found.state is NotificationState.OPEN
    return open_ and found.may_send(now) and owner_alerts.has_place(tx, found.problem)


def _observe(problem: Problem, tx: Transaction, now: int) -> None:
    owner_alerts.observe(tx, problem, now)


def _end(found: Notification, tx: Transaction, now: int, *, silent: bool) -> None:
    owner_alerts.end(tx, found, now, silent=silent)


def _send_again(found: Notification, tx: Transaction, now: int) -> None:
    owner_alerts.send_again(tx, found, now)


# -- causes that are observed ------------------------------------------------------------------------------------------


def _is_observed(cause: str) -> bool:
    return cause in {_DISK, _BACKUP_AGE, _BUDGET} or cause.startswith(_ACCOUNT)


def _observed(tx: Transaction, facts: Facts, now: int) -> Iterator[Problem]:
    if facts.disk_low:
        yield Problem(
            cause=_DISK,
            text="The disk of the data folder is almost full, so Arvis accepts no new messages. Free some space.",
            hint=Hint("\n`arvis doctor` shows the free space.", "\nThe page Doctor shows the free space.", _DOCTOR),
            interval=DAY_MS,
        )
    if facts.without_backup_since is not None and now - facts.without_backup_since > facts.backup_every * _LATE:
        hours = max(1, round((now - facts.without_backup_since) / 3_600_000))
        yield Problem(
            cause=_BACKUP_AGE,
            text=f"No backup was made for {hours} hours.",
            hint=Hint("\n`arvis backup` makes one.", "\nThe page Doctor shows the reason.", _DOCTOR),
            remedy=Remedy.MAKE_BACKUP,
            interval=DAY_MS,
        )
    if (spent := _spent(tx, facts, now)) is not None:
        yield Problem(
            cause=_BUDGET,
            text=f"The budget of all agents for today is used up: {spent}. They answer again after midnight.",
            severity=Severity.WARNING,
            hint=Hint(
                "\n`arvis usage` shows the costs; `budgets.daily_usd` sets the budget.",
                "\nThe page Usage shows the costs; the page Configuration sets the budget.",
                "/usage",
            ),
            interval=DAY_MS,
        )
    for cooldown in tx.cooldowns.all():
        if cooldown.account in facts.accounts and (problem := _account_problem(cooldown, now)) is not None:
            yield problem


_DOCTOR = "/settings/doctor"


def _spent(tx: Transaction, facts: Facts, now: int) -> str | None:
    """Return the amounts as text if the budget of the day is used up; otherwise None."""
    limit = facts.limits.daily
    if limit is None:
        return None
    spent = tx.spending.get(Pot(Budget.DAY, day_of(now, facts.limits.zone), "")).micros
    return f"{usd(spent)} of {usd(limit)}" if spent >= limit else None


def _account_problem(cooldown: Cooldown, now: int) -> Problem | None:
    """Return the problem of an account that only a person can fix, or that has failed for minutes; otherwise None."""
    if not cooldown.refusals or now - cooldown.at > _OLD_MS:
        return None
    name, severity = cooldown.account, Severity.ERROR
    match cooldown.kind:
        case ProviderErrorKind.AUTH:
            text = f"The vendor of the model account {name} rejected its key. Enter a valid key."
        case ProviderErrorKind.QUOTA:
            text = f"The model account {name} has no credit left. Add credit at its vendor."
        case kind if kind == CIRCUIT and cooldown.refusals >= _PROBES:
            text, severity = f"The server of the model account {name} does not answer.", Severity.WARNING
        case _:
            return None
    hint = Hint(
        "\n`arvis accounts list` shows the accounts.", "\nThe page Model accounts shows them.", "/settings/accounts"
    )
    cause = f"{_ACCOUNT}{name}:{cooldown.kind}"
    return Problem(cause=cause, text=text, severity=severity, hint=hint, subject=name, interval=DAY_MS)


# -- the end of other causes -------------------------------------------------------------------------------------------


def _is_over(tx: Transaction, found: Notification) -> bool:
    """Return whether the cause of a notification is gone. Return False for causes that are not checked here.
    Notifications about such causes expire, or the code that stores them also ends them."""
    subject = found.problem.subject
    match found.problem.cause.partition(":")[0]:
        case kind if kind in {GIVEN_UP, UNDELIVERED}:
            job = tx.jobs.get(subject)
            return job is None or job.status in {JobStatus.DONE, JobStatus.CANCELLED}
        case "webhook":
            return tx.webhooks.get(subject) is None
        case "schedule":
            schedule = tx.schedules.get(subject)
            return schedule is None or not schedule.failures
        case "blocked" if subject:
            return _works_again(tx, subject)
        case "escalated":
            return not _waits_for_a_person(tx, subject)
        case _:
            return False


def _works_again(tx: Transaction, schedule_id: str) -> bool:
    """Return whether the newest ended run of a heartbeat was not blocked."""
    ended = [each for each in tx.occurrences.newest(schedule_id, 5) if each.ended_at is not None]
    return tx.schedules.get(schedule_id) is None or bool(ended and ended[0].status is not OccurrenceStatus.BLOCKED)


def _waits_for_a_person(tx: Transaction, run_id: str) -> bool:
    execution = tx.executions.get(run_id)
    live = execution is not None and execution.status in {ExecutionStatus.RUNNING, ExecutionStatus.PAUSED}
    return live and any(wait.answer is None for wait in tx.waits.of_execution(run_id))
