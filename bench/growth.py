"""The benchmark row about growth: the cost of a message in a large installation, compared with a small one."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from arvis.domain.search import RULES
from arvis.message_indexing import new_keys, split
from arvis.ports.store import Transaction
from arvis.process.clock import IdMaker, SystemClock
from arvis.store.open import Database, bring_up_to_date, open_store
from arvis.store.sqlite.checkpoint import kept_log, sums_file
from bench.people import Load, Server, chat
from bench.report import Figure, Target
from bench.rounds import Setting
from bench.servers import daemon

#: The people who write at the same time.
PEOPLE = 4
#: The messages with which the size of the database is measured.
SIZED = 20_000
TEXT = "What we agreed on: the crane comes to the harbour on Monday, and {word} has to be there at seven."

_COUNTED = "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT {count})"
_AGENTS = """
INSERT INTO agents (
    id, slug, name, role, description, prompt, fallbacks, tools, graph, completion, allow_users, status, created_at, updated_at
)
SELECT printf('a%025d', n), printf('agent-%d', n), printf('Agent %d', n), role, 'One of many.', prompt, fallbacks, tools, graph,
    completion, allow_users, status, created_at, updated_at
FROM counted JOIN agents ON agents.slug = 'helper'
"""
_CONVERSATIONS = """
INSERT INTO conversations (id, agent_id, platform, connector, channel, thread, status, turns, created_at, last_message_at)
SELECT printf('c%025d', n), id, 'web', 'web', printf('web-%d', n), '', 'active', 5, n, n
FROM counted JOIN agents ON agents.slug = 'helper'
"""
_MESSAGES = """
INSERT INTO messages (
    id, conversation_id, role, content, tokens, status, platform, connector, channel, thread, user_name, agent_id, execution_id,
    position, turn, superseded, created_at
)
SELECT printf('0%025d', n), printf('c%025d', n / 10), CASE n % 2 WHEN 1 THEN 'user' ELSE 'assistant' END,
    replace('{text}', '{{word}}', printf('person%d', n % 5000)), 20, 'answered', 'web', 'web', printf('web-%d', n / 10), '', 'Ann',
    agents.id, printf('e%025d', n / 2), 0, n / 2 + 1, 0, n
FROM counted JOIN agents ON agents.slug = 'helper'
"""
#: The cost of storing a message does not depend on the content of the search index, so the index counts as complete.
_INDEXED = f"""
UPDATE message_index_state SET rules = {RULES}, position = (SELECT max(rowid) FROM messages),
    message_id = (SELECT id FROM messages ORDER BY rowid DESC LIMIT 1)
"""
_FACTS = """
INSERT INTO facts (
    id, number, agent_id, scope, category, content, taint, confidence, status, accessed_at, access_count, created_at, updated_at
)
SELECT printf('f%025d', n), n, id, 'agent', 'learned_pattern', printf('Crane %d is in harbour %d.', n, n), '', 1000, 'active', n,
    0, n, n
FROM counted JOIN agents ON agents.slug = 'helper'
"""
_WORKFLOWS = """
INSERT INTO workflows (id, slug, name, description, enabled, version, runnable, created_at, updated_at)
SELECT printf('w%025d', n), printf('workflow-%d', n), printf('Workflow %d', n), '', 1, 1, 1, n, n FROM counted
"""
_TRIGGERS = """
INSERT INTO workflow_triggers (workflow_id, node_id, kind, platform, channel, words, description)
SELECT printf('w%025d', n), 'start', 'message', '', '', printf('order %d, invoice %d', n, n), '' FROM counted
"""
_SCHEDULES = """
INSERT INTO schedules (
    id, kind, agent_id, name, schedule, timezone, prompt, platform, connector, channel, missed, enabled, next_run, created_at,
    updated_at
)
SELECT printf('s%025d', n), 'cron', id, printf('cron %d', n), '0 8 * * *', 'UTC', 'Report.', 'web', '', 'room', 'once', 1,
    {later} + n, n, n
