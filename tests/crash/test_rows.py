"""Tests of the queries over the stopped daemon's database: a correct one passes, each faulty row breaks the rule for
it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from arvis.store.sql.migrations import available
from tests.crash.rows import OFFENDERS, UNDISTURBED, offending

PLACE: dict[str, object] = {"platform": "web", "connector": "main", "channel": "chat-0"}
DONE_JOB: dict[str, object] = {"status": "done", "lane": "conversation:c", "kind": "message"}
USER: dict[str, object] = PLACE | {"role": "user", "status": "answered", "conversation_id": "c"}
SENT: dict[str, object] = PLACE | {"state": "sent", "answers": "[]"}


@dataclass(frozen=True, slots=True)
class Row:
    """A row that breaks a rule."""

    table: str
    values: Mapping[str, object]


SPOILED: dict[str, str | Row] = {
    "an inbox row has exactly one reply or notice, of its own turn": "UPDATE messages SET answered_by = 'r2' WHERE id = 'm1'",
    "an inbox row is answered": "UPDATE messages SET status = 'failed' WHERE id = 'm1'",
    "a platform event is stored once": "DROP INDEX messages_inbox; UPDATE messages SET event_id = 'e1' WHERE id = 'm2'",
    "a turn stores one reply": "DROP INDEX messages_reply; UPDATE messages SET execution_id = 'x1' WHERE id = 'r2'",
    "a reply answers somebody": "UPDATE messages SET answered_by = NULL WHERE id = 'm1'",
    "replies end in the order of acceptance": "UPDATE messages SET turn = 3 WHERE id = 'm1'",
    "a conversation counts its turns": "UPDATE conversations SET turns = 7",
    "no job is left": "UPDATE jobs SET status = 'pending' WHERE id = 'j1'",
    "no job is given up": "UPDATE jobs SET status = 'failed' WHERE id = 'j1'",
    "no lane has two running jobs": "UPDATE jobs SET status = 'running'",
    "a lane counts its live jobs": Row("lanes", {"lane": "conversation:c", "live": 1}),
    "a live job has a lane": "UPDATE jobs SET status = 'running' WHERE id = 'j1'",
    "no execution is left open": "UPDATE executions SET status = 'running' WHERE id = 'x1'",
    "an ended execution stands nowhere": Row("cursors", {"execution_id": "x1"}),
    "the steps of an execution have no gap": "DELETE FROM steps WHERE number = 2",
    "no effect is left open": Row("effects", {"execution_id": "x1", "state": "started"}),
    "a part is delivered once": "UPDATE deliveries SET message_id = 'r1' WHERE id = 'd2'",
    "a delivery is sent": "UPDATE deliveries SET state = 'sending' WHERE id = 'd1'",
    "a reply is delivered": "DELETE FROM deliveries WHERE id = 'd2'",
    "a channel counts its deliveries without gaps": "UPDATE deliveries SET seq = 3 WHERE id = 'd2'",
    "a key of a job is used once": "DROP INDEX jobs_key; UPDATE jobs SET key = 'k'",
    "a turn is paid once": Row("usage", {"execution_id": "x1"}),
    "a summary stands for messages": "UPDATE messages SET compaction_id = 'gone' WHERE id = 'm1'",
    "a crash counts no attempt": "UPDATE jobs SET attempts = 1 WHERE id = 'j1'",
    "a stop counts no crash": "UPDATE jobs SET crashes = 1 WHERE id = 'j1'",
    "a stop recovers nothing": Row("timeline", {"message_id": "m1", "step": "recovered"}),
}


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a database with two successful turns of one conversation."""
    with closing(sqlite3.connect(tmp_path / "arvis.db", isolation_level=None)) as connection:
        for migration in available():
            for statement in migration.statements(postgres=False):
                connection.execute(statement)
        insert(connection, "agents", id="a")
        insert(connection, "conversations", id="c", agent_id="a", turns=2, **PLACE)
        insert(connection, "channels", seq=2, **PLACE)
        for turn in (1, 2):
            ids = {"execution_id": f"x{turn}", "turn": turn}
            insert(connection, "executions", id=f"x{turn}", status="done")
            insert(connection, "messages", id=f"r{turn}", **(USER | ids | {"role": "assistant"}))
            insert(connection, "messages", id=f"m{turn}", event_id=f"e{turn}", answered_by=f"r{turn}", **(USER | ids))
            insert(connection, "jobs", id=f"j{turn}", message_id=f"m{turn}", position=turn, **DONE_JOB)
            insert(connection, "deliveries", id=f"d{turn}", message_id=f"r{turn}", seq=turn, **SENT)
            insert(connection, "usage", id=f"u{turn}", execution_id=f"x{turn}")
            insert(connection, "usage", id=f"v{turn}", execution_id=f"x{turn}", error="the line broke")
            for number in (1, 2, 3):
                insert(connection, "steps", execution_id=f"x{turn}", number=number)
        yield connection


def insert(connection: sqlite3.Connection, table: str, **values: object) -> None:
    """Insert a row with these values. Other columns that must not be NULL are empty."""
    columns = connection.execute(f"SELECT name, type, \"notnull\" FROM pragma_table_info('{table}')").fetchall()
    row = {name: ("" if kind == "TEXT" else 0) for name, kind, needed in columns if needed} | values
    marks = ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", row)


@pytest.mark.usefixtures("database")
def test_a_sound_database_passes(tmp_path: Path) -> None:
    assert offending(tmp_path, None, undisturbed=True) == {}


@pytest.mark.parametrize("rule", SPOILED)
def test_a_spoiled_database_is_caught(rule: str, database: sqlite3.Connection, tmp_path: Path) -> None:
    if "part is delivered once" in rule:
        unlocked(database, "deliveries")
    match SPOILED[rule]:
        case Row(table, values):
            insert(database, table, **values)
        case statements:
            database.executescript(statements)
    assert rule in offending(tmp_path, None, undisturbed=rule in UNDISTURBED)


def test_every_rule_has_a_spoiled_database() -> None:
    assert SPOILED.keys() == OFFENDERS.keys() | UNDISTURBED.keys()


def unlocked(connection: sqlite3.Connection, table: str) -> None:
    """Replace the table by a copy without its constraints, except the unique id that other tables refer to."""
    connection.executescript(
        f"CREATE TABLE free AS SELECT * FROM {table}; DROP TABLE {table}; ALTER TABLE free RENAME TO {table};"
        f"CREATE UNIQUE INDEX free_key ON {table} (id)"
    )
