"""Reads the state of the database for `arvis doctor`, on SQLite and on PostgreSQL, and changes nothing. Every query is
bounded, because the daemon may be running and the database may have millions of rows."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from arvis.domain.accounts import StoredAccount, Variable
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import StoreError
from arvis.domain.ids import first_id_at
from arvis.domain.messages import DeliveryState
from arvis.domain.platforms import BotStatus, StoredBot
from arvis.domain.schedules import ScheduleKind
from arvis.domain.webhooks import Webhook
from arvis.ports.automation import StoredSkill
from arvis.store.integrity.check import Damaged, LogCut, Sound, examine
from arvis.store.location import Database
from arvis.store.open import load_postgres
from arvis.store.repositories.accounts import account_of, sound_account, variable_of
from arvis.store.repositories.agents import sound_agent
from arvis.store.repositories.automation import skill_of, sound_schedule, sound_webhook, webhook_of
from arvis.store.repositories.credentials import sound_credential
from arvis.store.repositories.platforms import bot_of, bot_status_of
from arvis.store.repositories.workflows import sound_version
from arvis.store.sql.migrations import available, missing_among
from arvis.store.sql.session import LAST, Row, SqliteDialect, load_queries
from arvis.store.sql.unreadable import complaint, complaints
from arvis.store.sqlite.session import looking_at
from arvis.store.sqlite.wal import with_suffix

#: The key under which changed settings are stored. It is the same as in `config/stored.py`.
_SETTINGS = "config.changes"
#: The key-value with the tool servers that were added at run time. It is the same as in `config/servers.py`.
_TOOL_SERVERS = "mcp servers"

#: The maximum number of rows that one query counts.
MOST = 1000

_DAY_MS = 86_400_000
_DELIVERIES_MS = 7 * _DAY_MS

#: A lease is reported only if it expired more than this time ago, because the daemon handles expired leases every ten
#: seconds.
_GRACE_MS = 60_000


@dataclass(frozen=True, slots=True)
class AccountCalls:
    """The model calls of one account in the last day."""

    account: str
    #: The number of calls.
    number: int
    #: The number of failed calls.
    failed: int
    #: The error kind of the newest call, or None if that call succeeded.
    error: str | None
    #: The text of the newest call's error.
    detail: str | None


@dataclass(frozen=True, slots=True)
class Records:
    """The rows and counts from which `arvis doctor` judges the state of the database. Times are in ms; counts stop at
    `MOST`."""

    #: The time of the first migration.
    installed_at: int
    #: The latest time that a row of the database contains.
    newest_at: int
    failed_jobs: int
    poisoned_jobs: int
    #: The earliest time at which a job that still waits could have run, or None if no job is ready.
    waiting_since: int | None
    running_jobs: int
    #: The number of running jobs whose lease expired more than `_GRACE_MS` ago.
    expired_leases: int
    #: The ids of pending and running jobs that were interrupted more than once by the end of their process.
    crashing: Sequence[str]
    #: The number of failed deliveries and of deliveries with an unknown outcome in the last week, by state.
    troubled: Mapping[DeliveryState, int]
    calls: Sequence[AccountCalls]
    #: The accounts that people added in the dashboard or with commands, not in the configuration file.
    accounts: Sequence[StoredAccount]
    #: The secret variables.
    secrets: Sequence[Variable]
    #: The bots that people added in the dashboard or with commands.
    bots: Sequence[StoredBot]
    #: The states of all bots.
    bot_states: Sequence[BotStatus]
    #: The webhooks that people added.
    webhooks: Sequence[Webhook]
    #: The settings that people changed, as stored text (`config/stored.py`), or None if there are none.
    settings: str | None
    #: The tool servers that people added, as stored text (`config/servers.py`), or None if there are none.
    tool_servers: str | None
    skills: Sequence[StoredSkill]
    unreadable: Sequence[str]


class RunQuery(Protocol):
    """A function that runs a named query. All its calls read the same snapshot."""

    def __call__(self, query: str, /, **parameters: Any) -> Sequence[Row]: ...


def read_records(run_query: RunQuery, now: int) -> Records:
    """Read all records. `now` is in ms."""
    schema = run_query("schema_ages")[0]
    dead = run_query("dead_letters", limit=MOST)[0]
    running = run_query("running_jobs", expired=now - _GRACE_MS)[0]
    deliveries = run_query("troubled_deliveries", since=now - _DELIVERIES_MS, limit=2 * MOST)
    return Records(
        installed_at=schema["oldest"],
        newest_at=max([schema["newest"], *(row["created_at"] for row in run_query("newest_rows"))]),
        failed_jobs=dead["number"],
        poisoned_jobs=dead["poisoned"],
        waiting_since=min((row["run_at"] for row in run_query("next_of_pools")), default=None),
        running_jobs=running["number"],
        expired_leases=running["expired"],
        crashing=[row["id"] for row in run_query("crashing_jobs", limit=MOST)],
        troubled={DeliveryState(row["state"]): row["number"] for row in deliveries},
        calls=_by_account(run_query("recent_calls", first_id=first_id_at(now - _DAY_MS), limit=MOST)),
        accounts=[account_of(row) for row in run_query("all_accounts")],
        secrets=[variable_of(row) for row in run_query("variables_after", after="", limit=MOST) if row["secret"]],
        bots=[bot_of(row) for row in run_query("all_bots")],
        bot_states=[bot_status_of(row) for row in run_query("bot_statuses")],
        webhooks=[webhook_of(row) for row in _webhooks(run_query)],
        skills=[skill_of(row) for row in run_query("all_skills")],
        unreadable=unreadable_rows(run_query),
        settings=next((row["value"] for row in run_query("get_setting", key=_SETTINGS)), None),
        tool_servers=next((row["value"] for row in run_query("get_key_value", key=_TOOL_SERVERS)), None),
    )


def unreadable_rows(run_query: RunQuery) -> list[str]:
    """Return a description of each row that is unreadable and that Arvis therefore treats as disabled, with the
    reason."""
    return complaints(
        [
            *(complaint("agents", "slug", row, sound_agent) for row in run_query("all_agents")),
            *(complaint("accounts", "name", row, sound_account) for row in run_query("all_accounts")),
            *(complaint("credentials", "name", row, sound_credential) for row in run_query("all_credentials")),
            *(complaint("bots", "name", row, _sound_bot) for row in run_query("all_bots")),
            *(
                complaint("schedules", "name", row, sound_schedule)
                for kind in ScheduleKind
                for row in run_query("schedules_of_kind", kind=kind, limit=MOST)
            ),
            *(complaint("webhooks", "name", row, sound_webhook) for row in _webhooks(run_query)),
            *(_complaint_of(run_query, row) for row in run_query("all_workflows")),
        ]
    )


def _webhooks(run_query: RunQuery) -> Sequence[Row]:
    return run_query("list_webhooks", before=LAST, agent_id=None, limit=MOST)


def _complaint_of(run_query: RunQuery, workflow: Row) -> str | None:
    """Return the reason why the newest or the runnable version of a workflow cannot be read, or None."""
    versions = {workflow["version"], workflow["runnable"]} - {None}
    rows = [
        row
        for number in sorted(versions)
        for row in run_query("get_workflow_version", workflow_id=workflow["id"], version=number)
    ]
    found = complaints([complaint("version", "version", row, sound_version) for row in rows])
    return f"workflows {workflow['slug']}: {', '.join(found)}" if found else None


def _sound_bot(row: Row) -> None:
    for column in ("settings", "secrets"):
        dict[str, object](json.loads(row[column]))


def _by_account(calls: Sequence[Row]) -> list[AccountCalls]:
    """Return a summary of the calls of each account. `calls` must be ordered newest first."""
    accounts: dict[str, list[Row]] = {}
    for call in calls:
        accounts.setdefault(call["account"], []).append(call)
    return [
        AccountCalls(
            account=name,
            number=len(own),
            failed=sum(call["error"] is not None for call in own),
            error=own[0]["error"],
            detail=own[0]["detail"],
        )
        for name, own in sorted(accounts.items())
    ]


SQLITE_VERSION = sqlite3.sqlite_version_info

#: The value 0 means that only one thread may use this build of SQLite. Arvis uses several threads.
SQLITE_THREADS = sqlite3.threadsafety

#: The size (bytes) up to which a database is checked while a daemon runs. The check of a database of this size takes
#: about a second.
_QUICK = 250_000_000


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL server."""

    #: The server's version as a number, such as 150004 for 15.4.
    version: int
    #: The names of settings that are off, although without them a power cut may lose commits.
    unsafe: Sequence[str]


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """The result of an inspection."""

    #: The names of the migrations that have not run.
    missing: Sequence[str]
    #: The result of the check of the files, or None if they were not checked.
    files: Sound | LogCut | Damaged | None
    #: The records, or the error that reading them raised. None if migrations are missing or the files are damaged,
    #: because the records are then not read.
    rows: Records | StoreError | None
    #: None for SQLite.
    server: Server | None = None


