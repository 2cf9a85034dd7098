"""Every change of the files after a stop is found, and the traces of a kill are never called damage."""

from __future__ import annotations

import itertools
import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from arvis.store.integrity.check import Damaged, LogCut, Sound, examine
from arvis.store.location import Database
from arvis.store.sqlite.checkpoint import kept_log, log_file, sums_file
from arvis.store.sqlite.wal import with_suffix
from tests.files.damage_kit import FRAME, HEADER, PAGE, Life, cut, flip, kept_words, life
from tests.files.test_wal import commits

FOLDED = [f"word-{number:02}" for number in range(20)]
LOGGED = [f"word-{number:02}" for number in range(20, 32)]
ALL = FOLDED + LOGGED


def look(database: Database) -> Sound | LogCut | Damaged:
    return examine(database.file, database.folder / "workshop")


@pytest.fixture
def dead(tmp_path: Path) -> Database:
    """Kill a database with words in the file and words in the log, which began again after the checkpoint."""
    with life(tmp_path / "home") as living:
        living.say(*FOLDED)
        assert living.sealing.fold()
        living.say(*LOGGED)
        return living.killed()


def pages_in_log(database: Database) -> set[int]:
    """Return the pages in the valid part of the log, without leftovers."""
    log = log_file(database.file)
    data, end = log.read_bytes(), commits(log)[len(LOGGED) - 1]
    return {int.from_bytes(data[place : place + 4], "big") for place in range(HEADER, HEADER + end * FRAME, FRAME)}


# -- sound states ------------------------------------------------------------------------------------------


def test_a_clean_stop_is_sound(tmp_path: Path) -> None:
    with life(tmp_path / "home") as living:
        living.say(*FOLDED)
    assert look(living.database) == Sound()


def test_a_kill_is_sound_at_any_moment(tmp_path: Path) -> None:
    """The moments lie before the first word, between transactions, and after full and partial checkpoints."""
    moments = itertools.count()

    def check(living: Life) -> None:
        assert look(living.killed(f"dead-{next(moments)}")) == Sound()

    with life(tmp_path / "home") as living, closing(sqlite3.connect(living.database.file)) as reader:
        check(living)
        living.say(*FOLDED[:5])
        check(living)
        assert living.sealing.fold()
        check(living)
        living.say(*FOLDED[5:])
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM settings").fetchall()
        living.say(*LOGGED)
        assert not living.sealing.fold()
        check(living)
        reader.rollback()
        assert living.sealing.fold()
        check(living)
        living.say("word-last")
        check(living)


def test_an_unfinished_transaction_is_sound(tmp_path: Path) -> None:
    """A large transaction writes to the log before its commit; after a rollback its frames stay there."""
    with life(tmp_path / "home") as living:
        living.say(*FOLDED)
        living.connection.execute("PRAGMA cache_size = 2")
        living.connection.execute("BEGIN IMMEDIATE")
        for number in range(300):
            living.tx.settings.put(f"spilled-{number}", "x" * 2000, 0)
        dead = living.killed("middle")
        assert (log_file(dead.file).stat().st_size - HEADER) // FRAME > commits(log_file(dead.file))[-1]
        assert look(dead) == Sound()
        assert kept_words(dead) == FOLDED
        living.connection.execute("ROLLBACK")
        living.say("word-last")
        assert look(living.killed("after")) == Sound()


def test_the_index_may_be_damaged(dead: Database) -> None:
    index = with_suffix(dead.file, "-shm")
    index.write_bytes(random.Random(5).randbytes(index.stat().st_size))
    assert look(dead) == Sound()
    assert kept_words(dead) == ALL


def test_without_an_index_leftovers_are_known_by_their_age(dead: Database) -> None:
    log = log_file(dead.file)
    assert (log.stat().st_size - HEADER) // FRAME > commits(log)[len(LOGGED) - 1]
    with_suffix(dead.file, "-shm").unlink()
    assert look(dead) == Sound()


def test_pages_that_the_log_holds_may_be_damaged(dead: Database) -> None:
    last = dead.file.stat().st_size // PAGE
    overwritten = [page for page in pages_in_log(dead) if page <= last]
    assert len(overwritten) > 1
    for page in overwritten:
        flip(dead.file, (page - 1) * PAGE + 77)
    assert look(dead) == Sound()
    assert kept_words(dead) == ALL


