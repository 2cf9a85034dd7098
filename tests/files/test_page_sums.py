"""The page checksums stay current through every checkpoint, and detect every changed byte."""

from __future__ import annotations

import random
import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from arvis.store.sqlite.checkpoint import PageSums, SumsDamaged, kept_log, log_file, sums_file
from arvis.store.sqlite.wal import NOWHERE, Mark
from tests.files.damage_kit import PAGE, Life, cut, flip, life, resumed

WORDS = [f"word-{number:03}" for number in range(40)]


def changed(file: Path) -> list[int]:
    sums = PageSums.load(sums_file(file))
    return sums.differing(file, size=sums.pages, beside=())


def test_a_flipped_byte_is_found_in_every_page(tmp_path: Path) -> None:
    with life(tmp_path / "home") as living:
        living.say(*WORDS)
    file = living.database.file
    assert changed(file) == []
    rng = random.Random(1)
    pages = file.stat().st_size // PAGE
    for page in range(1, pages + 1):
        place = (page - 1) * PAGE + rng.randrange(PAGE)
        flip(file, place)
        assert changed(file) == [page]
        flip(file, place)


def test_a_file_that_is_longer_or_shorter_is_found(tmp_path: Path) -> None:
    with life(tmp_path / "home") as living:
        living.say(*WORDS)
    file = living.database.file
    pages = file.stat().st_size // PAGE
    cut(file, (pages - 1) * PAGE - 7)
    assert changed(file) == [pages - 1, pages]
    cut(file, pages * PAGE + 1)
    assert changed(file) == [pages - 1, pages, pages + 1]


def test_pages_that_count_elsewhere_are_left_out(tmp_path: Path) -> None:
    with life(tmp_path / "home") as living:
        living.say(*WORDS)
    file = living.database.file
    flip(file, 3 * PAGE)
    flip(file, 5 * PAGE)
    sums = PageSums.load(sums_file(file))
    assert sums.differing(file, size=sums.pages, beside={4}) == [6]
    assert sums.differing(file, size=sums.pages + 2, beside={4, 6}) == [sums.pages + 1, sums.pages + 2]


def churn(living: Life, rng: random.Random) -> None:
    """Grow, rewrite or shrink the database."""
    match rng.randrange(5):
        case 0:
            living.connection.execute("DELETE FROM settings WHERE rowid % 3 = 0")
        case 1:
            living.connection.execute("UPDATE settings SET value = upper(value) WHERE rowid % 2 = 0")
        case 2:
            living.connection.execute("VACUUM")
        case _:
            living.say(*(f"word-{rng.random()}" for _ in range(rng.randrange(60))))


@pytest.mark.parametrize("seed", range(4))
def test_folding_keeps_the_sums_in_step(tmp_path: Path, seed: int) -> None:
    """This holds also if a reader allows only a partial checkpoint, and if the log grows after it."""
    rng = random.Random(seed)
    with life(tmp_path / "home") as living, closing(sqlite3.connect(living.database.file)) as reader:
        file = living.database.file
        for _ in range(20):
            churn(living, rng)
            if not reader.in_transaction and rng.random() < 0.3:
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM settings").fetchall()
            churn(living, rng)
            if living.sealing.fold():
                assert changed(file) == []
            if reader.in_transaction and rng.random() < 0.5:
                reader.rollback()
        reader.rollback()
    assert changed(file) == []


def test_sums_come_back_as_they_were_saved(tmp_path: Path) -> None:
    file, path = tmp_path / "pages", tmp_path / "sums"
    file.write_bytes(random.Random(2).randbytes(7 * PAGE))
    saved = PageSums.of_file(file, PAGE)
    saved.save(path)
    loaded = PageSums.load(path)
    assert (loaded.page_size, loaded.pages, loaded.folded) == (PAGE, 7, NOWHERE)
    assert loaded.differing(file, size=7, beside=()) == []
    marked = PageSums(page_size=PAGE, sums=saved._sums, folded=Mark(b"saltsalt", 12))
    marked.save(path)
    assert PageSums.load(path).folded == Mark(b"saltsalt", 12)
    assert [each.name for each in tmp_path.iterdir() if each not in {file, path}] == []


def test_damaged_sums_are_no_sums(tmp_path: Path) -> None:
    file, path = tmp_path / "pages", tmp_path / "sums"
    file.write_bytes(random.Random(2).randbytes(7 * PAGE))
    PageSums.of_file(file, PAGE).save(path)
    size = path.stat().st_size
    for place in range(size):
        flip(path, place)
        with pytest.raises(SumsDamaged):
            PageSums.load(path)
        flip(path, place)
    PageSums.load(path)
    for shorter in range(size):
        path.write_bytes(path.read_bytes()[:shorter] if shorter else b"")
        with pytest.raises(SumsDamaged):
            PageSums.load(path)
        PageSums.of_file(file, PAGE).save(path)


def test_sums_that_cannot_be_saved_are_taken_away(tmp_path: Path) -> None:
    """Outdated checksums would report damage. The next checkpoint that can save them does so."""
    with life(tmp_path / "home") as living:
        file = living.database.file
        blocked = file.with_name("arvis.db-sums.new")
        blocked.mkdir()
        living.say(*WORDS)
        assert living.sealing.fold()
        assert not sums_file(file).exists()
        blocked.rmdir()
        living.say("word-last")
        assert living.sealing.fold()
        assert changed(file) == []


def test_the_second_name_of_the_log_comes_and_goes(tmp_path: Path) -> None:
    with life(tmp_path / "home") as living:
        log, kept = log_file(living.database.file), kept_log(living.database.file)
        living.say("word-1")
        assert kept.samefile(log)
    assert not kept.exists()
    kept.write_bytes(b"of another life")
    with resumed(living.database) as living:
        assert kept.samefile(log)


def test_an_open_reader_does_not_spoil_the_end(tmp_path: Path) -> None:
    """Frames that cannot be folded stay in the log, and the checksums still match the file."""
    with ExitStack() as stack:
        with life(tmp_path / "home") as living:
            file = living.database.file
            reader = stack.enter_context(closing(sqlite3.connect(file)))
            living.connection.execute("PRAGMA busy_timeout = 0")
            living.say("word-1")
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM settings").fetchall()
            living.say("word-2")
            sums = sums_file(file).read_bytes()
            assert not living.sealing.fold("FULL")
        assert log_file(file).stat().st_size
        assert sums_file(file).read_bytes() == sums
        # The last program that closes the database folds the log away, but the log's second name keeps it.
        reader.rollback()
    assert not log_file(file).exists()
    assert kept_log(file).stat().st_size
