"""The words of messages and queries for them, in the syntax of each database. No text of a user is ever parsed as an
operator: SQLite gets each word as letters, and PostgreSQL gets it in quotes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

from arvis.domain.search import NAME, Search, Term

#: The first character of a key. A key is a word that represents a person, a conversation or a knowledge base. No word
#: of a text begins with this character.
_KEY = "="
#: SQLite's index contains each word as the hexadecimal form of its bytes, with letters for the digits. So its tokenizer
#: never splits a word, and a search for the beginning of a word still works.
_AS_LETTERS = str.maketrans("0123456789", "ghijklmnop")
#: The highest position of a word that PostgreSQL stores.
_LAST_POSITION = 16_383


class FullText(Protocol):
    """The syntax of one database, and its limit for a ranked search."""

    @property
    def most_found(self) -> int:
        """The maximum number of messages that a ranked search finds for each word. PostgreSQL reads a page of the table
        for almost every message that it finds."""
        ...

    def document(self, words: Sequence[str]) -> str:
        """Return the value under which the words of a message are stored in the index."""
        ...

    def query(self, search: Search) -> str:
        """Return the value that finds the messages of a search."""
        ...


class SqliteFullText:
    most_found = 2_000

    def document(self, words: Sequence[str]) -> str:
        return " ".join(map(letters_of, words))

    def query(self, search: Search) -> str:
        terms = [" OR ".join(map(self._phrase, _forms(term, search))) for term in search.terms]
        found = (" OR " if search.any_term else " AND ").join(f"({term})" for term in terms)
        phrases = (f"({self._phrase(phrase)})" for phrase in search.phrases)
        keys = [" OR ".join(map(letters_of, each)) for each in _keys_of(search)]
        return " AND ".join([*(f"({key})" for key in keys), *phrases, *([f"({found})"] if terms else [])])

    def _phrase(self, term: Term) -> str:
        return " + ".join(map(letters_of, term.words)) + (" *" if term.begins else "")


class PostgresFullText:
    most_found = 1_000

    def document(self, words: Sequence[str]) -> str:
        places: dict[str, list[str]] = defaultdict(list)
        for place, word in enumerate(words, start=1):
            places[word].append(str(min(place, _LAST_POSITION)))
        return " ".join(f"{_quoted(word)}:{','.join(at)}" for word, at in places.items())

    def query(self, search: Search) -> str:
        terms = [" | ".join(map(self._phrase, _forms(term, search))) for term in search.terms]
        found = (" | " if search.any_term else " & ").join(f"({term})" for term in terms)
        phrases = map(self._phrase, search.phrases)
        keys = [" | ".join(map(_quoted, each)) for each in _keys_of(search)]
        return " & ".join([*(f"({key})" for key in keys), *phrases, *([f"({found})"] if terms else [])])

    def _phrase(self, term: Term) -> str:
        return "(" + " <-> ".join(map(_quoted, term.words)) + (":*)" if term.begins else ")")


def person_key(principal_id: str) -> str:
    return _key("p", principal_id)


def conversation_key(conversation_id: str) -> str:
    return _key("c", conversation_id)


def collection_key(collection_id: str) -> str:
    return _key("k", collection_id)


def letters_of(word: str) -> str:
    return word.encode().hex().translate(_AS_LETTERS)


def _key(kind: str, row_id: str) -> str:
    return f"{_KEY}{kind}{hashlib.blake2s(row_id.encode(), digest_size=8).hexdigest()}"


def _keys_of(search: Search) -> list[list[str]]:
    """Return lists of keys. A matching row must have at least one key of each list."""
    person, conversation = search.principal_id, search.conversation_id
    return [
        *([] if person is None else [[person_key(person)]]),
        *([] if conversation is None else [[conversation_key(conversation)]]),
        *([[collection_key(each) for each in search.collections]] if search.collections else []),
    ]


def _forms(term: Term, search: Search) -> list[Term]:
    """Return the term as the index contains it for texts and, if names are searched, also as it contains it for
    names."""
    return [term, Term(tuple(NAME + word for word in term.words), term.begins)] if search.names else [term]


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"
