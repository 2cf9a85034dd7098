"""Queries over the database of a campaign with platforms, after its stop and after a kill."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from tests.crash.platform_history import Underway
from tests.crash.rows import OFFENDERS, Rules, ask_sqlite

#: The rule about attempts is left out: platforms refuse and interrupt sends, and each retry counts as an attempt.
RULES: Rules = {
    **{rule: text for rule, text in OFFENDERS.items() if rule != "a crash counts no attempt"},
    "a crash counts no attempt": """
        SELECT id, kind, attempts, error FROM jobs WHERE attempts > 0 AND kind <> 'deliver'""",
    "a part of a sent delivery is sent": """
        SELECT p.delivery_id, p.part, p.state FROM delivery_parts p JOIN deliveries d ON d.id = p.delivery_id
        WHERE d.state = 'sent' AND p.state <> 'sent'""",
    "a part is a message of its own": """
        SELECT d.platform, d.channel, p.platform_id, count(*)
        FROM delivery_parts p JOIN deliveries d ON d.id = p.delivery_id WHERE p.platform_id IS NOT NULL
        GROUP BY d.platform, d.connector, d.channel, p.platform_id HAVING count(*) > 1""",
    "a draft is not left beside its reply": """
        SELECT t.execution_id, t.platform, t.channel, t.state FROM drafts t WHERE t.state = 'shown' AND t.platform_id IS NOT NULL""",
}

#: With `at_most_once`, the operator gets a notice about each message that may be missing.
AT_MOST_ONCE: Rules = {
    "a delivery is sent": """
        SELECT id, platform, channel, state, error FROM deliveries
        WHERE state <> 'sent' AND NOT (platform = 'telegram' AND state = 'unknown')""",
    "no job is given up": """
        SELECT id, kind, status, crashes, attempts, reason FROM jobs WHERE status IN ('failed', 'cancelled')
        AND NOT (kind = 'deliver' AND lane LIKE 'to:telegram:%')""",
}

_UNDER_WAY = """
    SELECT d.platform, p.content, p.platform_id IS NOT NULL
    FROM delivery_parts p JOIN deliveries d ON d.id = p.delivery_id WHERE p.state IN ('sending', 'reserved')"""
_UNKNOWN = "SELECT content FROM deliveries WHERE state = 'unknown'"
_LIVE = "SELECT count(*) FROM jobs WHERE status IN ('pending', 'running')"


def offending(data: Path, delivery: str) -> dict[str, list[str]]:
    """Return the rows of a stopped daemon that break each rule, as texts."""
    return ask_sqlite(data / "arvis.db", {**RULES, **AT_MOST_ONCE} if delivery == "at_most_once" else RULES)


def unknown(data: Path) -> list[str]:
    """Return the texts of the deliveries whose arrival is unknown."""
    with _opened(data / "arvis.db") as database:
        return [str(content) for (content,) in database.execute(_UNKNOWN)]


def live_jobs(data: Path) -> int:
    """Return the number of unfinished jobs of a running daemon."""
    with _opened(data / "arvis.db") as database:
        return int(database.execute(_LIVE).fetchone()[0])


def under_way(data: Path) -> Sequence[Underway]:
    """Return the sends in progress of a killed daemon. They are read from a copy, so that the next daemon is not
    affected."""
    with tempfile.TemporaryDirectory(prefix="arvis-rows-") as name:
        for path in data.glob("arvis.db*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, name)
        path = Path(name) / "arvis.db"
        if not path.exists():
            return ()
        with closing(sqlite3.connect(path)) as database:
            if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'delivery_parts'").fetchone():
                return ()
            return [Underway(str(row[0]), str(row[1]), bool(row[2])) for row in database.execute(_UNDER_WAY)]


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        yield connection
