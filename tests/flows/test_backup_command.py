"""The owner's command runs after each verified backup, and its failures are reported."""

from __future__ import annotations

import sqlite3
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from arvis.app.backups import BackupReports
from arvis.config.sections import Backup
from arvis.domain.messages import Address
from arvis.messaging.owner_alerts import choose_place
from arvis.ports.backups import BackupFile
from arvis.ports.store import Store
from arvis.process.subprocesses import GuardedPrograms
from arvis.store.backups.archive import verify_archive
from arvis.store.backups.service import BackupService
from arvis.store.open import Database
from tests.conformance.databases import opened
from tests.files.backup_kit import DAY_MS, NOW, said
from tests.flows.schedule_kit import WildClock

OWNERS = Address("web", "web", "owners")


@dataclass
class Installation:
    database: Database
    store: Store
    clock: WildClock

    def service(self, *command: str, timeout: str = "60s") -> BackupService:
        settings = Backup.model_validate({"command": list(command), "command_timeout": timeout})
        reports = BackupReports(settings=settings, store=self.store, clock=self.clock, programs=GuardedPrograms())
        return BackupService(
            database=self.database, every=DAY_MS, clock=self.clock, watch=reports, restart=lambda: None
        )

    async def backed_up(self, *command: str, timeout: str = "60s") -> BackupFile:
        """Make the backup that is due, and return it after its command has ended."""
        service = self.service(*command, timeout=timeout)
        self.clock.pass_time(DAY_MS / 1000)
        assert await service.run_due() == 86_400
        return (await service.all())[0]

    def alerts(self) -> list[str]:
        with closing(sqlite3.connect(self.database.file)) as connection:
            return [text for (text,) in connection.execute("SELECT content FROM deliveries ORDER BY id")]


@pytest.fixture
async def installation(tmp_path: Path) -> AsyncIterator[Installation]:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    async with opened(database) as store:
        await store.write(choose_place, OWNERS, NOW)
        yield Installation(database, store, WildClock(NOW))


def program(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


async def test_it_gets_the_verified_file_and_its_description(installation: Installation, tmp_path: Path) -> None:
    code = (
        "import os, shutil, sys; shutil.copy(sys.argv[1], sys.argv[2]); print(os.environ, file=open(sys.argv[3], 'w'))"
    )
    copy, noted = tmp_path / "copy", tmp_path / "noted"
    made = await installation.backed_up(*program(code), "$ARVIS_BACKUP_FILE", str(copy), str(noted))
    assert verify_archive(copy, threading.Event()).created_at == made.created_at
    environment = noted.read_text()
    for name, value in {"FILE": made.path, "BYTES": made.bytes, "CREATED_AT": NOW + DAY_MS, "ENCRYPTED": 0}.items():
        assert f"'ARVIS_BACKUP_{name}': '{value}'" in environment
    assert installation.alerts() == []


async def test_no_shell_reads_its_arguments(installation: Installation, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    code = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"
    strange = "$(touch x); `id` $HOME * $ARVIS_BACKUP_FILE"
    made = await installation.backed_up(*program(code), str(noted), strange)
    assert noted.read_text() == strange.replace("$ARVIS_BACKUP_FILE", str(made.path))


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import sys; sys.exit('the other disk is full')", "it ended with exit code 1: the other disk is full"),
        ("import os; os.abort()", "it ended with exit code "),
        ("import time; time.sleep(60)", "it took longer than 1 seconds and was ended."),
    ],
)
async def test_its_failure_is_reported_and_the_backup_stays(
    installation: Installation, code: str, problem: str
) -> None:
    begun = time.monotonic()
    made = await installation.backed_up(*program(code), timeout="1s")
    assert time.monotonic() - begun < 30
    [alert] = installation.alerts()
    assert alert.startswith(f"The command after the backup {made.path.name} failed: {problem}")
    assert made.path.exists()


async def test_a_missing_program_is_reported(installation: Installation) -> None:
    await installation.backed_up("no-such-program")
    assert "The program no-such-program is not installed." in installation.alerts()[0]


async def test_it_does_not_run_without_a_backup_and_the_owner_knows(installation: Installation, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    service = installation.service(*program("import sys; open(sys.argv[1], 'w')"), str(noted))
    installation.clock.pass_time(2 * DAY_MS / 1000)
    installation.database.backups.symlink_to(tmp_path / "nowhere" / "deeper")
    assert await service.run_due() == 3600
    [alert] = installation.alerts()
    assert alert.startswith("No backup could be made: A backup of ")
    assert not noted.exists()
    assert said(installation.database) == []
