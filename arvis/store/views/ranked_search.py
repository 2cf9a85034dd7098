"""The ranked search of messages for a question (docs/adr/0066). The index finds candidates for each word of the
question. The texts of the candidates and of their neighbours are then read, and `domain.ranking` ranks them. Each step
is limited, so a search of a million messages takes little longer than a search of a few thousand."""

from __future__ import annotations

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import TypeAlias

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.embeddings import Meaning, SubjectKind
from arvis.domain.ranking import OF_MEANING, OF_TIME, Ranking, Text, Wanted, fused, ranked, rarity
from arvis.domain.search import NAME, Question, Search, Term, message_words, name_words, question_of
from arvis.store.sql.session import Row, Snapshot
from arvis.store.views.nearest import nearest_vectors
from arvis.store.views.spellings import Vocabulary
from arvis.store.views.unindexed import unindexed_messages

#: On PostgreSQL, the number of the newest messages that are searched for common words.
_NEWEST = 2_000
#: A person's messages are counted up to this number.
_COUNTED = 20_000
#: The maximum number of messages whose texts are ranked, without their neighbours.
_CANDIDATES = 40
#: The maximum number of characters of a text that are ranked.
_RANKED_TEXT = 4_000

#: The number of a message in the index: its rowid on SQLite, and its id on PostgreSQL.
_Number: TypeAlias = int | str


@dataclass(frozen=True, slots=True)
class _Found:
    """A word of the question, and the index numbers of the messages that contain it."""

    wanted: Wanted
    numbers: Sequence[_Number]
    #: True if there may be more messages.
    is_common: bool


async def best_messages(
    snapshot: Snapshot, text: str, principal_id: str | None, limit: int, meaning: Meaning | None = None
) -> Sequence[Row]:
    """Return the messages that match a question best, best match first. With `principal_id`, search only the messages
    of this person and the replies to them. With `meaning`, also search for messages with a similar meaning."""
    by_words = await _by_words(snapshot, text, principal_id)
    if meaning is None:
        return by_words[:limit]
    areas = None if principal_id is None else [principal_id]
    similar = await nearest_vectors(snapshot, SubjectKind.MESSAGE, meaning, areas)
    rows = {row["id"]: row for row in by_words}
    others = json.dumps([each for each, _ in similar if each not in rows])
    phrases = question_of(text).phrases
    for row in await snapshot.rows("readable_messages", ids=others, principal_id=principal_id):
        if _has_phrases(row, phrases):
            rows[row["id"]] = row
    near = [each for each, _ in similar if each in rows]
    recent = sorted(rows, reverse=True)
    order = fused([Ranking([row["id"] for row in by_words], 1.0), Ranking(near, OF_MEANING), Ranking(recent, OF_TIME)])
    return [rows[each] for each in order][:limit]


async def _by_words(snapshot: Snapshot, text: str, principal_id: str | None) -> Sequence[Row]:
    question = question_of(text)
    if not question.words and not question.beginnings:
        return []
    newest = await unindexed_messages(snapshot, principal_id=principal_id)
    new_words = [_words(row) for row in newest]
    total = await _total(snapshot, principal_id)
    wanted = await _wanted(snapshot, question, {word for words in new_words for word in words if word[0] != NAME})
    search = Search((), question.phrases, any_term=True, principal_id=principal_id)
    found = await _estimated(snapshot, [await _find(snapshot, each, search) for each in wanted], search, total)
    numbers = _candidates(found, total)
    numbers += [row["number"] or row["id"] for row, words in zip(newest, new_words, strict=True) if _has(words, wanted)]
    near = _near(await snapshot.rows("ranked_messages", numbers=json.dumps(numbers)), alone=not question.is_sentence)
    listed = await snapshot.rows("readable_messages", ids=json.dumps(sorted(near)), principal_id=principal_id)
    rows = {row["id"]: row for row in sorted(listed, key=lambda row: str(row["id"]))}
    texts = [Text(each, _words(row), near[each]) for each, row in rows.items()]
    best = ranked(texts, [each.wanted for each in found], total + len(newest), alone=not question.is_sentence)
    return [rows[each] for each in best if _has_phrases(rows[each], question.phrases)]


async def _wanted(snapshot: Snapshot, question: Question, more: Collection[str]) -> list[Wanted]:
    vocabulary = Vocabulary(snapshot, with_keys="words_with_keys", in_range="words_in_range")
    spellings = await vocabulary.spellings_of(question, more)
    words = [Wanted(_with_names(each), 0) for each in spellings]
    return [*words, *(Wanted(_with_names([each]), 0, each) for each in question.beginnings)]


