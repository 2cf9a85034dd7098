"""Each migration runs in one transaction; a database with content is backed up before."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from arvis.domain.errors import MigrationFailed, SchemaTooNew
from arvis.domain.text import CURRENT_MESSAGE, EARLIER_MESSAGES, own_words
from arvis.domain.workflows import STATE
from arvis.graphs.agent.subagents import Subagent, subagents_of
from arvis.graphs.handover.graph import SpeakerTurn
from arvis.graphs.handover.rules import HandoverProgress
from arvis.ports.store import Store
from arvis.store.open import Database, bring_up_to_date
from arvis.store.postgres.migrations import PostgresTarget
from arvis.store.sql.migrations import Migration, MigrationTarget, available, migrate
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import connect
from arvis.tasks.state import TaskSpec
from arvis.workflows.nodes.agents import WARNED
from arvis.workflows.runtime.token import Token
from tests.conformance.databases import NOW, opened
from tests.conformance.store.scripts import add, claim, get_setting, message, put_setting

KEPT = Path(__file__).parents[1] / "fixtures" / "databases"

FIRST = Migration("0001_first", "CREATE TABLE a (n INTEGER PRIMARY KEY) STRICT;\nINSERT INTO a (n) VALUES (1);")
SECOND = Migration("0002_second", "-- Says; nothing\nALTER TABLE a ADD COLUMN m INTEGER;\nUPDATE a SET m = n + 1")
BROKEN = Migration(
    "0003_broken", "CREATE TABLE b (n INTEGER);\nINSERT INTO a (n) VALUES (2);\nINSERT INTO missing VALUES (1);"
)


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MigrationTarget]:
    if request.param == "postgres":
        yield PostgresTarget(url=request.getfixturevalue("postgres_url"), now=NOW)
    else:
        with contextlib.closing(connect(tmp_path / "arvis.db", writing=True)) as connection:
            yield SqliteTarget(connection=connection, now=NOW)


def rows(target: MigrationTarget, query: str) -> list[Sequence[object]]:
    if isinstance(target, PostgresTarget):
        with psycopg.connect(target._url) as connection:
            return list(connection.execute(query.encode()).fetchall())
    assert isinstance(target, SqliteTarget)
    return [tuple(row) for row in target._connection.execute(query).fetchall()]


def test_migrations_run_in_order_and_once(target: MigrationTarget) -> None:
    assert migrate(target, [FIRST]) == ["0001_first"]
    assert migrate(target, [FIRST, SECOND]) == ["0002_second"]
    assert migrate(target, [FIRST, SECOND]) == []
    assert rows(target, "SELECT n, m FROM a") == [(1, 2)]
    noted = rows(target, "SELECT name, checksum, applied_at FROM migrations ORDER BY name")
    assert noted == [(migration.name, migration.checksum, NOW) for migration in (FIRST, SECOND)]


def test_a_failing_migration_leaves_the_schema_before_all_of_them(target: MigrationTarget) -> None:
    migrate(target, [FIRST])
    with pytest.raises(MigrationFailed, match="0003_broken") as raised:
        migrate(target, [FIRST, SECOND, BROKEN])
    assert "missing" in raised.value.why
    assert list(target.applied()) == ["0001_first"]
    assert rows(target, "SELECT * FROM a") == [(1,)]
    with pytest.raises((sqlite3.OperationalError, psycopg.errors.UndefinedTable)):
        rows(target, "SELECT * FROM b")
    mended = Migration("0003_mended", "CREATE TABLE b (n INTEGER);")
    assert migrate(target, [FIRST, SECOND, mended]) == ["0002_second", "0003_mended"]


def test_a_newer_schema_is_refused_untouched(target: MigrationTarget) -> None:
    migrate(target, [FIRST, SECOND])
    with pytest.raises(SchemaTooNew) as raised:
        migrate(target, [FIRST])
    assert "0002_second" in raised.value.why


def test_an_edited_migration_is_refused(target: MigrationTarget) -> None:
    migrate(target, [FIRST])
    with pytest.raises(MigrationFailed, match="0001_first"):
        migrate(target, [Migration(FIRST.name, FIRST.text + "\n"), SECOND])
    assert list(target.applied()) == ["0001_first"]


def test_the_last_statement_needs_no_semicolon() -> None:
    assert [statement.strip() for statement in SECOND.statements(postgres=False)][-1] == "UPDATE a SET m = n + 1"


def test_only_a_database_with_tables_is_backed_up(tmp_path: Path) -> None:
    new = Database(tmp_path / "arvis.db", None, tmp_path)
    bring_up_to_date(new, NOW)
    bring_up_to_date(new, NOW)
    assert not new.backups.exists()
    shutil.copy(KEPT / "0011.db", new.file)
    new.file.with_name("arvis.db-sums").unlink()
    bring_up_to_date(new, NOW)
    bring_up_to_date(new, NOW)
    [made] = new.backups.iterdir()
    assert "-before-0012_standard_names" in made.name


def test_processes_that_start_at_once_share_the_work(postgres_url: str) -> None:
    database = Database(Path("unused"), postgres_url, Path("unused"))
    with ThreadPoolExecutor(4) as threads:
        ran = list(threads.map(lambda _: bring_up_to_date(database, NOW), range(4)))
    names = [migration.name for migration in available()]
    assert sorted(name for each in ran for name in each) == names, "each migration ran once, in any of the threads"


# -- stored databases of earlier schemas --------------------------------------------------------------------


def kept_databases() -> list[Path]:
    return sorted(KEPT.glob("*.db"))


def test_every_kept_database_can_be_opened_and_worked_with(tmp_path: Path) -> None:
    """A merged migration is never changed, so a database that it made must keep working."""
    for number, kept in enumerate(kept_databases()):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = Path(shutil.copy(kept, folder / "arvis.db"))
        bring_up_to_date(Database(file, None, folder), NOW)
        with contextlib.closing(sqlite3.connect(file)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_an_empty_list_of_people_still_means_everybody_after_the_update(tmp_path: Path) -> None:
    """Before the migration an empty list admitted everyone; afterwards it admits only owners."""
    file = Path(shutil.copy(KEPT / "0010.db", tmp_path / "arvis.db"))
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(
            "INSERT INTO agents SELECT 'agent-2', 'closed', name, role, description, prompt, model, fallbacks, tools, graph, "
            "completion, context_tokens, timezone, '[\"ann\"]', status, created_at, updated_at, on_new_message, plugins, helpers "
            "FROM agents"
        )
    bring_up_to_date(Database(file, None, tmp_path), NOW)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        people = dict(connection.execute("SELECT slug, allow_users FROM agents").fetchall())
        assert people == {"helper": "null", "closed": '["ann"]'}
        [(version,)] = connection.execute("SELECT data FROM agent_versions").fetchall()
        assert json.loads(version)["agent"]["allow_users"] is None


def test_the_standard_names_keep_every_row(tmp_path: Path) -> None:
    """Migration 0012 renames tables and moves the daemon's own values out of the settings."""
    file = Path(shutil.copy(KEPT / "0011.db", tmp_path / "arvis.db"))
    renamed = {
        "observed": "overheard_messages", "places": "channel_status", "incidents": "delivery_incidents",
        "threads": "handover_threads", "additions": "plugin_additions", "occurrences": "schedule_runs",
        "calibrations": "token_calibrations", "states": "agent_state", "fact_words": "fact_index",
        "feed_positions": "read_positions", "reservations": "budget_reservations", "rests": "account_cooldowns",
        "run_log": "workflow_run_log",
    }  # fmt: skip
    own = {"owner_place": "m1", "told:bot:chat/main:down": "7", "process:n": "boot", "pairing_tries": "[]"}
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        entries = [(key, value, 1) for key, value in {**own, "skills.off": "[]"}.items()]
        connection.executemany("INSERT INTO settings (key, value, updated_at) VALUES (?, ?, ?)", entries)
        before = {new: connection.execute(f"SELECT * FROM {old}").fetchall() for old, new in renamed.items()}
    bring_up_to_date(Database(file, None, tmp_path), NOW)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        assert {new: connection.execute(f"SELECT * FROM {new}").fetchall() for new in before} == before
        [(_, words)] = before["fact_index"]
        found = connection.execute(
            "SELECT rowid FROM fact_index WHERE fact_index MATCH ?", (f"words : {words.split()[0]}",)
        )
        assert len(found.fetchall()) == 1
        assert {"config.changes", "skills.disabled"} == {
            key for (key,) in connection.execute("SELECT key FROM settings")
        }
        kept = dict(connection.execute("SELECT key, value FROM kv").fetchall())
        assert kept.items() >= {
            "owner_message": "m1", "process:n": "boot", "pairing_attempts": "[]",
        }.items()  # fmt: skip
        made = connection.execute("SELECT name FROM sqlite_master WHERE type = 'index'").fetchall()
        assert not [name for (name,) in made if name.startswith(("observed_", "occurrences_", "executions_drawn"))]


