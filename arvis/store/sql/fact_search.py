"""The ranked search of facts. The index finds facts that contain words of the question, or words with the same
beginning. `domain.ranking` ranks the facts in which the words have the same stem (docs/adr/0066)."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence

from arvis.domain.dataclass import dataclass
from arvis.domain.memory import Fact
from arvis.domain.ranking import Text, Wanted, ranked
from arvis.domain.search import Question, message_words, question_of
from arvis.store.sql.stems import COMMON, is_spelling
from arvis.store.sql.vocabulary import common_beginning

#: The maximum number of found facts that are ranked, unless the caller asks for more.
RANKED = 40
#: The assumed total number of facts from which the rarity of a word is estimated. A turn can use about this many facts.
_TOTAL = 1_000
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

    def best(self, facts: Sequence[Fact], limit: int) -> list[Fact]:
        """Return the facts that match the question best, best match first. Among equal matches, the oldest fact comes
        first."""
        known = {fact.id: fact for fact in sorted(facts, key=lambda fact: -fact.number)}
        texts = [Text(fact.id, message_words(fact.content), {}) for fact in known.values()]
        counts = Counter(word for text in texts for word in {*text.words})
        alike = defaultdict[str, list[str]](list)
        for word in counts:
            alike[word[:COMMON]].append(word)
        wanted = [self._wanted(word, alike[word[:COMMON]], counts) for word in self.question.words]
        wanted += [Wanted(frozenset(), len(texts), each) for each in self.question.beginnings]
        return [known[each] for each in ranked(texts, wanted, _TOTAL)][:limit]

    def _wanted(self, word: str, alike: Sequence[str], counts: Counter[str]) -> Wanted:
        same = [other for other in alike if is_spelling(word, other, self.question.languages)]
        return Wanted(frozenset(same), sum(counts[other] for other in same))


def scope_key(agent_id: str, scope: str) -> str:
    """Return the word that represents a scope of an agent in the search index."""
    digest = hashlib.blake2s(f"{agent_id} {scope}".encode(), digest_size=16)
    return digest.hexdigest().translate(AS_LETTERS)


def token(word: str) -> str:
    return word.encode().hex().translate(AS_LETTERS)
