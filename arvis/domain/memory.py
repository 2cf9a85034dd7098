"""Facts and values that an agent remembers about people and channels, and the words by which facts are found. The words
are computed here, so that SQLite and PostgreSQL find the same facts, in every language (docs/adr/0018).

Words are normalised: the case and width of letters make no difference, and invisible characters (joiners, soft hyphens)
are removed. In scripts without spaces between words, each letter and each pair of adjacent letters is a word.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum, StrEnum
from functools import lru_cache
from itertools import groupby, pairwise

from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address, PrincipalRole
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.text import storable

#: The maximum number of characters of a text that are read. Words after them are not found.
_MOST_TEXT = 4_000
#: The maximum number of words in a query.
_MOST_ASKED = 64
#: The maximum length of a word.
_MOST_LETTERS = 64

#: The code points of dense scripts: Thai and Lao, Myanmar, Hangul, Khmer, kana, Han. Hangul has spaces between words,
#: but attaches particles directly to them. The other scripts have no spaces between words.
DENSE_SCRIPTS = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
    (0xAC00, 0xD7A3),
    (0x20000, 0x3FFFF),
)
_FIRST_DENSE_LETTER = chr(DENSE_SCRIPTS[0][0])
#: Characters that are ignored like format characters: the Arabic tatweel, and variation selectors.
_UNSEEN = frozenset("ـ\N{VARIATION SELECTOR-15}\N{VARIATION SELECTOR-16}")
#: Characters that belong to the word before them, as in `c++` and `c#`.
_TAIL = "+#"
#: ASCII characters that are never part of a word at its start or end.
_AROUND = string.punctuation.translate(str.maketrans("", "", _TAIL))
#: The number of characters whose kinds are cached.
_HELD_KINDS = 4_096


class _Kind(Enum):
    GAP = 0
    SPELLED = 1
    DENSE = 2


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, including repeated words. `node.js` gives `node`, `js` and `node.js`."""
    return [word for chunk in _folded(text).split() for word in _words(chunk)]


def asked_words(text: str) -> list[str]:
    """Return the words for which a query searches, without duplicates. A letter of a dense script is a separate word
    only if no other letter of such a script is next to it, because single letters occur in most texts."""
    found = dict[str, None]()
    for word in (word for chunk in _folded(text).split() for word in _words(chunk, asked=True)):
        found[word] = None
        if len(found) == _MOST_ASKED:
            break
    return list(found)


def _folded(text: str) -> str:
    stored = storable(text[:_MOST_TEXT])
    if stored.isascii():
        return stored.lower()
    normal = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", stored).casefold())
    if hidden := {ord(letter): None for letter in {*normal} if _unseen(letter)}:
        normal = normal.translate(hidden)
    return normal.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def _unseen(letter: str) -> bool:
    return not letter.isascii() and (letter in _UNSEEN or unicodedata.category(letter) == "Cf")


def _words(chunk: str, *, asked: bool = False) -> Iterator[str]:
    """Yield the words in `chunk`, a text without spaces. If the trimmed chunk is more than a single plain word, such as
    `node.js` or `c++`, and contains no dense script, also yield the trimmed chunk."""
    plain = chunk.strip(_AROUND)
    if plain.isalnum() and max(plain) < _FIRST_DENSE_LETTER:  # most chunks are a single plain word
        yield plain[:_MOST_LETTERS]
        return
    runs = [(kind, "".join(run)) for kind, run in groupby(chunk, _kind) if kind is not _Kind.GAP]
    for kind, run in runs:
        if kind is _Kind.DENSE:
            yield from _dense_words(run, asked=asked)
        else:
            yield run[:_MOST_LETTERS]
    whole = _trimmed(chunk)
    if len(whole) <= _MOST_LETTERS and runs and all(kind is _Kind.SPELLED and run != whole for kind, run in runs):
        yield whole


def _dense_words(run: str, *, asked: bool) -> Iterator[str]:
    if not asked or len(run) == 1:
        yield from run
    for one, next_one in pairwise(run):
        yield one + next_one


def _trimmed(chunk: str) -> str:
    """Return the text without quotes, brackets and full stops at its start and end."""
    start, end = 0, len(chunk)
    while start < end and _kind(chunk[start]) is _Kind.GAP:
        start += 1
    while end > start and chunk[end - 1] not in _TAIL and _kind(chunk[end - 1]) is _Kind.GAP:
        end -= 1
    return chunk[start:end]


