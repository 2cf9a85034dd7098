"""Kill a process before each call with which it opens, repairs, fills or closes a database, and judge the next start.

The process kills itself, so the instants are the same in every run. The sweep covers system calls inside SQLite. A single process without threads forks for each instant.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from arvis.store.backups.making import make_backup
from arvis.store.integrity.repair import Finding, make_sound
from arvis.store.location import Database
from arvis.store.open import bring_up_to_date
from arvis.store.sqlite.checkpoint import log_file, sums_file
from tests.crash.report import Report
from tests.files.damage_kit import FRAME, HEADER, NOW, flip, kept_words, life, resumed

HOUR = 3_600_000
WORDS = [f"word-{number:02}" for number in range(8)]
CALLS = {"fsync", "replace", "rename", "unlink", "link", "mkdir", "rmdir", "open", "truncate"}


@dataclass(frozen=True, slots=True)
class Situation:
    """A situation in which the process is killed."""

    #: Fills a folder.
    prepare: Callable[[Path], None]
    #: The work during which the process is killed.
    act: Callable[[Database], None]
    #: Gets the folder and the finding of the next start; returns a complaint or None.
    judge: Callable[[Database, Finding | None], str | None]


def start(database: Database) -> Finding | None:
    finding = make_sound(database, NOW + 3 * HOUR)
    bring_up_to_date(database, NOW + 3 * HOUR)
    return finding


# -- the situations --------------------------------------------------------------------------------------------


def _empty(folder: Path) -> None:
    folder.mkdir()


def _killed(folder: Path) -> None:
    with life(folder.with_name("life")) as living:
        living.say(*WORDS[:4])
        assert living.sealing.fold()
        living.say(*WORDS[4:])
        living.killed(folder.name)


def _backed_up(folder: Path) -> None:
    with life(folder) as living:
        living.say(*WORDS[:4])
        make_backup(living.database, NOW)
        living.say(*WORDS[4:])
        living.receive("m1", at=NOW + HOUR)


def _flipped(folder: Path) -> None:
    _backed_up(folder)
    file = folder / "arvis.db"
    flip(file, file.read_bytes().index(WORDS[7].encode() * 3))


def _cut(folder: Path) -> None:
    _killed(folder)
    log = log_file(folder / "arvis.db")
    flip(log, log.read_bytes().index(WORDS[6].encode() * 3))


def _superseded(folder: Path) -> None:
    with life(folder.with_name("life")) as living:
        living.say(*WORDS)
        assert living.sealing.fold()
        living.killed(folder.name)
    flip(log_file(folder / "arvis.db"), HEADER + 3 * FRAME)


def _without_sums(folder: Path) -> None:
    _killed(folder)
    sums_file(folder / "arvis.db").unlink()


def _live(database: Database) -> None:
    """Start, write, checkpoint in between, and stop."""
    start(database)
    with resumed(database) as living:
        for number, word in enumerate(WORDS):
            living.say(word)
            if number % 3 == 2:
                assert living.sealing.fold()


def _nothing_is_reported(expected: list[str] | None) -> Callable[[Database, Finding | None], str | None]:
    def judge(database: Database, finding: Finding | None) -> str | None:
        words = kept_words(database)
        if finding is not None and finding.level != "info":
            return f"a false alarm: {finding.what}"
        if words != (WORDS[: len(words)] if expected is None else expected):
            return f"it holds {words}"
        return None

    return judge


def _is_reported(expected: list[str]) -> Callable[[Database, Finding | None], str | None]:
    def judge(database: Database, _: Finding | None) -> str | None:
        if (words := kept_words(database)) != expected:
            return f"it holds {words}"
        reports = list(database.aside.glob("*/damage.txt"))
        if len(reports) != 1:
            return f"there are {len(reports)} reports"
        if not any(file.stat().st_size for file in reports[0].parent.glob("arvis.db*")):
            return "nothing was set aside"
        return None

    return judge


SITUATIONS = {
    "a new database": Situation(_empty, _live, _nothing_is_reported(None)),
    "after a kill": Situation(_killed, lambda database: _ignore(start(database)), _nothing_is_reported(WORDS)),
    "without sums": Situation(_without_sums, lambda database: _ignore(start(database)), _nothing_is_reported(WORDS)),
    "a damaged file": Situation(_flipped, lambda database: _ignore(start(database)), _is_reported(WORDS[:4])),
    "a damaged log": Situation(_cut, lambda database: _ignore(start(database)), _is_reported(WORDS[:6])),
    "a superseded log": Situation(_superseded, lambda database: _ignore(start(database)), _is_reported(WORDS)),
}


def _ignore(_: Finding | None) -> None:
    """Ignore the finding of the process that is killed."""


# -- the kills ---------------------------------------------------------------------------------------------


def play_situation(name: str, every: int = 1) -> tuple[int, list[str]]:
    """Kill before every `every`-th call of the situation. Return the number of kills and the complaints."""
    situation = SITUATIONS[name]
    with tempfile.TemporaryDirectory(prefix="arvis-steps-") as place:
        pristine = Path(place) / "pristine"
        situation.prepare(pristine)
        kills, complaints = 0, []
        for number in range(1, sys.maxsize, every):
            folder = Path(place) / str(number)
            shutil.copytree(pristine, folder)
            database = Database(folder / "arvis.db", None, folder)
            if _in_child(lambda database=database, number=number: _act(situation, database, number)) == 0:  # type: ignore[misc]
                break
            kills += 1
            if _in_child(lambda database=database: _judge(situation, database)) != 0:  # type: ignore[misc]
                complaints.append(f"{name}, killed before call {number}: see above")
            shutil.rmtree(folder)
    return kills, complaints


def _act(situation: Situation, database: Database, number: int) -> None:
    remaining = number

    def count(_: FrameType, event: str, called: Any) -> None:
        nonlocal remaining
        if event == "c_call" and _matters(called):
            remaining -= 1
            if remaining == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    situation.act(database)
    sys.setprofile(None)


def _matters(called: Any) -> bool:
    if isinstance(getattr(called, "__self__", None), sqlite3.Connection):
        return True
    return getattr(called, "__module__", None) == "posix" and called.__name__ in CALLS


def _judge(situation: Situation, database: Database) -> None:
    complaint = situation.judge(database, start(database))
    # A repair is permanent and is reported only once.
    again = start(database)
    if complaint is None and again is not None:
        complaint = f"the start after the next one said: {again.what}"
    if complaint is not None:
        raise AssertionError(complaint)


def _in_child(work: Callable[[], None]) -> int:
    """Run the work in a forked process and return its exit code; 0 if the work ended normally."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            if code:
                sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--every", type=int, default=1, metavar="K", help="kill only before every K-th call")


def play(options: argparse.Namespace) -> Report:
    figures: dict[str, int] = {}
    wrong: list[str] = []
    for name in SITUATIONS:
        figures[name], complaints = play_situation(name, options.every)
        wrong += complaints
    return Report(figures, wrong, failed=bool(wrong))
