"""Kills at system calls, and broken builds that prove that this test can fail.

The long form is `python -m tests.crash sweep`.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from tests.crash.builds import Edit, copied
from tests.crash.campaign import play_all
from tests.crash.daemon import CHECKOUT
from tests.crash.sweep import MISSING
from tests.crash.sweep_build import Outcome, SweptBuild, swept_build
from tests.crash.sweep_daemon import StraceRefused
from tests.crash.sweep_points import Operation, Point, operations, points_of
from tests.crash.sweep_state import damage, lost_files, schemas
from tests.crash.verdict import Violation
from tests.parts import require

#: Number of points of each phase in the short form, evenly spread.
SPREAD = 4
#: A build that commits a migration before it records it.
TWO_COMMITS = Edit(
    "arvis/store/sqlite/migrations.py",
    old='            note = {"name"',
    new='            self._connection.execute("COMMIT")\n'
    '            self._connection.execute("BEGIN IMMEDIATE")\n'
    '            note = {"name"',
)


@asynccontextmanager
async def strace_build(*edits: Edit) -> AsyncIterator[SweptBuild]:
    """Yield the program with these edits. Skip the test if the machine does not allow strace."""
    require("strace")
    with copied(*edits) as code:
        try:
            async with swept_build(code) as build:
                yield build
        except StraceRefused as refused:
            require("ptrace", MISSING.format(refused))


def expected_violations(outcome: Outcome) -> Sequence[Violation]:
    """Return the violations of a broken build, and delete its folder, which is of no further use."""
    if outcome.evidence is not None:
        shutil.rmtree(outcome.evidence)
    return outcome.violations


async def test_kills_at_a_spread_of_calls_lose_nothing_and_repeat_nothing() -> None:
    async with strace_build() as build:
        counted = await asyncio.gather(*(build.count(build.phases[name]) for name in ("creation", "recovery")))
        known = {point.phase: each.known for each in counted for point in each.points}
        points = [point for each in counted for point in each.points[:: len(each.points) // SPREAD]]
        outcomes = await play_all((build.kill_at(point, known[point.phase]) for point in points), 2)
    assert [(each.seed, each.violations) for each in outcomes if each.violations] == []
    # The number of writes in a conversation varies a little between runs.
    assert sum(each.reached for each in outcomes) >= len(points) - 2


async def test_a_schema_between_two_migrations_is_caught() -> None:
    """The third sync of the log belongs to the first migration's tables."""
    async with strace_build(TWO_COMMITS) as build:
        outcome = await build.kill_at(Point("creation", "fdatasync", "arvis.db-wal", 3))
    assert outcome.reached
    assert damage.__name__ in [violation.rule for violation in expected_violations(outcome)]


# -- points ------------------------------------------------------------------------------------------------

DATA = Path("/data")
TRACE = """\
11 pwrite64(7</data/arvis.db-wal>, "a", 1, 0) = 1
11 write(3</data/logs/arvis.log>, "x", 1) = 1
12 pwrite64(7</data/arvis.db-wal>, "b", 1, 0 <unfinished ...>
11 unlink("/data/address") = 0
12 <... pwrite64 resumed>) = 1
12 pwrite64(8</data/arvis.db>, "c", 1, 0) = 1
12 write(9</data/blobs/tmpRANDOM.part>, "d", 1) = 1
12 rename("/data/blobs/tmpRANDOM.part", "/data/blobs/ab") = 0
13 write(9</elsewhere>, "e", 1) = 1
"""


def test_the_calls_of_a_trace_are_read_in_the_order_of_their_beginning() -> None:
    assert operations(TRACE, DATA) == [
        Operation("11", "pwrite64", ("arvis.db-wal",)),
        Operation("11", "write", ()),
        Operation("12", "pwrite64", ("arvis.db-wal",)),
        Operation("11", "unlink", ("address",)),
        Operation("12", "pwrite64", ("arvis.db",)),
        Operation("12", "write", ("blobs/tmpRANDOM.part",)),
        Operation("12", "rename", ("blobs/tmpRANDOM.part", "blobs/ab")),
        Operation("13", "write", ()),
    ]


def test_a_call_is_named_by_what_strace_counts() -> None:
    """Some calls are shadowed: the second thread's first write to the log by the first thread's, and the write to a
    random name by a line of the log."""
    run = operations(TRACE, DATA)
    points, shadowed = points_of("conversation", operations(TRACE.replace("RANDOM", "OTHER"), DATA), run)
    assert list(map(str, points)) == [
        "conversation:pwrite64:arvis.db-wal:1",
        "conversation:unlink:address:1",
        "conversation:pwrite64:arvis.db:1",
        "conversation:rename:*:1",
    ]
    assert shadowed == [Operation("12", "pwrite64", ("arvis.db-wal",)), Operation("12", "write", run[5].paths)]


@pytest.mark.parametrize(
    "text", ["conversation:pwrite64:arvis.db-wal:12", "creation:fdatasync:.:1", "conversation:write:*:3"]
)
def test_the_name_of_a_point_is_read_back(text: str) -> None:
    assert str(Point.parse(text)) == text


# -- the state of the folder -------------------------------------------------------------------------------


def database(data: Path, *statements: str) -> None:
    with closing(sqlite3.connect(data / "arvis.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def found(data: Path) -> Sequence[str]:
    return [violation.detail for violation in (*damage(data, schemas(CHECKOUT)), *lost_files(data))]


def test_a_folder_without_a_database_is_whole(tmp_path: Path) -> None:
    assert found(tmp_path) == []


def test_a_table_without_its_migration_is_damage(tmp_path: Path) -> None:
    database(tmp_path, "CREATE TABLE agents (id TEXT)", "CREATE TABLE attachments (message_id, sha256, size)")
    assert found(tmp_path) == ["the schema is between two migrations; () are noted"]


def test_a_torn_page_is_damage(tmp_path: Path) -> None:
    database(tmp_path, "CREATE TABLE a (b TEXT)", "INSERT INTO a VALUES (printf('%9000c', 'x'))")
    with (tmp_path / "arvis.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)
    assert any("is damaged" in text for text in (violation.detail for violation in damage(tmp_path, frozenset())))


def test_an_attachment_without_its_bytes_is_lost(tmp_path: Path) -> None:
    database(
        tmp_path,
        "CREATE TABLE attachments (message_id TEXT, sha256 TEXT, size INTEGER)",
        "INSERT INTO attachments VALUES ('m-1', 'abcdef', 3)",
    )
    assert "the file of message m-1 has 0 of 3 bytes" in found(tmp_path)


def test_half_a_backup_under_the_name_of_a_whole_one_is_lost(tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "arvis-1.tar.gz").write_bytes(b"\x1f\x8b half")
    assert [text.split(":")[0] for text in found(tmp_path)] == ["the backup arvis-1.tar.gz cannot be read"]
