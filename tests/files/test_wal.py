"""The log is read as SQLite reads it, up to the first frame that is not valid."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

import pytest

from arvis.store.location import Database
from arvis.store.sqlite.checkpoint import log_file
from arvis.store.sqlite.wal import Frame, LogHeader, Mark, _checksum, committed, open_log, sound_frames, with_suffix
from tests.files.damage_kit import FRAME, HEADER, PAGE, cut, flip, kept_words, life

WORDS = [f"word-{number:02}" for number in range(12)]


@pytest.fixture
def dead(tmp_path: Path) -> Database:
    with life(tmp_path / "home") as living:
        living.say(*WORDS)
        return living.killed()


def commits(log: Path) -> list[int]:
    """Return the numbers of the frames that end a transaction."""
    with open_log(log) as opened:
        assert opened is not None
        return [number for number, frame in enumerate(opened.frames(PAGE), start=1) if frame.size]


def test_what_the_log_says_of_itself(dead: Database) -> None:
    log = log_file(dead.file)
    frames = (log.stat().st_size - HEADER) // FRAME
    with open_log(log) as opened:
        assert opened is not None
        assert opened.header is not None
        assert opened.header.page_size == PAGE
        headers = list(opened.frames(PAGE))
        assert len(headers) == frames
        assert [opened.size(PAGE, number) for number in (1, frames)] == [headers[0].size, headers[-1].size]
        assert {frame.salts for frame in headers} == {opened.header.salts}
        data = log.read_bytes()
        sums = [zlib.crc32(data[HEADER + number * FRAME + 24 :][:PAGE]) for number in range(frames)]
        # The last frame of a page counts.
        assert opened.sums(PAGE, 0, frames) == dict(zip((header.page for header in headers), sums, strict=True))
        assert opened.sums(PAGE, 3, 5) == {headers[number].page: sums[number] for number in (3, 4)}
        assert committed(with_suffix(dead.file, "-shm")) == Mark(opened.header.salts, frames)
    assert len(commits(log)) == len(WORDS)


def test_frames_are_sound_up_to_the_damage(dead: Database, tmp_path: Path) -> None:
    log, workshop = log_file(dead.file), tmp_path / "workshop"
    ends = commits(log)
    size = log.stat().st_size
    assert sound_frames(log, PAGE, workshop) == ends[-1]
    rng = random.Random(3)
    for number in range(1, ends[-1] + 1):
        place = HEADER + (number - 1) * FRAME + rng.randrange(FRAME)
        flip(log, place)
        assert sound_frames(log, PAGE, workshop) == max((end for end in ends if end < number), default=0)
        flip(log, place)
    cut(log, HEADER + ends[4] * FRAME + 100)
    assert sound_frames(log, PAGE, workshop) == ends[4]
    cut(log, 0)
    with open_log(log) as opened:
        assert opened is None
    assert size > 0
    assert not workshop.exists()


def test_reading_leaves_the_log_as_it_was(dead: Database, tmp_path: Path) -> None:
    files = {file: file.read_bytes() for file in dead.folder.glob("arvis.db*")}
    sound_frames(log_file(dead.file), PAGE, tmp_path / "workshop")
    assert {file: file.read_bytes() for file in dead.folder.glob("arvis.db*")} == files
    assert kept_words(dead) == WORDS


def test_every_bit_of_the_header_counts(dead: Database) -> None:
    log = log_file(dead.file)
    for place in range(HEADER):
        flip(log, place, 0x10)
        with open_log(log) as opened:
            assert opened is not None
            assert opened.header is None, place
        flip(log, place, 0x10)


def test_a_log_of_the_other_byte_order(tmp_path: Path) -> None:
    fields = struct.pack(">4I8s", 0x377F0683, 3007000, PAGE, 2, b"saltsalt")
    (tmp_path / "log").write_bytes(fields + struct.pack(">2I", *_checksum(fields, "big")))
    with open_log(tmp_path / "log") as opened:
        assert opened is not None
        assert opened.header == LogHeader(PAGE, 2, b"saltsalt")


def test_the_index_has_two_headers(dead: Database) -> None:
    index = with_suffix(dead.file, "-shm")
    found = committed(index)
    assert found is not None
    flip(index, 17)
    assert committed(index) == found
    flip(index, 48 + 17)
    assert committed(index) is None
    cut(index, 3)
    assert committed(index) is None
    index.unlink()
    assert committed(index) is None


def test_what_an_earlier_life_of_the_log_left() -> None:
    def frame(first: int, second: bytes) -> Frame:
        return Frame(1, 0, first.to_bytes(4, "big") + second)

    header = LogHeader(PAGE, 2, (1).to_bytes(4, "big") + b"new!")
    assert header.is_leftover(frame(0, b"old!"))
    assert header.is_leftover(frame(2**32 - 1, b"old!"))
    assert not header.is_leftover(frame(2**32 - 2, b"old!"))
    assert not header.is_leftover(frame(1, b"old!"))
    assert not header.is_leftover(frame(0, b"new!"))
