"""Every query that delays a message or a job uses an index, on both databases.

These tests find a plan that reads a whole table before production does. Queries that may scan are listed with the
reason; a new query must use an index or be added to a list.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from arvis.store.open import Database, bring_up_to_date
from arvis.store.sql.migrations import available, migrate
from arvis.store.sql.session import PostgresDialect, SqliteDialect, load_queries
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import connect
from tests.conformance.databases import NOW

QUERIES = Path(__file__).parents[2] / "arvis" / "store" / "queries"

#: Name of a query that may scan or sort -> the reason why that is harmless.
COLD = {
    "cases_to_erase": "once an erasure; the cases of all suites",
    "erase_evaluator": "once an erasure of a person",
    "list_suites": "a page of the dashboard; a row for each suite",
    "prune_evaluations": "once an hour; a row for each evaluation of the last weeks",
    "prune_results": "once an hour; a row for each evaluation of the last weeks",
    "create_migrations": "once a start",
    "lock_migrations": "once a start",
    "applied_migrations": "once a start; one row for each migration",
    "add_migration": "once a migration",
    "counted_tables": "once an upgrade; one row for each table",
    "all_agents": "a handful of rows",
    "people_with_rights": "once a start",
    "rows_that_begin_workflow": "when a workflow is checked; schedules and webhooks are few",
    "all_bots": "a handful of rows",
    "bot_statuses": "a handful of rows",
    "archived_agents": "a page of the dashboard; a handful of rows",
    "bindings": "a handful of rows",
    "bindings_of_agent": "a handful of rows",
    "drop_old_login_codes": "a handful of rows",
    "drop_codes_of_user": "a handful of rows, when a user is removed or gets a password",
    "drop_over_sessions": "once a login; only open logins remain in the table",
    "delete_sessions_of": "when a user loses rights; the open logins",
    "sessions_of": "a page of the dashboard; the open logins",
    "any_password": "a handful of rows",
    "count_live_jobs": "the metrics page; live jobs and failures only",
    "oldest_ready": "the metrics page; one row for each lane that waits",
    "lasting_notifications": "once a minute; a partial index of the open and dismissed notifications",
    "unmailed_ends": "once a minute; a partial index of the e-mails that are due",
    "list_jobs": "a page of the dashboard, on the reading side",
    "last_messages": "a page of the dashboard; a row for each conversation",
    "list_audit": "a page of the dashboard, on the reading side",
    "list_queue": "a page of the dashboard, on the reading side",
    "list_troubled": "a page of the dashboard, on the reading side",
    "list_talks": "a page of the dashboard, on the reading side",
    "own_talks": "a page of the dashboard, on the reading side",
    "search_talks": "a search of the dashboard, on the reading side",
    "search_own_talks": "a search of the dashboard, on the reading side",
    "agents_with_text": "a search of the dashboard, on the reading side; a row for each agent",
    "jobs_behind": "jobs after a limit, counted to a bound",
    "live_jobs": "counted to a bound; two partial indexes of live jobs",
    "list_waits": "a page of the dashboard, on the reading side",
    "list_conversations": "a page of the dashboard, on the reading side",
    "list_messages": "a page of the dashboard, on the reading side",
    "clear_message_index": "when the rules change by which texts are split into words",
    "clear_vocabulary": "the same for its vocabulary",
    "count_messages": "once a backup",
    "size_of_blobs": "once a backup",
    "size_of_document_files": "once a backup",
    "blobs_in_use": "once a backup",
    "rounds_with_pictures": "once a backup",
    "accepted_hook_calls": "once a restore",
    "accepted_keys": "once a restore",
    "other_person": "ends at the first person who is neither the asker nor an owner",
    "mark_unsent_deliveries_unknown": "once a restore, before any other work with the database",
    "interrupted_executions": "once a restore",
    "fail_live_jobs": "once a restore",
    "empty_lanes": "once a restore",
    "raise_seqs": "once a restore",
    "end_sessions": "once a restore",
    "drop_login_codes": "once a restore",
    "newest_message": "once a start with damage",
    "messages_after": "once a start with damage",
    "schema_ages": "`arvis doctor`; a row for each migration",
    "newest_rows": "`arvis doctor`; the last row of two tables",
    "dead_letters": "`arvis doctor`; a bounded number of failures",
    "next_of_pools": "`arvis doctor`; the first row of three pools",
    "crashing_jobs": "`arvis doctor`; running jobs, and a bounded number of waiting heads",
    "troubled_deliveries": "`arvis doctor`; a bounded number of rows at the end of the primary key",
    "list_people": "a page of the dashboard, on the reading side",
    "list_pairings": "a page of the dashboard, on the reading side",
    "all_accounts": "a handful of rows",
    "list_facts": "a page of the dashboard, on the reading side",
    "find_facts": "a search of the dashboard, on the reading side",
    "list_states": "a page of the dashboard, on the reading side",
    "all_calibrations": "one row for each model that has answered",
    "all_cooldowns": "one row for each account and model that has refused",
    "list_schedules": "a page of the dashboard, on the reading side",
    "list_webhooks": "a page of the dashboard, on the reading side",
    "schedules_of_kind": "a few hundred rows, for lists",
    "orphaned_occurrences": "running times of schedules, at most one row for each",
    "all_skills": "a few hundred rows, when one of them changed",
    "delete_other_key_values": "once an hour; a few hundred rows",
    "all_credentials": "at most 200 rows, when a page lists them or an agent reads a variable",
    "skill_stamps": "a few hundred rows, every few seconds at most",
    "threads_of_conversations": "once when a channel gets another address",
    "move_schedules": "once when a channel gets another address",
    "move_webhooks": "once when a channel gets another address",
    "move_drafts": "once when a channel gets another address",
    "facts_in_scope": "once when a channel gets another address",
    "move_facts": "once when a channel gets another address",
    "move_fact_changes": "once when a channel gets another address",
    "move_states": "once when a channel gets another address",
    "count_queue": "counters of the dashboard; each counts a partial index of waiting, running or failed jobs",
    "prune_jobs": "once an hour; reads a fixed number of rows at the start of the primary key",
}

#: An owner erases or exports data rarely. Each step reads a slice of a table, or a table that is small.
COLD |= {
    name: f"an owner's {purpose}"
    for purpose in ("erasure", "interchange")
    for name in re.findall(r"^-- name: (\w+)$", (QUERIES / f"{purpose}.sql").read_text("utf-8"), re.MULTILINE)
}
COLD |= dict.fromkeys(
    [
        "slice_of_messages",
        "messages_to_embed",
        "slice_of_facts",
        "facts_to_embed",
        "slice_of_vectors",
        "prune_vectors",
        "any_vector",
    ],
    "the background work of embeddings; a slice of a table",
)
COLD |= {
    "reopen_incidents": "a rewind; the incidents of one conversation",
    "past_facts": "a question about earlier times; the ended facts of three scopes",
    "facts_replaced_by": "a page of one fact; the facts that it has replaced",
    "next_changed_scope": "the background merge of facts; once for each slice of an agent",
}
COLD |= dict.fromkeys(
    ["nearest_vectors", "nearest_vectors_in_areas"], "a search by meaning; a bounded number of vectors"
)
COLD |= dict.fromkeys(
    [
        "all_collections",
        "any_collection",
        "collections_named",
        "removed_collection",
        "collection_counts",
        "list_documents",
        "files_of_documents",
        "refresh_documents",
        "remove_documents_of_collection",
        "clear_knowledge_index",
        "clear_knowledge_vocabulary",
        "slice_of_chunks",
        "chunks_to_embed",
    ],
    "knowledge bases: at most 200 collections, pages of the dashboard, and background work",
)
COLD |= dict.fromkeys(["indexed_messages_of", "newest_at_position"], "an erasure")
COLD |= dict.fromkeys(
    re.findall(r"^-- name: (\w+)$", (QUERIES / "identities.sql").read_text("utf-8"), re.MULTILINE),
    "a person links an account, which is rare",
)
COLD |= dict.fromkeys(["present_positions", "forget_positions"], "a restore")

#: Name of a query that sorts a few rows found by an index -> these rows.
SMALL_SORTS = {
    "gates_of_agent": "the suites of one agent, when its prompt changes",
    "feeds_of_bot": "the channels of one bot, once after a gap",
    "message_by_album": "the few messages of one album",
    "message_by_ref": "one message, by its id on its platform",
    "message_sent_as": "the parts with one id, of all channels",
    "feedback_on": "the ratings of one answer",
    "feedback_of_page": "the ratings of one page of messages",
    "unreported_incidents": "a bounded number of problems and reactions of one conversation",
    "claim_jobs": "merges two lists with at most one row for each slot",
    "children_of": "the children of one execution",
    "usage_of_family": "the model calls that one message caused",
    "children_of_run": "the runs that one run called",
    "questions_of_run": "the open questions of one run and its children",
    "visits_of": "a page of the dashboard; the steps of one run",
    "audit_of_execution": "the tags of one answer",
    "delegations_of_root": "the tasks below one turn, which the configuration limits",
    "effects_of": "the effects of one execution",
    "cursors_of": "the positions of one execution",
    "waits_of": "the questions of one execution",
    "live_of_execution": "the live jobs of one execution",
    "running_work": "running jobs: at most one row for each slot",
    "jobs_of_execution": "the jobs of one execution",
    "attachments_of_turn": "the files of one turn",
    "open_waits_in_lane": "the open questions of one conversation",
    "status_of_message": "the live jobs of one turn",
    "conversations_in_place": "the agents of one channel",
    "usage_of_turn": "the model calls of one turn",
    "due_waits": "the due questions",
    "schedules_of_agent": "the schedules of one agent",
    "list_compactions": "the summaries of one conversation",
    "executions_below": "the executions that the turns of one rewind have started",
    "summaries_from_turn": "the summaries of one conversation",
    "messages_from_turn": "the messages of one conversation that is rewound or branched",
    "files_of_turns": "the files of the newest turns of one conversation",
    "files_of_page": "the files of one page of messages",
    "deliveries_of_page": "the deliveries of one page of messages",
    "costs_of_page": "the model calls of one page of messages",
    "costs_of_executions": "the model calls of one page of executions",
    "one_talk": "the writers of a hundred messages",
    "compacted_messages": "the messages of one summary",
    "facts_of_scopes": "the facts of three scopes, which are bounded",
    "states_of_scopes": "the states of three scopes, which are bounded",
    "weakest_facts": "the facts of one scope, which are bounded",
    "recent_messages": "the newest 60 messages of one conversation",
    "find_messages": "at most 5,000 ids that the index has found",
    "words_in_range": "the words with a common beginning",
    "knowledge_words_in_range": "the same",
    "conversations_of_messages": "the conversations of at most 5,000 messages that the index has found",
    "search_facts": "the facts of a few scopes that hold one of the words",
    "work_now": "running jobs, at most one for each slot, with their positions and effects",
    "answers_by_minute": "a page of the dashboard; the answers of the minutes that are not yet counted",
    "usage_by_time": "a page of the dashboard; the groups of a range of receipts",
    "usage_report": "a page of the dashboard; the groups of a range of receipts",
}

#: Partial indexes that stay small however large the table is: heads that wait for a time, running jobs, visible drafts,
#: active projects, running times of schedules, open runs of workflows, documents that are due.
SMALL_INDEXES = (
    "jobs_due|jobs_leases|drafts_open|projects_active|schedule_runs_running|executions_open_runs_newest|"
    "knowledge_documents_due|knowledge_documents_due_pages"
)

SCAN = re.compile(
    r"^SCAN (?!CONSTANT ROW|\(?subquery|interactive|background|work|chosen|deliveries|picked|counted|near|newest|tree"
    r"|problems|others)"
    rf"(?!\w+ USING INDEX ({SMALL_INDEXES})$)"
    # SQLite's plan calls a lookup of words or of a row in FTS5 a scan. Without a number at the end, it reads
    # everything.
    r"(?!(?:fact|message|knowledge)_index VIRTUAL TABLE INDEX \d+:\S)"
    # A list of ids that the query gets as JSON.
    r"(?!listed(?:_agents|_slugs)? VIRTUAL TABLE INDEX 1:$)"
)
SORT = "USE TEMP B-TREE"
EXPLAINED = re.compile(r"(SELECT|INSERT|UPDATE|DELETE|WITH)\b", re.IGNORECASE)


def names() -> list[str]:
    return sorted(load_queries(SqliteDialect()))


def parameters(query: str, pattern: str) -> dict[str, Any]:
    """Return a value for each parameter: a number for limits and times, otherwise a text."""
    numbers = {"limit", "minutes", "work", "background", "delivery", "now", "before_ms"}
    return {name: 1 if name in numbers else "x" for name in re.findall(pattern, query)}


@pytest.fixture(scope="module")
def sqlite_plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("plans")
    with contextlib.closing(connect(folder / "arvis.db", writing=True)) as connection:
        migrate(SqliteTarget(connection=connection, now=NOW), available())
        plans = {}
        for name, query in load_queries(SqliteDialect()).items():
            given = parameters(query, r"(?<![:\w]):([a-z_]\w*)")
            plans[name] = [row["detail"] for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", given)]
    return plans


@pytest.fixture(scope="module")
def postgres_plans(postgres_database: str) -> dict[str, list[dict[str, Any]]]:
    """Explain the queries with sequential scans made expensive, so that a plan that still has one had no usable
    index."""
    plans = {}
    with psycopg.connect(postgres_database) as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET plan_cache_mode = force_generic_plan")
        for name, query in load_queries(PostgresDialect()).items():
            if EXPLAINED.match(query):
                plans[name] = list(_nodes(_explained(connection, query)))
    return plans


@pytest.fixture(scope="module")
def postgres_database(postgres: Any) -> Iterator[str]:
    with postgres.database("plans") as url:
        bring_up_to_date(Database(Path("unused"), url, Path("unused")), NOW)
        yield url


def _explained(connection: psycopg.Connection[Any], query: str) -> dict[str, Any]:
    """Return the generic plan, which does not depend on values."""
    order = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", query)))
    numbered = re.sub(r"%\((\w+)\)s", lambda match: f"${order.index(match[1]) + 1}", query).replace("%%", "%")
    connection.execute(f"PREPARE explained AS {numbered}".encode())
    nulls = f"({', '.join(['NULL'] * len(order))})" if order else ""
    found = connection.execute(f"EXPLAIN (FORMAT JSON) EXECUTE explained {nulls}".encode()).fetchone()
    connection.execute("DEALLOCATE explained")
    assert found is not None
    plan = found[0] if isinstance(found[0], list) else json.loads(found[0])
    return dict(plan[0]["Plan"])


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from _nodes(below)


# -- every query uses an index or has a reason --------------------------------------------------------------


@pytest.mark.parametrize("name", names())
def test_no_hot_query_scans_on_sqlite(sqlite_plans: dict[str, list[str]], name: str) -> None:
    if name not in COLD:
        assert [line for line in sqlite_plans[name] if SCAN.match(line)] == []


@pytest.mark.parametrize("name", names())
def test_no_hot_query_sorts_on_sqlite(sqlite_plans: dict[str, list[str]], name: str) -> None:
    if name not in COLD and name not in SMALL_SORTS:
        assert [line for line in sqlite_plans[name] if SORT in line] == []


@pytest.mark.parametrize("name", sorted({*names()} & {*load_queries(PostgresDialect())}))
def test_no_hot_query_scans_on_postgres(postgres_plans: dict[str, list[dict[str, Any]]], name: str) -> None:
    if name not in COLD:
        assert [node["Relation Name"] for node in postgres_plans[name] if node["Node Type"] == "Seq Scan"] == []


def test_the_claim_reads_its_index_in_order(sqlite_plans: dict[str, list[str]]) -> None:
    """The plan reads one row for each waiting lane in the order of rank, however long the lanes are."""
    reads = [line for line in sqlite_plans["claim_jobs"] if "jobs_claim" in line]
    assert len(reads) == 3
    assert all("(pool=?)" in line for line in reads)


@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        ("list_talks", {"conversations": {"conversations_used"}, "messages": {"messages_conversation"}}),
        ("own_talks", {"conversations": {"conversations_used"}, "messages": {"messages_conversation"}}),
        ("list_troubled", {"jobs": {"jobs_head", "jobs_followers", "jobs_failed"}}),
        ("live_jobs", {"jobs": {"jobs_head", "jobs_followers"}}),
    ],
)
def test_pages_that_are_often_looked_at_read_by_their_indexes(
    sqlite_plans: dict[str, list[str]], query: str, indexes: dict[str, set[str]]
) -> None:
    for table, expected in indexes.items():
        reads = [line for line in sqlite_plans[query] if re.match(rf"(SEARCH|SCAN) {table}\b", line)]
        assert {match[1] for line in reads if (match := re.search(r"INDEX (\w+) \(", line))} == expected
        assert all(line.startswith("SEARCH") for line in reads)


def test_the_lists_name_queries_that_exist() -> None:
    assert sorted((COLD.keys() | SMALL_SORTS.keys()) - set(names())) == []


def test_a_scan_would_be_seen(tmp_path: Path) -> None:
    with contextlib.closing(connect(tmp_path / "arvis.db", writing=True)) as connection:
        migrate(SqliteTarget(connection=connection, now=NOW), available())
        scan = connection.execute("EXPLAIN QUERY PLAN SELECT * FROM jobs WHERE tokens = 1").fetchall()
        sort = connection.execute("EXPLAIN QUERY PLAN SELECT * FROM jobs WHERE id > 'a' ORDER BY tokens").fetchall()
    assert any(SCAN.match(row["detail"]) for row in scan)
    assert any(SORT in row["detail"] for row in sort)


# -- the texts of the queries -------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", [SqliteDialect(), PostgresDialect()], ids=lambda dialect: dialect.name)
def test_no_query_speaks_of_transactions(dialect: SqliteDialect | PostgresDialect) -> None:
    """Otherwise a script could commit half of its work."""
    words = re.compile(
        r"\b(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA|ATTACH|VACUUM|SET\s+TRANSACTION)\b", re.IGNORECASE
    )
    assert [name for name, text in load_queries(dialect).items() if words.search(text)] == []


def test_what_each_database_says_in_its_own_words_is_a_short_list() -> None:
    found = {
        dialect: {
            name
            for file in (QUERIES / dialect).glob("*.sql")
            for name in re.findall(r"^-- name: (\w+)$", file.read_text("utf-8"), re.MULTILINE)
        }
        for dialect in ("sqlite", "postgres")
    }
    index = {
        "unindexed_messages", "newest_unindexed", "indexed_message", "indexed_messages_of_summary", "indexed_messages_of_version", "indexed_messages_of", "add_message_words",
        "clear_message_index", "common_words", "find_messages", "postings", "newest_postings", "count_postings",
        "count_indexed", "ranked_messages", "add_knowledge_words", "remove_knowledge_words", "clear_knowledge_index",
        "knowledge_postings", "count_knowledge_postings", "put_vector", "nearest_vectors", "nearest_vectors_in_areas",
    }  # fmt: skip
    merging = {
        "merge_fact_index",
        "indexed_messages_of",
        "newest_at_position",
        "message_at_position",
        "remove_message_words",
        "merge_message_index",
        "merge_knowledge_index",
        "count_changes",
    }
    marks = {"add_commit_mark", "commit_mark", "prune_commit_marks"}
    other = {
        "counted_tables",
        "erase_message_words",
        "lock_migrations",
        "search_facts",
        "find_facts",
        "put_message_words",
        *marks,
    }
    assert found == {"sqlite": index | merging, "postgres": index | other}


def test_no_query_is_named_twice() -> None:
    found = [
        name
        for file in QUERIES.glob("*.sql")
        for name in re.findall(r"^-- name: (\w+)$", file.read_text("utf-8"), re.MULTILINE)
    ]
    assert sorted(found) == sorted(set(found))
