"""An upgrade changes the data completely, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from arvis.app.upgrade import _Check, rehearse, upgrade
from arvis.domain.errors import DiskFull, UpgradeFailed
from arvis.domain.jobs import JobStatus
from arvis.store.open import Database
from arvis.store.postgres.migrations import PostgresTarget
from arvis.store.sql.migrations import Candidate, Migration, available, migrate
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import connect
from tests.files.earlier_states import (
    NOW,
    Content,
    content_of,
    content_on_postgres,
    earlier,
    earlier_on_postgres,
)
from tests.parts import require

#: The state of these tests: its schema lacks tables and columns, and it has rows of almost every kind.
STATE = 11
#: A migration after all others that does nothing.
NOTHING = Migration("9000_nothing", "CREATE TABLE unused (id TEXT PRIMARY KEY) STRICT;")


@dataclass(frozen=True, slots=True)
class Installation:
    """A database of an earlier state on SQLite or PostgreSQL."""

    database: Database

    def content(self) -> Content:
        return content_of(self.database) if self.database.url is None else content_on_postgres(self.database.url)

    def upgrade_with(self, *more: Migration) -> list[str]:
        """Upgrade the database as a later version would that has more migrations."""
        migrations = [*available(), *more]
        if self.database.url is not None:
            return migrate(PostgresTarget(url=self.database.url, now=NOW), migrations, _Check(NOW))
        with contextlib.closing(connect(self.database.file, writing=True)) as connection:
            return migrate(SqliteTarget(connection=connection, now=NOW), migrations, _Check(NOW))

    def execute(self, statement: str) -> None:
        if self.database.url is not None:
            with psycopg.connect(self.database.url) as connection:
                connection.execute(statement.encode())
        else:
            with contextlib.closing(sqlite3.connect(self.database.file)) as other, other:
                other.execute(statement)


@pytest.fixture(params=["sqlite", "postgres"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    if request.param == "sqlite":
        yield Installation(earlier(tmp_path / "data", STATE))
        return
    url = request.getfixturevalue("postgres_url")
    earlier_on_postgres(url, STATE)
    yield Installation(Database(tmp_path / "unused", url, tmp_path))


# -- the checks ----------------------------------------------------------------------------------------------


def refused(old: Installation, *broken: Migration) -> str:
    """Expect that an upgrade with broken migrations changes nothing, and return the reason."""
    before = old.content()
    with pytest.raises(UpgradeFailed) as raised:
        old.upgrade_with(*broken)
    assert old.content() == before
    assert "previous version" in raised.value.fix
    return raised.value.why


def test_a_migration_that_loses_rows_is_undone(old: Installation) -> None:
    why = refused(old, Migration("9001_loses", "DELETE FROM timeline;"))
    assert "timeline has 0 rows instead of" in why


def test_a_migration_that_drops_a_table_is_undone(old: Installation) -> None:
    assert "plugin_additions has 0 rows instead of 1" in refused(
        old, Migration("9001_x", "DROP TABLE plugin_additions;")
    )


def test_a_migration_may_rename_a_table_and_say_that_it_deletes_rows(old: Installation) -> None:
    renames = Migration("9001_renames", "ALTER TABLE pairings RENAME TO papers;")
    deletes = Migration("9002_deletes", "-- rows: timeline, delivery_incidents\nDELETE FROM timeline;")
    assert old.upgrade_with(renames, deletes)[-1] == "9002_deletes"
    after = old.content()
    assert not after["timeline"]
    assert after["papers"]


def test_a_migration_that_makes_a_row_unreadable_is_undone(old: Installation) -> None:
    why = refused(old, Migration("9001_breaks", "UPDATE agents SET tools = 'no list' WHERE slug = 'helper';"))
    assert "rows cannot be read after the migrations: agents helper" in why


def test_a_row_that_could_not_be_read_before_does_not_stop_the_upgrade(old: Installation) -> None:
    old.execute("UPDATE agents SET tools = 'no list' WHERE slug = 'helper'")
    assert old.upgrade_with(NOTHING)[-1] == "9000_nothing"


def test_a_turn_without_an_answer_undoes_the_upgrade(old: Installation) -> None:
    if old.database.url is None:
        refusing = "CREATE TRIGGER no_answers BEFORE INSERT ON messages WHEN NEW.role = 'assistant' BEGIN SELECT RAISE(ABORT, 'no answers'); END;"
    else:
        refusing = "ALTER TABLE messages ADD CONSTRAINT no_answers CHECK (role <> 'assistant') NOT VALID;"
    why = refused(old, Migration("9001_refuses", refusing))
    assert "a test message got no answer" in why
    assert "no answers" in why or "no_answers" in why


def test_the_turn_leaves_no_row_and_runs_no_other_work(old: Installation) -> None:
    """The migrations alone must give the same rows as the complete upgrade."""
    url = old.database.url
    migrations = available()
    look = _Look()
    with contextlib.suppress(_Looked):
        if url is not None:
            migrate(PostgresTarget(url=url, now=NOW), migrations, look)
        else:
            with contextlib.closing(connect(old.database.file, writing=True)) as connection:
                migrate(SqliteTarget(connection=connection, now=NOW), migrations, look)
    upgrade(old.database, NOW)
    counts = {name: len(rows) for name, rows in old.content().items()}
    assert look.counts
    assert {name: counts[name] for name in look.counts} == look.counts
    assert [row for row in old.content()["jobs"] if JobStatus.PENDING in row], "a job still waits"


class _Looked(Exception):
    pass


class _Look:
    """An `UpgradeCheck` that notes the numbers of rows after the migrations and then rolls back."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def before(self, candidate: Candidate) -> None: ...

    def after(self, candidate: Candidate, ran: Sequence[Migration]) -> None:
        self.counts = dict(candidate.row_counts())
        raise _Looked


