"""The histories that the store holds in memory equal those that it reads."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
import pytest_asyncio

from arvis.domain.conversations import ConversationVersion
from arvis.domain.messages import Attachment, MessageStatus, PastMessage
from arvis.domain.taint import Label
from arvis.ports.store import Store, Transaction
from arvis.store.open import Database
from arvis.store.repositories.messages import SqlMessages
from arvis.store.sql import history_cache
from arvis.store.sql.history_cache import HistoryCache, rewrites_history
from arvis.store.sql.session import SqliteDialect, load_queries
from arvis.store.sqlite.session import SqliteSession, connect
from tests.conformance.databases import opened
from tests.conformance.store.compactions import ALL, compact, end_turn, ids_of, summary, talk
from tests.conformance.store.scripts import NOW

LIMIT = 5


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(Database(tmp_path / "arvis.db", None, tmp_path)) as store:
        yield store


def read(tx: Transaction, conversation: str, limit: int) -> Sequence[PastMessage]:
    return tx.messages.history(conversation, limit)


def fresh(path: Path, conversation: str, limit: int) -> Sequence[PastMessage]:
    """Read a history with a connection that holds nothing."""
    with closing(connect(path, writing=False)) as connection:
        session = SqliteSession(connection=connection, new_id=str)
        return SqlMessages(session).history(conversation, limit)


class Talk:
    """Random changes of a conversation."""

    def __init__(self, conversation: str, seed: int) -> None:
        self._conversation = conversation
        self._random = random.Random(seed)
        self._turns = 3
        self._number = 0

    def change(self, tx: Transaction) -> None:
        kinds: Sequence[Callable[[Transaction], object]] = (
            *[self._end_turn] * 6, self._compact, self._restore, self._edit, self._label, self._reopen, self._name_file,
            self._rewind, self._switch,
        )  # fmt: skip
        self._random.choice(kinds)(tx)

    def _end_turn(self, tx: Transaction) -> None:
        self._turns += 1
        end_turn(tx, self._conversation, self._turns)

    def _compact(self, tx: Transaction) -> None:
        self._number += 1
        oldest = tx.compactions.oldest(self._conversation, ALL)
        if oldest:
            compact(tx, summary(f"s{self._number}", self._conversation, oldest[0].turn, oldest[0].turn + 1))

    def _restore(self, tx: Transaction) -> None:
        tx.compactions.restore(f"s{self._random.randint(1, self._number + 1)}", NOW)

    def _one(self, tx: Transaction) -> str:
        return self._random.choice(ids_of(tx, self._conversation, 0, ALL) or ["asked-1"])

    def _edit(self, tx: Transaction) -> None:
        tx.incoming.replace_text(self._one(tx), f"edited {self._random.random()}", 3)

    def _label(self, tx: Transaction) -> None:
        tx.messages.label(self._one(tx), frozenset({Label.FLAGGED}))

    def _reopen(self, tx: Transaction) -> None:
        number = self._random.randint(1, self._turns)
        tx.messages.reopen_turn(f"turn-{number}")
        turn = tx.conversations.next_turn(self._conversation, NOW)
        tx.messages.settle_turn(f"turn-{number}", MessageStatus.ANSWERED, reason=None, turn=turn, reply_id=None)

    def _rewind(self, tx: Transaction) -> None:
        self._number += 1
        turn, name = self._random.randint(1, self._turns), f"v{self._number}"
        for each in tx.conversation_versions.summaries_from(self._conversation, turn):
            tx.compactions.restore(each.id, NOW)
        version = ConversationVersion(name, self._conversation, name, turn, name, True, NOW)
        tx.conversation_versions.add(version)
        tx.conversation_versions.deactivate(version, NOW)

    def _switch(self, tx: Transaction) -> None:
        version = tx.conversation_versions.get(f"v{self._random.randint(1, self._number + 1)}")
        if version is not None and not version.active:
            tx.conversation_versions.activate(version)

    def _name_file(self, tx: Transaction) -> None:
        tx.files.add(self._one(tx), [Attachment("notes.txt", "text/plain", 1, "0" * 64)])


@pytest.mark.parametrize("seed", range(3))
async def test_a_held_history_equals_the_stored_one(store: Store, tmp_path: Path, seed: int) -> None:
    conversation = await store.write(talk, 3)
    changes, used = Talk(conversation, seed), 0
    for number in range(60):
        await store.write(changes.change)
        for limit in (LIMIT, ALL):
            held = await store.read(read, conversation, limit)
            assert list(held) == list(fresh(tmp_path / "arvis.db", conversation, limit)), number
            again = await store.read(read, conversation, limit)
            used += again is held
    assert used > 100


async def test_a_script_sees_its_own_changes_and_others_see_none_that_were_rolled_back(store: Store) -> None:
    conversation = await store.write(talk, 2)
    before = await store.read(lambda tx: tx.messages.history(conversation, ALL))

    def fail(tx: Transaction) -> None:
        end_turn(tx, conversation, 3)
        assert len(tx.messages.history(conversation, ALL)) == len(before) + 2
        tx.incoming.replace_text("asked-1", "edited", 1)
        assert tx.messages.history(conversation, ALL)[0].content == "edited"
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        await store.write(fail)
    assert list(await store.read(lambda tx: tx.messages.history(conversation, ALL))) == list(before)


async def test_a_change_by_another_program_is_seen_after_the_next_write(store: Store, tmp_path: Path) -> None:
    conversation = await store.write(talk, 1)
    await store.read(lambda tx: tx.messages.history(conversation, ALL))
    with closing(sqlite3.connect(tmp_path / "arvis.db", isolation_level=None)) as other:
        other.execute("UPDATE messages SET content = 'other'")
    await store.write(lambda tx: None)
    assert {each.content for each in await store.read(lambda tx: tx.messages.history(conversation, ALL))} == {"other"}


def test_a_history_is_used_only_by_later_transactions() -> None:
    cache, said = HistoryCache(), [PastMessage("user", "hello", 1)]  # type: ignore[arg-type]
    before = cache.begin()
    cache.commit_begins(rewrites=False)
    during = cache.begin()
    cache.put("key", said, during)  # it may contain the commit in progress
    assert cache.get("key", before) is None
    assert cache.get("key", during) is None
    cache.commit_ended()
    assert cache.get("key", cache.begin()) is said


def test_a_commit_that_rewrites_drops_what_was_read_before_its_end() -> None:
    cache, said = HistoryCache(), [PastMessage("user", "hello", 1)]  # type: ignore[arg-type]
    cache.put("key", said, cache.begin())
    cache.commit_begins(rewrites=True)
    assert cache.get("key", cache.begin()) is None
    cache.put("key", said, cache.begin())
    cache.commit_ended()
    assert cache.get("key", cache.begin()) is None
    cache.put("key", said, cache.begin())
    assert cache.get("key", cache.begin()) is said


def test_the_histories_that_were_not_used_for_the_longest_time_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_cache, "MOST_CHARACTERS", 2_500)
    cache, said = HistoryCache(), [PastMessage("user", "x" * 500, 1)]  # type: ignore[arg-type]
    for key in ("a", "b", "a", "c"):
        cache.put(key, said, 0)
    assert [cache.get(key, 0) for key in ("a", "b", "c")] == [said, None, said]


def test_an_extended_history_counts_as_much_as_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_cache, "MOST_CHARACTERS", 3_500)
    first, second, third = (PastMessage("user", "x" * 500, 1) for _ in range(3))  # type: ignore[arg-type]
    cache = HistoryCache()
    for messages in ([first], [first, second], [second, third], [third]):
        cache.put("key", messages, 0)
    for key in ("a", "b"):
        cache.put(key, [first], 0)
    assert cache.get("key", 0) == [third]
    cache.put("a", [first, second], 0)
    assert cache.get("key", 0) is None


def test_the_queries_that_rewrite_histories_are_known() -> None:
    queries = load_queries(SqliteDialect())
    assert set(rewrites_history(queries)) == {
        "activate_turns", "bring_back_messages", "deactivate_turns", "empty_messages", "empty_version", "erase_conversation", "erase_messages", "label_message", "mark_range",
        "move_message", "name_files", "pass_messages", "put_quotations", "reopen_progress", "reopen_turn", "replace_text", "supersede_notice",
    }  # fmt: skip
    changing = {name for name, text in queries.items() if re.search(r"(INTO|UPDATE|DELETE\s+FROM)\s+messages\b", text)}
    assert {name for name in changing if not re.match(r"\s*(SELECT|WITH)", queries[name])} == {
        *(set(rewrites_history(queries)) - {"erase_conversation"}), "add_message", "answered_by", "join_turn",
        "mark_turn", "settle_progress", "settle_turn",
    }  # fmt: skip
