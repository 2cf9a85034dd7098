"""The ranked search of facts. The index finds facts that contain words of the question, or words with the same
beginning. `domain.ranking` ranks the facts in which the words have the same stem (docs/adr/0066)."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import chain

from arvis.domain.dataclass import dataclass
from arvis.domain.memory import Fact
from arvis.domain.ranking import Text, Wanted, ranked
from arvis.domain.search import Question, message_words, question_of
from arvis.store.sql.stems import COMMON, SHORTEST, is_spelling
from arvis.store.sql.vocabulary import backwards, common_beginning, near_ranges, nearest, word_of

#: The maximum number of found facts that are ranked, unless the caller asks for more.
RANKED = 40
#: The assumed total number of facts from which the rarity of a word is estimated. A turn can use about this many facts.
_TOTAL = 1_000
#: The number of facts whose words are cached. A change of a fact drops the indexes, but not the words of the other facts.
_HELD = 4_000
#: The maximum number of words of a question that are corrected. A longer text has other words by which facts are found.
_CORRECTED = 8
#: The operator between words of which at least one must be found, and the mark after the beginning of a word.
_OR, _BEGINS = " OR ", "*"
#: The search index contains each word as the hexadecimal form of its bytes, with letters for the digits. So both
#: databases treat each word as one word, even if it contains punctuation.
AS_LETTERS = str.maketrans("0123456789", "ghijklmnop")


@dataclass(frozen=True, slots=True)
class FactQuery:
    """The words of a search, as `domain.memory.asked_words` returns them, and the same words as a question."""

    words: Sequence[str]
    question: Question

    @classmethod
    def of(cls, words: Sequence[str]) -> FactQuery:
        return cls(words, question_of(" ".join(words), len(words)))

    @property
    def is_short(self) -> bool:
        """True if typing errors in the question are corrected."""
        return len(self.question.words) <= _CORRECTED

    @property
    def text(self) -> str:
        """The text of a search for the words with content, and for longer words with the same stem. It contains only
        letters, OR and `*`, so neither database interprets anything else as an operator."""
        asked = {*self.question.words, *self.question.beginnings}
        return _OR.join(self._form(word) for word in self.words if not asked.isdisjoint([word, *message_words(word)]))

    def _form(self, word: str) -> str:
        folded = message_words(word)
        if len(folded) != 1 or len(folded[0]) != len(word):
            return token(word)
        beginning = common_beginning(folded[0], self.question.languages)
        return token(word) if beginning is None else token(word[: len(beginning)]) + _BEGINS

    def best(self, facts: Sequence[Fact], limit: int, *, corrects: bool = False) -> list[Fact]:
        """Return the facts that match the question best, best match first. Among equal matches, the oldest fact comes
        first. With `corrects`, typing errors in the question are corrected."""
        known = {fact.id: fact for fact in facts}
        index = FactIndex.of([(fact.id, fact.number, fact.content) for fact in facts])
        return [known[each] for each in index.best(self.question, limit, corrects=corrects)]


class FactIndex:
    """The words of some facts. A search in it reads only the facts that contain a word of the question."""

    def __init__(self, texts: Sequence[Text]) -> None:
        #: The newest fact comes first.
        self._texts = texts
        places, alike = defaultdict[str, list[int]](list), defaultdict[str, list[str]](list)
        for place, text in enumerate(texts):
            for word in {*text.words}:
                places[word].append(place)
        for word in places:
            alike[word[:COMMON]].append(word)
        #: The places in `_texts` of the facts that contain a word, and the words by their first letters.
        self._places, self._alike = dict(places), dict(alike)

    @classmethod
    def of(cls, facts: Iterable[tuple[str, int, str]]) -> FactIndex:
        """Return the index of facts, which are given by their ids, numbers and contents."""
        newest_first = sorted(facts, key=lambda fact: -fact[1])
        return cls([Text(fact_id, _words(content), {}) for fact_id, _, content in newest_first])

    @property
    def rows(self) -> Sequence[Text]:
        """The rows that the cache of the store counts."""
        return self._texts

    def best(self, question: Question, limit: int, *, corrects: bool = False) -> list[str]:
        """Return the ids of the facts that match the question best, best match first. Among equal matches, the oldest
        fact comes first. With `corrects`, a word of the question that is in no fact also finds the words that differ
        from it by a typing error."""
        asked = [self._spellings(word, question.languages) for word in question.words]
        if corrects:
            asked = [same or self._corrected(word) for word, same in zip(question.words, asked, strict=True)]
        begun = [[word for word in self._places if word.startswith(letter)] for letter in question.beginnings]
        matching = [self._texts[place] for place in sorted({*chain(*map(self._found, (*asked, *begun)))})]
        wanted = [Wanted(frozenset(same), len(self._found(same))) for same in asked if same]
        wanted += [Wanted(frozenset(), len(matching), each) for each in question.beginnings]
        return ranked(matching, wanted, _TOTAL)[:limit]

    def _spellings(self, word: str, languages: Sequence[str]) -> list[str]:
        if not (alike := self._alike.get(word[:COMMON])):
            return []
        begins = common_beginning(word, languages)
        if begins is None:
            return [word] if word in self._places else []
        return [other for other in alike if other.startswith(begins) and is_spelling(word, other, languages)]

    def _corrected(self, word: str) -> list[str]:
        if not word.isalpha():
            return []
        keys = self._keys
        places = [(bisect_left(keys, near.first), bisect_left(keys, near.last)) for near in near_ranges(word)]
        return nearest(word, [word_of(key) for first, last in places for key in keys[first:last]])

    @cached_property
    def _keys(self) -> Sequence[str]:
        """The words of the facts, and the same words backwards, in their order."""
        words = [word for word in self._places if len(word) >= SHORTEST and word.isalpha()]
        return sorted([*words, *map(backwards, words)])

    def _found(self, words: Iterable[str]) -> list[int]:
        return [place for word in words for place in self._places[word]]


@lru_cache(_HELD)
def _words(content: str) -> Sequence[str]:
    """Return the words of a fact. The contents of facts never change."""
    return tuple(message_words(content))


def scope_key(agent_id: str, scope: str) -> str:
    """Return the word that represents a scope of an agent in the search index."""
    digest = hashlib.blake2s(f"{agent_id} {scope}".encode(), digest_size=16)
    return digest.hexdigest().translate(AS_LETTERS)


def token(word: str) -> str:
    return word.encode().hex().translate(AS_LETTERS)
