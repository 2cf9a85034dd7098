"""Runs the owner's command after a backup, and reports failures of backups and of this command to the owners."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Concatenate, ParamSpec

import structlog

from arvis.config.sections import Backup
from arvis.domain.errors import ArvisError, StoreError, ToolError
from arvis.domain.notifications import DAY_MS, Hint, Problem, Remedy
from arvis.messaging.owner_alerts import alert_owner, resolve
from arvis.ports.backups import BackupFile
from arvis.ports.clock import Clock
from arvis.ports.sandbox import Finished, Programs, Task
from arvis.ports.store import Store, Transaction

P = ParamSpec("P")

log = structlog.get_logger(__name__)

#: The text in an argument that is replaced by the path of the backup. No shell replaces it.
FILE = "$ARVIS_BACKUP_FILE"
#: The maximum number of bytes of each output stream that are kept, and of characters that an error quotes.
_MOST_OUTPUT = 65_536
_QUOTED = 500
#: The causes of the notifications.
_BACKUP, _COMMAND = "backup", "backup_command"


class BackupReports:
    """Implements `BackupWatch`: runs the command of the configuration with each verified backup."""

    def __init__(self, *, settings: Backup, store: Store, clock: Clock, programs: Programs) -> None:
        self._command = settings.command
        self._timeout = settings.command_timeout / 1000
        self._store = store
        self._clock = clock
        self._programs = programs

    async def made(self, backup: BackupFile) -> None:
        await self._report(resolve, _BACKUP, self._clock.now())
        if not self._command:
            return
        task = Task(
            [argument.replace(FILE, str(backup.path)) for argument in self._command],
            backup.path.parent,
            environment={**os.environ, **_variables(backup)},
            timeout=self._timeout,
            max_output=_MOST_OUTPUT,
            memory=0,
        )
        try:
            problem = _problem(await self._programs.run(task), self._timeout)
        except ToolError as error:
            problem = " ".join(filter(None, (error.what, error.why)))
        if problem is None:
            log.info("backup_command_done", path=str(backup.path))
            await self._report(resolve, _COMMAND, self._clock.now())
            return
        log.error("backup_command_failed", path=str(backup.path), error=problem, fix="Check `backup.command`.")
        text = f"The command after the backup {backup.path.name} failed: {problem}"
        await self._report(alert_owner, _about(_COMMAND, text), self._clock.now())

    async def failed(self, error: ArvisError) -> None:
        log.error("backup_failed", error=error.what, why=error.why, fix=error.fix)
        text = f"No backup could be made: {error.what} ({error.why or error.code}). Arvis tries again in an hour."
        await self._report(alert_owner, _about(_BACKUP, text), self._clock.now())

    async def _report(
        self, script: Callable[Concatenate[Transaction, P], bool], /, *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Write a report. A database that cannot be written does not prevent the next backup."""
        try:
            await self._store.write(script, *args, **kwargs)
        except StoreError as error:
            log.warning("alert_failed", error=error.what, why=error.why)


def _about(cause: str, text: str) -> Problem:
    hint = Hint("\n`arvis doctor` checks the backups.", "\nThe page Backups shows all backups.", "/settings/backups")
    return Problem(cause=cause, text=text, hint=hint, remedy=Remedy.MAKE_BACKUP, interval=DAY_MS)


def _variables(backup: BackupFile) -> dict[str, str]:
    return {
        "ARVIS_BACKUP_FILE": str(backup.path),
        "ARVIS_BACKUP_BYTES": str(backup.bytes),
        "ARVIS_BACKUP_CREATED_AT": str(backup.created_at),
        "ARVIS_BACKUP_ENCRYPTED": "1" if backup.encrypted else "0",
    }


def _problem(finished: Finished, timeout: float) -> str | None:
    """Return the reason why the command counts as failed; None if it succeeded."""
    if finished.timed_out:
        return f"it took longer than {timeout:g} seconds and was ended."
    if finished.exit_code == 0:
        return None
    words = _last_words((finished.stderr, finished.stdout))
    return f"it ended with exit code {finished.exit_code}" + (f": {words}" if words else ".")


def _last_words(streams: Sequence[bytes]) -> str:
    for stream in streams:
        if text := " ".join(stream.decode("utf-8", "replace").split()):
            return text[-_QUOTED:]
    return ""
