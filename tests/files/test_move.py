"""All data moves between SQLite and PostgreSQL, also if the move is killed at any step."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from arvis.domain.errors import Conflict, DatabaseAway, NotFound
from arvis.ports.store import Store, Transaction
from arvis.store.backups.restore import restore
from arvis.store.moving.move import Moved, move
from arvis.store.moving.tables import NOT_COPIED, tables
from arvis.store.open import Database, bring_up_to_date, moved_to
from tests.conformance.databases import opened
from tests.files.backup_kit import FILES, HASHES, NOW, copied, filled
from tests.files.move_kit import key_values, rows_of
from tests.fixtures.make_database import (
    fill_dashboard,
    fill_limits,
    fill_mind,
    fill_platforms,
    fill_work,
    fill_workflows,
)
from tests.parts import LONG
from tests.postgres import PostgresServer

LATER = NOW + 1
#: The number of steps at which a move is killed, evenly distributed.
KILLS = 1000 if LONG else 3


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Database:
    database = filled(tmp_path_factory.mktemp("template") / "data")
    asyncio.run(_fill(database))
    return database


async def _fill(database: Database) -> None:
    async with opened(database) as store:
        for script in (fill_mind, fill_platforms, fill_work, fill_dashboard, fill_workflows, fill_limits):
            await store.write(script)


@pytest.fixture
def database(template: Database, tmp_path: Path) -> Database:
    return copied(template, tmp_path / "data")


@pytest.fixture
def server(database: Database, postgres_url: str) -> Database:
    """The empty database of a server, for a daemon with the same data folder."""
    return Database(database.file, postgres_url, database.folder)


def moving(source: Database, target: Database, now: int = NOW) -> tuple[Moved, list[str]]:
    lines: list[str] = []
    return move(source, target, now, lines.append), lines


def emptied(database: Database) -> Database:
    """Return the location of an empty SQLite database in another folder."""
    folder = database.folder.with_name("elsewhere")
    folder.mkdir()
    return Database(folder / "arvis.db", None, folder)


def change(database: Database, statement: str, *parameters: object) -> None:
    with closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute(statement, parameters)


# -- what is moved -----------------------------------------------------------------------------------------


def test_there_and_back_nothing_differs(database: Database, server: Database) -> None:
    before, own = rows_of(database), key_values(database)
    there, _ = moving(database, server)
    assert rows_of(server) == before
    assert there.rows["messages"] == len(before["messages"]) > 0
    assert (there.blobs, there.missing_blobs, there.resumed) == (len(FILES), 0, False)
    assert there.target.startswith("postgresql://arvis@")

    elsewhere = emptied(database)
    back, _ = moving(server, elsewhere)
    assert rows_of(elsewhere) == before
    assert key_values(elsewhere) == own
    assert back.rows == there.rows
    assert [elsewhere.blobs.path(name).read_bytes() for name in HASHES] == list(FILES)


def test_every_table_is_copied_or_has_a_reason(template: Database, migrated_url: str) -> None:
    assert {table.name for table in tables()} | NOT_COPIED == {*rows_of(template), "kv", "blobs"} | NOT_COPIED
    with psycopg.connect(migrated_url) as connection:
        query = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        listed = connection.execute(query).fetchall()
    for table in tables():
        assert {*table.columns} == {column for name, column in listed if name == table.name}


def test_every_table_of_the_template_but_a_few_has_rows(template: Database) -> None:
    """Otherwise the comparisons of this file prove nothing."""
    found = rows_of(template)
    assert len([name for name, rows in found.items() if rows]) > len(found) * 2 // 3


def test_a_new_database_holds_no_rows(tmp_path: Path, migrated_url: str) -> None:
    """A copy begins with an empty database, so a row of a migration would be copied twice."""
    fresh = Database(tmp_path / "arvis.db", None, tmp_path)
    bring_up_to_date(fresh, NOW)
    for each in (fresh, Database(fresh.file, migrated_url, tmp_path)):
        assert {name: rows for name, rows in rows_of(each).items() if rows} == {}
        assert key_values(each) == {}


#: The numbers up to 300.
MANY = "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT 300)"
STRANGE = (
    "",
    "\\N",
    "a\tb\nc\\r\r",
    "'\"; DROP TABLE messages; --",
    "\x01\x7f\ufffe",
    "é\u0301 ß 你好 🦀‍🔥",
    "x" * 300_000,
)


def test_no_text_changes(database: Database, server: Database) -> None:
    for number, text in enumerate(STRANGE):
        change(
            database, "INSERT INTO settings VALUES (?, ?, ?)", f"strange {number} {text[:50]}", text, -(2**63) + number
        )
    before = rows_of(database)["settings"]
    moving(database, server)
    assert rows_of(server)["settings"] == before
    elsewhere = emptied(database)
    moving(server, elsewhere)
    assert rows_of(elsewhere)["settings"] == before


def test_the_order_of_the_server_does_not_matter(
    killed: Killer, database: Database, postgres: PostgresServer, tmp_path: Path
) -> None:
    """Another collation sorts texts in another way, also when a killed move looks for the last row."""
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS in_words")
        connection.execute("CREATE DATABASE in_words TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en' ")
    for name in ("a", "B", "c", "_", "Z", "é"):
        change(database, f"{MANY} INSERT INTO settings SELECT ? || n, '', 0 FROM counted", name)
    before = rows_of(database)
    server = Database(database.file, postgres.url("in_words"), tmp_path)
    assert killed(database, server, 5, step="add", table="settings") == 5
    assert moving(database, server)[0].resumed
    assert rows_of(server) == before


async def test_messages_are_found_in_the_copy(database: Database, server: Database) -> None:
    await asyncio.to_thread(moving, database, server)
    async with opened(server) as store:
        assert await _all_found(store)
    elsewhere = emptied(database)
    await asyncio.to_thread(moving, server, elsewhere)
    async with opened(elsewhere) as store:
        assert await _all_found(store)


async def _all_found(store: Store) -> bool:
    """Return whether the index is complete and belongs to the rules of this version."""

    def unindexed(tx: Transaction) -> bool:
        return tx.message_index.is_outdated() or bool(tx.message_index.unindexed())

    return not await store.read(unindexed)


def test_files_that_are_lost_are_counted(database: Database, server: Database) -> None:
    database.blobs.path(HASHES[0]).write_bytes(b"another animal")
    moved, _ = moving(database, server)
    assert (moved.blobs, moved.missing_blobs) == (1, 1)


def test_an_older_database_is_brought_up_to_date(tmp_path: Path, postgres_url: str) -> None:
    old = min((Path(__file__).parents[1] / "fixtures" / "databases").glob("*.db"))
    folder = tmp_path / "data"
    folder.mkdir()
    database = Database(folder / "arvis.db", None, folder)
    database.file.write_bytes(old.read_bytes())
    moved, _ = moving(database, Database(database.file, postgres_url, folder))
    assert moved.rows["messages"] > 0
    assert len(list(database.backups.iterdir())) == 1


# -- one database is used, the other one is not -------------------------------------------------------------


def test_the_old_database_is_refused_until_it_is_restored(database: Database, server: Database) -> None:
    before = rows_of(database)
    moving(database, server)
    with pytest.raises(Conflict, match="was moved to postgresql://") as refused:
        bring_up_to_date(database, LATER)
    assert str(database.file) in refused.value.fix
    bring_up_to_date(server, LATER)
    restore(database, database.file, LATER)
    bring_up_to_date(database, LATER)
    assert rows_of(database)["messages"] == before["messages"]


def test_the_database_of_a_server_is_refused_after_its_move(database: Database, server: Database) -> None:
    moving(database, server)
    moving(server, database, LATER)
    with pytest.raises(Conflict, match=f"was moved to {database.file}"):
        bring_up_to_date(server, LATER)
    bring_up_to_date(database, LATER)


def test_data_that_was_moved_away_is_kept_when_it_comes_back(database: Database, server: Database) -> None:
    """Both places may be used again and again. The older state stays beside the newer one."""
    before = rows_of(database)
    moving(database, server)
    moving(server, database, LATER)
    [aside] = database.aside.iterdir()
    assert rows_of(Database(aside / "arvis.db", None, database.folder)) == before
    change(database, "INSERT INTO settings VALUES ('new', '', 0)")
    before = rows_of(database)
    moving(database, server, LATER + 1)
    assert rows_of(server) == before
    assert server.url is not None
    with psycopg.connect(server.url) as connection:
        kept = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'arvis%'").fetchall()
    assert kept == [("arvis_moved_20270115080000",)]


def test_data_is_never_replaced(database: Database, server: Database, template: Database, tmp_path: Path) -> None:
    bring_up_to_date(server, NOW)
    before = rows_of(server)
    with pytest.raises(Conflict, match="There is already data in postgresql://"):
        moving(database, server)
    assert rows_of(server) == before
    bring_up_to_date(database, NOW)
    other = copied(template, tmp_path / "other")
    with pytest.raises(Conflict, match="There is already data in"):
        moving(server, other)
    assert rows_of(other) == rows_of(template)


def test_a_move_that_is_done_says_so(database: Database, server: Database) -> None:
    moving(database, server)
    with pytest.raises(Conflict, match="was moved to postgresql://"):
        moving(database, server)


def test_what_cannot_be_moved_is_told(database: Database, server: Database, tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="already in"):
        moving(database, database)
    with pytest.raises(NotFound):
        moving(Database(tmp_path / "none.db", None, tmp_path), server)
    with pytest.raises(DatabaseAway):
        moving(database, Database(database.file, "postgresql://127.0.0.1:1/none", tmp_path))
    assert moved_to(database) is None


def test_a_process_at_the_server_is_in_the_way(database: Database, server: Database) -> None:
    moving(database, server)
    assert server.url is not None
    elsewhere = emptied(database)
    with (
        psycopg.connect(server.url, application_name="arvis"),
        pytest.raises(Conflict, match="Other processes of Arvis"),
    ):
        moving(server, elsewhere)
    with psycopg.connect(server.url) as writer:
        writer.execute("INSERT INTO settings VALUES ('uncommitted', '', 0)")
        with pytest.raises(DatabaseAway, match="cannot be reached") as refused:
            moving(server, elsewhere)
        assert "lock timeout" in refused.value.why
    moving(server, elsewhere)


def test_a_connection_that_is_just_ending_is_not_in_the_way(database: Database, server: Database) -> None:
    moving(database, server)
    assert server.url is not None
    other = psycopg.connect(server.url, application_name="arvis")
    ending = threading.Timer(0.5, other.close)
    ending.start()
    moving(server, emptied(database))
    ending.join()


# -- kills -------------------------------------------------------------------------------------------------


class Killer:
    """The program that kills moves, which imports Arvis only once."""

    def __init__(self) -> None:
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.files.move_kills"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __call__(
        self, source: Database, target: Database, number: int, *, step: str | None = None, table: str | None = None
    ) -> int:
        """Kill a move before its `number`-th step (of this kind and table). Return the number of steps until its end,
        or `number` if it was killed."""
        places = {"source": [str(source.file), source.url], "target": [str(target.file), target.url]}
        order = {**places, "number": number, "step": step, "table": table, "folder": str(source.folder)}
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(json.dumps(order) + "\n")
        self._program.stdin.flush()
        answer = self._program.stdout.readline().strip()
        assert answer not in {"", "failed"}
        return number if answer == "killed" else int(answer)

    def close(self) -> None:
        with self._program as program:
            program.kill()


@pytest.fixture(scope="module")
def killed() -> Iterator[Killer]:
    with closing(Killer()) as killer:
        yield killer


def states(source: Database, target: Database) -> list[bool]:
    """Return, for both databases, whether a daemon may use it and finds data in it."""
    found = []
    for database in (source, target):
        if database.url is None and not database.file.exists() and not list(database.aside.glob("*/restored.db")):
            found.append(False)
            continue
        if database.url is not None and "messages" not in _names(database.url):
            found.append(False)
            continue
        try:
            bring_up_to_date(database, LATER)
        except Conflict:
            found.append(False)
        else:
            found.append(True)
    return found


def _names(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        return {name for (name,) in connection.execute(query)}


def points(steps: int) -> list[int]:
    """Return the steps at which a move is killed: the first one, the last ones, and others between them."""
    between = range(1, steps, max(1, steps // KILLS))
    return sorted({*between, *range(max(1, steps - KILLS // 2), steps + 1)})


def killed_and_continued(killed: Killer, source: Database, target: Database, number: int) -> bool:
    """Kill a move at this step and continue it. Return whether the second move found a part of the copy."""
    assert killed(source, target, number) == number
    usable = states(source, target)
    assert usable in ([True, False], [False, True], [False, False]), (number, usable)
    resumed = usable != [False, True] and moving(source, target)[0].resumed
    assert states(source, target) == [False, True], number
    return resumed


def test_a_move_to_a_server_that_was_killed_anywhere_continues(
    killed: Killer, database: Database, server: Database, postgres: PostgresServer, tmp_path: Path
) -> None:
    before, resumed = rows_of(database), 0
    for number in points(killed(copied(database, tmp_path / "first"), server, 1_000_000)):
        source = copied(database, tmp_path / f"data-{number}")
        with postgres.database(f"killed_{number}") as url:
            target = Database(source.file, url, source.folder)
            resumed += killed_and_continued(killed, source, target, number)
            assert rows_of(target) == before, number
    assert resumed > 1


def test_a_move_from_a_server_that_was_killed_anywhere_continues(
    killed: Killer, database: Database, server: Database, postgres: PostgresServer, tmp_path: Path
) -> None:
    before, resumed = rows_of(database), 0
    moving(database, server)
    assert server.url is not None
    with psycopg.connect(postgres.url("postgres"), autocommit=True) as connection:
        origin = server.url.partition("?")[0].rpartition("/")[2]
        connection.execute(f"CREATE DATABASE {origin}_moved TEMPLATE {origin}".encode())
    for number in points(killed(server, emptied(database), 1_000_000)):
        folder = tmp_path / f"data-{number}"
        folder.mkdir()
        with postgres.database(f"from_{number}", template=f"{origin}_moved") as url:
            source, target = Database(folder / "arvis.db", url, folder), Database(folder / "arvis.db", None, folder)
            resumed += killed_and_continued(killed, source, target, number)
            assert rows_of(target) == before, number
    assert resumed > 1


def test_a_source_that_was_used_meanwhile_is_copied_again(killed: Killer, database: Database, server: Database) -> None:
    assert killed(database, server, 1, step="index_messages") == 1
    change(database, "DELETE FROM settings")
    change(database, "INSERT INTO settings VALUES ('meanwhile', '', 0)")
    before = rows_of(database)
    _, lines = moving(database, server)
    assert "The source changed since the interruption (settings). The move begins again." in lines
    assert rows_of(server) == before


def test_the_unfinished_copy_of_another_database_is_kept(
    killed: Killer, database: Database, server: Database, template: Database, tmp_path: Path
) -> None:
    assert killed(database, server, 1, step="index_messages") == 1
    other = copied(template, tmp_path / "other")
    with pytest.raises(Conflict, match=f"unfinished copy of {database.file}"):
        moving(other, Database(other.file, server.url, other.folder))
    assert moving(database, server)[0].resumed


def test_rows_that_change_under_the_move_are_noticed(killed: Killer, database: Database, server: Database) -> None:
    """A difference in one value is enough."""
    assert killed(database, server, 1, step="index_messages") == 1
    change(database, "UPDATE agents SET name = name || '.' WHERE id = (SELECT max(id) FROM agents)")
    assert "The source changed since the interruption (agents). The move begins again." in moving(database, server)[1]
