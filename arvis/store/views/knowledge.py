"""Searches of knowledge bases, and the data of their pages in the dashboard. A search uses the same words and ranking
as a search of messages (docs/adr/0066, docs/adr/0084). `SqlInsights` inherits from the class of this module."""

from __future__ import annotations

import asyncio
import heapq
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.embeddings import Meaning, SubjectKind
from arvis.domain.knowledge import Document, FoundChunk
from arvis.domain.ranking import OF_MEANING, Ranking, Text, Wanted, fused, ranked, rarity
from arvis.domain.search import Question, Search, Term, message_words, question_of
from arvis.ports.knowledge import DocumentCounts
from arvis.ports.pages import Page
from arvis.store.repositories.knowledge import document_of, found_chunk
from arvis.store.sql.session import LAST, Row, Snapshot, Snapshots, page
from arvis.store.views.conversations import pattern_of
from arvis.store.views.nearest import nearest_vectors
from arvis.store.views.spellings import Vocabulary

#: The maximum number of chunks whose texts are ranked.
_CANDIDATES = 60
#: Chunks with a common word are counted only up to this number.
_COUNTED = 20_000


@dataclass(frozen=True, slots=True)
class _Found:
    """A word of the question, and the index numbers of the chunks that contain it."""

    wanted: Wanted
    numbers: Sequence[int]


class SqlKnowledgeInsights:
    """Implements `KnowledgeInsights` on both databases."""

    def __init__(self, snapshots: Snapshots) -> None:
        self._snapshots = snapshots

    async def knowledge_counts(self) -> Mapping[str, DocumentCounts]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("collection_counts")
        found = defaultdict[str, dict[str, int]](dict)
        for row in rows:
            counts = found[row["collection_id"]]
            counts[row["status"]] = row["number"]
            counts["chunks"] = counts.get("chunks", 0) + row["chunks"]
        return {each: DocumentCounts(**counts) for each, counts in found.items()}

    async def documents(
        self, collection_id: str, *, status: str | None, text: str | None, limit: int, cursor: str | None
    ) -> Page[Document]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "list_documents",
                collection_id=collection_id,
                status=status,
                pattern=None if text is None else pattern_of(text),
                before=cursor or LAST,
                limit=limit + 1,
            )
        return page(rows, document_of, limit)

    async def search_knowledge(
        self, text: str, slugs: Sequence[str], limit: int, meaning: Meaning | None = None
    ) -> Sequence[FoundChunk]:
        async with self._snapshots.snapshot() as snapshot:
            named = await snapshot.rows("collections_named", slugs=json.dumps([*slugs]))
            if not named:
                return []
            areas = [row["id"] for row in named]
            by_words = await _by_words(snapshot, text, areas, slugs)
            similar, rows = dict[str, float](), list[Row]()
            if meaning is not None:
                similar = dict(await nearest_vectors(snapshot, SubjectKind.CHUNK, meaning, areas))
                rows = [*await snapshot.rows("similar_chunks", ids=json.dumps([*similar]), slugs=json.dumps([*slugs]))]
        return _joined(by_words, rows, similar, question_of(text).phrases)[:limit]

    async def knowledge_around(
        self, number: int, slugs: Sequence[str], before: int, after: int
    ) -> Sequence[FoundChunk]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows("chunks_around", number=number, before=before, after=after)
            return await _in_order(snapshot, [row["number"] for row in rows], slugs)

    async def knowledge_of(
        self, document: Document, slugs: Sequence[str], position: int, limit: int
    ) -> Sequence[FoundChunk]:
        async with self._snapshots.snapshot() as snapshot:
            rows = await snapshot.rows(
                "chunks_of_document",
                document_id=document.id,
                version=document.version,
                position=position,
                limit=limit,
            )
            return await _in_order(snapshot, [row["number"] for row in rows], slugs)


async def _in_order(snapshot: Snapshot, numbers: Sequence[int], slugs: Sequence[str]) -> Sequence[FoundChunk]:
    rows = await snapshot.rows("found_chunks", numbers=json.dumps(numbers), slugs=json.dumps([*slugs]))
    return sorted(map(found_chunk, rows), key=lambda each: each.chunk.position)