# -- the way back --------------------------------------------------------------------------------------------


def test_a_failed_upgrade_of_100_megabytes_is_rolled_back_within_ten_seconds(
    tmp_path: Path, figures: list[str]
) -> None:
    database = earlier(tmp_path / "data", STATE)
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute("CREATE TABLE ballast (id INTEGER PRIMARY KEY, text TEXT) STRICT")
        rows = ((f"{number:>8} " * 110,) for number in range(105_000))
        connection.executemany("INSERT INTO ballast (text) VALUES (?)", rows)
    assert database.file.stat().st_size > 100_000_000
    before = hashlib.sha256(database.file.read_bytes()).digest()
    began = time.monotonic()
    rewrites = Migration("9001_rewrites", "UPDATE ballast SET text = replace(text, ' ', '.');\nDELETE FROM timeline;")
    with pytest.raises(UpgradeFailed, match="not upgraded"):
        Installation(database).upgrade_with(rewrites)
    seconds = time.monotonic() - began
    figures.append(f"a failed upgrade with 100 MB of data: {seconds:.1f} s, with its rollback")
    assert hashlib.sha256(database.file.read_bytes()).digest() == before, "not one byte of the database file changed"
    assert seconds < 10


def test_the_backup_of_an_upgrade_brings_back_the_old_data(tmp_path: Path) -> None:
    database = earlier(tmp_path / "data", STATE)
    before = content_of(database)
    upgrade(database, NOW)
    [backup] = database.backups.iterdir()
    folder = tmp_path / "unpacked"
    folder.mkdir()
    shutil.unpack_archive(backup, folder, filter="data")
    assert content_of(Database(folder / "arvis.db", None, folder)) == before


def test_a_full_disk_during_the_backup_undoes_the_upgrade(tmp_path: Path) -> None:
    database = earlier(tmp_path / "data", STATE)
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute("UPDATE attachments SET size = 1 << 50")
    before = content_of(database)
    with pytest.raises(DiskFull, match="not enough disk space for a backup"):
        upgrade(database, NOW)
    assert content_of(database) == before
    assert not list(database.backups.glob("*"))


def test_a_failed_upgrade_leaves_no_backup(tmp_path: Path) -> None:
    """A service would try again and again; each backup would then take space, and in the end replace older ones."""
    database = earlier(tmp_path / "data", STATE)
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute(
            "CREATE TRIGGER no_answers BEFORE INSERT ON messages WHEN NEW.role = 'assistant' "
            "BEGIN SELECT RAISE(ABORT, 'no answers'); END"
        )
    for _ in range(2):
        with pytest.raises(UpgradeFailed):
            upgrade(database, NOW)
    assert not list(database.folder.glob("backups/*"))


# -- the rehearsal -------------------------------------------------------------------------------------------


def test_a_rehearsal_changes_nothing(old: Installation) -> None:
    before = old.content()
    names = [migration.name for migration in available()[STATE:]]
    assert rehearse(old.database, NOW, at_rest=True) == names
    assert old.content() == before
    assert upgrade(old.database, NOW) == names
    assert rehearse(old.database, NOW, at_rest=True) == []


def test_a_rehearsal_finds_what_the_upgrade_would_find(old: Installation) -> None:
    old.execute("CREATE TABLE kv (id TEXT)")
    before = old.content()
    with pytest.raises(Exception, match="0012_standard_names did not run"):
        rehearse(old.database, NOW, at_rest=True)
    assert old.content() == before


# -- kills ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_killed_upgrade_leaves_the_old_or_the_new_data(database: str, figures: list[str]) -> None:
    """The short form of `python -m tests.files.upgrade_kills`: the commits and a few other points, from two states."""
    require("initdb")
    options = ["--database", database, "--every", "300", "--state", "1", "--state", "13"]
    command = [sys.executable, "-m", "tests.files.upgrade_kills", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    found = json.loads(done.stdout or "{}").get(database, {})
    assert done.returncode == 0, found or done.stderr[-2000:]
    assert found["old"] > 0
    assert found["new"] > 0
    figures.append(f"kills during upgrades on {database}: {found['points']}, {found['old']} old, {found['new']} new")
