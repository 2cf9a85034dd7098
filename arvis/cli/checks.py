"""The checks of `arvis doctor`. Each looks and changes nothing; each finding says what, why and how to mend it."""

from __future__ import annotations

import contextlib
import os
import platform
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from arvis.app import database_of
from arvis.cli.api import daemon_url, request
from arvis.config import Config, ineffective_keys
from arvis.domain.errors import ArvisError, DaemonUnreachable, DataFolderInUse
from arvis.process.disk import disk_space
from arvis.process.lock import lock_data_folder
from arvis.store.inspection import SQLITE_VERSION, inspect, log_bytes

_MEGABYTE = 1_000_000
_OTHERS = 0o077

#: STRICT tables, on which the schema rests.
_OLDEST_SQLITE = (3, 37, 0)

#: The log is cut back to 64 MB whenever nobody reads; twice that means that something reads on and on.
_LARGE_LOG = 128 * _MEGABYTE

_READY_PATIENCE = 5.0


class Status(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """`check` is a stable id for programs."""

    check: str
    status: Status
    what: str
    why: str = ""
    fix: str = ""


def ok(check: str, what: str) -> Finding:
    return Finding(check, Status.OK, what)


def failed(check: str, error: ArvisError) -> Finding:
    return Finding(check, Status.FAIL, error.what, error.why, error.fix)


def check_configuration(config: Config) -> Finding:
    """It has loaded; what is left are things that a person may not have meant."""
    check = "configuration"
    if config.skipped_accounts:
        names = ", ".join(f"{account.provider} ({account.variable})" for account in config.skipped_accounts)
        why = f"The environment names {names}."
        return Finding(check, Status.WARN, "Some accounts cannot be used", why, "Write the accounts into config.yaml.")
    if ineffective := ineffective_keys(config):
        why = f"{', '.join(ineffective)}: this version does not act upon them."
        return Finding(check, Status.WARN, "Some settings have no effect", why, "Do not rely on them yet.")
    if not config.accounts:
        fix = "Set a key such as OPENAI_API_KEY, or add an account to config.yaml."
        return Finding(check, Status.WARN, "No account is configured", "The built-in demo answers.", fix)
    where = config.config_file or "the built-in defaults"
    return ok(check, f"{where} can be used, accounts: {', '.join(account.name for account in config.accounts)}")


def check_data_folder(folder: Path) -> Finding:
    """There, private, writable, with room."""
    check = "data_folder"
    if not folder.is_dir():
        return Finding(check, Status.WARN, f"{folder} does not exist", "The first start makes it.", "Run `arvis run`.")
    if not os.access(folder, os.W_OK | os.X_OK):
        fix = "Run this command as the user that runs the daemon, or let this user write there."
        return Finding(check, Status.FAIL, f"{folder} cannot be written", "Its owner or mode forbids it.", fix)
    space = disk_space(folder)
    room = f"{space.free // _MEGABYTE} MB free"
    if space.is_low:
        return Finding(check, Status.FAIL, f"{folder} has no room: {room}", fix="Free some space on its disk.")
    mode = folder.stat().st_mode & 0o777
    if mode & _OTHERS:
        why = f"Its mode is {mode:04o}, so other users of this machine can look inside."
        return Finding(check, Status.WARN, f"{folder} is not private", why, f"Run `chmod 700 {folder}`.")
    return ok(check, f"{folder} is private, {room}")


def check_database(config: Config) -> Finding:
    """Opens, has this version's schema, and finds no damage in itself."""
    check = "database"
    database = database_of(config)
    name = "PostgreSQL" if database.url else str(database.file)
    if database.url is None and not (database.file.exists() and database.file.stat().st_size):
        return ok(check, "There is no database yet: the first start makes it")
    try:
        state = inspect(database)
    except ArvisError as error:
        return failed(check, error)
    if state.damage:
        fix = f"Stop the daemon and restore one of the copies in {database.folder / 'backups'}."
        return Finding(check, Status.FAIL, f"{name} is damaged", "; ".join(state.damage), fix)
    if state.missing:
        why = f"These migrations have not run: {', '.join(state.missing)}."
        return Finding(
            check, Status.WARN, f"{name} is not up to date", why, "Run `arvis migrate`, or start the daemon."
        )
    return ok(check, f"{name} is sound and up to date")


def check_daemon(config: Config, *, running: bool) -> Finding:
    """`running` says whether somebody holds the data folder."""
    check = "daemon"
    if not running:
        return Finding(check, Status.WARN, "No daemon is running", fix="Start it with `arvis run`.")
    if "web" not in config.roles:
        return ok(check, "A daemon is running; the web is not among its roles, so it cannot be asked")
    url = daemon_url(config)
    try:
        answer = request(url, "GET", "/ready", patience=_READY_PATIENCE)
    except DaemonUnreachable as error:
        return failed(check, error)
    match answer.data:
        case {"ready": True}:
            return ok(check, f"The daemon at {url} is ready")
        case {"roles": dict(roles), "database": database, "eventLoop": loop}:
            down = [name for name, up in {**roles, "database": database, "event loop": loop}.items() if not up]
            why = f"Down: {', '.join(down)}."
            return Finding(check, Status.FAIL, f"The daemon at {url} is not ready", why, "Look at its log.")
        case _:
            return Finding(
                check, Status.FAIL, f"What answers at {url} is not Arvis", fix="Set web.port to another port."
            )


def check_versions(config: Config) -> Finding:
    """The software beneath, and the write-ahead log of SQLite."""
    check = "versions"
    sqlite = ".".join(map(str, SQLITE_VERSION))
    found = f"Python {platform.python_version()}, SQLite {sqlite}"
    if SQLITE_VERSION < _OLDEST_SQLITE:
        oldest = ".".join(map(str, _OLDEST_SQLITE))
        return Finding(
            check, Status.FAIL, f"SQLite {sqlite} is too old", f"Arvis needs {oldest}.", "Use a newer Python."
        )
    size = log_bytes(database_of(config))
    if size > _LARGE_LOG:
        why = "Some program holds the database open for reading."
        fix = "Close what reads arvis.db, or start the daemon again."
        return Finding(check, Status.WARN, f"The write-ahead log has {size // _MEGABYTE} MB", why, fix)
    return ok(check, f"{found}, write-ahead log {size / _MEGABYTE:.1f} MB")


def examine(config: Config) -> list[Finding]:
    """All checks, the last two beside whatever daemon there is. Without one the data folder is held meanwhile, so
    that none starts into an examination."""
    folder = config.data_dir
    findings = [check_configuration(config), check_data_folder(folder)]
    with contextlib.ExitStack() as stack:
        running = False
        if folder.is_dir():
            try:
                stack.enter_context(lock_data_folder(folder))
            except DataFolderInUse:
                running = True
            except ArvisError as error:
                return [*findings, failed("database", error), check_versions(config)]
        return [*findings, check_database(config), check_daemon(config, running=running), check_versions(config)]
