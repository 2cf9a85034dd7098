"""The queue: jobs that wait too long, failed jobs, and deliveries with an unknown outcome."""

from __future__ import annotations

from arvis.cli.doctor.findings import Check, Group, Verdict, fail, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.domain.messages import DeliveryState
from arvis.store.health import MOST

_LONG_WAIT_MS = 300_000
_SHOWN = 5


def check_waiting(scene: Scene) -> Verdict | None:
    if scene.records is None:
        return None
    since = scene.records.waiting_since
    waited = 0 if since is None else max(0, scene.now - since)
    if scene.daemon is None:
        if since is None:
            return ok("Nothing waits to be done")
        return warn("Work is waiting", "No daemon runs that could do it.", "Start it with `arvis run`.")
    if waited > _LONG_WAIT_MS:
        why = (
            f"The next job could have begun {waited // 60_000} minutes ago: all workers are busy, or they stand still."
        )
        fix = "`arvis jobs list --status running` shows what they do; raise queue.workers if that is their work."
        return fail("Work is waiting for too long", why, fix)
    return ok("No job waits for long")


def check_leases(scene: Scene) -> Verdict | None:
    """A worker that died loses its lease, and a living daemon takes the job back."""
    if scene.records is None:
        return None
    running, expired = scene.records.running_jobs, scene.records.expired_leases
    if _nobody_works(scene):
        return ok(f"Jobs that a stop or a crash interrupted, for the next start: {running}")
    if expired:
        why = f"{expired} jobs are held by a worker that has been silent for too long, and no process takes them back."
        return fail("Interrupted jobs stay where they are", why, "Start a daemon with the role workers again.")
    return ok(f"Jobs that run: {running}")


def check_failed(scene: Scene) -> Verdict | None:
    if scene.records is None:
        return None
    number = scene.records.failed_jobs
    if number:
        why = f"{_counted(number)} failed, and the senders were notified."
        fix = "`arvis jobs list --status failed` shows them; `arvis jobs retry ID` or `delete ID` settles each."
        return warn("Some jobs were given up", why, fix)
    return ok("No job was given up")


def check_crashing(scene: Scene) -> Verdict | None:
    if scene.records is None:
        return None
    crashing, poisoned = scene.records.crashing, scene.records.poisoned_jobs
    fix = "`arvis explain ID` tells what a job is about; the log tells how the process ended."
    if crashing:
        why = f"It died more than once while it worked on {', '.join(crashing[:_SHOWN])}."
        return warn("Some work brings the process down", why, fix)
    if poisoned:
        why = f"{_counted(poisoned)} with the reason `poison` are among those given up: it died at each of them."
        return warn("Some work brought the process down", why, fix)
    return ok("No work brings the process down")


def check_deliveries(scene: Scene) -> Verdict | None:
    if scene.records is None:
        return None
    failed_ones = scene.records.troubled.get(DeliveryState.FAILED, 0)
    unknown = scene.records.troubled.get(DeliveryState.UNKNOWN, 0)
    if failed_ones or unknown:
        why = f"Of the last week {failed_ones} did not arrive, and of {unknown} nobody knows."
        fix = "`arvis jobs list --kind deliver --status failed` shows those that can be sent again."
        return warn("Some answers did not reach their place", why, fix)
    return ok("Answers of the last week have reached their place")


def _nobody_works(scene: Scene) -> bool:
    """Only for SQLite: a PostgreSQL database may have workers on other machines."""
    return scene.daemon is None and scene.config.postgres_url is None


def _counted(number: int) -> str:
    return f"{number} or more jobs" if number == MOST else "1 job" if number == 1 else f"{number} jobs"


GROUP = Group(
    "queue",
    (
        Check("waiting_jobs", check_waiting),
        Check("leases", check_leases),
        Check("failed_jobs", check_failed),
        Check("crashing_jobs", check_crashing),
        Check("deliveries", check_deliveries),
    ),
)
