"""The invariants of the database as queries over the stopped daemon's database, which is opened read-only.

Each query returns the offending rows, so an empty result means that the rule is kept. The text is the same for SQLite
and PostgreSQL. The queries rely on the behaviour of the users: in a conversation they write one message after the
other, so ids follow the order of acceptance.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, LiteralString

import psycopg

Rules = Mapping[str, LiteralString]

OFFENDERS: Rules = {
    "an inbox row has exactly one reply or notice, of its own turn": """
        SELECT m.id, m.status, m.execution_id, m.answered_by FROM messages m
        WHERE m.role = 'user' AND m.status <> 'dropped' AND 1 <> (
            SELECT count(*) FROM messages r
            WHERE r.role <> 'user' AND r.superseded = 0 AND r.execution_id = m.execution_id AND r.id = m.answered_by)""",
    "an inbox row is answered": """
        SELECT id, status, reason FROM messages WHERE role = 'user' AND status <> 'answered'""",
    "a platform event is stored once": """
        SELECT channel, event_id, count(*) FROM messages
        WHERE event_id IS NOT NULL GROUP BY platform, connector, channel, event_id HAVING count(*) > 1""",
    "a turn stores one reply": """
        SELECT execution_id, count(*) FROM messages
        WHERE role <> 'user' AND superseded = 0 AND execution_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.execution_id = messages.execution_id)
        GROUP BY execution_id HAVING count(*) > 1""",
    "a reply answers somebody": """
        SELECT r.id, r.role FROM messages r
        WHERE r.role <> 'user' AND r.superseded = 0 AND r.execution_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.answered_by = r.id)
        AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.execution_id = r.execution_id)""",
    "replies end in the order of acceptance": """
        SELECT conversation_id, id, turn, previous FROM (
            SELECT conversation_id, id, turn, lag(turn) OVER (PARTITION BY conversation_id ORDER BY id) AS previous
            FROM messages WHERE role = 'user'
            AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.execution_id = messages.execution_id)
            AND NOT EXISTS (SELECT 1 FROM timeline t, waits w WHERE t.message_id = messages.id AND t.step = 'requeued'
                AND t.data LIKE '%' || w.execution_id || '%')) AS turns
        WHERE turn < previous""",
    "a conversation counts its turns": """
        SELECT c.id, c.turns, max(m.turn) FROM conversations c JOIN messages m ON m.conversation_id = c.id
        GROUP BY c.id, c.turns HAVING c.turns <> max(m.turn)""",
    "no job is left": """
        SELECT id, kind, status, crashes, attempts, lane FROM jobs WHERE status IN ('pending', 'running')""",
    "no job is given up": """
        SELECT id, kind, status, crashes, attempts, reason FROM jobs WHERE status IN ('failed', 'cancelled')""",
    "no lane has two running jobs": """
        SELECT lane, count(*) FROM jobs WHERE status = 'running' GROUP BY lane HAVING count(*) > 1""",
    "a lane counts its live jobs": """
        SELECT l.lane, l.live, count(j.id) FROM lanes l
        LEFT JOIN jobs j ON j.lane = l.lane AND j.status IN ('pending', 'running')
        GROUP BY l.lane, l.live HAVING l.live <> count(j.id)""",
    "a live job has a lane": """
        SELECT j.id, j.lane FROM jobs j LEFT JOIN lanes l ON l.lane = j.lane
        WHERE j.status IN ('pending', 'running') AND l.lane IS NULL""",
    "no execution is left open": """
        SELECT id, status, steps, error FROM executions WHERE status <> 'done'""",
    "an ended execution stands nowhere": """
        SELECT c.id, c.execution_id, c.node FROM cursors c JOIN executions e ON e.id = c.execution_id
        WHERE e.status IN ('done', 'failed', 'cancelled')""",
    "the steps of an execution have no gap": """
        SELECT execution_id, min(number), max(number), count(*) FROM steps
        GROUP BY execution_id HAVING max(number) - min(number) + 1 <> count(*)""",
    "no effect is left open": """
        SELECT execution_id, name, state FROM effects WHERE state <> 'finished'""",
    "a part is delivered once": """
        SELECT message_id, part, count(*) FROM deliveries GROUP BY message_id, part HAVING count(*) > 1""",
    "a delivery is sent": """
        SELECT id, channel, seq, state, error FROM deliveries WHERE state <> 'sent'""",
    "a reply is delivered": """
        SELECT r.id FROM messages r WHERE r.role = 'assistant'
        AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.message_id = r.id)""",
    "a channel counts its deliveries without gaps": """
        SELECT d.channel, c.seq, min(d.seq), max(d.seq), count(*) FROM deliveries d
        JOIN channels c ON c.platform = d.platform AND c.connector = d.connector AND c.channel = d.channel
        GROUP BY d.platform, d.connector, d.channel, c.seq
        HAVING min(d.seq) <> 1 OR max(d.seq) <> count(*) OR c.seq <> count(*)""",
    "a key of a job is used once": """
        SELECT key, count(*) FROM jobs WHERE key IS NOT NULL GROUP BY key HAVING count(*) > 1""",
    "a turn is paid once": """
        SELECT e.id, count(u.id) FROM executions e
        LEFT JOIN usage u ON u.execution_id = e.id AND u.error IS NULL
        WHERE e.status = 'done' AND e.graph <> 'compaction'
        AND NOT EXISTS (SELECT 1 FROM compactions c WHERE c.execution_id = e.id)
        AND NOT EXISTS (SELECT 1 FROM effects f WHERE f.execution_id = e.id AND f.name LIKE 'tool %')
        GROUP BY e.id HAVING count(u.id) <> 1""",
    "a summary stands for messages": """
        SELECT c.id FROM compactions c
        WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.compaction_id = c.id)
        UNION ALL
        SELECT m.id FROM messages m WHERE m.compaction_id IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM compactions c WHERE c.id = m.compaction_id)""",
    "a crash counts no attempt": """
        SELECT id, kind, attempts, error FROM jobs WHERE attempts > 0""",
}

#: Messages whose turn waited for a person, and messages that had joined such a turn before a crash.
WAITED: LiteralString = """
    SELECT m.id FROM messages m JOIN waits w ON w.execution_id = m.execution_id WHERE m.role = 'user'
    UNION SELECT t.message_id FROM timeline t, waits w
    WHERE t.step = 'requeued' AND t.data LIKE '%' || w.execution_id || '%'"""
#: The number of receipts of each message's turn.
RECEIPTS: LiteralString = """
    SELECT m.content, count(u.id) FROM messages m LEFT JOIN usage u ON u.execution_id = m.execution_id
    WHERE m.role = 'user' GROUP BY m.id, m.content"""

#: Additional rules for episodes in which no process was killed or suspended past its lease.
UNDISTURBED: Rules = {
    "a stop counts no crash": """
        SELECT id, kind, crashes FROM jobs WHERE crashes > 0""",
    "a stop recovers nothing": """
        SELECT message_id, data FROM timeline WHERE step = 'recovered'""",
}

#: Maximum number of rows that are reported for each rule.
MOST_ROWS = 10

Query = Callable[[LiteralString], Iterable[Sequence[Any]]]


def offending(
    data: Path, database: str | None, *, undisturbed: bool = False, rules: Rules = OFFENDERS
) -> dict[str, list[str]]:
    """Return the rows that break each rule, as texts. A rule that is kept is left out."""
    rules = {**rules, **UNDISTURBED} if undisturbed else rules
    return ask_sqlite(data / "arvis.db", rules) if database is None else _postgresql(database, rules)


def seen(data: Path, database: str | None) -> tuple[frozenset[str], Mapping[str, int]]:
    """Return the ids of the messages whose turn waited for a person, and the receipts of each message's turn by its
    text."""
    if database is None:
        with closing(sqlite3.connect(f"file:{data / 'arvis.db'}?mode=ro", uri=True)) as connection:
            return _seen(connection.execute)
    with psycopg.connect(database, options="-c default_transaction_read_only=on") as server:
        return _seen(server.execute)


def _seen(query: Query) -> tuple[frozenset[str], Mapping[str, int]]:
    return frozenset(row[0] for row in query(WAITED)), {row[0]: row[1] for row in query(RECEIPTS)}


def ask_sqlite(path: Path, rules: Rules) -> dict[str, list[str]]:
    """Return the rows of an SQLite file that break each rule, together with the defects of the file."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        found = _ask(connection.execute, rules)
        damage = [row for row in connection.execute("PRAGMA integrity_check") if row != ("ok",)]
        orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    for rule, rows in {"the file is sound": damage, "references hold": orphans}.items():
        if rows:
            found[rule] = _texts(rows)
    return found


def _postgresql(url: str, rules: Rules) -> dict[str, list[str]]:
    with psycopg.connect(url, options="-c default_transaction_read_only=on") as connection:
        return _ask(connection.execute, rules)


def _ask(query: Query, rules: Rules) -> dict[str, list[str]]:
    answers = {rule: list(query(text)) for rule, text in rules.items()}
    return {rule: _texts(rows) for rule, rows in answers.items() if rows}


def _texts(rows: Sequence[Sequence[Any]]) -> list[str]:
    texts = [" ".join(str(value) for value in row) for row in rows[:MOST_ROWS]]
    return texts if len(rows) <= MOST_ROWS else [*texts, f"and {len(rows) - MOST_ROWS} more"]
