"""Add many messages of other people, with their rows in the search index, in minutes. The words of these messages are
as common and as rare as in real conversations (Zipf's law); a part of them are the words of our own questions."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

import psycopg

from arvis.domain.ids import encode, moment_of
from arvis.domain.search import NAME, RULES, message_words
from arvis.process.clock import SystemClock
from arvis.store.open import Database, bring_up_to_date
from arvis.store.sql.full_text import PostgresFullText, SqliteFullText, conversation_key, person_key
from arvis.store.sql.vocabulary import has_keys, keys_of
from arvis.store.sqlite.checkpoint import kept_log, sums_file
from bench.recall.talks import own_talks

#: The messages of each of the other people.
_EACH = 1_000
_WORDS = 60_000
#: The time (ms) of the first of these messages, which are older than the messages of the questions.
_BEGIN = 1_400_000_000_000
_LENGTHS = (4, 30)
_BATCH = 20_000
_COLUMNS = (
    "id, conversation_id, role, content, tokens, status, platform, connector, channel, thread, principal_id, user_name,"
    " position, superseded, created_at"
)
_CONVERSATION = """
INSERT INTO conversations (id, agent_id, platform, connector, channel, thread, status, turns, created_at, last_message_at)
VALUES ('{id}', 'agent-1', 'web', 'web', '{channel}', '', 'active', 0, 1, 1)
"""
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en", "il", "or", "un")]


@dataclass(frozen=True, slots=True)
class _Filler:
    number: int
    person: str
    content: str

    @property
    def id(self) -> str:
        return encode(moment_of(_BEGIN + self.number * 60_000) + self.number)

    @property
    def conversation(self) -> str:
        return f"c-{self.person}"

    def row(self) -> tuple[object, ...]:
        """Return the values of `_COLUMNS`."""
        return (
            self.id, self.conversation, "user", self.content, 20, "answered", "web", "web", f"room-{self.person}", "",
            self.person, self.person, 0, 0, self.number,
        )  # fmt: skip

    def words(self) -> list[str]:
        names = [NAME + word for name in (self.person, f"room-{self.person}") for word in message_words(name)]
        keys = [person_key(self.person), conversation_key(self.conversation)]
        return [*keys, *names, *message_words(self.content)]


def fill(database: Database, count: int) -> None:
    """Add this number of messages to an empty database that is not in use."""
    if database.url is None:
        _fill_sqlite(database, count)
    else:
        _fill_postgres(database.url, count)


def _fillers(count: int) -> Iterator[_Filler]:
    chance = random.Random(1)
    words = _vocabulary(chance)
    weights = [*accumulate(1 / rank for rank in range(2, len(words) + 2))]
    for number in range(1, count + 1):
        picked = chance.choices(words, cum_weights=weights, k=chance.randint(*_LENGTHS))
        yield _Filler(number, f"person{(number - 1) // _EACH}", " ".join(picked))


def _vocabulary(chance: random.Random) -> list[str]:
    """Return words, the most common ones first. Those of our own set are at random places of the first 6,000."""
    own = sorted({word for talk in own_talks() for message in talk.messages for word in message.text.split()})
    made = dict.fromkeys("".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(_WORDS))
    first = [*islice(made, 6_000 - len(own)), *own]
    chance.shuffle(first)
    return [*first, *islice(made, 6_000 - len(own), None)]


def _keys(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the keys of these words, for the vocabulary of the index."""
    return ((key, word) for word in sorted(words) if has_keys(word) for key in keys_of(word))


def _people(count: int) -> Sequence[str]:
    return [f"person{number}" for number in range(-(-count // _EACH))]


def _statements(count: int) -> Iterator[str]:
    for person in _people(count):
        yield _CONVERSATION.format(id=f"c-{person}", channel=f"room-{person}")


def _fill_sqlite(database: Database, count: int) -> None:
    with closing(sqlite3.connect(database.file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("BEGIN")
        for statement in _statements(count):
            connection.execute(statement)
        marks = ", ".join("?" * len(_COLUMNS.split(",")))
        text, fillers, last = SqliteFullText(), _fillers(count), _Filler(count, "", "").id
        seen = set[str]()
        while batch := [*islice(fillers, _BATCH)]:
            connection.executemany(
                f"INSERT INTO messages ({_COLUMNS}) VALUES ({marks})", [each.row() for each in batch]
            )
            seen.update(word for each in batch for word in message_words(each.content))
            documents = [(each.number, text.document(each.words())) for each in batch]
            connection.executemany("INSERT INTO message_index (rowid, words) VALUES (?, ?)", documents)
        connection.execute("INSERT INTO message_index (message_index) VALUES ('optimize')")
        connection.executemany("INSERT INTO message_vocabulary (key, word) VALUES (?, ?)", _keys(seen))
        connection.execute(f"UPDATE message_index_state SET rules = {RULES}, position = {count}, message_id = '{last}'")
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
    # Without these files the next start computes the checksums of the pages again.
    for file in (sums_file(database.file), kept_log(database.file)):
        Path(file).unlink(missing_ok=True)
    bring_up_to_date(database, SystemClock().now())


def _fill_postgres(url: str, count: int) -> None:
    text, fillers, last = PostgresFullText(), _fillers(count), _Filler(count, "", "").id
    seen = set[str]()
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # the agent of the conversations is added later
        definition = cursor.execute("SELECT pg_get_indexdef('message_index_words'::regclass)").fetchone()
        cursor.execute("DROP INDEX message_index_words")
        for statement in _statements(count):
            cursor.execute(statement.encode())
        while batch := [*islice(fillers, _BATCH)]:
            with cursor.copy(f"COPY messages ({_COLUMNS}) FROM STDIN".encode()) as copy:
                for each in batch:
                    copy.write_row(each.row())
            seen.update(word for each in batch for word in message_words(each.content))
            with cursor.copy("COPY message_index (message_id, words) FROM STDIN") as copy:
                for each in batch:
                    copy.write_row((each.id, text.document(each.words())))
        with cursor.copy("COPY message_vocabulary (key, word) FROM STDIN") as copy:
            for key in _keys(seen):
                copy.write_row(key)
        cursor.execute("SET maintenance_work_mem = '256MB'")
        cursor.execute(str(definition[0]).encode() if definition else b"")
        cursor.execute(f"UPDATE message_index_state SET rules = {RULES}, message_id = '{last}'".encode())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")