def test_stored_names_of_graphs_steps_and_reasons_are_updated(tmp_path: Path) -> None:
    file = Path(shutil.copy(KEPT / "0011.db", tmp_path / "arvis.db"))
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        [(execution,)] = connection.execute("SELECT id FROM executions ORDER BY id LIMIT 1").fetchall()
        state = json.dumps({"graph": "converse", "text": 'say "graph":"converse"'}, separators=(",", ":"))
        connection.execute("UPDATE executions SET graph = 'converse', state = ?, status = 'paused'", (state,))
        connection.execute("UPDATE agents SET graph = 'converse'")
        for number, (node, decision) in enumerate((("examine", "next"), ("listen", "again"), ("speak", "become")), 90):
            connection.execute("INSERT INTO steps VALUES (?, ?, ?, ?, '{}', 1)", (execution, number, node, decision))
            connection.execute(
                "INSERT INTO cursors VALUES (?, ?, ?, 'null', 0, 0, NULL)", (f"c{number}", execution, node)
            )
        connection.execute("UPDATE messages SET reason = 'bot_talk'")
        connection.execute("INSERT INTO timeline VALUES ('t1', 'm1', 1, 'put_back', '{}')")
    bring_up_to_date(Database(file, None, tmp_path), NOW)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        kept = {
            json.loads(state)["graph"]: json.loads(state)["text"]
            for (state,) in connection.execute("SELECT state FROM executions")
        }
        assert kept == {"handover": 'say "graph":"converse"'}
        assert connection.execute(
            "SELECT DISTINCT graph FROM agents UNION SELECT graph FROM executions"
        ).fetchall() == [("handover",)]
        steps = connection.execute("SELECT node, decision FROM steps WHERE number >= 90 ORDER BY number").fetchall()
        assert steps == [("check_input", "next"), ("check_new_messages", "repeat"), ("call_agent", "switch_graph")]
        nodes = connection.execute("SELECT node FROM cursors WHERE id LIKE 'c9_' ORDER BY id").fetchall()
        assert nodes == [("check_input",), ("check_new_messages",), ("call_agent",)]
        assert connection.execute("SELECT DISTINCT reason FROM messages").fetchall() == [("bot_loop",)]
        assert connection.execute("SELECT step FROM timeline WHERE id = 't1'").fetchall() == [("requeued",)]


