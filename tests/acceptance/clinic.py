"""A data folder for tests of `arvis doctor`. The doctor runs in the process of the test, which saves time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import secrets
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from arvis.cli.doctor import examine
from arvis.cli.doctor.findings import Finding
from arvis.cli.doctor.scene import System
from arvis.ports.store import Transaction
from arvis.process.data_folder import DataFolder, hold_data_folder
from arvis.store.location import Database
from arvis.store.open import bring_up_to_date, open_store
from arvis.store.sqlite.checkpoint import sums_file

HOUR = 3_600_000
DAY = 24 * HOUR

SYSTEM = System(python=sys.version_info[:3], encoding="utf-8")


def now() -> int:
    return time.time_ns() // 1_000_000


class Patient:
    """A data folder and its configuration, which the doctor examines. `config` is the text of config.yaml. The doctor
    sees no environment variables of this process."""

    def __init__(self, folder: Path, config: str = "web: {port: 0}\n") -> None:
        self.folder = folder
        self.data = folder / "data"
        self.config = folder / "config.yaml"
        self.config.write_text(config)
        self.config.chmod(0o600)

    @property
    def database(self) -> Database:
        return Database(self.data / "arvis.db", None, self.data)

    def born(self, at: int | None = None) -> Patient:
        """Create the data folder and a migrated database; `at` is the time of the migrations (ms)."""
        self.data.mkdir(mode=0o700)
        os.close(os.open(self.data / "lock", os.O_CREAT | os.O_RDWR, 0o600))
        bring_up_to_date(self.database, now() if at is None else at)  # the doctor reads the time of the migrations
        self.database.file.chmod(0o600)
        return self

    def examined(self, environ: Mapping[str, str] | None = None, **system: Any) -> dict[str, Finding]:
        """Run the doctor, and return its findings by check."""
        found = examine(self.config, None, environ or {}, system=replace(SYSTEM, **system), now=now()).findings
        assert len({finding.id for finding in found}) == len(found)
        assert all(finding.why and finding.fix for finding in found if finding.status != "ok"), found
        return {finding.id: finding for finding in found}

    def status(self, check: str, environ: Mapping[str, str] | None = None, **system: Any) -> str:
        return str(self.examined(environ, **system)[check].status)

    def sql(self, statement: str, *values: object) -> None:
        """Change rows without the store, and remove the page checksums, which would not match any more."""
        with contextlib.closing(sqlite3.connect(self.database.file)) as connection, connection:
            assert connection.execute(statement, values).rowcount != 0
        sums_file(self.database.file).unlink(missing_ok=True)

    def write(self, script: Callable[[Transaction], None]) -> None:
        """Change rows through the store."""
        asyncio.run(self._write(script))

    async def _write(self, script: Callable[[Transaction], None]) -> None:
        ids = (f"{number:026d}" for number in itertools.count(secrets.randbelow(10**20)))
        async with open_store(self.database, boot="test", new_id=lambda: next(ids)) as (store, _):
            await store.write(script)

    @contextlib.contextmanager
    def held(self) -> Iterator[DataFolder]:
        """Hold the data folder like a daemon that cannot be reached."""
        made = itertools.count(1)
        with hold_data_folder(self.data, new_id=lambda: f"BOOT{next(made)}", new_key=lambda: "key") as folder:
            yield folder