FROM counted JOIN agents ON agents.slug = 'helper'
"""


@dataclass(frozen=True, slots=True)
class Dimension:
    """A number that grows. `statements` insert `count` rows each."""

    name: str
    small: int
    large: int
    statements: Sequence[str]


DIMENSIONS = (
    Dimension("agents", 10, 10_000, (_AGENTS,)),
    Dimension("conversations", 100, 100_000, (_CONVERSATIONS,)),
    Dimension("messages", 1_000, 1_000_000, (_CONVERSATIONS, _MESSAGES, _INDEXED)),
    Dimension("facts of one scope", 1, 1_000, (_FACTS,)),
    Dimension("triggers of workflows", 5, 500, (_WORKFLOWS, _TRIGGERS)),
    Dimension("schedules", 10, 10_000, (_SCHEDULES,)),
)
_FLAT = Target(1.1, 1.05, of_ratio=True, lower=True)


async def growth(setting: Setting) -> list[Figure]:
    """Compare the processor time of a message in a large installation with that in a small one, for each number that
    grows. Then measure the bytes of a message on the disk."""
    figures = []
    for dimension in DIMENSIONS:
        figures += await _compare(setting, dimension)
    return [*figures, *await _sizes(setting)]


async def _compare(setting: Setting, dimension: Dimension) -> list[Figure]:
    folder = setting.folder / dimension.name.replace(" ", "-")
    large_count = max(dimension.small, round(dimension.large * setting.scale.depth / 1_000_000))
    counts = {folder / "small": dimension.small, folder / "large": large_count}
    for place, count in counts.items():
        with daemon(place):
            pass
        _fill(place / "data", dimension.statements, count)
    with daemon(folder / "small") as small, daemon(folder / "large") as large:
        pairs = [await _round(small, large, setting) for _ in range(setting.scale.rounds + 1)][1:]
    name = f"message with {large_count:,} {dimension.name}, CPU"
    ratio = median(value.cpu_ms / control.cpu_ms for control, value in pairs)
    value, control = (median(load.cpu_ms for load in loads) for loads in ((b for _, b in pairs), (a for a, _ in pairs)))
    return [Figure(name, value, "ms", control, f"the same with {dimension.small:,}", ratio, _FLAT)]


async def _round(small: Server, large: Server, setting: Setting) -> tuple[Load, Load]:
    measure = partial(chat, people=PEOPLE, messages=setting.scale.messages)
    return await measure(small), await measure(large)


def _fill(data: Path, statements: Sequence[str], count: int) -> None:
    """Insert rows into the database of a daemon that does not run."""
    database = Database(data / "arvis.db", None, data)
    values: Mapping[str, object] = {"later": SystemClock().now() + 86_400_000, "text": TEXT}
    counted = _COUNTED.format(count=count)
    with closing(sqlite3.connect(database.file)) as connection, connection:
        for statement in statements:
            whole = statement if statement == _INDEXED else _with_rows(statement, counted)
            connection.execute(whole.format(**values))
    # Without these files the next start computes the checksums of the pages again.
    sums_file(database.file).unlink(missing_ok=True)
    kept_log(database.file).unlink(missing_ok=True)
    bring_up_to_date(database, SystemClock().now())


def _with_rows(statement: str, counted: str) -> str:
    """Return the statement with the counted rows before its `SELECT`."""
    head, select, tail = statement.partition("\nSELECT ")
    return f"{head}\n{counted}{select}{tail}"


async def _sizes(setting: Setting) -> list[Figure]:
    """Measure the bytes on the disk: for a question with its reply and everything that is stored for them; and for each
    message of a hundred characters, the row with the indexes of its table, and the row of the search index."""
    folder, count = setting.folder / "size", max(1_000, round(SIZED * setting.scale.depth / 1_000_000))
    data = folder / "data"
    with daemon(folder):
        pass
    empty = _size(data)
    with daemon(folder) as server:
        await chat(server, people=PEOPLE * 4, messages=setting.scale.messages)
    asked = (_size(data) - empty) / (PEOPLE * 4 * setting.scale.messages)
    _fill(data, (_CONVERSATIONS,), count)
    before = _size(data)
    _fill(data, (_MESSAGES,), count)
    stored = _size(data)
    new_id = IdMaker(clock=SystemClock(), random_bits=secrets.randbits)
    async with open_store(Database(data / "arvis.db", None, data), boot="bench", new_id=new_id) as (store, _):
        while texts := await store.read(_unindexed):
            await store.write(_advance, texts)
    return [
        Figure("question with its reply and all records", asked, "bytes"),
        Figure("row of a message", (stored - before) / count, "bytes"),
        Figure("row of the search index", (_size(data) - stored) / count, "bytes"),
    ]


def _size(data: Path) -> int:
    return (data / "arvis.db").stat().st_size


def _unindexed(tx: Transaction) -> Sequence[str]:
    return tx.message_index.unindexed()


def _advance(tx: Transaction, texts: Sequence[str]) -> None:
    words = split(texts)
    tx.message_index.advance(words, keys=new_keys(tx, words))