def test_names_that_people_gave_to_nodes_of_workflows_stay(tmp_path: Path) -> None:
    file = Path(shutil.copy(KEPT / "0011.db", tmp_path / "arvis.db"))
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        [(execution,)] = connection.execute("SELECT id FROM executions ORDER BY id LIMIT 1").fetchall()
        connection.execute("UPDATE executions SET graph = 'workflow:w1'")
        connection.execute("INSERT INTO steps VALUES (?, 90, 'speak', 'next', '{}', 1)", (execution,))
        connection.execute("INSERT INTO cursors VALUES ('c90', ?, 'listen', 'null', 0, 0, NULL)", (execution,))
    bring_up_to_date(Database(file, None, tmp_path), NOW)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT node FROM steps WHERE number = 90").fetchall() == [("speak",)]
        assert connection.execute("SELECT node FROM cursors WHERE id = 'c90'").fetchall() == [("listen",)]


def test_mappings_in_versions_of_settings_are_renamed(tmp_path: Path) -> None:
    """Versions are stored as JSON without spaces, the present settings with spaces."""
    file = Path(shutil.copy(KEPT / "0011.db", tmp_path / "arvis.db"))
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE settings SET value = ? WHERE key = 'config.changes'", ('{"prices": {"a": 1}}',))
        connection.execute("UPDATE versions SET data = ? WHERE kind = 'settings'", ('{"prices":{"a":1}}',))
    bring_up_to_date(Database(file, None, tmp_path), NOW)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        [(now,)] = connection.execute("SELECT value FROM settings WHERE key = 'config.changes'").fetchall()
        versions = connection.execute("SELECT data FROM versions WHERE kind = 'settings'").fetchall()
    assert {tuple(json.loads(data)) for data in (now, *(data for (data,) in versions))} == {("model_prices",)}


