"""Damage that a start finds: the file is set aside, the newest backup replaces it, and a person is notified."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from arvis.domain.errors import StoreError
from arvis.store.backups.making import make_backup
from arvis.store.backups.restore import restore
from arvis.store.integrity.repair import Finding, make_sound
from arvis.store.location import Database
from arvis.store.open import bring_up_to_date
from arvis.store.sqlite.checkpoint import kept_log, log_file, sums_file
from arvis.store.sqlite.wal import with_suffix
from tests.files.damage_kit import FRAME, HEADER, NOW, PAGE, cut, flip, kept_words, life, resumed
from tests.files.test_wal import commits

HOUR = 3_600_000
BEFORE, AFTER = ["m1", "m2", "m3"], ["m4", "m5"]
#: Place of a byte in the checksum at the end of a backup; other compressed bytes may change without effect.
SUM = -5


@pytest.fixture
def home(tmp_path: Path) -> Database:
    """Stop a database cleanly after three messages, a backup and two more messages."""
    with life(tmp_path / "home") as living:
        living.receive(*BEFORE)
        make_backup(living.database, NOW + HOUR)
        living.receive(*AFTER, at=NOW + 2 * HOUR)
    return living.database


@pytest.fixture
def dead(tmp_path: Path) -> Database:
    """Kill a database while all of its messages are in the log."""
    with life(tmp_path / "life") as living:
        living.receive(*BEFORE, *AFTER)
        return living.killed()


def started(database: Database, now: int = NOW + 3 * HOUR) -> Finding | None:
    """Start as the daemon does."""
    finding = make_sound(database, now)
    bring_up_to_date(database, now)
    return finding


def rows(database: Database, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"{database.file.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def messages(database: Database) -> list[object]:
    return [message_id for (message_id,) in rows(database, "SELECT id FROM messages ORDER BY id")]


def delivery_states(database: Database) -> set[object]:
    return {state for (state,) in rows(database, "SELECT state FROM deliveries")}


def spoil(file: Path) -> int:
    """Change a letter of a message, which SQLite does not notice, and return the number of its page."""
    place = file.read_bytes().index(b"Hello")
    flip(file, place)
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return place // PAGE + 1


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# -- a damaged file ----------------------------------------------------------------------------------------


def test_the_newest_backup_takes_the_place_of_a_damaged_file(home: Database) -> None:
    page = spoil(home.file)
    damaged = home.file.read_bytes()
    finding = started(home)
    assert finding is not None
    assert finding.report is not None
    assert (finding.level, finding.event) == ("error", "database_damaged")
    assert f"({page})" in finding.what
    assert messages(home) == BEFORE
    assert delivery_states(home) == {"unknown"}
    aside = home.aside / "20270115T110000Z"
    assert finding.report == aside / "damage.txt"
    assert (aside / "arvis.db").read_bytes() == damaged
    assert (aside / "arvis.db-sums").exists()
    assert started(home) is None


def test_the_report_names_what_is_missing_and_the_way_back(home: Database) -> None:
    page = spoil(home.file)
    finding = started(home)
    assert finding is not None
    assert finding.report is not None
    aside = finding.report.with_name("arvis.db")
    assert (
        finding.report.read_text()
        == f"""\
Arvis found its database damaged at 2027-01-15 11:00:00 UTC.

The damage
  pages that do not match their checksums: 1 ({page})

What was done
  The damaged database was moved to: {aside}
  The newest intact backup was restored: arvis-20270115T090000Z.tar.gz of 2027-01-15 09:00:00 UTC, 3 messages.
  Work that may already be done or sent is not repeated automatically: 0 executions, 0 jobs, 3 deliveries. \
`arvis jobs list` shows them; you can retry each of them.

What is missing
  2 messages of the damaged database are newer than the backup: from 2027-01-15 10:00:00 UTC to 2027-01-15 10:00:00 UTC.

How to undo this
  If you trust the damaged database more than the backup, stop Arvis and run:
  arvis restore {aside}
