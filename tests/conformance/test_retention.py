"""Rows past their retention are deleted in slices; live and recent rows stay."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.domain.executions import Cursor, ExecutionStatus, Wait, WaitKind
from arvis.domain.memory import Category, FactStatus, NewFact
from arvis.domain.messages import DeliveryState, Role
from arvis.domain.runs import ModelCall
from arvis.domain.workflows import Workflow, WorkflowRun
from arvis.engine import lifecycle
from arvis.housekeeping import KeepTimes, prune_records
from arvis.ports.store import Store, Transaction
from arvis.process.clock import IdMaker
from arvis.process.leases import Holding
from arvis.store.open import Database, open_store
from arvis.store.sql.session import PostgresDialect, load_queries
from arvis.testing.clock import SteppedClock
from tests.conformance.databases import migrated
from tests.conformance.store.audit import ENTRY
from tests.conformance.store.scripts import AGENT, PLACE, part, said

DAY_MS = 86_400_000


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: SteppedClock) -> AsyncIterator[Store]:
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else None
    database = Database(tmp_path / "arvis.db", url, tmp_path)
    migrated(database, clock.now())
    async with open_store(database, boot="test", new_id=IdMaker(clock=clock, random_bits=lambda _: 0)) as (store, _):
        yield store


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


def begin(tx: Transaction, status: ExecutionStatus, now: int) -> str:
    execution = lifecycle.begin(tx, tx.new_id(), "agent", {}, lane="lane", priority=5, principal_id=None, now=now)
    tx.executions.put_cursor(Cursor.start(execution.id))
    tx.executions.set_status(execution.id, status, None, now)
    tx.timeline.note([execution.id], "retried", {}, now)
    return execution.id


def prune(tx: Transaction, before: int) -> tuple[int, int]:
    return tx.executions.prune(before, 10), tx.timeline.prune(before, 10)


def known(tx: Transaction, execution_id: str) -> bool:
    return tx.executions.get(execution_id) is not None


def positions(tx: Transaction, execution_id: str) -> int:
    return len(tx.executions.cursors(execution_id))


async def test_ended_executions_leave_with_all_their_parts(store: Store, clock: SteppedClock) -> None:
    old = [await store.write(begin, status, clock.now()) for status in ExecutionStatus]
    await clock.sleep(2 * DAY_MS / 1000)
    young = await store.write(begin, ExecutionStatus.DONE, clock.now())
    gone = await store.write(prune, clock.now() - DAY_MS)
    assert gone == (3, 5)
    assert await store.write(prune, clock.now() - DAY_MS) == (0, 0)
    left = [each for each in (*old, young) if await store.read(known, each)]
    lively = [each for each, status in zip(old, ExecutionStatus, strict=True) if status in {"running", "paused"}]
    assert left == [*lively, young]
    assert [await store.read(positions, each) for each in (*old, young)].count(1) == len(left)


async def test_slices_are_bounded(store: Store, clock: SteppedClock) -> None:
    for _ in range(12):
        await store.write(begin, ExecutionStatus.DONE, clock.now())
    await clock.sleep(2 * DAY_MS / 1000)
    slices = [await store.write(prune, clock.now() - DAY_MS) for _ in range(3)]
    assert slices == [(10, 10), (2, 2), (0, 0)]


async def test_a_run_of_a_workflow_leaves_with_its_log(store: Store, clock: SteppedClock) -> None:
    def run(tx: Transaction, status: ExecutionStatus, now: int) -> str:
        if tx.workflows.get("w1") is None:
            tx.workflows.add(Workflow("w1", "digest", "Digest", "", True, 1, 1, None, now, now))
        run_id = begin(tx, status, now)
        tx.workflow_runs.add(WorkflowRun(run_id, "w1", 1, "api", "s", None, None, now))
        tx.workflow_runs.log(run_id, [("s", "step_end", "")] * 3, now)
        return run_id

    old = [await store.write(run, status, clock.now()) for status in ExecutionStatus]
    await clock.sleep(2 * DAY_MS / 1000)
    young = await store.write(run, ExecutionStatus.DONE, clock.now())
    assert (await store.write(prune, clock.now() - DAY_MS))[0] == 3
    for each in (*old, young):
        left = await store.read(known, each)
        assert await store.read(logged, each) == ((True, 3) if left else (False, 0))


def logged(tx: Transaction, run_id: str) -> tuple[bool, int]:
    return tx.workflow_runs.get(run_id) is not None, len(tx.workflow_runs.entries(run_id, 0, 9))


# -- the tables that grow with use ---------------------------------------------------------------------------

#: Table -> the queries that delete its old rows.
PRUNED = {
    "allowances": "prune_allowances", "audit": "prune_audit", "budget_reservations": "prune_reservations",
    "commit_marks": "prune_commit_marks", "completion_requests": "prune_completion_requests",
    "cursors": "delete_execution_cursors", "delegations": "delete_execution_delegation", "deliveries": "prune_deliveries",
    "delivery_incidents": "prune_incidents", "erasure_items": "drop_erasure_items", "delivery_parts": "prune_delivery_parts", "drafts": "prune_drafts",
    "embeddings": "prune_vectors", "evaluations": "prune_evaluations", "evaluation_results": "prune_results",
    "effects": "delete_execution_effects", "executions": "delete_old_execution", "fact_changes": "prune_changes",
    "facts": "prune_ended_facts", "idempotency_keys": "prune_idempotency_keys", "inbox_events": "prune_events",
    "jobs": "prune_jobs", "lanes": "drop_lane", "login_codes": "drop_old_login_codes",
    "knowledge_chunks": "drop_chunks", "knowledge_collections": "drop_collection",
    "knowledge_documents": "drop_document", "knowledge_vocabulary": "remove_knowledge_key", "message_vocabulary": "remove_key", "notifications": "prune_notifications", "overheard_messages": "prune_observed",
    "link_requests": "prune_link_requests", "pairings": "prune_pairings", "reactions": "prune_reactions", "schedule_runs": "prune_occurrences",
    "sessions": "drop_over_sessions", "spending": "prune_days", "steps": "delete_execution_steps",
    "timeline": "prune_notes", "usage": "prune_usage", "waits": "delete_execution_waits",
    "webhook_calls": "prune_webhook_calls", "workflow_run_log": "forget_run_log", "workflow_runs": "delete_workflow_run",
}  # fmt: skip

_CONTENT = "the content of conversations, which people keep; texts that a summary replaced are deleted"
_PEOPLE = "one row for each thing that people created, until they delete it"
_CHANNELS = "one row for each channel"
#: Table -> why old rows need no deletion.
KEPT = {
    "messages": _CONTENT, "conversations": _CONTENT, "attachments": _CONTENT, "blobs": _CONTENT, "compactions": _CONTENT,
    "conversation_versions": "a few rows of ids for a conversation, which people keep",
    "feedback": "at most one row for each person and answer, as long as the answer",
    "plugin_additions": "the texts that plugins added to messages; later prompts contain them",
    "message_index": "a row for each message", "fact_index": "a row for each active fact", "knowledge_index": "a row for each chunk",
    "knowledge_index_state": "one row",
    "charges": "the accounts of customers, which must stay complete",
    "versions": "a row for each change that a person or an agent made to a schedule, a customer or the settings",
    "agent_versions": "a row for each change of an agent", "workflow_versions": "a row for each saved workflow",
    "accounts": _PEOPLE, "agents": _PEOPLE, "api_keys": _PEOPLE, "bindings": _PEOPLE, "bots": _PEOPLE,
    "client_channels": _PEOPLE, "clients": _PEOPLE, "credentials": _PEOPLE, "evaluation_cases": _PEOPLE, "evaluation_suites": _PEOPLE, "projects": _PEOPLE, "schedules": _PEOPLE, "settings": _PEOPLE,
    "skills": _PEOPLE, "users": _PEOPLE, "variables": _PEOPLE, "webhooks": _PEOPLE, "workflows": _PEOPLE,
    "workflow_triggers": _PEOPLE, "principals": "one row for each person",
    "channels": _CHANNELS, "channel_status": _CHANNELS, "read_positions": _CHANNELS,
    "handover_threads": "one row for each helper of a conversation", "agent_state": "a limited number for each scope",
    "bot_states": "one row for each bot", "account_cooldowns": "one row for each account and model",
    "token_calibrations": "one row for each model", "open_calls": "calls that are running; the end of a call deletes its row",
    "counters": "a fixed set of rows", "kv": "a fixed set of names, and names of bots", "message_index_state": "one row",
    "erasures": "a row for each erasure that an owner requested, as its proof",
    "migrations": "a row for each migration", "role_leases": "a fixed set of roles, and one for each bot",
}  # fmt: skip


def test_every_table_has_a_rule_or_a_reason(tmp_path: Path) -> None:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    migrated(database)
    with contextlib.closing(sqlite3.connect(database.file)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    parts = ("data", "idx", "docsize", "config")
    inner = ("fact_index_", *(f"{index}_index_{part}" for index in ("message", "knowledge") for part in parts))
    tables = {name for (name,) in names if not name.startswith(("sqlite_", *inner))}
    assert tables == PRUNED.keys() | KEPT.keys(), "add the table to PRUNED with its query, or to KEPT with a reason"
    assert PRUNED.keys() & KEPT.keys() == set()
    queries = load_queries(PostgresDialect())
    for table, query in PRUNED.items():
        assert re.match(rf"DELETE FROM {table}\b", queries[query]), query


KEEP = KeepTimes(
    finished_jobs=DAY_MS, history=DAY_MS, compacted=DAY_MS, deliveries=DAY_MS, usage=DAY_MS, audit=DAY_MS, facts=DAY_MS
)


def add_records(tx: Transaction, now: int, wait_id: str | None) -> list[str]:
    """Add a sent and a waiting delivery, an incident, a receipt, an audit entry, and a replaced fact. Return the ids of
    the deliveries."""
    if tx.agents.get(AGENT.id) is None:
        tx.agents.add(AGENT, now)
    conversation = tx.conversations.open(AGENT.id, PLACE, now)
    message = replace(said(tx.new_id(), role=Role.NOTICE, conversation=conversation.id), wait_id=wait_id)
    tx.messages.add(message)
    deliveries = [
        replace(part(tx.new_id(), message.id, tx.deliveries.next_seq(PLACE), number), state=state)
        for number, state in enumerate((DeliveryState.SENT, DeliveryState.PENDING), start=1)
    ]
    for delivery in deliveries:
        tx.deliveries.add(delivery)
    tx.incidents.add(conversation.id, "A message did not arrive.", now)
    call = ModelCall(
        id=tx.new_id(), account="a", provider="demo", model="demo", input_tokens=1, output_tokens=1, cost_micros=1,
        started_at=now, duration_ms=1,
    )  # fmt: skip
    tx.usage.add(call, execution_id="e", job_id="j", agent_id=None, principal_id="ann")
    tx.audit.add(replace(ENTRY, id=tx.new_id(), at=now))
    old, new = [tx.facts.add(NewFact(AGENT.id, "agent", Category.LEARNED_PATTERN, text), now) for text in ("a", "b")]
    tx.facts.note(old, "superseded", by_id="ann", now=now, other_id=new.id)
    tx.facts.update(replace(old, status=FactStatus.SUPERSEDED, superseded_by=new.id), now)
    return [delivery.id for delivery in deliveries]


def left_of(tx: Transaction, deliveries: Sequence[str]) -> tuple[list[bool], tuple[int, int, int, int]]:
    """Return which deliveries are left, and the numbers of incidents, receipts, audit entries and facts."""
    incidents = tx.incidents.unreported(tx.conversations.open(AGENT.id, PLACE, 0).id, 9)
    facts = [tx.facts.by_number(number) for number in range(1, 7)]
    audit = tx.audit.of_execution(ENTRY.execution_id)
    receipts = tx.usage.of_person("ann", 0).calls
    return [tx.deliveries.get(each) is not None for each in deliveries], (
        len(incidents), receipts, len(audit), sum(each is not None for each in facts),
    )  # fmt: skip


async def test_expired_records_are_deleted_and_young_ones_and_open_questions_stay(
    store: Store, clock: SteppedClock
) -> None:
    def ask(tx: Transaction, now: int) -> list[str]:
        execution = begin(tx, ExecutionStatus.PAUSED, now)
        tx.waits.add(Wait("w1", execution, "c", WaitKind.USER, "Well?", (), now, None))
        return [*add_records(tx, now, None), *add_records(tx, now, "w1")]

    old = await store.write(ask, clock.now())
    await clock.sleep(2 * DAY_MS / 1000)
    all_of_them = [*old, *await store.write(add_records, clock.now(), None)]
    holding = Holding(clock=clock, lease=None, until=float("inf"))
    assert not await store.write(prune_records, holding, KEEP, clock.now())
    assert await store.read(left_of, all_of_them) == ([False, True, True, True, True, True], (1, 1, 1, 4))
    assert not await store.write(prune_records, holding, KEEP, clock.now() + 2 * DAY_MS)
    assert await store.read(left_of, all_of_them) == ([False, True, True, True, False, True], (0, 0, 0, 3))