def inspect(database: Database, *, now: int, at_rest: bool) -> DatabaseState:
    """Open the database, compare the schema, check the files and read the rows. If no process uses the database
    (`at_rest`), compare its files with their checksums. Otherwise let SQLite check the database, unless the database is
    large. Raise `StoreError` if the database is unusable."""
    if database.url is not None:
        return _inspect_server(database.url, now)
    queries = load_queries(SqliteDialect())
    try:
        with looking_at(database.file, at_rest=at_rest) as connection:
            applied = {row["name"]: row["checksum"] for row in connection.execute(queries["applied_migrations"])}
            missing = _missing(applied)
            files = _examine_files(database) if at_rest else _check(connection, database.file)
            readable = not missing and not isinstance(files, Damaged)
            return DatabaseState(missing, files, _rows(connection, queries, now) if readable else None)
    except (OSError, sqlite3.Error, UnicodeError) as error:
        fix = f"Restore one of the backups in {database.backups}: `arvis restore` lists them."
        raise StoreError(f"The database {database.file} cannot be read", why=str(error), fix=fix) from error


def log_bytes(database: Database) -> int:
    """Return the size of the write-ahead log in bytes, or 0 if there is none."""
    log = with_suffix(database.file, "-wal")
    return log.stat().st_size if database.url is None and log.exists() else 0


