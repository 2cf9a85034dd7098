"""The current daemon finishes the work in databases of commit a8bff61, whose daemon was killed.

Each holds a message whose tool call waits for an approval, a handover whose second agent waits for one, a message whose model call was
running, a message that waited behind it, a workflow run at an agent, a workflow run at an approval, and a schedule that became due
while the daemon was away. `tests/fixtures/unfinished` holds a dump for each kind of database.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.acceptance.daemon import Daemon, arvis

DUMPS = Path(__file__).parents[1] / "fixtures" / "unfinished"
OLD_CONFIG = "limits:\n  agent_loops: 20\n  tool_rounds: 8\n"
#: 2026-11-23 19:40 UTC, some minutes after the kill: later, deadlines of questions and messages would have passed.
START = 1_795_462_800
SECONDS = 60


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The ids of the work in one dump."""

    messages: tuple[str, ...]
    runs: tuple[str, ...]
    schedule: str


ON_SQLITE = Unfinished(
    (
        "01M84Y371RJ59MFCAF5EPY1ZSR",
        "01M84Y3728ZC9WAE9AZC4604WR",
        "01M84Y387RWWC4TBMVS53SD02G",
        "01M84Y3A992X9KDFQ19QZ73A52",
    ),
    ("01M84Y38984G4CW0AKPR8AY1KZ", "01M84Y37N366GPW6EB998BN9EA"),
    "01M84Y371BPH0VT2RRZ8T6RN5X",
)
ON_POSTGRES = Unfinished(
    (
        "01M84Y90G2878AMMJMGSCAHGSX",
        "01M84Y90JRY01FFBGEHW4P4R28",
        "01M84Y92YH99YQYYTT188KS60G",
        "01M84Y956118X5X1Y1W122M63X",
    ),
    ("01M84Y931X17YYD1MQ3H6K38QX", "01M84Y91Y3HF8NGEFRZY1PEBRP"),
    "01M84Y90BTSN66GA44H696KYFE",
)


def test_a_daemon_finishes_the_work_of_an_earlier_database_on_sqlite(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "arvis.db")) as database:
        database.executescript((DUMPS / "sqlite.sql").read_text())
    finish(tmp_path, ON_SQLITE, OLD_CONFIG)


def test_a_daemon_finishes_the_work_of_an_earlier_database_on_postgresql(tmp_path: Path, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as database:
        database.execute((DUMPS / "postgres.sql").read_bytes())
    finish(tmp_path, ON_POSTGRES, f"database: {postgres_url}\n{OLD_CONFIG}")


def finish(folder: Path, unfinished: Unfinished, config: str) -> None:
    """Migrate the configuration, start today's daemon, approve what waits, and expect the end of everything."""
    (folder / "config.yaml").write_text(config)
    migrated = arvis("config", "migrate", cwd=folder)
    assert migrated.returncode == 0, migrated.stderr
    ahead = str(START - time.time())
    daemon = Daemon(folder, under=(sys.executable, "-m", "tests.flows.daemon_elsewhen", ahead))
    try:
        daemon.start()
        questions = call(daemon, "/api/questions")["items"]
        assert len(questions) == 3
        for question in questions:
            call(daemon, f"/api/questions/{question['id']}/answer", {"decision": "approve"})
        for message in unfinished.messages:
            until(daemon, f"/api/messages/{message}", "answered")
        for run in unfinished.runs:
            until(daemon, f"/api/runs/{run}", "completed")
        until(daemon, f"/api/schedules/{unfinished.schedule}/runs", "done")
        written = sorted(file.read_text() for file in (folder / "data" / "sessions").rglob("*.txt"))
        assert written == ["hello", "verse"]
        daemon.stop()
    finally:
        daemon.close()


def until(daemon: Daemon, path: str, expected: str) -> None:
    """Wait for this status of the resource, or of the only item of the page, at `path`."""
    deadline = time.monotonic() + SECONDS
    while True:
        found = call(daemon, path)
        found = found.get("items", [found])
        if (statuses := [item["status"] for item in found]) == [expected]:
            return
        assert time.monotonic() < deadline, f"{path} is {statuses} after {SECONDS} s"
        time.sleep(0.2)


def call(daemon: Daemon, path: str, body: object = None) -> Any:
    headers = {"Authorization": f"Bearer {daemon.api_key}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{daemon.url}{path}", data=data, headers=headers)  # noqa: S310 our own daemon
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 as above
        return json.loads(response.read())
