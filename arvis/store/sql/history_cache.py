"""A cache of the newest messages of conversations. A turn then reads from the database only the messages of later
turns.

A turn that has ended gets the highest turn number of its conversation, in one commit with all its messages. So the
history only grows at its end, except by the statements that `rewrites_history` recognises. These statements drop all
cached histories.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Hashable, Mapping, Sequence

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import PastMessage
from arvis.domain.regex import regex

#: The maximum number of characters of all histories together, and of one history. The history that was not used for the
#: longest time is dropped first.
MOST_CHARACTERS = 4_000_000
_LONGEST = 400_000
#: The number of characters that the limits count for each message in addition to its text.
_MESSAGE = 500

_UPDATED = regex(r"^\s*UPDATE\s+messages\s+SET\s(.*?)(?:\sWHERE\s|$)", re.IGNORECASE | re.DOTALL)
_COLUMN = regex(
    r"\b(?:content|tokens|taint|principal_id|user_name|created_at|files|rounds|quotations|compaction_id|superseded)\s*="
)
_REOPENED = regex(r"\bturn\s*=\s*NULL", re.IGNORECASE)
_DELETED = regex(r"\bDELETE\s+FROM\s+(?:messages|conversations)\b", re.IGNORECASE)


def rewrites_history(queries: Mapping[str, str]) -> Collection[str]:
    """Return the names of the queries that can change messages of ended turns, or remove such messages."""
    return frozenset(name for name, text in queries.items() if _rewrites(text))


def _rewrites(text: str) -> bool:
    if _DELETED.search(text):
        return True
    updated = _UPDATED.search(text)
    return updated is not None and bool(_COLUMN.search(updated[1]) or _REOPENED.search(updated[1]))


@dataclass(frozen=True, slots=True)
class _History:
    messages: Sequence[PastMessage]
    #: The history contains all commits up to `certain`, and none after `possible`.
    certain: int
    possible: int
    characters: int


class HistoryCache:
    """The histories of one database, for all its connections in this process. The number of a completed commit is even.
    While a commit is in progress, the present number is odd."""

    def __init__(self) -> None:
        self._number = 0
        self._rewritten = 0
        self._histories: dict[Hashable, _History] = {}
        self._characters = 0
        self._lock = threading.Lock()

    def begin(self) -> int:
        """Return the number of the last commit that is certainly visible to a transaction that begins now."""
        return self._number & ~1

    def commit_begins(self, *, rewrites: bool) -> None:
        self._number |= 1
        if rewrites:
            self._rewritten = self._number + 1

    def commit_ended(self) -> None:
        self._number += self._number & 1

    def drop_all(self) -> None:
        """Drop all histories, because another program has changed the database."""
        self._number += 2
        self._rewritten = self._number

    def forget(self) -> None:
        """Drop the texts of all histories from memory."""
        with self._lock:
            self._histories.clear()
            self._characters = 0

    def get(self, key: Hashable, begun: int) -> Sequence[PastMessage] | None:
        """Return the cached history for a transaction that began at the commit `begun`. Return None if the cache
        contains no history that this transaction may use."""
        history = self._histories.get(key)
        if history is None or history.possible > begun or history.certain < self._rewritten:
            return None
        return history.messages

    def put(self, key: Hashable, messages: Sequence[PastMessage], begun: int) -> None:
        """Store the history that a transaction has read. The transaction began at the commit `begun` and changed
        nothing."""
        with self._lock:
            known = self._histories.pop(key, None)
            characters = _characters_of(messages, known)
            if known is not None:
                self._characters -= known.characters
            if not messages or characters > _LONGEST:
                return
            self._histories[key] = _History(messages, begun, self._number + (self._number & 1), characters)
            self._characters += characters
            while self._characters > MOST_CHARACTERS:
                self._characters -= self._histories.pop(next(iter(self._histories))).characters


def _characters_of(messages: Sequence[PastMessage], known: _History | None) -> int:
    """Return the number of characters that the limits count for these messages. If the messages extend the `known`
    history, add the new messages to its number."""
    begin, counted = 0, 0
    if known is not None and len(messages) >= len(known.messages):
        last = len(known.messages) - 1
        if messages[0] is known.messages[0] and messages[last] is known.messages[last]:
            begin, counted = last + 1, known.characters
    return counted + sum([message.size + _MESSAGE for message in messages[begin:]])
