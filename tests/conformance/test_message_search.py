"""Searches find the same messages on both databases, before and after the messages are in the index."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from arvis.bus import EventBus
from arvis.domain.conversations import ConversationVersion
from arvis.domain.events import DeliveryAdded, Event, MessageReceived
from arvis.domain.messages import Role
from arvis.message_indexing import LOOK_SECONDS, MessageIndexer, unindexed
from arvis.ports.browsing import ConversationFilter, MessageFilter, Person
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding
from arvis.store.open import Database, open_store
from arvis.store.repositories.message_index import SqlMessageIndex
from arvis.store.sql.full_text import PostgresFullText, SqliteFullText, letters_of
from arvis.store.views import search as search_view
from arvis.testing.clock import SteppedClock
from tests.conformance.databases import id_maker, migrated
from tests.conformance.store.compactions import compact, end_turn, summary, talk
from tests.conformance.store.scripts import AGENT, NOW, PLACE, add_agent, said


class Place(NamedTuple):
    store: Store
    insights: Insights
    indexer: MessageIndexer
    holding: Holding
    database: Database
    bus: EventBus
    clock: SteppedClock

    async def build(self) -> None:
        await self.indexer.catch_up(self.holding, "" if self.store.shared else None)

    async def found(self, text: str, principal_id: str | None = None, limit: int = 50) -> list[str]:
        return [each.id for each in await self.insights.search_messages(text, principal_id=principal_id, limit=limit)]

    async def listed(self, text: str, *, limit: int = 50) -> list[str]:
        """Return the ids of all pages of people's messages that are found."""
        ids, cursor = [], None
        while True:
            page = await self.insights.asked_messages(MessageFilter(text=text), limit=limit, cursor=cursor)
            ids += [shown.message.id for shown in page.items]
            cursor = page.next_cursor
            if cursor is None:
                return ids

    async def talks(self, text: str, own: Person | None = None) -> list[str]:
        page = await self.insights.talks(ConversationFilter(text=text, own=own), limit=50, cursor=None)
        return [each.id for each in page.items]


@contextlib.asynccontextmanager
async def place_of(database: Database) -> AsyncIterator[Place]:
    clock, bus = SteppedClock(), EventBus()
    async with open_store(database, boot="boot-1", new_id=id_maker()) as (store, insights):
        holding = Holding(clock=clock, lease=None, until=float("inf"))
        indexer = MessageIndexer(store=store, bus=bus, clock=clock)
        yield Place(store, insights, indexer, holding, database, bus, clock)


