"""`arvis upgrade`: upgrades the data and the configuration of an older version, or changes nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from arvis.app.database import database_of
from arvis.app.upgrade import rehearse
from arvis.app.upgrade import upgrade as upgrade_database
from arvis.cli.commands.config import ConfigMigration
from arvis.cli.doctor import examine
from arvis.cli.doctor.findings import Finding, Status
from arvis.cli.doctor.scene import System
from arvis.cli.options import PrintingCommand
from arvis.cli.output import Output, tell
from arvis.config import DEFAULT_FILE, Config, load
from arvis.domain.errors import ConfigError, DataFolderInUse
from arvis.process.clock import SystemClock
from arvis.process.data_folder import holder_of, lock_data_folder
from arvis.store.backups.folder import list_backups
from arvis.store.integrity.repair import make_sound
from arvis.store.location import Database


@click.command(cls=PrintingCommand)
@click.option("--check", is_flag=True, help="Try the upgrade on a copy and change nothing.")
def upgrade(*, check: bool, config: Path | None, data: Path | None) -> Output:
    """Upgrade the database and the configuration file to this version of Arvis.

    A SQLite database is backed up. The database is changed in one transaction, which is committed only if the checks
    succeed: the numbers of rows, the database itself, and a message that the built-in demo model answers. Otherwise the
    data stays unchanged. `arvis run` upgrades the database in the same way.

    Stop the daemon first. With --check, the daemon may run. At the end, the command lists the failed checks of `arvis
    doctor`.
    """
    migration = _config_migration(config)
    settings = load(config, data, os.environ, text=None if migration is None else migration.new)
    database, needed = database_of(settings), migration is not None and migration.needed
    if check:
        failed = () if needed else _failed_checks(config, data)
        return _output(_rehearse(settings), None, migration, done=False, failed=failed)
    if migration is not None and needed:
        _check_writable(migration.file)
    ran = _upgrade(settings, database)
    # The file is changed last, so that the next upgrade changes it if this upgrade is interrupted.
    saved = migration.write() if migration is not None and needed else None
    failed = _failed_checks(config, data)
    return _output(ran, _backup(database, ran), migration, saved=saved, done=True, failed=failed)


def _failed_checks(config: Path | None, data: Path | None) -> Sequence[Finding]:
    """Return the failed checks of `arvis doctor`. Failed checks do not undo the upgrade, because they may have other
    causes: a package that a bot needs may be missing, or an account may have no credit."""
    system = System(python=sys.version_info[:3], encoding=sys.stdout.encoding)
    examination = examine(config, data, os.environ, system=system, now=SystemClock().now())
    return [finding for finding in examination.findings if finding.status is Status.FAIL]


def _config_migration(config: Path | None) -> ConfigMigration | None:
    """Return the migration of the configuration file; None if there is no file."""
    return ConfigMigration.of(config or DEFAULT_FILE) if config is not None or DEFAULT_FILE.exists() else None


def _check_writable(file: Path) -> None:
    """Raise `ConfigError` before the database is changed if the file cannot be replaced afterwards."""
    folder = file.resolve().parent
    if not os.access(folder, os.W_OK):
        raise ConfigError(
            f"{file} has keys of an older version and cannot be changed",
            why=f"This user may not write to {folder}.",
            fix="Run `arvis config migrate` as a user with this permission, then run `arvis upgrade` again.",
        )


def _upgrade(settings: Config, database: Database) -> list[str]:
    now = SystemClock().now()
    try:
        with lock_data_folder(settings.data_dir):
            if (finding := make_sound(database, now)) is not None:
                report = f" See {finding.report}" if finding.report else ""
                tell(f"The database was examined: {finding.what}.{report}")
            return upgrade_database(database, now)
    except DataFolderInUse as used:
        fix = (
            "Stop the daemon and run `arvis upgrade` again, or restart the daemon with the new version: it upgrades the "
            "database by itself. `arvis upgrade --check` works while the daemon runs."
        )
        raise DataFolderInUse(used.what, why=used.why, fix=fix) from used


def _rehearse(settings: Config) -> list[str]:
    database, now = database_of(settings), SystemClock().now()
    if database.url is None and not database.file.exists():
        return []
    if holder_of(settings.data_dir) is not None:
        return rehearse(database, now, at_rest=False)
    try:
        with lock_data_folder(settings.data_dir):
            return rehearse(database, now, at_rest=True)
    except DataFolderInUse:  # the daemon has started meanwhile
        return rehearse(database, now, at_rest=False)


def _backup(database: Database, ran: Sequence[str]) -> Path | None:
    """Return the backup that the upgrade has made."""
    if database.url is not None or not ran:
        return None
    return next((backup.path for backup in list_backups(database) if backup.before == ran[0]), None)


def _output(
    ran: Sequence[str],
    backup: Path | None,
    migration: ConfigMigration | None,
    *,
    saved: Path | None = None,
    done: bool,
    failed: Sequence[Finding],
) -> Output:
    renamed = [] if migration is None else [str(each) for each in migration.renamed]
    data: dict[str, Any] = {
        "changed": done and bool(ran or renamed),
        "migrations": list(ran),
        "backup": None if backup is None else str(backup),
        "configuration": renamed,
        "configurationBackup": None if saved is None else str(saved),
        "failedChecks": [asdict(finding) for finding in failed],
    }
    lines = _done(ran, renamed, backup, saved) if done else _planned(ran, renamed)
    notes = [f"arvis doctor: {finding.what}.\n  why: {finding.why}\n  fix: {finding.fix}" for finding in failed]
    return Output(data, "\n".join(lines), notes=notes)


def _planned(ran: Sequence[str], renamed: Sequence[str]) -> Iterator[str]:
    yield from (f"would run {name}" for name in ran)
    yield from (f"would change the configuration: {each}" for each in renamed)
    if ran:
        yield "The upgrade would succeed with the current data. Nothing was changed."
    elif renamed:
        yield "The database is up to date. Nothing was changed."
    else:
        yield "Data and configuration are up to date."


def _done(ran: Sequence[str], renamed: Sequence[str], backup: Path | None, saved: Path | None) -> Iterator[str]:
    yield from (f"ran {name}" for name in ran)
    yield from (f"changed the configuration: {each}" for each in renamed)
    if saved is not None:
        yield f"The old configuration is {saved}."
    if backup is not None:
        yield "To return to the previous version, install it again, then run:"
        yield f"  arvis restore {backup.name}"
    if not ran and not renamed:
        yield "Data and configuration are up to date."
