"""A restore puts the whole backup in place or nothing; the earlier data is never lost, whenever the process is
killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from arvis.domain.errors import BackupDamaged, Conflict, DiskFull, SchemaTooNew
from arvis.store.backups.making import make_backup
from arvis.store.backups.restore import restore, restore_newest
from arvis.store.backups.swap import finish_restore
from arvis.store.open import Database, bring_up_to_date
from arvis.store.sql.migrations import available
from tests.files.backup_kit import (
    DAY_MS,
    FILES,
    HASHES,
    MESSAGES,
    NOW,
    copied,
    everything,
    filled,
    killed,
    manifest,
    members,
    said,
    say,
)

LATER = NOW + DAY_MS
ROOT = Path(__file__).parents[2]
OLDEST = ROOT / "tests" / "fixtures" / "databases" / "0001.db"


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Database:
    return filled(tmp_path_factory.mktemp("restore") / "data")


@pytest.fixture
def database(template: Database, tmp_path: Path) -> Database:
    return copied(template, tmp_path / "data")


# -- restored data ------------------------------------------------------------------------------------------


def test_the_backup_takes_the_place_of_the_database(database: Database) -> None:
    say(database, "before")
    made = make_backup(database, NOW)
    say(database, "since")
    restored = restore(database, made.path, LATER)
    assert said(database) == ["before"]
    assert (restored.source, restored.created_at) == (made.path, NOW)
    assert (restored.messages, restored.messages_before, restored.missing) == (MESSAGES, MESSAGES, 0)
    assert database.file.stat().st_mode & 0o777 == 0o600


def test_what_was_there_is_put_aside_with_its_log(database: Database) -> None:
    made = make_backup(database, NOW)
    left = killed(database, "in the log")
    shutil.copytree(made.path.parent, left.backups)
    before = {path.name: path.read_bytes() for path in left.folder.iterdir() if path.is_file()}
    assert b"in the log" in before["arvis.db-wal"]
    aside = restore(left, made.path, LATER).aside
    assert aside == left.aside / "20270116T080000Z"
    assert {path.name: path.read_bytes() for path in aside.iterdir()} == before
    assert said(left) == []


def test_a_database_that_was_put_aside_comes_back_with_its_log(database: Database) -> None:
    made = make_backup(database, NOW)
    left = killed(database, "in the log")
    aside = restore(left, made.path, LATER).aside
    assert aside is not None
    before = everything(aside)
    restored = restore(left, aside / "arvis.db", LATER)
    assert said(left) == ["in the log"]
    assert (restored.created_at, restored.messages) == (None, MESSAGES)
    assert everything(aside) == before
    assert restored.aside == left.aside / "20270116T080001Z"


def test_files_that_are_missing_or_changed_come_back(database: Database) -> None:
    made = make_backup(database, NOW)
    kept = database.blobs.keep(b"younger than the backup")
    database.blobs.path(HASHES[0]).unlink()
    database.blobs.path(HASHES[1]).write_bytes(b"something else")
    assert restore(database, made.path, LATER).missing == 0
    assert [database.blobs.path(sha256).read_bytes() for sha256 in HASHES] == list(FILES)
    assert database.blobs.path(kept).exists()


def test_files_that_nobody_has_are_counted(database: Database) -> None:
    database.blobs.path(HASHES[0]).unlink()
    made = make_backup(database, NOW)
    assert restore(database, made.path, LATER).missing == 1


def test_a_fresh_folder_gets_everything(database: Database, tmp_path: Path) -> None:
    made = make_backup(database, NOW)
    fresh = Database(tmp_path / "fresh" / "arvis.db", None, tmp_path / "fresh")
    restored = restore(fresh, made.path, LATER)
    assert (restored.messages, restored.messages_before, restored.aside) == (MESSAGES, None, None)
    blobs = [f"blobs/{sha256[:2]}/{sha256[2:]}" for sha256 in HASHES]
    assert sorted(everything(fresh.folder)) == sorted(["arvis.db", *blobs])


def test_a_database_that_cannot_be_read_is_put_aside_as_it_is(database: Database) -> None:
    made = make_backup(database, NOW)
    database.file.write_bytes(b"no database at all")
    restored = restore(database, made.path, LATER)
    assert restored.messages_before is None
    assert restored.aside is not None
    assert (restored.aside / "arvis.db").read_bytes() == b"no database at all"
    assert said(database) == []


def test_an_older_backup_is_brought_up_to_date(tmp_path: Path) -> None:
    shutil.copy(OLDEST, tmp_path / "arvis.db")
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    names = [migration.name for migration in available()]
    assert bring_up_to_date(database, NOW) == names[1:]
    [before] = database.backups.iterdir()
    assert manifest(before)["migrations"] == names[:1]
    assert manifest(before)["before"] == names[1]
    restore(database, before, LATER)
    assert bring_up_to_date(database, LATER) == []
    assert [path.name for path in database.backups.iterdir()] == [before.name]


# -- refused restores ---------------------------------------------------------------------------------------


def test_a_backup_of_a_newer_arvis_is_refused(database: Database) -> None:
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute("INSERT INTO migrations VALUES ('9999_later', 'x', 0)")
    made = make_backup(database, NOW)
    before = everything(database.folder)
    with pytest.raises(SchemaTooNew):
        restore(database, made.path, LATER)
    assert everything(database.folder) == before


def test_another_programs_database_is_refused(database: Database, tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as connection, connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    before = everything(database.folder)
    with pytest.raises(BackupDamaged) as raised:
        restore(database, tmp_path / "other.db", LATER)
    assert raised.value.why == "it is not an Arvis database"
    assert everything(database.folder) == before


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (
            "CREATE TRIGGER grant AFTER INSERT ON messages BEGIN UPDATE principals SET role = 'owner'; END",
            "the trigger grant",
        ),
        ("CREATE VIEW extra AS SELECT * FROM messages", "the view extra"),
        ("ALTER TABLE messages ADD COLUMN spy TEXT GENERATED ALWAYS AS (upper(content))", "column messages.spy"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_backup_with_statements_of_its_own_is_refused(
    database: Database, tmp_path: Path, statement: str, named: str, *, packed: bool
) -> None:
    hostile = copied(database, tmp_path / "hostile")
    with contextlib.closing(sqlite3.connect(hostile.file)) as connection, connection:
        connection.execute(statement)
    source = make_backup(hostile, NOW).path if packed else hostile.file
    before = everything(database.folder)
    with pytest.raises(BackupDamaged) as raised:
        restore(database, source, LATER)
    assert named in str(raised.value.why)
    assert everything(database.folder) == before


def test_a_plain_file_that_is_damaged_is_refused(database: Database, tmp_path: Path) -> None:
    pages = bytearray(database.file.read_bytes())
    pages[4096 * 3 : 4096 * 20] = bytes(4096 * 17)
    (tmp_path / "damaged.db").write_bytes(pages)
    before = everything(database.folder)
    with pytest.raises(BackupDamaged):
        restore(database, tmp_path / "damaged.db", LATER)
    assert everything(database.folder) == before
    assert not database.aside.exists()


def test_a_plain_file_whose_rows_refer_to_nothing_is_refused(database: Database) -> None:
    changed(database, "INSERT INTO cursors VALUES ('c', 'nobody', '', 'null', 0, 0, NULL)")
    with pytest.raises(BackupDamaged) as raised:
        restore(database, database.file, LATER)
    assert raised.value.why == "a row of cursors refers to a missing row of executions"


def test_no_room_is_seen_before_anything_is_written(database: Database) -> None:
    made = make_backup(database, NOW)
    huge = database.folder / "huge.db"
    with huge.open("wb") as file:
        file.write(members(made.path)["arvis.db"])
        file.truncate(1 << 42)
    with pytest.raises(DiskFull, match="not enough disk space for the restored database"):
        restore(database, huge, LATER)
    assert not database.aside.exists()


def test_postgresql_has_its_own_programs(tmp_path: Path) -> None:
    with pytest.raises(Conflict):
        restore(Database(tmp_path / "arvis.db", "postgresql://x", tmp_path), tmp_path / "x", NOW)


# -- the newest backup --------------------------------------------------------------------------------------


def test_the_newest_sound_backup_is_taken_and_the_others_are_named(database: Database) -> None:
    for number in range(4):
        say(database, str(number))
        make_backup(database, NOW + number * DAY_MS)
    newest = sorted(database.backups.iterdir())[::-1]
    newest[0].write_bytes(newest[0].read_bytes()[:-300])
    newest[1].write_bytes(b"")
    database.file.write_bytes(b"damaged")
    restored = restore_newest(database, NOW + 9 * DAY_MS)
    assert restored is not None
    assert (restored.source, restored.created_at) == (newest[2], NOW + DAY_MS)
    assert [each.path for each in restored.passed_over] == newest[:2]
    assert all(each.why for each in restored.passed_over)
    assert said(database) == ["0", "1"]


def test_a_backup_before_a_migration_counts_too(database: Database) -> None:
    make_backup(database, NOW)
    newer = make_backup(database, LATER, "0009_x")
    restored = restore_newest(database, LATER)
    assert restored is not None
    assert restored.source == newer.path


def test_without_a_sound_backup_nothing_changes(database: Database) -> None:
    assert restore_newest(database, NOW) is None
    make_backup(database, NOW).path.write_bytes(b"")
    before = everything(database.folder)
    assert restore_newest(database, NOW) is None
    assert everything(database.folder) == before


# -- kills --------------------------------------------------------------------------------------------------


def test_a_restore_that_was_killed_anywhere_is_done_or_not_begun(database: Database) -> None:
    """A restore is killed before each call that names, moves or opens a file.

    The next start finds the old or the new database, whole, and the restore can be repeated.
    """
    made = make_backup(database, NOW)
    scene = killed(database, "in the log")
    shutil.copytree(database.folder / "blobs", scene.folder / "blobs")
    scene.blobs.path(HASHES[0]).unlink()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.files.backup_kills",
            str(scene.folder),
            str(made.path),
            str(database.folder.parent),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("wrong") == []
    assert found["old"] > 10
    assert found["new"] > 5


def test_finishing_what_was_never_begun_changes_nothing(database: Database) -> None:
    before = everything(database.folder)
    finish_restore(database)
    assert everything(database.folder) == before


# -- work under way (more of it in tests/flows/test_restore.py) ---------------------------------------------


def changed(database: Database, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def column(database: Database, query: str) -> list[object]:
    with contextlib.closing(sqlite3.connect(database.file)) as connection:
        return [value for (value,) in connection.execute(query)]


def test_a_question_beside_running_work_stays_open(database: Database) -> None:
    """A person may answer it, and then the whole execution continues."""
    changed(
        database,
        "UPDATE waits SET expires_at = NULL, kind = 'approval'",
        "UPDATE jobs SET execution_id = (SELECT execution_id FROM waits) WHERE status = 'pending'",
        "UPDATE messages SET execution_id = (SELECT execution_id FROM waits)",
    )
    restored = restore(database, make_backup(database, NOW).path, LATER)
    assert column(database, "SELECT status FROM executions") == ["paused"]
    assert set(column(database, "SELECT status FROM messages")) == {"waiting"}
    assert (restored.given_up.executions, column(database, "SELECT count(*) FROM jobs WHERE ready > 0")) == (1, [0])


def test_a_question_whose_time_is_over_is_not_answered_by_time(database: Database) -> None:
    changed(database, f"UPDATE waits SET expires_at = {LATER}, kind = 'approval'")
    restored = restore(database, make_backup(database, NOW).path, LATER)
    assert column(database, "SELECT status FROM executions") == ["failed"]
    assert column(database, "SELECT answered_at FROM waits") == [None]
    retry = "SELECT reason FROM jobs WHERE execution_id = (SELECT execution_id FROM waits) AND status = 'failed'"
    assert column(database, retry) == ["restored"]
    assert restored.given_up.executions == 1


def test_no_job_lives_and_a_key_that_guards_only_live_jobs_is_free(database: Database) -> None:
    changed(
        database,
        "UPDATE jobs SET key = id, key_live = 1 WHERE status = 'pending'",
        "UPDATE jobs SET key = id WHERE status = 'done'",
    )
    pending = column(database, "SELECT id FROM jobs WHERE status = 'pending'")
    assert restore(database, make_backup(database, NOW).path, LATER).given_up.jobs == len(pending) + 1
    assert column(database, "SELECT count(*) FROM lanes") == [0]
    assert set(column(database, "SELECT status FROM jobs")) == {"done", "failed"}
    assert len(column(database, "SELECT key FROM jobs WHERE key IS NOT NULL")) == 1


# -- bots that read the history of channels -----------------------------------------------------------------


def positions(database: Database) -> dict[str, int]:
    with contextlib.closing(sqlite3.connect(database.file)) as connection:
        return dict(connection.execute("SELECT feed, position FROM read_positions").fetchall())


def put_position(database: Database, feed: str, position: int) -> None:
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute("REPLACE INTO read_positions VALUES ('discord', 'main', ?, ?)", (feed, position))


def test_bots_do_not_read_the_messages_since_the_backup_again(database: Database) -> None:
    put_position(database, "general", 5)
    made = make_backup(database, NOW)
    put_position(database, "general", 9)
    put_position(database, "new", 3)
    restore(database, made.path, NOW)
    assert positions(database) == {"general": 9, "new": 3}


@pytest.mark.parametrize("lost", ["elsewhere", "unreadable"])
def test_bots_begin_with_new_messages_if_nobody_knows_what_they_read(
    database: Database, tmp_path: Path, lost: str
) -> None:
    put_position(database, "general", 5)
    made = make_backup(database, NOW)
    if lost == "elsewhere":
        (tmp_path / "elsewhere").mkdir()
        database = Database(tmp_path / "elsewhere" / "arvis.db", None, tmp_path / "elsewhere")
    else:
        database.file.write_bytes(b"no database" * 1000)
    restore(database, made.path, NOW)
    assert positions(database) == {}