#: The features of SQLite that Arvis needs. Each value is a statement that fails without the feature. The statement may
#: use the table that the first statement creates.
SQLITE_PARTS: Mapping[str, str] = {
    "STRICT": "CREATE TABLE plain (id TEXT PRIMARY KEY) STRICT",
    "RETURNING": "INSERT INTO plain VALUES ('a') RETURNING id",
    "FTS5": "CREATE VIRTUAL TABLE words USING fts5 (text)",
}


def sqlite_lacks(parts: Mapping[str, str] = SQLITE_PARTS) -> list[str]:
    """Return the features that this build of SQLite lacks."""
    with contextlib.closing(sqlite3.connect(":memory:")) as memory:
        return [name for name, statement in parts.items() if not _runs(memory, statement)]


def _runs(connection: sqlite3.Connection, statement: str) -> bool:
    try:
        connection.execute(statement).fetchall()
    except sqlite3.OperationalError:
        return False
    return True


def _inspect_server(url: str, now: int) -> DatabaseState:
    part = load_postgres("health_postgres")
    applied, server = part.survey(url)
    missing = _missing(applied)
    if missing:
        return DatabaseState(missing, None, None, server)
    with part.query_runner(url) as run_query:
        return DatabaseState(missing, None, read_records(run_query, now), server)


def _examine_files(database: Database) -> Sound | LogCut | Damaged:
    """Check the files in the same way as the daemon does when it starts, but in a different temporary folder."""
    with tempfile.TemporaryDirectory(dir=database.folder, prefix=".doctor-") as folder:
        return examine(database.file, Path(folder) / "workshop")


def _check(connection: sqlite3.Connection, file: Path) -> Sound | Damaged | None:
    """Run SQLite's own check while other processes may write. Return None if the database is larger than `_QUICK`,
    because the check would take too long."""
    if file.stat().st_size > _QUICK:
        return None
    damage = [row[0] for row in connection.execute("PRAGMA quick_check(10)") if row[0] != "ok"]
    return Damaged(damage) if damage else Sound()


def _rows(connection: sqlite3.Connection, queries: Mapping[str, str], now: int) -> Records | StoreError:
    try:
        connection.execute("BEGIN")
        return read_records(
            lambda query, /, **parameters: connection.execute(queries[query], parameters).fetchall(), now
        )
    except (sqlite3.Error, UnicodeError) as error:
        return StoreError("The rows of the database cannot be read", why=str(error), fix="Restore the newest backup.")


def _missing(applied: dict[str, str]) -> list[str]:
    return [migration.name for migration in missing_among(available(), applied)]
