"""The order of texts in a ranked search. The databases only find candidates. This module decides which of them match
best, so both databases return the same order (docs/adr/0066).

A text gets a score for each word of the question that it contains (BM25). The score is higher for a word that few texts
contain. Repetitions of a word add less than its first occurrence, and a word in a long text adds less than in a short
one. In a conversation, a text also gets a part of the scores of the texts around it, because an answer often does not
repeat the words of the question before it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from arvis.domain.dataclass import dataclass

#: The constants of BM25: the effect of repetitions, and the effect of the length of a text. They were chosen with
#: `python -m bench.recall`.
_REPETITION, _LENGTH = 1.2, 0.4
#: The shares of the scores of neighbours that a text gets: first for the neighbours at distance 1, on both sides, then
#: for the neighbours at distance 2.
NEIGHBOURS = (0.45, 0.2)

#: The weights of the other rankings beside the ranking by words: the similarity of the meaning, the time of a message, and the
#: confidence in a fact. They were chosen with `python -m bench.recall --embeddings`.
OF_MEANING, OF_TIME, OF_CONFIDENCE = 0.45, 0.005, 0.005
#: The constant of reciprocal rank fusion. With a higher value, the first ranks of a ranking differ less.
_FUSION = 10


@dataclass(frozen=True, slots=True)
class Ranking:
    """The ids of texts, best first, and the weight of this ranking among other rankings."""

    ids: Sequence[str]
    weight: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """A word of the question. A text matches the word if the text contains one of `words` (its spellings), or a word
    that begins with `beginning`. `matching` is the number of all texts that match."""

    words: frozenset[str]
    matching: int
    beginning: str | None = None

    def count_in(self, counts: Mapping[str, int]) -> int:
        """Return the number of times that a text with these word counts contains the word."""
        count = sum(counts[word] for word in self.words if word in counts)
        if self.beginning is not None:
            count += sum(number for word, number in counts.items() if word.startswith(self.beginning))
        return count


@dataclass(frozen=True, slots=True)
class Text:
    """A text that may answer the question. `near` contains the ids of its neighbours in the conversation, with their
    distances from 1 on."""

    id: str
    words: Sequence[str]
    near: Mapping[str, int]


def rarity(matching: int, total: int) -> float:
    """Return the weight of a word that `matching` of `total` texts contain. The weight is above 0."""
    return math.log(1 + (max(total, matching) - matching + 0.5) / (matching + 0.5))


def ranked(texts: Sequence[Text], question: Collection[Wanted], total: int, *, alone: bool = True) -> list[str]:
    """Return the ids of the texts that contain a word of the question, best first. Among equal scores, later texts come
    first. If `alone` is False, the scores of neighbours count, too, so a text is also returned if only a neighbour
    contains a word. `total` is the number of all texts that were searched."""
    scores = _scores(texts, question, total)
    if not alone:
        scores = {text.id: scores[text.id] + _of_neighbours(text, scores) for text in texts}
    last_first = [text.id for text in reversed(texts) if scores[text.id] > 0]
    return sorted(last_first, key=lambda each: -scores[each])


def _of_neighbours(text: Text, scores: Mapping[str, float]) -> float:
    return sum(NEIGHBOURS[distance - 1] * scores.get(each, 0.0) for each, distance in text.near.items())


def _scores(texts: Sequence[Text], question: Collection[Wanted], total: int) -> dict[str, float]:
    usual = sum(len(text.words) for text in texts) / max(len(texts), 1)
    weights = [(wanted, rarity(wanted.matching, total)) for wanted in question]
    return {text.id: _score(text, weights, usual) for text in texts}


def _score(text: Text, weights: Sequence[tuple[Wanted, float]], usual: float) -> float:
    counts = Counter(text.words)
    slowness = _REPETITION * (1 - _LENGTH + _LENGTH * len(text.words) / usual) if usual else _REPETITION
    score = 0.0
    for wanted, weight in weights:
        count = wanted.count_in(counts)
        score += weight * count * (_REPETITION + 1) / (count + slowness)
    return score


def fused(rankings: Collection[Ranking]) -> Mapping[str, float]:
    """Return the ids of all rankings with their scores, best first (reciprocal rank fusion). For each ranking that
    contains its id, a text gets the weight of the ranking, divided by the sum of `_FUSION` and its rank. Texts with
    equal scores keep the order of the rankings."""
    scores = dict[str, float]()
    for ranking in rankings:
        for place, each in enumerate(ranking.ids, start=1):
            scores[each] = scores.get(each, 0.0) + ranking.weight / (_FUSION + place)
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))