@pytest.fixture(params=["sqlite", "postgres"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else None
    database = Database(tmp_path / "arvis.db", url, tmp_path)
    migrated(database)
    async with place_of(database) as place:
        yield place


def write(tx: Transaction, texts: dict[str, str], *, role: Role = Role.USER, principal: str = "ann") -> str:
    """Add messages by id to one conversation of this person, and return the conversation's id."""
    if tx.agents.by_slug(AGENT.slug) is None:
        add_agent(tx)
    address = replace(PLACE, channel=f"room-{principal}")
    conversation = tx.conversations.open(AGENT.id, address, NOW)
    for message_id, text in texts.items():
        message = said(message_id, role=role, conversation=conversation.id, execution=f"turn-{message_id}")
        tx.messages.add(replace(message, content=text, principal_id=principal, user_name=principal, address=address))
    return conversation.id


#: A query -> the messages that it finds in `TEXTS`, in any order.
QUERIES = {
    "harbour": {"a"}, "HARBOUR crane": {"a"}, "crane": {"a", "b"}, "cra": {"a", "b"}, "cr": set(), '"cra"': set(),
    "crane monday": {"a"}, '"crane comes"': {"a"}, '"comes crane"': set(), "muller": {"c"}, "Müller": {"c"},
    "strasse": {"c"}, "ёжик": {"d"}, "ежик": {"d"}, "東京": {"e"}, "京都": {"e", "f"}, "東": {"e"}, "庁": {"e"},
    "東京都庁": {"e"}, "東都": set(), "สวัส": {"g"}, "조선말": {"h"}, "선말": {"h"}, "node.js": {"i"}, "js": {"i"},
    "js.node": set(), "C++": {"i"}, "c#": set(), "c": {"i"}, "h": set(), "🎉": {"j"}, "don't": {"j"}, "100%": {"k"},
    "!!! ??": set(), "": set(), "ann@example.org": {"k"}, "example": {"k"}, "محمد": {"l"}, "हिन्दी": {"m"},
}  # fmt: skip
#: Queries of several words that are written as one. A ranked search finds messages with a part of these words, too.
PARTLY = {"東京都庁", "สวัส", "js.node", "ann@example.org"}
TEXTS = {
    "a": "The crane comes to the harbour on Monday.", "b": "Cranes are birds, too.", "c": "Frau Müller, Lange Straße 5",
    "d": "ЁЖИК в тумане", "e": "東京都庁へ行く", "f": "京都が好き", "g": "สวัสดีครับ", "h": "조선말로 써요",
    "i": "Use node.js or C++.", "j": "We don\u2019t stop 🎉", "k": "Sure, 100% of ann@example.org", "l": "مُحَمَّد",
    "m": "हिन्दी में लिखो",
}  # fmt: skip

#: Queries that contain operators of one of the databases. They are only words.
HOSTILE = [
    '"', '""', '"" OR ""', "crane OR xyzzy", "crane AND", "NOT crane", "(crane", "crane)", "words:crane", "crane*",
    "-crane", "^crane", "crane NEAR monday", "NEAR(crane monday, 5)", "crane & monday", "crane | xyzzy", "!crane", "crane:*",
    "crane:A", "crane <-> comes", "'crane'", "\\crane", "\\'", "cr\0ane", "'; DROP TABLE messages; --", "%", "_", "{}", "\ud800",
]  # fmt: skip


async def test_queries_find_their_messages_in_every_script(place: Place) -> None:
    await place.store.write(write, TEXTS)
    for _ in range(2):
        for query, ids in QUERIES.items():
            assert set(await place.listed(query)) == ids, query
            # The ranked search also finds messages with some of the words, after those that have all.
            found = await place.found(query)
            if len(query.split()) > 1 or query in PARTLY:
                assert set(found[: len(ids)]) == ids, query
            else:
                assert set(found) == ids, query
        await place.build()


async def test_operators_in_a_query_are_words(place: Place) -> None:
    await place.store.write(write, TEXTS)
    before = [(set(await place.found(query)), await place.listed(query)) for query in HOSTILE]
    await place.build()
    assert await place.store.read(unindexed, "") == []
    assert [(set(await place.found(query)), await place.listed(query)) for query in HOSTILE] == before
    assert dict(zip(HOSTILE, before, strict=True))["NOT crane"] == ({"a", "b"}, [])


async def test_the_best_message_is_first_and_one_word_is_enough_if_no_message_has_all(place: Place) -> None:
    texts = {"b": "tide tide", "c": "tide tide", "d": "ebb", "x": "tide " + "and other words " * 30}
    await place.store.write(write, texts)
    await place.build()
    assert await place.found("tide") == ["c", "b", "x"]
    assert set(await place.found("ebb tide")) == {"x", "b", "c", "d"}
    assert await place.listed("ebb tide") == []
    assert await place.found("ebb xyzzy") == ["d"]
    assert await place.found('"tide tide" ebb') == ["c", "b"]


async def test_a_person_finds_only_what_they_may_read(place: Place) -> None:
    own = await place.store.write(write, {"a1": "my secret harbour"}, principal="ann")
    other = await place.store.write(write, {"b1": "his secret harbour"}, principal="bob")
    await place.store.write(reply, "a2", "a1", own)
    await place.store.write(reply, "b2", "b1", other)
    for _ in range(2):
        assert set(await place.found("harbour")) == {"a1", "a2", "b1", "b2"}
        assert set(await place.found("harbour", "ann")) == {"a1", "a2"}
        assert set(await place.found("harbour", "bob")) == {"b1", "b2"}
        assert await place.found("harbour", "eve") == []
        assert await place.talks("harbour", Person("ann", "ann")) == []  # not in a channel of the dashboard
        assert set(await place.talks("harbour")) == {own, other}
        await place.build()


def reply(tx: Transaction, message_id: str, to: str, conversation: str) -> None:
    message = said(message_id, role=Role.ASSISTANT, conversation=conversation, execution=f"turn-{to}")
    tx.messages.add(replace(message, content="the harbour is safe", reply_to=to, principal_id=None, user_name="Helper"))


async def test_conversations_are_found_by_texts_and_names(place: Place) -> None:
    ann = await place.store.write(write, {"a1": "hello"}, principal="ann")
    bob = await place.store.write(write, {"b1": "hello"}, principal="bobby")
    for _ in range(2):
        assert await place.talks("bobby") == [bob]
        assert await place.talks("room-ann") == [ann]
        assert set(await place.talks("hello")) == {ann, bob}
        assert set(await place.talks(AGENT.slug)) == {ann, bob}
        assert await place.talks("xyzzy") == []
        assert await place.found("bobby") == ["b1"]
        await place.build()


async def test_pages_are_complete_across_the_end_of_the_index(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_view, "_STEPS", (3, 5))
    ids = [f"m{number:03}" for number in range(60)]
    await place.store.write(write, {each: f"common {each}" for each in ids[:45]})
    await place.build()
    await place.store.write(write, {each: f"common {each}" for each in ids[45:]})
    for size in (1, 7, 50):
        assert await place.listed("common", limit=size) == ids[::-1]
    # Another process can commit a message after messages with higher ids.
    await place.store.write(write, {"m0205": "common late"})
    for size in (1, 7, 50):
        assert sorted(await place.listed("common", limit=size)) == sorted([*ids, "m0205"])


async def test_a_common_word_finds_no_longer_words(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    await place.store.write(write, {"a": "sea", "b": "sea", "c": "season", "d": "winter"})
    await place.build()
    assert set(await place.listed("sea")) == {"a", "b", "c"}
    monkeypatch.setattr(search_view, "_COMMON", 1)
    found = {"a", "b", "c"} if place.store.shared else {"a", "b"}
    assert set(await place.listed("sea")) == found
    assert await place.listed("wint") == ["d"]


async def test_an_edited_text_is_found_by_its_new_words_only(place: Place) -> None:
    await place.store.write(write, {"a": "the first draft", "b": "another draft"})
    await place.build()
    await place.store.write(lambda tx: tx.incoming.replace_text("a", "the second version", 3))
    for _ in range(2):
        assert (await place.found("first"), await place.found("second")) == ([], ["a"])
        assert await place.found("draft") == ["b"]
        await place.build()


async def test_a_message_that_is_edited_before_it_is_indexed_is_indexed_once(place: Place) -> None:
    await place.store.write(write, {"a": "the first draft"})
    await place.store.write(lambda tx: tx.incoming.replace_text("a", "the second version", 3))
    await place.build()
    assert (await place.found("first"), await place.found("second")) == ([], ["a"])


async def test_texts_that_a_summary_replaces_for_good_are_not_found(place: Place) -> None:
    conversation = await place.store.write(talk, 3)
    await place.build()
    assert await place.found('"question 1"') == ["asked-1"]
    await place.store.write(lambda tx: compact(tx, summary("s1", conversation, 1, 2)))
    assert await place.found('"question 1"') == ["asked-1"]
    await place.store.write(lambda tx: tx.compactions.forget(NOW + 1, 5, NOW))
    assert (await place.found('"question 1"'), await place.found('"question 3"')) == ([], ["asked-3"])
    await place.store.write(end_turn, conversation, 4)
    await place.build()
    assert await place.found('"question 4"') == ["asked-4"]


async def test_texts_of_a_version_that_has_expired_are_not_found(place: Place) -> None:
    """Pages list the messages of inactive versions, so they show the words that are left in the index."""
    conversation = await place.store.write(talk, 3)
    await place.build()
    version = ConversationVersion("v1", conversation, "v1", 2, "asked-2", active=True, created_at=NOW)

    def rewind(tx: Transaction) -> int:
        tx.conversation_versions.add(version)
        return tx.conversation_versions.deactivate(version, NOW)

    assert await place.store.write(rewind) == 4
    assert await place.listed('"question 2"') == ["asked-2"]
    await place.store.write(lambda tx: tx.conversation_versions.forget(version))
    assert (await place.listed('"question 2"'), await place.listed('"question 1"')) == ([], ["asked-1"])
    assert await place.store.read(lambda tx: tx.conversation_versions.of(conversation, 9)) == []
    await place.build()
    assert await place.listed('"question 2"') == []


async def test_an_index_by_other_rules_is_made_again(place: Place) -> None:
    await place.store.write(write, TEXTS)
    await place.build()
    await place.store.write(lambda tx: tx.message_index.clear())
    assert len(await place.store.read(unindexed)) == len(TEXTS)
    await place.build()
    assert await place.found("harbour") == ["a"]
    assert not await place.store.read(lambda tx: tx.message_index.is_outdated())


#: A text -> questions that find it by another form, with a typing error, or by the beginning of a word.
SPELLINGS = {
    "Melanie painted the harbour": ("paintings", "paint", "harbuor", "melan", "MELANI painting"),
    "Wir haben die Häuser gekauft": ("haus", "Wo ist das Haus?", "gekaufte"),
    "Las canciones son bonitas": ("canción", "cancoines"),
    "Мы видели красивый город": ("красивая", "красивии", "городами"),
}


async def test_other_forms_and_typing_errors_find_a_message(place: Place) -> None:
    await place.store.write(write, {text: text for text in SPELLINGS} | {"other": "zebra quagga 4711"})
    for _ in range(2):
        for text, questions in SPELLINGS.items():
            for question in questions:
                assert await place.found(question, limit=1) == [text], question
        assert await place.found("4712") == []
        await place.build()


async def test_a_question_finds_the_answer_after_another_question(place: Place) -> None:
    talk = {
        "m1": "Hello",
        "m2": "Where is the exhibition?",
        "m3": "in Porto, from March on",
        "m4": "Thanks",
        "m5": "bye",
    }
    await place.store.write(write, talk, principal="ann")
    await place.store.write(write, {f"n{number}": f"nothing {number}" for number in range(30)}, principal="bob")
    for _ in range(2):
        assert (await place.found("when is the exhibition", limit=2))[0] == "m2"
        assert set(await place.found("when is the exhibition")) == {"m1", "m2", "m3", "m4"}
        assert await place.found("exhibition") == ["m2"]
        await place.build()


async def test_neighbours_are_found_only_by_people_who_may_read_them(place: Place) -> None:
    room = await place.store.write(write, {"a1": "my exhibition"}, principal="ann")
    await place.store.write(lambda tx: tx.messages.add(replace(said("b1", conversation=room), principal_id="bob")))
    for _ in range(2):
        assert set(await place.found("when is my exhibition")) == {"a1", "b1"}
        assert await place.found("when is my exhibition", "ann") == ["a1"]
        assert await place.found("when is my exhibition", "bob") == []
        await place.build()


async def test_a_common_word_finds_the_newest_messages_and_a_rare_one_all(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for database in (SqliteFullText, PostgresFullText):
        monkeypatch.setattr(database, "most_found", 5)
    await place.store.write(write, {f"m{number:03}": "common" for number in range(60)} | {"m0205": "common pearl"})
    await place.build()
    assert (await place.found("common pearl"))[0] == "m0205"
    assert (await place.found("common", limit=3)) == ["m059", "m058", "m057"]


def vocabulary(tx: Transaction) -> set[str]:
    words, after = set[str](), ""
    assert isinstance(tx.message_index, SqlMessageIndex)
    rows = tx.message_index._session.rows("next_words", after=after, limit=1000)
    return words | {row["word"] for row in rows}


async def test_the_vocabulary_has_the_words_of_all_messages_and_no_others(place: Place) -> None:
    await place.store.write(write, {"a": "the first draft, 4711 東京", "b": "another draft"})
    await place.build()
    assert await place.store.read(vocabulary) == {"the", "first", "draft", "another"}
    await place.store.write(lambda tx: tx.incoming.replace_text("a", "second version", 3))
    assert await place.found("secnod") == ["a"]
    await place.indexer.purge(place.holding)
    assert await place.store.read(vocabulary) == {"second", "version", "draft", "another"}
    assert await place.store.read(lambda tx: tx.message_index.erasures()) is None
    await place.store.write(lambda tx: tx.message_index.clear())
    assert await place.store.read(vocabulary) == set()


#: The words of texts that are deleted in the test below. The index holds only those ends of words that differ from others.
CANARIES = ("xanthophyll", "yggdrasil")


def traces(folder: Path) -> list[str]:
    """Return the canaries that are in the files of this folder, as text or in the form of the index."""
    data = b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())
    return [word for word in CANARIES if word.encode() in data or letters_of(word)[-10:].encode() in data]


def add_many(tx: Transaction, first: int) -> None:
    write(tx, {f"n{number:04}": f"filler {number} xanthan yggy" for number in range(first, first + 100)})


async def test_the_words_of_deleted_texts_leave_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    database = Database(folder / "arvis.db", None, folder)
    migrated(database)
    async with place_of(database) as place:
        conversation = await place.store.write(talk, 3)
        for message_id, word in zip(("asked-1", "reply-3"), CANARIES, strict=True):
            await place.store.write(lambda tx, each, text: tx.incoming.replace_text(each, text, 3), message_id, word)
        await place.build()
        for first in range(0, 1000, 100):
            await place.store.write(add_many, first)
            await place.build()
    assert traces(folder) == [*CANARIES]
    async with place_of(database) as place:
        await place.store.write(lambda tx: compact(tx, summary("s1", conversation, 1, 1)))
        await place.store.write(lambda tx: tx.compactions.forget(NOW + 1, 5, NOW))
        await place.store.write(lambda tx: tx.incoming.replace_text("reply-3", "nothing", 3))
        assert await place.store.read(lambda tx: tx.message_index.erasures()) == 2
        await place.indexer.purge(place.holding)
        assert await place.store.read(lambda tx: tx.message_index.erasures()) is None
        assert len(await place.listed("xanthan")) == 1000
    assert traces(folder) == []


@pytest.mark.parametrize("event", [MessageReceived("b", PLACE), DeliveryAdded(PLACE)])
async def test_an_idle_daemon_does_not_look_until_something_happens(tmp_path: Path, event: Event) -> None:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    migrated(database)
    async with place_of(database) as place:
        await place.store.write(write, {"a": "crane"})
        working = asyncio.create_task(place.indexer.run(place.holding))
        try:
            while LOOK_SECONDS not in place.clock.slept:
                await place.store.read(unindexed)
            await place.store.write(write, {"b": "harbour"})
            for _ in range(20):
                assert await place.store.read(unindexed) == ["harbour"]
            assert place.clock.slept.count(LOOK_SECONDS) == 1
            place.bus.publish(event)
            while await place.store.read(unindexed):
                assert not working.done()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        place.bus.publish(event)


async def test_an_index_for_other_numbers_of_rows_is_made_again(tmp_path: Path) -> None:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    migrated(database)
    async with place_of(database) as place:
        await place.store.write(write, TEXTS)
        await place.build()
        assert not await place.store.read(lambda tx: tx.message_index.is_outdated())
    with contextlib.closing(sqlite3.connect(database.file)) as connection, connection:
        connection.execute("UPDATE messages SET rowid = rowid + 100")
    async with place_of(database) as place:
        assert await place.store.read(lambda tx: tx.message_index.is_outdated())
        working = asyncio.create_task(place.indexer.run(place.holding))
        try:
            while await place.store.read(lambda tx: tx.message_index.is_outdated() or tx.message_index.unindexed()):
                assert not working.done()
        finally:
            working.cancel()
        assert await place.found("crane monday") == ["a", "b"]


async def test_messages_of_linked_identities_are_found_and_leave_no_words(place: Place) -> None:
    def prepare(tx: Transaction) -> tuple[str, str]:
        ann, other = (tx.principals.seen(each, "ann", "Ann", None, NOW).id for each in ("here", "there"))
        write(tx, {"m1": "about lighthouses"}, principal=ann)
        write(tx, {"m2": "about windmills"}, principal=other)
        return ann, other

    ann, other = await place.store.write(prepare)
    await place.build()
    assert await place.found("windmills", ann) == []
    await place.store.write(lambda tx: tx.identities.link(other, ann, NOW))
    assert await place.found("windmills", ann) == ["m2"]
    assert await place.found("windmills", other) == []
    if place.store.shared:
        return
    # The words that an erasure removes must be those that the index has.
    await place.store.write(lambda tx: tx.erasures.erase_words(["m2"]))
    assert await place.found("windmills", ann) == []
    assert await place.found("lighthouses", ann) == ["m1"]