def migrated_state(folder: Path, graph: str, state: object, *, status: str = "paused") -> object:
    """Return the state that an execution of this graph has after the update from 0012."""
    file = Path(shutil.copy(KEPT / "0012.db", folder / "arvis.db"))
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE executions SET graph = ?, state = ?, status = ?", (graph, text, status))
    bring_up_to_date(Database(file, None, folder), NOW)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        [(kept,)] = connection.execute("SELECT DISTINCT state FROM executions").fetchall()
    return json.loads(kept)


def test_a_handover_keeps_its_progress_and_its_speakers(tmp_path: Path) -> None:
    words = 'He said "heard": no, "said":'
    progress = {"speaker": "a", "stack": ["b"], "hops": 1, "told": 1, "runs": 2, "heard": words, "sender": "b"}
    spoken = {"agent": "b", "heard": "", "said": words, "taint": ""}
    kept = migrated_state(tmp_path, "handover", {"agent": "b", "talk": progress, "said 1": spoken})
    assert kept == {
        "agent": "b",
        "progress": HandoverProgress("a", ("b",), 1, 1, 2, words, "b").to_json(),
        **SpeakerTurn("b", "", words, "").to_json(1),
    }


def test_the_subagents_of_a_workflow_keep_their_tasks(tmp_path: Path) -> None:
    below = Subagent("dig", "Digs.", "Digger", "d", "b", "a2", task_spec={"tools": ["look"]})
    above = Subagent("boss", "Leads.", "Boss", "b", "a", "a1", task_spec={"subagents": [below.to_json()]})
    task = TaskSpec(prompt='Do the "errand":{}', subagents=[above.to_json()])
    after = {"run": task.to_json()}
    before = json.loads(json.dumps(after).replace('"task_spec": {', '"errand": {'))
    assert "task_spec" not in json.dumps(before)
    kept = migrated_state(tmp_path, "agent", before)
    assert kept == after
    assert subagents_of(after) == [above]


@pytest.mark.parametrize("status", ["paused", "done"])
def test_a_run_of_a_workflow_keeps_its_token(tmp_path: Path, status: str) -> None:
    part = {"id": "w", "entry": "a", "trigger": ',"carried":{"output":1}', "input": {"carried": "a bag"}}
    token = Token("a summary", "a", joined=(("b", ""),)).to_json()
    kept = migrated_state(tmp_path, "workflow:w", {STATE: {**part, "carried": token}}, status=status)
    assert kept == {STATE: {**part, "token": json.loads(json.dumps(token))}}


def test_a_run_of_a_workflow_repeats_no_warning(tmp_path: Path) -> None:
    kept = migrated_state(tmp_path, "workflow:w", {STATE: {"id": "w"}, "lacking_told": {"web": True}})
    assert kept == {STATE: {"id": "w"}, WARNED: {"web": True}}


def test_the_headings_of_earlier_messages_are_renamed(tmp_path: Path) -> None:
    file = Path(shutil.copy(KEPT / "0012.db", tmp_path / "arvis.db"))
    before = "[What was said before, as the program tells it]"
    said = "[user]\n> [What is asked now]\n\n"
    texts = {
        f"{before}\n{said}[What is asked now]\nand now?": f"{EARLIER_MESSAGES}\n{said}{CURRENT_MESSAGE}\nand now?",
        f"Hi {before}\n[What is asked now]\n": f"Hi {before}\n[What is asked now]\n",
    }
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        ids = [
            each for (each,) in connection.execute("SELECT id FROM messages WHERE role = 'user' ORDER BY id LIMIT 2")
        ]
        connection.executemany("UPDATE messages SET content = ? WHERE id = ?", zip(texts, ids, strict=True))
    bring_up_to_date(Database(file, None, tmp_path), NOW)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        kept = dict(connection.execute("SELECT id, content FROM messages").fetchall())
    assert [kept[each] for each in ids] == [*texts.values()]
    assert own_words(kept[ids[0]]) == "and now?"


async def test_a_kept_database_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for number, kept in enumerate(kept_databases()):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = Path(shutil.copy(kept, folder / "arvis.db"))
        async with opened(Database(file, None, folder)) as store:
            await works(store)


async def works(store: Store) -> None:
    await store.write(put_setting, "word", "new")
    assert await store.read(get_setting, "word") == "new"
    added = await store.write(add, message("a lane of its own"))
    assert added.position == 1
    assert added.id in {job.id for job in await store.write(claim)}
