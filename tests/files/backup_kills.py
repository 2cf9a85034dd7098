"""Kill a restore before the N-th call that names, moves or opens a file of the data folder, for each N.

`python -m tests.files.backup_kills SCENE BACKUP WORK`: SCENE is a data folder as a kill left it, with one commit in the
log. The program runs in a separate process with one thread, so that it may fork. It prints the state that each next
start found.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from arvis.store.backups.restore import restore
from arvis.store.open import Database, bring_up_to_date
from tests.files.backup_kit import HASHES, NOW, said

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "sqlite3.connect", "os.link"}
OLD: list[str] = ["in the log"]
NEW: list[str] = []


def main(scene: Path, backup: Path, work: Path) -> dict[str, Any]:
    found: Counter[str] = Counter()
    wrong = []
    number = 0
    while True:
        number += 1
        folder = work / "killed"
        shutil.copytree(scene, folder)
        database = Database(folder / "arvis.db", None, folder)
        ended = _killed_at(number, database, backup)
        state, complaint = _next_start(database, backup)
        if complaint is not None:
            wrong.append(f"call {number}: {complaint}")
        shutil.rmtree(folder)
        if ended:
            return {**found, "calls": number - 1, "wrong": wrong}
        found[state] += 1


def _killed_at(number: int, database: Database, backup: Path) -> bool:
    """Kill a restore before its `number`-th call, and return whether it ended before that."""
    child = os.fork()
    if child == 0:
        calls = 0

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal calls
            if event in EVENTS and str(database.folder) in str(arguments):
                calls += 1
                if calls == number:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        restore(database, backup, NOW)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the restore failed"
    return os.WIFEXITED(status)


def _next_start(database: Database, backup: Path) -> tuple[str, str | None]:
    """Return which database the next start has, and the problem with it, if any."""
    bring_up_to_date(database, NOW)
    lines = said(database)
    state = "old" if lines == OLD else "new"
    if lines not in (OLD, NEW):
        return state, f"the database holds {lines}"
    if state == "new" and _aside(database) != [OLD]:
        return state, f"set aside: {_aside(database)}"
    if state == "new" and not all(database.blobs.path(sha256).exists() for sha256 in HASHES):
        return state, "a file of a message is missing"
    restore(database, backup, NOW)
    if said(database) != NEW or sorted(_aside(database)) != sorted([OLD] if state == "old" else [OLD, NEW]):
        return state, f"after another restore the database holds {said(database)}; set aside: {_aside(database)}"
    if left := [path.name for path in database.aside.rglob("*.part*")]:
        return state, f"half-made files are left: {left}"
    return state, None


def _aside(database: Database) -> list[list[str]]:
    """Return the contents of the databases that were set aside, read from copies."""
    found = []
    for folder in sorted(database.aside.glob("*")):
        copy = database.folder / "look"
        shutil.copytree(folder, copy)
        found.append(said(Database(copy / "arvis.db", None, copy)))
        shutil.rmtree(copy)
    return found


if __name__ == "__main__":
    print(json.dumps(main(*map(Path, sys.argv[1:]))))
