"""The queue's transaction scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arvis.domain.errors import LeaseLost
from arvis.domain.jobs import Failed, HandedBack, Job, Retry, Snooze
from arvis.ports.store import Transaction

Postponed = Callable[[Transaction, Job, Retry | Snooze | Failed, int], None]

#: What else is written for jobs that are taken back from a dead process, also when there are none.
Rescued = Callable[[Transaction, Sequence[Job], int], None]


def no_more(_tx: Transaction, _jobs: Sequence[Job], _now: int) -> None:
    """Where nothing else is to be done for jobs of a dead process."""


def begin(tx: Transaction, node: str, boot: str, now: int, also: Rescued = no_more, *, judge: bool = True) -> list[Job]:
    """Note that this process works, and take back the jobs of the one before it."""
    key = _process_key(node)
    died = tx.settings.get(key) or ""
    tx.settings.put(key, boot, now)
    return rescue(tx, node, boot, now, also, judge=judge, died=died)


def rescue(
    tx: Transaction, node: str, boot: str, now: int, also: Rescued = no_more, *, judge: bool = True, died: str = ""
) -> list[Job]:
    """`judge` False leaves leases of other folders as they are, even expired ones: their owners could not renew them.
    `died` is the process of this folder that ended without a word before this one."""
    rescued = tx.jobs.rescue(node, boot, now, judge=judge, died=died)
    also(tx, rescued, now)
    for job in rescued:
        if job.message_id is not None:
            tx.timeline.note([job.message_id], "recovered", {"job": job.id, "crashes": job.crashes}, now)
    return rescued


def wake(tx: Transaction, expire: Callable[[Transaction, int], None], now: int) -> int | None:
    tx.jobs.hold_suspects(now)
    tx.jobs.wake(now)
    expire(tx, now)
    due = [at for at in (tx.jobs.next_due(), tx.waits.next_due()) if at is not None]
    return min(due, default=None)


def renew(
    tx: Transaction,
    job_ids: Sequence[str],
    node: str,
    boot: str,
    *,
    now: int,
    lease_until: int,
    judge: bool = True,
    also: Rescued = no_more,
) -> tuple[set[str], list[Job]]:
    """First the leases, then the rescue: the ids that are still held, and the jobs that nobody renewed."""
    held = tx.jobs.extend(job_ids, boot, lease_until)
    return held, rescue(tx, node, boot, now, also, judge=judge)


def postpone(tx: Transaction, job: Job, outcome: Retry | Snooze | Failed, also: Postponed | None, now: int) -> None:
    if not tx.jobs.settle(job, outcome, now):
        raise LeaseLost("The job was taken away while it ran")
    if also is not None:
        also(tx, job, outcome, now)


def hand_back(tx: Transaction, node: str, jobs: Sequence[Job], now: int) -> None:
    """End the work of this process in an orderly way."""
    tx.settings.put(_process_key(node), "", now)
    tx.jobs.lock([job.lane for job in jobs])
    for job in jobs:
        tx.jobs.settle(job, HandedBack(), now)


def _process_key(node: str) -> str:
    """The setting that holds the boot that works on this node; empty after an orderly end, and once another process has
    judged its death (`forget_dead_processes`)."""
    return f"process:{node}"
