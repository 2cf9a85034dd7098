"""Every table and column has a rule for erasures, and an erasure continues at each of its steps after a crash."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arvis.app.tools import Tools
from arvis.bus import EventBus
from arvis.domain.conversations import Conversation
from arvis.domain.erasures import ERASED_PROFILES, Channel, Erasure, ItemKind, Phase
from arvis.domain.errors import NotFound, Unprocessable
from arvis.domain.executions import Cursor, Effect, EffectState, ExecutionStatus
from arvis.domain.jobs import NewJob
from arvis.domain.memory import Category, NewFact, State, room_scope
from arvis.domain.messages import Attachment, PrincipalRole, Role
from arvis.domain.notifications import Notification, NotificationState, Problem
from arvis.domain.past_rounds import Excerpt, PastCall, PastRound
from arvis.domain.platforms import OverheardMessage
from arvis.domain.quotations import Quotation, QuotationKind, Writer
from arvis.domain.runs import ModelCall
from arvis.domain.tools import ToolOutput
from arvis.engine import lifecycle
from arvis.erasing import Eraser, begin_erasure, run_slice
from arvis.message_indexing import MessageIndexer
from arvis.ports.personal_data import ExportScope
from arvis.ports.store import Store, Transaction
from arvis.process.clock import IdMaker
from arvis.process.leases import Holding
from arvis.process.on_demand import OnDemand
from arvis.store.open import Database, open_store
from arvis.store.sql.session import SqliteDialect, load_queries
from arvis.testing.clock import SteppedClock
from tests.conformance.databases import migrated
from tests.conformance.store.audit import ENTRY
from tests.conformance.store.scripts import AGENT, PLACE, part, said

# -- the rules -----------------------------------------------------------------------------------------------

#: Table -> the query that deletes its rows about the subject. A row that stays is about other people.
ERASED = {
    "agent_state": "erase_values", "allowances": "erase_allowances", "attachments": "erase_attachments",
    "audit": "erase_audit_of_execution", "blobs": "erase_blob", "budget_reservations": "erase_reservations",
    "channel_status": "erase_channel_status", "channels": "erase_idle_channel", "compactions": "erase_compactions",
    "completion_requests": "erase_completions", "conversations": "erase_conversation",
    "conversation_versions": "erase_conversation_versions",
    "cursors": "delete_execution_cursors", "delegations": "delete_execution_delegation",
    "deliveries": "erase_deliveries", "delivery_incidents": "erase_incidents", "delivery_parts": "erase_parts",
    "drafts": "erase_drafts", "effects": "delete_execution_effects", "embeddings": "drop_vectors", "erasure_items": "drop_erasure_items",
    "evaluation_cases": "drop_case", "evaluation_results": "drop_results_of_case",
    "executions": "delete_old_execution", "fact_changes": "erase_fact_changes", "fact_index": "drop_fact_words",
    "facts": "erase_fact", "handover_threads": "erase_threads", "idempotency_keys": "erase_idempotency_keys",
    "inbox_events": "erase_events", "jobs": "erase_job", "lanes": "erase_idle_lane", "messages": "erase_messages",
    "notifications": "erase_notifications",
    "overheard_messages": "overheard_of_person", "pairings": "erase_pairings", "plugin_additions": "erase_additions",
    "principals": "erase_person", "projects": "erase_projects", "reactions": "erase_reactions", "link_requests": "erase_link_requests", "feedback": "erase_feedback", "schedule_runs": "erase_schedule_runs",
    "schedules": "erase_schedule", "sessions": "erase_sessions", "spending": "erase_spending",
    "steps": "delete_execution_steps", "timeline": "erase_notes", "versions": "erase_versions",
    "waits": "delete_execution_waits", "webhook_calls": "erase_webhook_calls", "webhooks": "erase_webhook",
    "workflow_run_log": "forget_run_log", "workflow_runs": "delete_workflow_run",
}  # fmt: skip

_SHARED = "configuration that several people share; `created by` is an id without the person"
_DOCUMENTS = "documents that an owner or operator has added; they delete those about the person"
_LOGIN = "an owner deletes the login or key; its person stays until then"
#: Table -> why its rows stay, and its text columns. A new column needs a decision here.
KEPT = {
    "account_cooldowns": ("accounts of the installation", "account model kind"),
    "accounts": ("accounts of the installation", "id name provider model models sealed_key base_url status api"),
    "agent_versions": (_SHARED, "agent_id data by_id"),
    "agents": (
        _SHARED,
        "id slug name role description prompt model fallbacks tools graph completion timezone allow_users status on_new_message plugins helpers skills credentials knowledge effort",
    ),
    "api_keys": (_LOGIN, "id name role agents key_hash created_by"),
    "bindings": (_SHARED, "platform channel agent_id permission respond"),
    "bot_states": ("the bots themselves", "platform name state error user_id user_name"),
    "bots": ("the bots themselves", "id platform name settings secrets"),
    "charges": (
        "the accounts of customers; a charge names a turn by its id only",
        "id client_id type status description message_id execution_id",
    ),
    "client_channels": ("the accounts of customers", "platform channel client_id"),
    "clients": ("the accounts of customers", "id name plan status notes"),
    "commit_marks": ("numbers of commits", "id"),
    "counters": ("numbers", "name"),
    "credentials": (_SHARED, "name variable hosts header template"),
    "erasures": ("the proof of the erasure: ids and numbers", "id kind phase position counts mentions by_id"),
    "knowledge_chunks": (_DOCUMENTS, "id collection_id document_id heading content"),
    "knowledge_collections": (_SHARED, "id slug name description"),
    "knowledge_documents": (
        _DOCUMENTS,
        "id collection_id kind location title content_type sha256 blob stamp status problem",
    ),
    "knowledge_index": ("its rows are removed with the chunks (`remove_knowledge_words`)", ""),
    "knowledge_index_state": ("one row with numbers", ""),
    "knowledge_vocabulary": ("its words are removed when no chunk has them any more (`drop_words`)", "key word"),
    "evaluation_suites": (_SHARED, "id name agent_id"),
    "evaluations": (
        "numbers; the results are in another table, and the person who started it is removed (`erase_evaluator`)",
        "id suite_id changes agent_hash cases_hash judge by_id problem",
    ),
    "kv": ("values of the daemon", "key value"),
    "login_codes": (_LOGIN, "code_hash user_id"),
    "message_index": ("its rows are removed with the messages (`remove_message_words`)", ""),
    "message_index_state": ("one row with numbers", "message_id"),
    "message_vocabulary": ("its words are removed when no message has them any more (`drop_words`)", "key word"),
    "migrations": ("names of migrations", "name checksum"),
    "open_calls": (
        "calls that are running; the person is removed from them (`anonymise_open_calls`)",
        "id execution_id visit turn job_id agent_id principal_id client_id account provider model",
    ),
    "read_positions": ("a bot would read old messages again without it", "platform connector feed"),
    "role_leases": ("roles of processes", "name owner node"),
    "settings": (_SHARED, "key value"),
    "skills": (_SHARED, "slug text source by_id files bundle trusted"),
    "token_calibrations": ("numbers about models", "model weights"),
    "usage": (
        "receipts without the person (`anonymise_usage`)",
        "id execution_id job_id agent_id account provider model error detail principal_id client_id",
    ),
    "users": (_LOGIN, "id name role password_hash"),
    "variables": (_SHARED, "key value"),
    "workflow_triggers": (_SHARED, "workflow_id node_id kind platform channel words description"),
    "workflow_versions": (_SHARED, "workflow_id note principal_id document author_id"),
    "workflows": (_SHARED, "id slug name description principal_id"),
}  # fmt: skip


def test_every_table_and_column_has_a_rule(tmp_path: Path) -> None:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    migrated(database)
    with contextlib.closing(sqlite3.connect(database.file)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        inner = (
            "fact_index_",
            "message_index_data",
            "message_index_idx",
            "message_index_docsize",
            "message_index_config",
            "knowledge_index_data",
            "knowledge_index_idx",
            "knowledge_index_docsize",
            "knowledge_index_config",
        )
        tables = {name for (name,) in names if not name.startswith(("sqlite_", *inner))}
        columns = {
            table: {row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[2] in {"TEXT", "BLOB"}}
            for table in KEPT
        }
    assert tables == ERASED.keys() | KEPT.keys(), "add the table to ERASED with its query, or to KEPT with a reason"
    assert ERASED.keys() & KEPT.keys() == set()
    queries = load_queries(SqliteDialect())
    for table, query in ERASED.items():
        assert re.match(rf"DELETE FROM {table}\b", queries[query]), query
    assert columns == {table: set(texts.split()) for table, (_, texts) in KEPT.items()}


# -- an erasure on both databases ------------------------------------------------------------------------------


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


HOLDING_UNTIL = float("inf")
#: The number of the turn that still runs.
OPEN = 1
DIRECT = replace(PLACE, channel="ann-alone")


class Scene:
    """A person in a direct conversation and in one with Ben, with content in every kind of table."""

    def __init__(self, store: Store, clock: SteppedClock, folder: Path) -> None:
        self.store = store
        self.clock = clock
        self.folder = folder
        self.bus = EventBus()
        self.logs_erased = 0
        self.profiles_removed: set[str] = set()
        self.holding = Holding(clock=clock, lease=None, until=HOLDING_UNTIL)
        self.ann = self.ben = self.hall = self.direct = self.file = self.shared_file = self.picture = ""

    def eraser(self) -> Eraser:
        return Eraser(
            store=self.store,
            bus=self.bus,
            clock=self.clock,
            sessions=self.folder,
            purge_messages=self.indexer().purge_now,
            erase_logs=self._erase_logs,
            remove_profiles=self._remove_profiles,
        )

    def indexer(self) -> MessageIndexer:
        return MessageIndexer(store=self.store, bus=self.bus, clock=self.clock)

    async def _remove_profiles(self) -> None:
        noted = await self.store.read(lambda tx: tx.kv.get(ERASED_PROFILES))
        self.profiles_removed.update(json.loads(noted or "{}"))

    def _erase_logs(self) -> None:
        self.logs_erased += 1

    async def prepare(self) -> None:
        contents = (b"hers", b"theirs", b"a page of hers")
        self.file, self.shared_file, self.picture = [await self.store.put_blob(text) for text in contents]
        #: The pictures that a tool has shown: to Ann, and to Ann and Ben.
        self.pictures = [await self.store.put_blob(text) for text in (b"shown to her", b"shown to both")]
        await self.store.write(self._write)
        await self.indexer().catch_up(self.holding)
        for conversation, content in ((self.direct, b"hers"), (self.hall, b"hers"), (self.hall, b"theirs")):
            file = self.folder / conversation / "workspace" / content.decode()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)

    def _write(self, tx: Transaction) -> None:
        now = self.clock.now()
        tx.agents.add(AGENT, now)
        self.ann, self.ben = [tx.principals.seen("web", name, name.title(), None, now).id for name in ("ann", "ben")]
        direct, hall = (tx.conversations.open(AGENT.id, place, now) for place in (DIRECT, PLACE))
        self.direct, self.hall = direct.id, hall.id
        for number, (conversation, who) in enumerate(
            [(direct, self.ann), (direct, self.ann), (hall, self.ann), (hall, self.ben)]
        ):
            self._turn(tx, conversation, who, number, now)
        for event, name, text in (("e1", "ann", "overheard canary"), ("e2", "ben", "overheard of Ben")):
            tx.overheard.add(OverheardMessage(PLACE, event, None, name, name.title(), text, now), 9)
        for scope, author, text in (
            (f"principal:{self.ann}", self.ann, "canary one"),
            (f"principal:{self.ben}", self.ben, "Ann is a friend"),
            ("agent", self.ann, "canary two"),
        ):
            tx.facts.add(NewFact(AGENT.id, scope, Category.LEARNED_PATTERN, text, author_id=author), now)

    def _turn(self, tx: Transaction, conversation: Conversation, who: str, number: int, now: int) -> None:
        execution = lifecycle.begin(
            tx, tx.new_id(), "agent", {"text": "canary"}, lane=conversation.lane, priority=5, principal_id=who, now=now
        )
        cursor = Cursor.start(execution.id)
        tx.executions.put_cursor(cursor)
        if who == self.ann:
            output = ToolOutput("c", "canary", pictures=(("page.jpg", "image/jpeg", self.picture),)).to_json()
            tx.executions.put_effect(Effect(execution.id, cursor.id, 1, "t", EffectState.FINISHED, output, now))
        own = replace(
            said(tx.new_id(), execution=execution.id, conversation=conversation.id),
            principal_id=who, content="question canary" if who == self.ann else "question of Ben", turn=None if number == OPEN else number + 1,
            address=conversation.address,
        )  # fmt: skip
        shown = self.pictures if who == self.ann else self.pictures[1:]
        pictures = tuple(("a.png", "image/png", sha256) for sha256 in shown)
        call = PastCall("look", {}, Excerpt("", 0), pictures=pictures)
        made = PastRound("canary" if who == self.ann else "a round of Ben", (call,))
        reply = replace(own, id=tx.new_id(), role=Role.ASSISTANT, principal_id=None, reply_to=own.id, rounds=(made,))
        if who == self.ben:
            canary = Quotation(QuotationKind.REPLY, Writer.OTHER, "canary", "Ann", author_id="ann")
            own = replace(own, quotations=(canary, replace(canary, text="of Ben", author_id="ben")))
        tx.messages.add(own)
        if number == OPEN:
            tx.jobs.add(NewJob.advance(execution.id, conversation.lane, 5, principal_id=who), now)
            return
        tx.messages.add(reply)
        tx.executions.set_status(execution.id, ExecutionStatus.DONE, None, now)
        files = [self.file, self.shared_file] if who == self.ann else [self.shared_file]
        tx.files.add(own.id, [Attachment("note.txt", "text/plain", 4, sha256) for sha256 in files])
        tx.deliveries.add(
            replace(
                part(tx.new_id(), reply.id, tx.deliveries.next_seq(conversation.address)),
                address=conversation.address,
                content=reply.content,
            )
        )
        tx.timeline.note([own.id], "retried", {"text": reply.content}, now)
        tx.audit.add(replace(ENTRY, id=tx.new_id(), at=now, execution_id=execution.id, principal_id=who))
        tx.usage.add(
            replace(CALL, id=tx.new_id(), detail="canary"), execution_id=execution.id, job_id="j", agent_id=None,
            principal_id=who,
        )  # fmt: skip

    async def begin(self) -> Erasure:
        return await self.store.write(begin_erasure, [self.ann], None, "owner", self.clock.now())


CALL = ModelCall(
    id="", account="a", provider="demo", model="demo", input_tokens=1, output_tokens=1, cost_micros=7, started_at=1,
    duration_ms=1,
)  # fmt: skip


@pytest.fixture
async def scene(store: Store, clock: SteppedClock, tmp_path: Path) -> Scene:
    scene = Scene(store, clock, tmp_path / "sessions")
    await scene.prepare()
    return scene


def left_of(tx: Transaction, scene: Scene) -> dict[str, object]:
    """Return the data of Ben and of Ann that an erasure of Ann leaves."""
    history = tx.messages.history(scene.hall, 99)
    return {
        "history": [message.text for message in history],
        "rounds": [each.text for message in history for each in message.rounds],
        "quotations": [each.text for message in history for each in message.quotations],
        "direct": tx.conversations.get(scene.direct),
        "people": [tx.principals.find("web", name) is not None for name in ("ann", "ben")],
        "facts": [fact.content for number in range(1, 9) if (fact := tx.facts.by_number(number)) is not None],
        "overheard": [message.content for message in tx.overheard.newest(PLACE, 0, 9)],
        "usage": (tx.usage.of_person(scene.ann, 0).calls, tx.usage.of_person(scene.ben, 0).calls),
        "outdated": tx.message_index.is_outdated(),
    }


EXPECTED = {
    "history": ["[Reply to a message of Ann:]\n> of Ben\nquestion of Ben\n[Files: note.txt]", "question of Ben"],
    "rounds": ["a round of Ben"],
    "quotations": ["of Ben"],
    "direct": None,
    "people": [False, True],
    "facts": ["Ann is a friend"],
    "overheard": ["overheard of Ben"],
    "usage": (0, 1),
    "outdated": False,
}


async def files_left(scene: Scene) -> tuple[bytes | None, bytes | None, list[str]]:
    names = sorted(str(file.relative_to(scene.folder)) for file in scene.folder.rglob("*") if file.is_file())
    hers = [await scene.store.get_blob(sha256) for sha256 in (scene.file, scene.picture, scene.pictures[0])]
    assert await scene.store.get_blob(scene.pictures[1]) == b"shown to both"
    return next(filter(None, hers), None), await scene.store.get_blob(scene.shared_file), names


@pytest.mark.parametrize("slices", range(0, 30, 3))
async def test_an_erasure_continues_after_every_slice(scene: Scene, slices: int) -> None:
    """The process ends after a number of slices, whose changes of files are then repeated or missing."""
    erasure = await scene.begin()
    for _ in range(slices):
        if erasure.phase is Phase.DONE:
            break
        erasure, _ = await scene.store.write(run_slice, scene.holding, erasure.id, scene.clock.now())
    if erasure.phase in list(Phase)[: list(Phase).index(Phase.CONVERSATIONS)]:
        done = await scene.eraser().erase(erasure, scene.holding)
        assert await files_left(scene) == (None, b"theirs", [f"{scene.hall}/workspace/theirs"])
        assert scene.logs_erased == 1
        assert scene.profiles_removed == {AGENT.id}
        assert await scene.store.read(lambda tx: tx.erasures.get(done.id)) == done
    else:
        await scene.eraser().erase(erasure, scene.holding)
    assert await scene.store.read(left_of, scene) == EXPECTED
    assert await scene.store.read(lambda tx: tx.erasures.next_open()) is None


async def test_another_process_removes_its_folders_later(scene: Scene, tmp_path: Path) -> None:
    other = tmp_path / "other process" / "sessions"
    shutil.copytree(scene.folder, other)
    (other / scene.hall / "workspace" / "own").write_bytes(b"written by the agent")
    done = await scene.eraser().erase(await scene.begin(), scene.holding)
    box: OnDemand[Any] = OnDemand("types:SimpleNamespace")
    tools = Tools(box, box, [], scene.store, tmp_path / "browser", other)
    await tools.remove_erased_folders(scene.clock.now())
    left = sorted(str(each.relative_to(other)) for each in other.rglob("*") if each.is_file())
    if not scene.store.shared:
        assert await scene.store.read(lambda tx: tx.erasures.items(done.id, ItemKind.SHARED, limit=9)) == []
        return
    assert left == [f"{scene.hall}/workspace/own", f"{scene.hall}/workspace/theirs", "erasures.json"]
    # The process carries out each erasure once, and the other items are forgotten.
    (other / scene.direct).mkdir()
    await tools.remove_erased_folders(scene.clock.now())
    assert (other / scene.direct).exists()
    assert scene.hall in await scene.store.read(lambda tx: tx.erasures.items(done.id, ItemKind.SHARED, limit=9))
    assert await scene.store.read(lambda tx: tx.erasures.items(done.id, ItemKind.PERSON, limit=9)) == []
    await scene.store.write(lambda tx: tx.erasures.prune_items(scene.clock.now() + 1))
    assert await scene.store.read(lambda tx: tx.erasures.items(done.id, ItemKind.SHARED, limit=9)) == []


async def test_files_and_folders_beyond_the_first_page_are_erased(scene: Scene) -> None:
    erasure = await scene.begin()
    names = [f"{number:064x}" for number in range(250)]
    await scene.store.write(lambda tx: tx.erasures.remember(erasure.id, ItemKind.FILE, names))
    await scene.store.write(lambda tx: tx.erasures.remember(erasure.id, ItemKind.SHARED, names))
    await scene.eraser().erase(erasure, scene.holding)
    assert await files_left(scene) == (None, b"theirs", [f"{scene.hall}/workspace/theirs"])


async def test_the_report_counts_rows_and_names_facts_of_others(scene: Scene) -> None:
    done = await scene.eraser().erase(await scene.begin(), scene.holding)
    facts = await scene.store.read(lambda tx: [tx.facts.get(each) for each in done.mentions])
    assert [fact.content for fact in facts if fact is not None] == ["Ann is a friend"]
    assert {name: done.counts[name] for name in ("messages", "executions", "facts", "people")} == {
        "messages": 6, "executions": 3, "facts": 2, "people": 1,
    }  # fmt: skip
    assert done.ended_at is not None


async def test_messages_after_the_erasure_are_indexed_and_found(scene: Scene) -> None:
    """SQLite gives new messages the row numbers of erased ones, and the messages of Ben are the newest."""
    erasure = await scene.store.write(begin_erasure, [scene.ben], None, "owner", scene.clock.now())
    await scene.eraser().erase(erasure, scene.holding)

    def write(tx: Transaction) -> None:
        for text in ("heron", "osprey"):
            tx.messages.add(replace(said(tx.new_id(), conversation=scene.hall), content=text, principal_id=scene.ann))

    await scene.store.write(write)
    unindexed = await scene.store.read(lambda tx: list(tx.message_index.unindexed()))
    assert unindexed[-2:] == ["heron", "osprey"]
    await scene.indexer().catch_up(scene.holding)
    assert await scene.store.read(lambda tx: tx.message_index.unindexed()) == []


async def test_words_of_erased_messages_leave_the_vocabulary(scene: Scene) -> None:
    def missing(tx: Transaction) -> set[str]:
        return {word for _, word in tx.message_index.new_keys({"canary", "ben"})}

    assert await scene.store.read(missing) == set()
    await scene.eraser().erase(await scene.begin(), scene.holding)
    assert await scene.store.read(missing) == {"canary"}


async def test_notifications_about_erased_work_are_erased_and_no_others(scene: Scene) -> None:
    """The others keep the times of their last messages, and dismissed ones stay closed."""

    def write(tx: Transaction) -> None:
        for cause, subject in (("hers", scene.direct), ("theirs", scene.hall), ("ended", "")):
            problem = Problem(cause=cause, text="It failed: canary", subject=subject)
            state = NotificationState.DISMISSED if cause == "ended" else NotificationState.OPEN
            at = scene.clock.now()
            tx.notifications.add(
                Notification(id=tx.new_id(), problem=problem, state=state, first_at=at, last_at=at, count=1)
            )

    def found(tx: Transaction) -> list[bool]:
        return [tx.notifications.newest(cause) is not None for cause in ("hers", "theirs", "ended")]

    await scene.store.write(write)
    await scene.eraser().erase(await scene.begin(), scene.holding)
    assert await scene.store.read(found) == [False, True, True]


async def test_a_second_erasure_of_the_same_person_changes_nothing(scene: Scene) -> None:
    first = await scene.begin()
    assert await scene.begin() == first, "the open erasure is returned"
    await scene.eraser().erase(first, scene.holding)
    with pytest.raises(NotFound):
        await scene.begin()
    with pytest.raises(Unprocessable):
        await scene.store.write(begin_erasure, [], None, "owner", scene.clock.now())
    with pytest.raises(Unprocessable):
        await scene.store.write(begin_erasure, [scene.ben], Channel("web", "web", "hall"), "owner", scene.clock.now())


async def test_a_blocked_person_stays_blocked_without_a_name(scene: Scene) -> None:
    await scene.store.write(lambda tx: tx.principals.set_role(scene.ann, PrincipalRole.BLOCKED, scene.clock.now()))
    await scene.eraser().erase(await scene.begin(), scene.holding)
    person = await scene.store.read(lambda tx: tx.principals.get(scene.ann))
    assert person is not None
    assert (person.name, person.role, person.user_id) == ("(erased)", PrincipalRole.BLOCKED, "ann")


async def test_a_channel_loses_the_messages_of_all_people(scene: Scene) -> None:
    channel = Channel(PLACE.platform, PLACE.connector, PLACE.channel)
    counter = f"bot_turns_in:{PLACE.lane}"
    await scene.store.write(lambda tx: tx.kv.put(counter, "1:1", scene.clock.now()))
    erasure = await scene.store.write(begin_erasure, [], channel, "owner", scene.clock.now())
    await scene.eraser().erase(erasure, scene.holding)
    left = await scene.store.read(left_of, scene)
    assert left["history"] == []
    assert left["overheard"] == []
    assert left["people"] == [True, True]
    assert await scene.store.read(lambda tx: tx.kv.get(counter)) is None
    assert await scene.store.read(lambda tx: tx.conversations.get(scene.hall)) is None
    direct = await scene.store.read(lambda tx: tx.messages.history(scene.direct, 99))
    assert len(direct) == 2


async def test_a_channel_whose_name_begins_with_that_of_an_erased_channel_keeps_its_facts(scene: Scene) -> None:
    """The scope of a fact joins channel and thread with a colon, and names of channels may contain colons."""
    other, thread = replace(PLACE, channel=f"{PLACE.channel}:more"), replace(PLACE, thread="more")
    channel = Channel(PLACE.platform, PLACE.connector, PLACE.channel)

    def add(tx: Transaction) -> None:
        now = scene.clock.now()
        tx.conversations.open(AGENT.id, other, now)
        for text, place in (("of the other", other), ("of the thread", thread)):
            tx.facts.add(NewFact(AGENT.id, room_scope(place), Category.LEARNED_PATTERN, text), now)
            tx.agent_state.put(State(AGENT.id, room_scope(place), "key", text, frozenset(), None, None, now))

    def exported(tx: Transaction) -> list[str]:
        facts = tx.interchange.facts("", ExportScope(channel=channel), 99)
        values = tx.interchange.values("", ExportScope(channel=channel), 99)
        return [*(fact.content for fact in facts), *(value.value for _, value in values)]

    def left(tx: Transaction) -> list[str]:
        facts = tx.interchange.facts("", ExportScope(), 99)
        values = tx.interchange.values("", ExportScope(), 99)
        return [*(fact.content for fact in facts), *(value.value for _, value in values)]

    await scene.store.write(add)
    found = await scene.store.read(exported)
    assert (found.count("of the thread"), found.count("of the other")) == (2, 0)
    erasure = await scene.store.write(begin_erasure, [], channel, "owner", scene.clock.now())
    await scene.eraser().erase(erasure, scene.holding)
    found = await scene.store.read(left)
    assert (found.count("of the thread"), found.count("of the other")) == (0, 2)


async def test_what_a_person_writes_during_the_erasure_stays(scene: Scene) -> None:
    erasure = await scene.begin()
    while erasure.phase is not Phase.MESSAGES:
        erasure, _ = await scene.store.write(run_slice, scene.holding, erasure.id, scene.clock.now())

    def write(tx: Transaction) -> str:
        conversation = tx.conversations.open(AGENT.id, DIRECT, scene.clock.now())
        own = said(tx.new_id(), conversation=conversation.id)
        tx.messages.add(replace(own, content="new", principal_id=scene.ann, address=DIRECT))
        return conversation.id

    await scene.clock.sleep(1)
    fresh = await scene.store.write(write)
    assert fresh != scene.direct
    await scene.eraser().erase(erasure, scene.holding)
    person = await scene.store.read(lambda tx: tx.principals.get(scene.ann))
    assert person is not None, "a person with new messages stays known"
    assert await scene.store.read(lambda tx: tx.conversations.get(fresh)) is not None
