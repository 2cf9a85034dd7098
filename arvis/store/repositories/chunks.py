"""The chunks of documents with their search index and its vocabulary, over SQL. SQLite's index does not contain the
texts, so the words of a removed chunk are computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from arvis.domain.embeddings import SubjectKind
from arvis.domain.knowledge import Document, FoundChunk, NewChunk
from arvis.domain.search import RULES, message_words
from arvis.ports.knowledge import WordKey
from arvis.store.repositories.knowledge import found_chunk
from arvis.store.sql.full_text import collection_key
from arvis.store.sql.session import Row, dump
from arvis.store.sql.word_index import WordIndex, WordQueries


class SqlChunks(WordIndex):
    """Implements the port `Chunks` in one transaction."""

    _queries = WordQueries(
        state="knowledge_index_state",
        known_words="known_knowledge_words",
        next_words="next_knowledge_words",
        add_key="add_knowledge_key",
        remove_key="remove_knowledge_key",
        count_postings="count_knowledge_postings",
        merge="merge_knowledge_index",
        note_purged="note_purged_knowledge",
    )

    def add(self, document: Document, version: int, chunks: Sequence[NewChunk]) -> Sequence[int]:
        row = self._session.one("take_numbers", name="knowledge_chunks", count=len(chunks))
        first = int(row["value"]) - len(chunks) + 1 if row else 1
        rows = [
            {
                "id": self._session.new_id(),
                "number": number,
                "collection_id": document.collection_id,
                "document_id": document.id,
                "version": version,
                "position": chunk.position,
                "page": chunk.page,
                "heading": chunk.heading,
                "content": chunk.content,
            }
            for number, chunk in enumerate(chunks, start=first)
        ]
        self._session.execute_many("add_chunk", rows)
        return range(first, first + len(chunks))

    def has_others(self, document_id: str, version: int) -> bool:
        return self._session.one("any_other_chunk", document_id=document_id, version=version) is not None

    def drop_others(self, document_id: str, version: int, limit: int) -> int:
        rows = self._session.rows("other_chunks", document_id=document_id, version=version, limit=limit)
        if rows:
            position = self._state()["position"]
            # Only rows that are already in the index may be removed from it.
            indexed = [row for row in rows if row["number"] <= position]
            self._session.execute_many("remove_knowledge_words", [self._document(row) for row in indexed])
            ids = dump([row["id"] for row in rows])
            self._session.execute("drop_vectors", kind=SubjectKind.CHUNK, ids=ids)
            self._session.execute("drop_chunks", ids=ids)
            self._session.execute("note_erased_knowledge")
        return len(rows)

    def is_outdated(self) -> bool:
        return bool(self._state()["rules"] != RULES)

    def clear_index(self) -> None:
        self._session.execute("clear_knowledge_index")
        self._session.execute("clear_knowledge_vocabulary")
        self._session.execute("move_knowledge_index", rules=RULES, position=0)

    def unindexed(self, limit: int) -> Mapping[int, str]:
        return {row["number"]: _text_of(row) for row in self._next(limit)}

    def advance(self, words: Mapping[int, Sequence[str]], keys: Sequence[WordKey]) -> int:
        # Stop at the first chunk without words. A chunk that is left out would never be indexed, because the position
        # then points to a later chunk.
        rows = [*takewhile(lambda row: row["number"] in words, self._next(len(words)))]
        if rows:
            self._add_keys(keys)
            documents = [self._document(row, words[row["number"]]) for row in rows]
            self._session.execute_many("add_knowledge_words", documents)
            self._session.execute("move_knowledge_index", rules=RULES, position=rows[-1]["number"])
            self._merge_pages()
        return len(rows)

    def with_numbers(self, slugs: Sequence[str], numbers: Sequence[int]) -> Sequence[FoundChunk]:
        rows = self._session.rows("found_chunks", slugs=dump([*slugs]), numbers=dump([*numbers]))
        found = {row["number"]: found_chunk(row) for row in rows}
        return [found[number] for number in numbers if number in found]

    def _next(self, limit: int) -> Sequence[Row]:
        return self._session.rows("unindexed_chunks", position=self._state()["position"], limit=limit)

    def _document(self, row: Row, words: Sequence[str] | None = None) -> dict[str, object]:
        """Return the parameters for a row of the index. Without `words`, compute the words of the stored text."""
        found = message_words(_text_of(row)) if words is None else words
        key = collection_key(row["collection_id"])
        return {"number": row["number"], "words": self._session.full_text.document([key, *found])}


def _text_of(row: Row) -> str:
    return NewChunk(0, row["heading"], row["content"]).text