async def _by_words(snapshot: Snapshot, text: str, areas: Sequence[str], slugs: Sequence[str]) -> Sequence[FoundChunk]:
    """Return the chunks that contain words of the question, best first."""
    question = question_of(text)
    if not question.words and not question.beginnings:
        return []
    total = int((await snapshot.rows("knowledge_index_state"))[0]["position"])
    search = Search((), question.phrases, any_term=True, collections=tuple(areas))
    found = [await _find(snapshot, each, search) for each in await _wanted(snapshot, question)]
    rows = await snapshot.rows(
        "found_chunks", numbers=json.dumps(_candidates(found, total)), slugs=json.dumps([*slugs])
    )
    # The ranking takes some milliseconds and would block the event loop.
    return await asyncio.to_thread(_ranked, rows, [each.wanted for each in found], total, question.phrases)


async def _wanted(snapshot: Snapshot, question: Question) -> list[Wanted]:
    vocabulary = Vocabulary(snapshot, with_keys="knowledge_words_with_keys", in_range="knowledge_words_in_range")
    spellings = await vocabulary.spellings_of(question)
    return [
        *(Wanted(words, 0) for words in spellings),
        *(Wanted(frozenset(), 0, beginning) for beginning in question.beginnings),
    ]


async def _find(snapshot: Snapshot, wanted: Wanted, search: Search) -> _Found:
    if wanted.beginning is not None:
        terms: tuple[Term, ...] = (Term((wanted.beginning,), begins=True),)
    else:
        terms = tuple(Term((word,), begins=False) for word in sorted(wanted.words))
    words = snapshot.full_text.query(replace(search, terms=terms))
    most = snapshot.full_text.most_found
    numbers = json.loads((await snapshot.rows("knowledge_postings", words=words, most=most))[0]["numbers"] or "[]")
    matching = len(numbers)
    if matching >= most:
        matching = (await snapshot.rows("count_knowledge_postings", words=words, most=_COUNTED))[0]["number"]
    return _Found(replace(wanted, matching=matching), numbers)


def _candidates(found: Sequence[_Found], total: int) -> list[int]:
    """Return the numbers of the chunks with the highest scores. Each word of the question adds to the score, and a rare
    word adds more."""
    scores = defaultdict[int, float](float)
    for each in found:
        weight = rarity(each.wanted.matching, total)
        for number in each.numbers:
            scores[number] += weight
    return heapq.nlargest(_CANDIDATES, scores, key=lambda number: (scores[number], number))


def _ranked(
    rows: Sequence[Row], question: Collection[Wanted], total: int, phrases: Collection[Term]
) -> Sequence[FoundChunk]:
    chunks = {row["id"]: found_chunk(row) for row in sorted(rows, key=lambda row: int(row["number"]), reverse=True)}
    texts = [Text(each, message_words(chunk.chunk.text), {}) for each, chunk in chunks.items()]
    by_id = {text.id: text for text in texts}
    best = ranked(texts, question, total)
    return [chunks[each] for each in best if all(phrase.is_in(by_id[each].words) for phrase in phrases)]


def _joined(
    by_words: Sequence[FoundChunk], rows: Sequence[Row], similar: Mapping[str, float], phrases: Collection[Term]
) -> Sequence[FoundChunk]:
    """Merge the results by words and by meaning into one ranking."""
    near = {row["id"]: found_chunk(row) for row in rows}
    if phrases:
        near = {each: chunk for each, chunk in near.items() if _has(chunk, phrases)}
    numbers = {each: str(chunk.number) for each, chunk in near.items()}
    known = {str(chunk.number): chunk for chunk in (*near.values(), *by_words)}
    places = {str(chunk.number): place for place, chunk in enumerate(by_words, start=1)}
    similarities = {numbers[each]: similarity for each, similarity in similar.items() if each in numbers}
    order = fused([Ranking([*places], 1.0), Ranking([*similarities], OF_MEANING)])
    return [
        replace(known[each], score=score, place=places.get(each), similarity=similarities.get(each))
        for each, score in order.items()
    ]


def _has(chunk: FoundChunk, phrases: Collection[Term]) -> bool:
    words = message_words(chunk.chunk.text)
    return all(phrase.is_in(words) for phrase in phrases)
