"""Tests of the queries over the database of a stopped daemon and of a killed one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.crash.platform_history import Underway
from tests.crash.platform_rows import AT_MOST_ONCE, RULES, live_jobs, offending, under_way, unknown
from tests.crash.rows import OFFENDERS
from tests.crash.test_rows import database, insert

__all__ = ["database"]

SPOILED = {
    "a part of a sent delivery is sent": "UPDATE delivery_parts SET state = 'sending'",
    "a part is a message of its own": "UPDATE delivery_parts SET platform_id = 'p1'",
    "a draft is not left beside its reply": "UPDATE drafts SET state = 'shown'",
    "a crash counts no attempt": "UPDATE jobs SET attempts = 1 WHERE id = 'j1'",
}


@pytest.fixture
def parts(database: sqlite3.Connection) -> sqlite3.Connection:
    """Add one part to each of the two deliveries; one of them replaces a draft."""
    for number in (1, 2):
        insert(
            database,
            "delivery_parts",
            delivery_id=f"d{number}",
            content=f"text {number}",
            state="sent",
            platform_id=f"p{number}",
        )
    insert(database, "drafts", execution_id="x1", state="gone", platform_id="p1")
    return database


@pytest.mark.usefixtures("parts")
def test_a_sound_database_passes(tmp_path: Path) -> None:
    assert offending(tmp_path, "at_least_once") == offending(tmp_path, "at_most_once") == {}
    assert (live_jobs(tmp_path), unknown(tmp_path), list(under_way(tmp_path))) == (0, [], [])


@pytest.mark.parametrize("rule", SPOILED)
def test_a_spoiled_database_is_caught(rule: str, parts: sqlite3.Connection, tmp_path: Path) -> None:
    parts.executescript(SPOILED[rule])
    assert rule in offending(tmp_path, "at_least_once")


def test_every_rule_of_its_own_is_spoiled() -> None:
    assert {rule for rule, text in RULES.items() if OFFENDERS.get(rule) != text} == SPOILED.keys()


def test_only_telegram_may_leave_something_unknown(parts: sqlite3.Connection, tmp_path: Path) -> None:
    parts.executescript(
        "UPDATE deliveries SET state = 'unknown', platform = 'telegram', content = 'gone?' WHERE id = 'd1';"
        "UPDATE jobs SET status = 'failed', kind = 'deliver', lane = 'to:telegram:main:1:' WHERE id = 'j1'"
    )
    for number in (1, 2):
        insert(parts, "messages", id=f"n{number}", role="notice", platform="telegram", channel="owner")
    assert offending(tmp_path, "at_least_once").keys() >= AT_MOST_ONCE.keys()
    assert not offending(tmp_path, "at_most_once").keys() & {*AT_MOST_ONCE, "a turn stores one reply"}
    assert unknown(tmp_path) == ["gone?"]


def test_sends_under_way_at_a_kill_are_found(parts: sqlite3.Connection, tmp_path: Path) -> None:
    parts.executescript(
        "UPDATE delivery_parts SET state = 'sending', platform_id = NULL WHERE delivery_id = 'd1';"
        "UPDATE delivery_parts SET state = 'reserved' WHERE delivery_id = 'd2'"
    )
    assert list(under_way(tmp_path)) == [Underway("web", "text 1", fills=False), Underway("web", "text 2", fills=True)]


def test_a_daemon_that_never_began_has_nothing_under_way(tmp_path: Path) -> None:
    assert list(under_way(tmp_path)) == []
