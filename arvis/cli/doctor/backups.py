"""The way back: a backup is there, young, and can be read."""

from __future__ import annotations

import threading

from arvis.app.database import database_of
from arvis.cli.doctor.findings import Check, Group, Verdict, fail, ok, warn
from arvis.cli.doctor.scene import Scene
from arvis.cli.output import moment
from arvis.domain.errors import StoreError
from arvis.ports.backups import BackupFile
from arvis.store.backups.archive import verify_archive
from arvis.store.backups.folder import list_backups
from arvis.store.blobs import Stopped

#: A backup that is late by half its time has been left out.
_LATE = 1.5

#: Seconds for which a backup is read here.
_READING = 1.0

_HOUR_MS = 3_600_000


def check_age(scene: Scene) -> Verdict | None:
    if scene.records is None or scene.config.postgres_url is not None:
        return None
    every, newest = scene.config.backup.every, _newest(scene)
    taken_at = scene.records.installed_at if newest is None else newest.created_at
    if scene.now - taken_at > every * _LATE:
        why = f"The newest is of {moment(taken_at)}: {newest.path.name}." if newest else "There is none at all."
        fix = "Take one with `arvis backup`. A daemon takes them by itself; its log tells why it did not."
        return warn(f"No backup of the last {max(1, round(every / _HOUR_MS))} h", why, fix)
    if newest is None:
        return ok(f"The first backup is due at {moment(taken_at + every)}")
    return ok(f"The newest backup is of {moment(taken_at)}")


def check_content(scene: Scene) -> Verdict | None:
    """The newest is what would be restored. Its bytes are compared with its manifest, as far as a second reaches."""
    newest = _newest(scene)
    if newest is None:
        return None
    stop = threading.Event()
    timer = threading.Timer(_READING, stop.set)
    timer.start()
    try:
        verify_archive(newest.path, stop)
    except Stopped:
        return ok(f"{newest.path.name} can be read, as far as was tried: it is large")
    except StoreError as error:
        return fail(f"{newest.path.name} cannot be restored", error.why, "Take a new one now: `arvis backup`.")
    finally:
        timer.cancel()
    return ok(f"{newest.path.name} holds what its manifest says")


def check_dump(scene: Scene) -> Verdict | None:
    if scene.config.postgres_url is None:
        return None
    why = "Arvis takes no backup of PostgreSQL, neither daily nor before a migration."
    return warn("Backups are yours to take", why, "Let your server take them, or run pg_dump before each update.")


def _newest(scene: Scene) -> BackupFile | None:
    return next(iter(list_backups(database_of(scene.config))), None)


GROUP = Group(
    "backup",
    (Check("backup", check_age), Check("backup_content", check_content), Check("dump", check_dump)),
)
