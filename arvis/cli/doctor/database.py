"""Checks that the database opens and is not damaged, that its backups are recent, and that its jobs run."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from arvis.app.database import database_of
from arvis.cli.doctor.findings import Check, Group, Verdict, fail, failed, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.cli.output import moment
from arvis.domain.errors import ArvisError, StoreError, Unprocessable
from arvis.domain.messages import DeliveryState
from arvis.ports.automation import StoredSkill
from arvis.ports.backups import BackupFile
from arvis.process.data_folder import Holder
from arvis.skills.skill import Source, read_skill
from arvis.store.backups.archive import verify_archive
from arvis.store.backups.folder import list_backups
from arvis.store.blobs import Stopped
from arvis.store.health import MOST, DatabaseState, log_bytes
from arvis.store.integrity.check import Damaged, LogCut, Sound

_MEGABYTE = 1_000_000

#: SQLite shortens its write-ahead log to 64 MB if no reader is active. If the log has twice this size, a reader has
#: been active for too long.
_LARGE_LOG = 128 * _MEGABYTE

#: The oldest version of PostgreSQL that still gets fixes.
_OLDEST_SERVER = 140000
_VERSION_STEP = 10000


def check_database(scene: Scene) -> Verdict:
    name = _name(scene)
    match scene.database:
        case None if isinstance(scene.holder, Holder):
            return ok("An Arvis command is using the database")
        case None:
            return ok("There is no database yet. The first start of the daemon creates it")
        case ArvisError() as error:
            return failed(error)
        case DatabaseState(missing=[_, *_] as missing):
            why = f"These migrations have not run: {', '.join(missing)}."
            return warn(
                f"{name} is not up to date", why, "Run `arvis upgrade`, or start the daemon, which does the same."
            )
    return ok(f"{name} opens and is up to date")


def check_files(scene: Scene) -> Verdict | None:
    """Report damage in the files. Each fix describes how the daemon handles the damage at its next start, because the
    daemon never uses a damaged database."""
    if not isinstance(scene.database, DatabaseState) or scene.database.server is not None:
        return None
    match scene.database.files:
        case None:
            what = f"{_name(scene)} is too large for a complete check while the daemon runs"
            return ok(what, "The daemon examines it at every start.")
        case Damaged(damage):
            why = f"{'; '.join(damage)}."
            fix = (
                "Restart the daemon. It replaces the database with the newest intact backup. To use another backup, "
                "run `arvis restore`."
            )
            return fail(f"{_name(scene)} is damaged", why, fix)
        case LogCut(str(lost)):
            fix = "Start the daemon. It keeps the intact part of the log and reports the lost part."
            return fail(f"The write-ahead log of {_name(scene)} is damaged", f"Lost: {lost}.", fix)
        case Sound(str(remark), warning=True):
            return warn(
                f"{_name(scene)} may be incomplete",
                f"{remark}.",
                "Start the daemon. It checks the database and writes a report.",
            )
    return ok("The files of the database are intact")


def check_rows(scene: Scene) -> Verdict | None:
    if not isinstance(scene.database, DatabaseState) or scene.database.rows is None:
        return None
    rows = scene.database.rows
    if isinstance(rows, ArvisError):
        return failed(rows)
    if unreadable := [*rows.unreadable, *_unreadable_skills(rows.skills)]:
        fix = "Save each of these entries again in the dashboard or on the command line, or delete it."
        return fail("Some rows cannot be read and count as disabled", f"{'; '.join(unreadable)}.", fix)
    return ok("The rows can be read")


def _unreadable_skills(skills: Sequence[StoredSkill]) -> list[str]:
    found = []
    for stored in skills:
        try:
            read_skill(stored.text, stem=None, source=Source.IMPORTED)
        except Unprocessable as error:
            found.append(f"skills {stored.slug} ({error.what})")
    return found


def check_log(scene: Scene) -> Verdict | None:
    if scene.database is None or scene.config.postgres_url is not None:
        return None
    size = log_bytes(database_of(scene.config))
    if size > _LARGE_LOG:
        why = (
            f"It has {size // _MEGABYTE} MB. A program that reads the database prevents Arvis from shortening the log."
        )
        return warn("The write-ahead log grows", why, "Close the program that reads arvis.db, or restart the daemon.")
    return ok(f"The write-ahead log has {size / _MEGABYTE:.1f} MB")


def check_server(scene: Scene) -> Verdict | None:
    """Check that a PostgreSQL server keeps committed data after a power failure, and that its version is not too
    old."""
    if not isinstance(scene.database, DatabaseState) or scene.database.server is None:
        return None
    server = scene.database.server
    version = f"PostgreSQL {server.version // _VERSION_STEP}.{server.version % _VERSION_STEP}"
    if server.unsafe:
        why = (
            f"These settings are off: {', '.join(server.unsafe)}. After a power failure, accepted messages may be lost."
        )
        return fail(
            "PostgreSQL may lose committed data after a power failure", why, "Switch them on in postgresql.conf."
        )
    if server.version < _OLDEST_SERVER:
        why = f"Arvis is tested with {_OLDEST_SERVER // _VERSION_STEP} and newer."
        return warn(f"{version} is old", why, "Plan an update of the server.")
    return ok(f"{version} keeps committed data after a power failure")


def _name(scene: Scene) -> str:
    return "PostgreSQL" if scene.config.postgres_url else str(scene.config.database_file)


DATABASE = Group(
    "database",
    (
        Check("database", check_database),
        Check("database_files", check_files),
        Check("database_rows", check_rows),
        Check("write_ahead_log", check_log),
        Check("database_server", check_server),
    ),
)


# Backups.

#: The newest backup is too old if its age exceeds the configured time between two backups, multiplied by this factor.
_LATE = 1.5

#: The maximum time in seconds for which a backup is read.
_READING = 1.0

_HOUR_MS = 3_600_000


def check_age(scene: Scene) -> Verdict | None:
    if scene.records is None or scene.config.postgres_url is not None:
        return None
    every, newest = scene.config.backup.every, _newest(scene)
    taken_at = scene.records.installed_at if newest is None else newest.created_at
    if scene.now - taken_at > every * _LATE:
        why = f"The newest backup is {newest.path.name}, made {moment(taken_at)}." if newest else "There is no backup."
        fix = (
            "Make one with `arvis backup`. The daemon makes backups automatically; if it does not, its log shows the "
            "reason."
        )
        return warn(f"No backup was made in the last {max(1, round(every / _HOUR_MS))} h", why, fix)
    if newest is None:
        return ok(f"The first backup is due at {moment(taken_at + every)}")
    return ok(f"The newest backup was made {moment(taken_at)}")


def check_content(scene: Scene) -> Verdict | None:
    """Compare the newest backup with its manifest, because a restore would use this backup. The comparison stops after
    `_READING` seconds."""
    newest = _newest(scene)
    if newest is None:
        return None
    stop = threading.Event()
    timer = threading.Timer(_READING, stop.set)
    timer.start()
    try:
        verify_archive(newest.path, stop, database_of(scene.config).passphrase)
    except Stopped:
        return ok(
            f"The checked part of {newest.path.name} is readable; the file is too large for a complete check here"
        )
    except StoreError as error:
        return fail(f"{newest.path.name} cannot be restored", error.why, "Make a new backup with `arvis backup`.")
    finally:
        timer.cancel()
    return ok(f"{newest.path.name} matches its manifest")


def check_dump(scene: Scene) -> Verdict | None:
    if scene.config.postgres_url is None:
        return None
    why = "Arvis makes no backup of PostgreSQL, neither daily nor before a migration."
    return warn(
        "You must back up PostgreSQL yourself",
        why,
        "Set up backups on the database server, or run `pg_dump` before each update of Arvis.",
    )


def _newest(scene: Scene) -> BackupFile | None:
    return next(iter(list_backups(database_of(scene.config))), None)


BACKUPS = Group(
    "backup",
    (Check("backup", check_age), Check("backup_content", check_content), Check("dump", check_dump)),
)


# The queue: jobs that wait too long, failed jobs, and deliveries with an unknown outcome.

_LONG_WAIT_MS = 300_000
_SHOWN = 5


def check_waiting(scene: Scene) -> Verdict | None:
    if scene.records is None:
        return None
    since = scene.records.waiting_since
    waited = 0 if since is None else max(0, scene.now - since)
    if scene.daemon is None:
        if since is None:
            return ok("No job is waiting")
        return warn("Jobs are waiting", "No daemon is running.", "Start it with `arvis run`.")
    if waited > _LONG_WAIT_MS:
        why = f"The next job has been ready for {waited // 60_000} minutes. All workers are busy or blocked."
        fix = "`arvis jobs list --status running` shows their jobs. If these are normal jobs, raise `queue.workers`."
        return fail("Jobs wait too long", why, fix)
    return ok("No job has waited too long")


def check_leases(scene: Scene) -> Verdict | None:
    """Report running jobs whose lease has expired, because a running daemon would have started these jobs again."""
    if scene.records is None:
        return None
    running, expired = scene.records.running_jobs, scene.records.expired_leases
    # A PostgreSQL database may have workers on other machines.
    if scene.daemon is None and scene.config.postgres_url is None:
        return ok(f"Interrupted jobs that the next start resumes: {running}")
    if expired:
        why = f"The leases of {expired} jobs have expired, and no process runs these jobs again."
        return fail("Interrupted jobs are not resumed", why, "Start a daemon with the role workers again.")
    return ok(f"Running jobs: {running}")


def check_failed(scene: Scene) -> Verdict | None:
    if scene.records is None:
        return None
    number = scene.records.failed_jobs
    if number:
        why = f"{_counted(number)} failed, and the senders were notified."
        fix = (
            "`arvis jobs list --status failed` shows them. Run `arvis jobs retry ID` or `arvis jobs delete ID` for "
            "each."
        )
        return warn("Some jobs have failed", why, fix)
    return ok("No job has failed")


def check_crashing(scene: Scene) -> Verdict | None:
    if scene.records is None:
        return None
    crashing, poisoned = scene.records.crashing, scene.records.poisoned_jobs
    fix = "`arvis explain ID` shows the message of a job. The log shows how the process ended."
    if crashing:
        why = f"The process crashed more than once during these jobs: {', '.join(crashing[:_SHOWN])}."
        return warn("Some jobs crash the daemon", why, fix)
    if poisoned:
        why = f"{_counted(poisoned)} failed with the reason `poison`, because the process crashed during each attempt."
        return warn("Some jobs crashed the daemon", why, fix)
    return ok("No job crashes the daemon")


def check_deliveries(scene: Scene) -> Verdict | None:
    if scene.records is None:
        return None
    failed_ones = scene.records.troubled.get(DeliveryState.FAILED, 0)
    unknown = scene.records.troubled.get(DeliveryState.UNKNOWN, 0)
    if failed_ones or unknown:
        why = f"In the last week, {failed_ones} deliveries failed, and the outcome of {unknown} is unknown."
        fix = "`arvis jobs list --kind deliver --status failed` shows the deliveries that you can retry."
        return warn("Some answers were not delivered", why, fix)
    return ok("All answers of the last week were delivered")


def _counted(number: int) -> str:
    return f"{number} or more jobs" if number == MOST else "1 job" if number == 1 else f"{number} jobs"


QUEUE = Group(
    "queue",
    (
        Check("waiting_jobs", check_waiting),
        Check("leases", check_leases),
        Check("failed_jobs", check_failed),
        Check("crashing_jobs", check_crashing),
        Check("deliveries", check_deliveries),
    ),
)