def test_leftovers_in_the_log_may_be_damaged(dead: Database) -> None:
    log = log_file(dead.file)
    end = HEADER + commits(log)[len(LOGGED) - 1] * FRAME
    log.write_bytes(log.read_bytes()[:end] + random.Random(6).randbytes(3 * FRAME))
    assert look(dead) == Sound()


# -- the file ----------------------------------------------------------------------------------------------


def test_every_page_of_the_file_is_vouched_for(dead: Database) -> None:
    rng = random.Random(7)
    outside = sorted(set(range(1, dead.file.stat().st_size // PAGE + 1)) - pages_in_log(dead))
    assert len(outside) > 20
    for page in outside:
        place, bit = (page - 1) * PAGE + rng.randrange(PAGE), 1 << rng.randrange(8)
        flip(dead.file, place, bit)
        assert look(dead) == Damaged([f"pages that do not match their checksums: 1 ({page})"])
        flip(dead.file, place, bit)
    assert look(dead) == Sound()


def test_a_file_that_is_cut_or_gone(dead: Database) -> None:
    # The last page is in the log, so the file may be shorter than the database.
    missing = dead.file.stat().st_size // PAGE - 3
    cut(dead.file, missing * PAGE)
    assert isinstance(look(dead), Damaged)
    cut(dead.file, 0)
    assert look(dead) == Damaged(["arvis.db is empty or missing"])
    dead.file.unlink()
    assert look(dead) == Damaged(["arvis.db is empty or missing"])


def test_what_another_program_changed_is_not_believed(tmp_path: Path) -> None:
    with life(tmp_path / "home") as living:
        living.say(*FOLDED)
    with closing(sqlite3.connect(living.database.file)) as other, other:
        other.execute("UPDATE settings SET value = 'mine' WHERE key = 'word-03'")
    assert isinstance(look(living.database), Damaged)


def test_what_only_sqlite_sees_is_damage_after_a_kill(tmp_path: Path) -> None:
    """The change went through the log, so every checksum is right."""
    with life(tmp_path / "home") as living:
        living.say(*FOLDED)
        living.connection.execute("PRAGMA writable_schema = ON")
        living.connection.execute(
            "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'jobs_due') "
            "WHERE name = 'jobs_claim'"
        )
        dead = living.killed()
    found = look(dead)
    assert isinstance(found, Damaged)
    assert "jobs_due" in str(found.damage)


# -- the log -----------------------------------------------------------------------------------------------


def test_damage_anywhere_in_the_log_costs_what_stands_behind_it(dead: Database) -> None:
    log = log_file(dead.file)
    ends = commits(log)[: len(LOGGED)]
    rng = random.Random(8)
    for number in range(1, ends[-1] + 1):
        place = HEADER + (number - 1) * FRAME + rng.randrange(FRAME)
        flip(log, place)
        sound = max((end for end in ends if end < number), default=0)
        lost = f"{ends[-1] - sound} of {ends[-1]} frames that were committed to the log"
        assert look(dead) == LogCut(lost, superseded=False)
        flip(log, place)
    flip(log, 20)
    assert look(dead) == LogCut(f"{ends[-1]} of {ends[-1]} frames that were committed to the log", superseded=False)


@pytest.mark.parametrize("kept", range(0, 12, 3))
def test_a_log_that_is_cut(dead: Database, kept: int) -> None:
    """The cut is at the end of a transaction, where SQLite notices nothing."""
    log = log_file(dead.file)
    ends = [0, *commits(log)]
    cut(log, HEADER + ends[kept] * FRAME)
    lost = f"{ends[12] - ends[kept]} of {ends[12]} frames that were committed to the log"
    assert look(dead) == LogCut(lost, superseded=False)
    assert kept_words(dead) == FOLDED + LOGGED[:kept]


def test_a_log_that_is_gone(dead: Database) -> None:
    end = commits(log_file(dead.file))[11]
    log_file(dead.file).unlink()
    assert look(dead) == Sound()
    kept_log(dead.file).unlink()
    assert look(dead) == LogCut(f"{end} of {end} frames that were committed to the log", superseded=False)


def test_the_start_of_a_log_that_the_file_has_swallowed(tmp_path: Path) -> None:
    """SQLite would write the sound part of the log over newer pages of the file, which mixes two states."""
    with life(tmp_path / "home") as living:
        living.say(*ALL)
        assert living.sealing.fold()
        dead = living.killed()
    flip(log_file(dead.file), HEADER + 20 * FRAME)
    assert look(dead) == LogCut(None, superseded=True)
    flip(log_file(dead.file), HEADER + 20 * FRAME)
    assert look(dead) == Sound()


def test_a_log_that_went_on_behind_what_the_file_has_swallowed(tmp_path: Path) -> None:
    with life(tmp_path / "home") as living, closing(sqlite3.connect(living.database.file)) as reader:
        living.say(*FOLDED)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM settings").fetchall()
        assert living.sealing.fold()
        before = commits(log_file(living.database.file))[-1]
        living.say(*LOGGED)
        dead = living.killed()
    after = commits(log_file(dead.file))[-1]
    assert after > before
    flip(log_file(dead.file), HEADER + 3 * FRAME)
    lost = f"{after - before} of {after} frames that were committed to the log"
    assert look(dead) == LogCut(lost, superseded=True)
    flip(log_file(dead.file), HEADER + 3 * FRAME)
    flip(log_file(dead.file), HEADER + before * FRAME + 30)
    assert look(dead) == LogCut(lost, superseded=False)


def test_without_an_index_the_last_transaction_may_have_been_unfinished(dead: Database) -> None:
    """The result has a warning, and the frames before the transaction count."""
    with_suffix(dead.file, "-shm").unlink()
    log = log_file(dead.file)
    ends = commits(log)
    flip(log, HEADER + (ends[11] - 1) * FRAME + 1000)
    found = look(dead)
    assert isinstance(found, Sound)
    assert found.warning
    assert "cannot distinguish the two cases" in str(found.remark)
    flip(log, HEADER + (ends[10] - 1) * FRAME + 1000)
    assert look(dead) == LogCut(f"transactions after the first {ends[9]} frames of the log", superseded=False)


def test_without_an_index_a_log_without_a_beginning_is_lost(dead: Database) -> None:
    with_suffix(dead.file, "-shm").unlink()
    flip(log_file(dead.file), 9)
    assert look(dead) == LogCut("all data of the log that had not been copied to the database file", superseded=False)


def test_file_and_log_may_both_be_damaged(dead: Database) -> None:
    """A part of the log was folded into the file, and the log's beginning is lost, so no consistent state exists."""
    page = min(set(range(2, 40)) - pages_in_log(dead))
    flip(dead.file, (page - 1) * PAGE)
    flip(log_file(dead.file), HEADER + 2 * FRAME)
    assert isinstance(look(dead), Damaged)


def test_a_half_folded_log_that_is_damaged_leaves_no_sound_state(tmp_path: Path) -> None:
    with life(tmp_path / "home") as living, closing(sqlite3.connect(living.database.file)) as reader:
        living.say(*FOLDED)
        assert living.sealing.fold()
        for word in FOLDED:
            living.connection.execute("UPDATE settings SET value = value || 'x' WHERE key = ?", (word,))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM settings").fetchall()
        living.say(*LOGGED)
        assert not living.sealing.fold()
        dead = living.killed()
    assert look(dead) == Sound()
    flip(log_file(dead.file), HEADER + 4 * FRAME)
    assert isinstance(look(dead), Damaged)


# -- the page checksums ------------------------------------------------------------------------------------


def test_without_sums_sqlite_itself_is_asked(dead: Database) -> None:
    sums_file(dead.file).unlink()
    found = look(dead)
    assert isinstance(found, Sound)
    assert "no page checksums" in str(found.remark)
    assert not found.warning
    cut(dead.file, dead.file.stat().st_size // PAGE // 2 * PAGE)
    assert isinstance(look(dead), Damaged)


def test_damaged_sums_are_said(dead: Database) -> None:
    flip(sums_file(dead.file), 100)
    found = look(dead)
    assert isinstance(found, Sound)
    assert "page checksums were damaged" in str(found.remark)
    assert found.warning


def test_without_sums_a_damaged_log_is_not_believed(dead: Database) -> None:
    sums_file(dead.file).unlink()
    flip(log_file(dead.file), HEADER + 4 * FRAME)
    assert isinstance(look(dead), Damaged)


def test_nothing_at_all_is_sound(tmp_path: Path) -> None:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    assert look(database) == Sound()
    database.file.touch()
    assert look(database) == Sound()


def test_looking_changes_nothing(dead: Database) -> None:
    files = {file: file.read_bytes() for file in dead.folder.iterdir() if file.is_file()}
    look(dead)
    assert {file: file.read_bytes() for file in dead.folder.iterdir()} == files
