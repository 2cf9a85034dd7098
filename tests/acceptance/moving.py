"""Move a conversation with many messages from SQLite to PostgreSQL and back, and use the daemon at each stage.

`python -m tests.acceptance.moving --messages 100000` prints the times and the number of differences. The comparison
reads all rows with its own queries.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sqlite3
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from arvis.process.clock import SystemClock
from arvis.store.open import Database, bring_up_to_date
from arvis.store.sqlite.checkpoint import kept_log, sums_file
from tests.acceptance.daemon import Daemon, environment, start
from tests.acceptance.place import Place, opened
from tests.files.move_kit import key_values, rows_of
from tests.parts import require
from tests.postgres import running_postgres

CHANNEL = "web-moving"
#: The time limit of a move in seconds.
PATIENCE = 1800

_COUNTED = "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT {count})"
_MESSAGES = """
INSERT INTO messages (
    id, conversation_id, role, content, tokens, status, platform, connector, channel, thread, event_id, user_name, agent_id,
    execution_id, position, turn, superseded, created_at
)
{counted}
SELECT printf('0%025d', n), conversations.id, CASE n % 2 WHEN 1 THEN 'user' ELSE 'assistant' END,
    printf('Message %d: Ähre, 你好, 🦀 and "quotes"' || char(10) || 'word%d', n, n % 997), 20, 'answered', 'web', 'web',
    conversations.channel, '', NULL, 'Ann', conversations.agent_id, printf('e%025d', n / 2), 0, -n, 0, n
FROM counted JOIN conversations ON conversations.channel = '{channel}'
"""
_TIMELINE = """
INSERT INTO timeline (id, message_id, at, step, data)
{counted}
SELECT printf('t%025d', n), printf('0%025d', n), n, 'received', printf('{{"number":%d}}', n) FROM counted
"""


@dataclass(slots=True)
class Report:
    """The result: the numbers of moved rows and of differing tables, and the times in seconds."""

    messages: int
    rows: int = 0
    there_seconds: float = 0.0
    back_seconds: float = 0.0
    differences: list[str] = field(default_factory=list)
    #: The stages in which the daemon answered with the earlier messages in its prompt.
    answered: list[str] = field(default_factory=list)


def fill(data: Path, messages: int) -> None:
    """Add old messages to the conversation of the channel. No daemon runs."""
    database = Database(data / "arvis.db", None, data)
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        for statement in (_MESSAGES, _TIMELINE):
            connection.execute(statement.format(counted=_COUNTED.format(count=messages), channel=CHANNEL))
    # Without these files the next start computes the checksums of the pages again.
    sums_file(database.file).unlink(missing_ok=True)
    kept_log(database.file).unlink(missing_ok=True)
    bring_up_to_date(database, SystemClock().now())


def moved(daemon: Daemon, target: str, **environ: str) -> tuple[dict[str, Any], float]:
    """Run `arvis move` to its end. Return its output and its time in seconds."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        arguments = ["move", "--to", target, "--json", "--data", str(daemon.data)]
        env = environment(**{**daemon.settings, **environ})
        process = start(arguments, cwd=daemon.folder, env=env, stdout=out.fileno(), stderr=err.fileno())
        code = process.wait(PATIENCE)
        out.seek(0)
        err.seek(0)
        assert code == 0, err.read()
        return json.load(out), time.monotonic() - begun


async def talk(place: Place, word: str, known: str | None) -> bool:
    """Say a word. Return whether the daemon answers, and its prompt contains the word `known`."""
    timeline = await place.ask(f"Remember {word}.", CHANNEL)
    prompt = json.dumps(place.model.requests[-1].document)
    return timeline["status"] == "answered" and (known is None or known in prompt)


async def used(place: Place, word: str, known: str) -> bool:
    """Start the daemon, talk to it and stop it."""
    await asyncio.to_thread(place.daemon.start)
    answered = await talk(place, word, known)
    found, page = await place.call("GET", "/api/messages", params={"q": word})
    await asyncio.to_thread(place.daemon.stop)
    return answered and found == 200 and bool(page["items"])


async def main(folder: Path, url: str, messages: int) -> Report:
    report = Report(messages)
    async with opened(folder, {}) as place:
        daemon, file = place.daemon, Database(folder / "data" / "arvis.db", None, folder / "data")
        server = Database(file.file, url, file.folder)
        await talk(place, "oak", None)
        await asyncio.to_thread(daemon.stop)
        await asyncio.to_thread(fill, daemon.data, messages)
        if await used(place, "birch", "oak"):
            report.answered.append("sqlite")

        before = rows_of(file), key_values(file)
        done, report.there_seconds = await asyncio.to_thread(moved, daemon, "env:DATABASE_URL", DATABASE_URL=url)
        report.rows = sum(done["tables"].values())
        report.differences += _differing(before, file, server)
        daemon.settings["ARVIS__DATABASE"] = url
        if await used(place, "cedar", "birch"):
            report.answered.append("postgresql")

        before = rows_of(server), key_values(server)
        _, report.back_seconds = await asyncio.to_thread(moved, daemon, "sqlite")
        report.differences += _differing(before, server, file)
        del daemon.settings["ARVIS__DATABASE"]
        if await used(place, "elder", "cedar"):
            report.answered.append("sqlite again")
    return report


def _differing(before: tuple[Any, dict[str, str]], source: Database, target: Database) -> list[str]:
    """Return the names of the tables that differ from their state before the move, in the target or in the source."""
    rows, values = before
    found = [rows_of(target), {**rows_of(source), "blobs": rows["blobs"]}]
    different = [name for name in rows if any(each[name] != rows[name] for each in found)]
    return different + ([] if key_values(target) == values else ["kv"])


def run() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    arguments = parser.parse_args()
    with (
        running_postgres(require("initdb"), durable=True) as server,
        server.database("moving") as url,
        tempfile.TemporaryDirectory() as folder,
    ):
        report = asyncio.run(main(Path(folder), url, arguments.messages))
    print(json.dumps(asdict(report), indent=2))
    raise SystemExit(bool(report.differences) or len(report.answered) < 3)


if __name__ == "__main__":
    run()