def _with_names(words: Collection[str]) -> frozenset[str]:
    """Return the words in the form for texts, and in the form for names of writers and channels."""
    return frozenset(form for word in words for form in (word, NAME + word))


async def _total(snapshot: Snapshot, principal_id: str | None) -> int:
    if principal_id is None:
        return int((await snapshot.rows("count_indexed"))[0]["number"])
    words = snapshot.full_text.query(Search((), principal_id=principal_id))
    return int((await snapshot.rows("count_postings", words=words, most=_COUNTED))[0]["number"])


async def _find(snapshot: Snapshot, wanted: Wanted, search: Search) -> _Found:
    words = snapshot.full_text.query(replace(search, terms=_terms_of(wanted)))
    most = snapshot.full_text.most_found
    numbers = json.loads((await snapshot.rows("postings", words=words, most=most))[0]["numbers"] or "[]")
    return _Found(replace(wanted, matching=len(numbers)), numbers, is_common=len(numbers) >= most)


def _terms_of(wanted: Wanted) -> tuple[Term, ...]:
    if wanted.beginning is not None:
        return (Term((wanted.beginning,), begins=True),)
    return tuple(Term((word,), begins=False) for word in sorted(wanted.words))


async def _estimated(snapshot: Snapshot, found: Sequence[_Found], search: Search, total: int) -> list[_Found]:
    """Return `found` with an estimated number of matching messages for each common word. On PostgreSQL, also add the
    newest messages that contain the word, because its index returns arbitrary messages for a common word."""
    common = [each for each in found if each.is_common]
    queries = [snapshot.full_text.query(replace(search, terms=_terms_of(each.wanted))) for each in common]
    rows = await snapshot.rows("newest_postings", queries=json.dumps(queries), most=_NEWEST) if common else []
    newest = {common[row["place"]].wanted.words: json.loads(row["numbers"]) for row in rows}
    return [_with_newest(each, newest.get(each.wanted.words, ()), total) if each.is_common else each for each in found]


def _with_newest(found: _Found, newest: Sequence[_Number], total: int) -> _Found:
    first, last = found.numbers[0], found.numbers[-1]
    if isinstance(first, int) and isinstance(last, int):
        # On SQLite, `numbers` are the numbers of the newest messages that contain the word. The numbers of all messages
        # have no gaps, so the range of these numbers shows how common the word is.
        matching = total * len(found.numbers) // max(1, first - last)
    else:
        matching = total * len(newest) // _NEWEST
    wanted = replace(found.wanted, matching=max(len(found.numbers), min(matching, total)))
    return _Found(wanted, [*dict.fromkeys((*newest, *found.numbers))], is_common=True)


def _candidates(found: Sequence[_Found], total: int) -> list[_Number]:
    """Return the numbers of the messages with the highest scores. Each word of the question adds to the score, and a
    rare word adds more. Among equal scores, the newest messages come first."""
    scores = defaultdict[_Number, float](float)
    for each in found:
        weight = rarity(each.wanted.matching, total)
        for number in each.numbers:
            scores[number] += weight
    return heapq.nlargest(_CANDIDATES, scores, key=lambda number: (scores[number], number))


def _near(rows: Sequence[Row], *, alone: bool) -> dict[str, dict[str, int]]:
    """Return the neighbours of each candidate with their distances, and for each neighbour the candidate with the same
    distance. If `alone`, return only the candidates, without neighbours."""
    near = defaultdict[str, dict[str, int]](dict)
    for row in rows:
        near[row["id"]].update()
        for side in () if alone else ("before", "after"):
            for distance, other in enumerate(json.loads(row[side] or "[]"), start=1):
                near[row["id"]][other] = near[other][row["id"]] = distance
    return near


def _words(row: Row) -> list[str]:
    return [*name_words((row["user_name"], row["channel"])), *message_words(row["content"][:_RANKED_TEXT])]


def _has(words: Collection[str], wanted: Collection[Wanted]) -> bool:
    counts = Counter(words)
    return any(each.count_in(counts) for each in wanted)


def _has_phrases(row: Row, phrases: Collection[Term]) -> bool:
    words = message_words(row["content"]) if phrases else ()
    return all(phrase.is_in(words) for phrase in phrases)