@lru_cache(_HELD_KINDS)
def _kind(letter: str) -> _Kind:
    if letter.isalnum() and letter < _FIRST_DENSE_LETTER:
        return _Kind.SPELLED
    if letter.isascii():
        return _Kind.GAP
    category = unicodedata.category(letter)
    if category == "So" or (category != "Zs" and any(first <= ord(letter) <= last for first, last in DENSE_SCRIPTS)):
        return _Kind.DENSE
    return _Kind.SPELLED if category[0] in "LNM" and category != "Me" else _Kind.GAP


#: The scope of facts that an agent may use in every conversation. Only the API and the command line add such facts.
EVERYWHERE = "agent"

_OF_A_PERSON = "principal:"


class Category(StrEnum):
    USER_PREFERENCE = "user_preference"
    PROJECT_CONTEXT = "project_context"
    LEARNED_PATTERN = "learned_pattern"
    IMPORTANT_EVENT = "important_event"
    STICKY = "sticky"


class FactStatus(StrEnum):
    ACTIVE = "active"
    SUPERSEDED = "superseded"
    DELETED = "deleted"
    FADED = "faded"
    #: The fact is no longer true, and no other fact replaced it.
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Fact:
    """One entry of an agent's memory. Only facts without taint may be part of a prompt's instructions. Times in ms."""

    id: str
    #: The number of the fact. All facts of the installation are numbered in the order in which they were stored.
    number: int
    agent_id: str
    scope: str
    category: Category
    content: str
    taint: Taint
    author_id: str | None
    message_id: str | None
    execution_id: str | None
    #: The confidence in the fact, from 0 to 1000.
    confidence: int
    status: FactStatus
    superseded_by: str | None
    accessed_at: int
    access_count: int
    expires_at: int | None
    created_at: int
    updated_at: int
    #: The principal who confirmed the fact.
    confirmed_by: str | None = None
    #: The times from which and until which the fact is true; None: unknown.
    valid_from: int | None = None
    valid_until: int | None = None

    def is_used(self, now: int) -> bool:
        """Return whether the fact is true now and has not expired."""
        began = self.valid_from is None or self.valid_from <= now
        return began and not self.is_over(now) and (self.expires_at is None or self.expires_at > now)

    def is_over(self, now: int) -> bool:
        """Return whether the period in which the fact was true has ended."""
        return self.valid_until is not None and self.valid_until <= now


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to store. Times in ms. If `expires_at` is None, the fact's category decides when the fact expires."""

    agent_id: str
    scope: str
    category: Category
    content: str
    taint: Taint = CLEAN
    author_id: str | None = None
    message_id: str | None = None
    execution_id: str | None = None
    expires_at: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A fact that a search has found. `place` is its rank among the facts that contain words of the question, from 1
    (None: it contains no such word). `similarity` is the similarity of its meaning to the question (None: it was not
    found by its meaning)."""

    fact: Fact
    score: float
    place: int | None
    similarity: float | None


@dataclass(frozen=True, slots=True)
class State:
    """A value that an agent stores under a key in one scope. `updated_at` in ms."""

    agent_id: str
    scope: str
    key: str
    value: str
    taint: Taint
    author_id: str | None
    message_id: str | None
    updated_at: int


def taint_for_others(taint: Taint, speakers: Iterable[PrincipalRole | None]) -> Taint:
    """Return the taint of a text that other people will use, such as a fact of a room or a summary. The label `people`
    is added unless all `speakers` are owners or operators. None in `speakers` means an unknown or deleted person."""
    trusted = all(role in {PrincipalRole.OWNER, PrincipalRole.OPERATOR} for role in speakers)
    return taint if trusted else taint | {Label.PEOPLE}


def room_scope(address: Address) -> str:
    return f"room:{address.platform}:{address.connector}:{address.channel}:{address.thread}"


def principal_scope(principal_id: str) -> str:
    return f"{_OF_A_PERSON}{principal_id}"


def is_personal(scope: str) -> bool:
    """Return whether the scope is about one person."""
    return scope.startswith(_OF_A_PERSON)


def scope_for(category: Category | None, address: Address, principal_id: str | None, *, direct: bool) -> str:
    """Return the scope in which a fact or value from a turn is stored. A user's preference, and everything from a
    direct chat, belongs to the person; everything else belongs to the room. For a value, `category` is None."""
    personal = direct or category is Category.USER_PREFERENCE
    return principal_scope(principal_id) if personal and principal_id else room_scope(address)


def scopes_of(address: Address, principal_id: str | None) -> tuple[str, ...]:
    """Return the scopes whose facts a turn may use: the scopes of the person and of the room, and `EVERYWHERE`."""
    personal = (principal_scope(principal_id),) if principal_id else ()
    return (*personal, room_scope(address), EVERYWHERE)