"""
    )
    restore(home, aside, NOW + 4 * HOUR)
    assert messages(home) == BEFORE + AFTER
    assert started(home) is not None


def test_messages_in_the_log_of_a_damaged_file_are_counted(tmp_path: Path) -> None:
    with life(tmp_path / "home") as living:
        living.receive(*BEFORE)
        living.sealing.fold()
        make_backup(living.database, NOW + HOUR)
        living.receive(*AFTER, at=NOW + 2 * HOUR)
        dead = living.killed()
    cut(dead.file, 20 * PAGE)
    finding = started(dead)
    assert finding is not None
    assert finding.report is not None
    assert messages(dead) == BEFORE
    assert sorted(path.name for path in finding.report.parent.iterdir()) == [
        *("arvis.db", "arvis.db-kept", "arvis.db-shm", "arvis.db-sums", "arvis.db-wal"),
        "damage.txt",
    ]


def test_a_file_that_cannot_be_read_at_all(home: Database) -> None:
    home.file.write_bytes(b"\0" * 3 * PAGE)
    finding = started(home)
    assert finding is not None
    assert finding.report is not None
    assert "cannot be read any more" in finding.report.read_text()
    assert messages(home) == BEFORE


@pytest.mark.parametrize("backups", ["none", "damaged"])
def test_without_a_sound_backup_nothing_is_served(home: Database, backups: str) -> None:
    [backup] = home.backups.iterdir()
    if backups == "none":
        backup.unlink()
    else:
        flip(backup, SUM)
    spoil(home.file)
    before = files(home.folder)
    for _ in range(3):
        with pytest.raises(StoreError, match="no intact backup") as raised:
            make_sound(home, NOW)
        assert "pages that do not match their checksums" in raised.value.why
        assert f"`arvis restore {home.file}`" in raised.value.fix
        assert files(home.folder) == before


def test_a_refused_database_can_be_taken_as_it_is(home: Database) -> None:
    spoil(home.file)
    restore(home, home.file, NOW)
    assert messages(home) == BEFORE + AFTER
    finding = started(home)
    assert finding is not None
    assert finding.level == "info"
    assert started(home) is None


def test_a_newer_backup_that_is_damaged_is_passed_over(home: Database) -> None:
    newer = make_backup(home, NOW + 2 * HOUR).path
    flip(newer, SUM)
    spoil(home.file)
    finding = started(home)
    assert finding is not None
    assert finding.report is not None
    assert f"Skipped: {newer.name}" in finding.report.read_text()
    assert messages(home) == BEFORE


# -- a damaged log -----------------------------------------------------------------------------------------


def test_the_sound_part_of_a_log_is_kept_and_nothing_old_is_sent_again(dead: Database) -> None:
    log = log_file(dead.file)
    end = commits(log)[3]
    flip(log, HEADER + end * FRAME + 50)
    damaged = log.read_bytes()
    finding = started(dead)
    assert finding is not None
    assert finding.report is not None
    assert (finding.level, finding.event) == ("error", "log_damaged")
    assert messages(dead) == ["m1", "m2", "m3", "m4"]
    assert delivery_states(dead) == {"unknown"}
    assert (finding.report.parent / "arvis.db-wal").read_bytes() == damaged
    text = finding.report.read_text()
    assert "frames that were committed to the log" in text
    assert "0 executions, 0 jobs, 4 deliveries" in text
    assert started(dead) is None


def test_a_superseded_log_is_not_played(tmp_path: Path) -> None:
    with life(tmp_path / "home") as living:
        living.receive(*BEFORE, *AFTER)
        assert living.sealing.fold()
        dead = living.killed()
    flip(log_file(dead.file), HEADER + 10 * FRAME)
    finding = started(dead)
    assert finding is not None
    assert finding.report is not None
    assert (finding.level, finding.event) == ("warning", "log_damaged")
    assert "Nothing: the database already contained all of it." in finding.report.read_text()
    assert messages(dead) == BEFORE + AFTER
    assert delivery_states(dead) == {"pending"}
    assert started(dead) is None


def test_a_log_that_another_program_folded_is_had_back(dead: Database) -> None:
    """The last program that closes the database folds its log, even if it only read."""
    with closing(sqlite3.connect(dead.file)) as other:
        assert other.execute("SELECT count(*) FROM messages").fetchone() == (5,)
    assert not log_file(dead.file).exists()
    assert started(dead) is None
    assert messages(dead) == BEFORE + AFTER
    assert not kept_log(dead.file).exists()


def test_a_log_that_is_gone_is_had_back(dead: Database) -> None:
    log_file(dead.file).unlink()
    assert started(dead) is None
    assert messages(dead) == BEFORE + AFTER


def test_the_log_of_another_file_is_not_played(home: Database, dead: Database) -> None:
    """A person copied another database there, and removed the files that SQLite keeps next to it."""
    with resumed(home) as living:
        living.receive("m6")
    dead.file.write_bytes(home.file.read_bytes())
    for left in (log_file(dead.file), with_suffix(dead.file, "-shm"), sums_file(dead.file)):
        left.unlink()
    assert kept_log(dead.file).exists()
    assert started(dead) is not None
    assert messages(dead) == [*BEFORE, *AFTER, "m6"]


# -- page checksums ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("damaged", [True, False])
def test_sums_are_taken_anew(home: Database, damaged: bool) -> None:
    if damaged:
        flip(sums_file(home.file), 50)
    else:
        sums_file(home.file).unlink()
    finding = started(home)
    assert finding is not None
    assert finding.level == ("warning" if damaged else "info")
    assert started(home) is None
    spoil(home.file)
    assert started(home) is not None
    assert messages(home) == BEFORE


def test_a_new_database_needs_no_word(tmp_path: Path) -> None:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    assert started(database) is None
    assert started(database) is None
    with resumed(database) as living:
        living.say("word-1")
    assert kept_words(database) == ["word-1"]


def test_a_server_is_left_to_itself(tmp_path: Path) -> None:
    assert make_sound(Database(tmp_path / "arvis.db", "postgresql://nowhere", tmp_path), NOW) is None


# -- a missing file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "gone",
    [
        ["arvis.db"],
        ["arvis.db", "arvis.db-sums"],
        ["arvis.db", "arvis.db-wal", "arvis.db-shm"],
        ["arvis.db", "arvis.db-shm", "arvis.db-sums"],
    ],
)
def test_a_file_that_is_gone_after_a_kill_is_restored_and_told(tmp_path: Path, gone: list[str]) -> None:
    with life(tmp_path / "life") as living:
        living.receive(*BEFORE)
        backup = make_backup(living.database, NOW + HOUR)
        living.receive(*AFTER, at=NOW + 2 * HOUR)
        dead = living.killed()
    for name in gone:
        (dead.folder / name).unlink(missing_ok=True)
    finding = started(dead)
    assert finding is not None
    assert (finding.level, finding.event) == ("error", "database_damaged")
    assert finding.report is not None
    told = finding.report.read_text()
    assert "written after the backup of 2027-01-15 09:00:00 UTC, up to " in told
    assert "If you find the file of the database again" in told
    assert backup is not None
    assert messages(dead) == BEFORE
    assert started(dead) is None


@pytest.mark.parametrize("gone", [["arvis.db"], ["arvis.db", "arvis.db-sums"]])
def test_without_a_backup_a_file_that_is_gone_is_refused_at_every_start(dead: Database, gone: list[str]) -> None:
    for name in gone:
        (dead.folder / name).unlink()
    for _ in range(3):
        with pytest.raises(StoreError, match="no intact backup"):
            started(dead)
    assert not dead.file.exists()


def test_a_restore_that_died_before_it_was_told_is_told_at_the_next_start(tmp_path: Path) -> None:
    with life(tmp_path / "life") as living:
        living.receive(*BEFORE)
        make_backup(living.database, NOW + HOUR)
        dead = living.killed()
    dead.file.unlink()
    note = with_suffix(dead.file, "-damage")
    finding = make_sound(dead, NOW + 3 * HOUR)
    assert finding is not None
    note.write_text(json.dumps({"found_at": NOW + 3 * HOUR, "damage": ["gone"], "folder": "", "lost": None}))
    again = started(dead, NOW + 4 * HOUR)
    assert again is not None
    assert (again.level, again.event) == ("error", "database_damaged")


def test_an_empty_database_beside_backups_is_told(home: Database) -> None:
    for file in home.folder.glob("arvis.db*"):
        file.unlink()
    finding = started(home)
    assert finding is not None
    assert (finding.level, finding.event) == ("warning", "database_missing")
    assert messages(home) == []
    assert started(home) is None
