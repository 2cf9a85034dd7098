"""Kill an upgrade at every statement, commit and file operation, from every earlier state of the database.

`python -m tests.files.upgrade_kills` plays all points on SQLite and PostgreSQL, which takes hours; `--every 60` plays every
60th, and those at commits. After each kill the data must be that of before or after the upgrade, and the next upgrade must
complete it. The child is forked from this process, which has one thread. It is killed before the statement or operation of
the point is carried out, so two neighbouring points are before and after each commit.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg

from arvis.app.upgrade import upgrade
from arvis.store.backups.archive import verify_archive
from arvis.store.integrity.repair import make_sound
from arvis.store.open import Database
from tests.files.earlier_states import (
    NOW,
    STATES,
    Content,
    content_of,
    content_on_postgres,
    earlier,
    earlier_on_postgres,
)
from tests.parts import require
from tests.postgres import PostgresServer, running_postgres

#: The operations on files that count as points.
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link", "sqlite3.connect"}

#: Calls a function before each point, with the statement or the kind of the operation.
Watch = Callable[[Callable[[str], None]], None]


@dataclass
class Result:
    """The states that the kills have left, and the complaints."""

    left: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def points(self) -> int:
        return sum(self.left.values())


def kill_on_sqlite(state: int, every: int, work: Path, result: Result) -> None:
    before = earlier(work / "before", state)
    after, database = (Database(work / name / "arvis.db", None, work / name) for name in ("after", "killed"))
    shutil.copytree(before.folder, after.folder)
    points = _points(every, state, lambda: _upgrade(after), _watching(after.folder), work / "points")
    old, new = content_of(before), content_of(after)
    for number in points:
        shutil.copytree(before.folder, database.folder)
        _kill(number, lambda: _upgrade(database), _watching(database.folder))
        found = content_of(database)
        result.left[_name(found, old, new)] += 1
        result.wrong += [f"state {state}, point {number}: {each}" for each in _wrong(database, found, old, new)]
        shutil.rmtree(database.folder)


def _wrong(database: Database, found: Content, old: Content, new: Content) -> list[str]:
    complaints = [] if found in (old, new) else [f"the data is neither old nor new: {_differing(found, old, new)}"]
    backups = [path for path in database.backups.glob("*") if not path.name.startswith(".")]
    for backup in backups:
        verify_archive(backup, threading.Event())
    if found == new and not backups:
        complaints.append("the data is new, and there is no backup of the old data")
    _upgrade(database)
    if content_of(database) != new:
        complaints.append("the next upgrade did not complete the data")
    complaints += [f"{path.name} is left" for path in database.folder.rglob("*") if path.name.endswith(".part")]
    return complaints


def _upgrade(database: Database) -> None:
    make_sound(database, NOW)
    upgrade(database, NOW)


def _watching(folder: Path) -> Watch:
    """Watch the operations on files of the folder, and the statements of connections to its databases."""
    return lambda count: _watch_files(folder, count)


def _watch_files(folder: Path, count: Callable[[str], None]) -> None:
    connect = sqlite3.connect

    def connect_watched(path: Any, *arguments: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(path, *arguments, **named)
        if str(folder) in str(path):
            connection.set_trace_callback(count)
        return connection

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event in EVENTS and str(folder) in str(arguments):
            count(event)

    setattr(sqlite3, "connect", connect_watched)  # noqa: B010 - its type has overloads
    sys.addaudithook(note)


def kill_on_postgres(state: int, every: int, work: Path, server: PostgresServer, result: Result) -> None:
    name = f"state_{state}"
    server.create(name)
    earlier_on_postgres(server.url(name), state)
    old = content_on_postgres(server.url(name))
    with server.database("after", template=name) as url:
        points = _points(every, state, lambda: _upgrade(_on(url)), _watch_statements, work / "points")
        new = content_on_postgres(url)
    for number in points:
        with server.database("killed", template=name) as url:
            killed = _on(url)
            _kill(number, partial(_upgrade, killed), _watch_statements)
            found = content_on_postgres(url)
            result.left[_name(found, old, new)] += 1
            if found not in (old, new):
                result.wrong.append(f"PostgreSQL, state {state}, point {number}: {_differing(found, old, new)}")
            _upgrade(killed)
            if content_on_postgres(url) != new:
                result.wrong.append(f"PostgreSQL, state {state}, point {number}: the next upgrade did not complete it")


def _on(url: str) -> Database:
    return Database(Path("unused"), url, Path("unused"))


def _watch_statements(count: Callable[[str], None]) -> None:
    for name in ("execute", "commit", "rollback", "close"):
        original = getattr(psycopg.Connection, name)

        def counted(*arguments: Any, _name: str = name, _original: Any = original, **named: Any) -> Any:
            count(_name)
            return _original(*arguments, **named)

        setattr(psycopg.Connection, name, counted)


def _points(every: int, state: int, work: Callable[[], object], watch: Watch, file: Path) -> list[int]:
    """Return the points to play: every K-th one, other ones in each state, and those before and after each commit."""
    texts: list[str] = []

    def listed() -> None:
        watch(texts.append)
        work()
        file.write_text(json.dumps(texts))

    assert _in_child(listed) == 0, "the upgrade failed without a kill"
    found: list[str] = json.loads(file.read_text())
    commits = [number for number, text in enumerate(found, 1) if text.upper().startswith("COMMIT")]
    after = [number + 1 for number in commits if number < len(found)]
    return sorted({*range(1 + state % every, len(found) + 1, every), *commits, *after})


def _kill(number: int, work: Callable[[], object], watch: Watch) -> None:
    """Do the work in a child, and kill it before its point `number`, if it still has so many."""

    def die() -> None:
        numbers = itertools.count(1)
        watch(lambda _: os.kill(os.getpid(), signal.SIGKILL) if next(numbers) == number else None)
        work()

    assert _in_child(die) in (0, -signal.SIGKILL), "the upgrade failed"


def _in_child(work: Callable[[], object]) -> int:
    """Return the exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 the child must never return into the parent's code
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _name(found: Content, old: Content, new: Content) -> str:
    return "old" if found == old else "new" if found == new else "other"


def _differing(found: Content, old: Content, new: Content) -> str:
    """Return the tables that differ from the old, and from the new data."""
    tables = [sorted(name for name in {*found, *other} if found.get(name) != other.get(name)) for other in (old, new)]
    return f"differs from old in {tables[0][:5]}, from new in {tables[1][:5]}"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only every K-th point, and the commits")
    parser.add_argument("--state", type=int, action="append", help="only from this state; may be repeated")
    parser.add_argument("--database", choices=("sqlite", "postgres"), help="only on this database")
    options = parser.parse_args(words)
    totals: dict[str, Result] = {}
    with contextlib.ExitStack() as stack:
        on_server = options.database != "sqlite"
        server = stack.enter_context(running_postgres(require("initdb"))) if on_server else None
        for state in options.state or STATES:
            with tempfile.TemporaryDirectory(prefix="arvis-upgrade-") as folder:
                work = Path(folder)
                if options.database != "postgres":
                    kill_on_sqlite(state, options.every, work, totals.setdefault("sqlite", Result()))
                if server is not None:
                    kill_on_postgres(state, options.every, work, server, totals.setdefault("postgres", Result()))
            print(f"state {state}: { ({name: dict(each.left) for name, each in totals.items()}) }", file=sys.stderr)
    document = {name: {"points": each.points, **each.left, "wrong": each.wrong} for name, each in totals.items()}
    print(json.dumps(document))
    return 1 if any(each.wrong for each in totals.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
