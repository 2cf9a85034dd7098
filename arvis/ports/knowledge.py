"""The repositories and queries of knowledge bases, and the service that searches them for agents."""

from __future__ import annotations

from collections.abc import Collection as Several
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from arvis.domain.dataclass import dataclass
from arvis.domain.embeddings import Meaning
from arvis.domain.knowledge import Collection, Document, FoundChunk, NewChunk
from arvis.ports.pages import Page

#: An entry of the vocabulary: a key, and the word that is found by this key.
WordKey: TypeAlias = tuple[str, str]


class Knowledge(Protocol):
    """The collections and their documents."""

    def are_any(self) -> bool:
        """Return whether a collection exists; a removed collection counts until it is deleted."""
        ...

    def collections(self) -> Sequence[Collection]:
        """Return the collections in the order of their slugs."""
        ...

    def collection(self, slug: str) -> Collection | None: ...

    def named(self, slugs: Sequence[str]) -> Sequence[Collection]:
        """Return the collections with these slugs, in the order of the slugs."""
        ...

    def add_collection(self, collection: Collection, now: int) -> None: ...

    def update_collection(self, collection: Collection, now: int) -> None: ...

    def remove_collection(self, collection_id: str, now: int) -> None:
        """Hide a collection with its documents, and free its slug. `clear_collection` then deletes them."""
        ...

    def clear_collection(self, limit: int, now: int) -> bool:
        """Mark up to `limit` documents of a removed collection as removed, or delete such a collection that has no
        documents. Return False if there is no removed collection, or if all its documents are marked but not deleted
        yet."""
        ...

    def has_removed(self) -> bool:
        """Return whether a removed collection is not deleted yet."""
        ...

    def count(self, collection_id: str) -> int: ...

    def document(self, document_id: str) -> Document | None: ...

    def at(self, collection_id: str, location: str) -> Document | None: ...

    def of_folder(self, collection_id: str, after: str, limit: int) -> Sequence[Document]:
        """Return up to `limit` documents of a collection that come from folders and whose ids follow `after`, in the
        order of their ids."""
        ...

    def add(self, document: Document) -> None: ...

    def update(self, document: Document, seen: int) -> bool:
        """Store a document. Return False, and store nothing, if its revision in the database is not `seen`."""
        ...

    def refresh(self, collection_id: str, now: int) -> int:
        """Make all pages and failed documents of a collection due. Return their number."""
        ...

    def remove(self, document_id: str, now: int) -> bool:
        """Hide a document. `drop` then deletes it."""
        ...

    def drop(self, document_id: str) -> None:
        """Delete the row of a removed document whose chunks are already deleted."""
        ...

    def due(self, now: int) -> Document | None:
        """Return a document whose work is due. It may be a removed document. Web pages are returned only if no other
        document is due."""
        ...

    def next_due(self) -> int | None:
        """Return the earliest time (ms) at which work on a document is due; None if no work is planned."""
        ...

    def is_blob_used(self, blob: str, besides: str) -> bool:
        """Return whether a message, or a document other than `besides`, refers to this blob."""
        ...


class Chunks(Protocol):
    """The chunks of documents, and their search index."""

    def add(self, document: Document, version: int, chunks: Sequence[NewChunk]) -> Sequence[int]:
        """Add chunks of a version, and return their numbers."""
        ...

    def has_others(self, document_id: str, version: int) -> bool:
        """Return whether chunks of a document belong to another version."""
        ...

    def drop_others(self, document_id: str, version: int, limit: int) -> int:
        """Delete up to `limit` chunks of a document that belong to another version, with their words and vectors. Return
        their number."""
        ...

    def is_outdated(self) -> bool:
        """Return whether the rules by which texts are split have changed."""
        ...

    def clear_index(self) -> None: ...

    def unindexed(self, limit: int) -> Mapping[int, str]:
        """Return the texts of the next chunks that are not in the index, by their numbers."""
        ...

    def new_keys(self, words: Several[str]) -> Sequence[WordKey]:
        """Return keys for the words that the vocabulary does not contain yet."""
        ...

    def advance(self, words: Mapping[int, Sequence[str]], keys: Sequence[WordKey]) -> int:
        """Add the next chunks to the index, up to the first chunk whose number is not in `words` (words by number).
        Return their number."""
        ...

    def erasures(self) -> int | None:
        """Return the number of removals so far if the index may still contain words of deleted chunks, otherwise
        None."""
        ...

    def purge(self, *, begin: bool) -> bool:
        """Remove words of deleted chunks from a part of the index. Return True if other parts must still be checked."""
        ...

    def drop_words(self, after: str) -> str | None:
        """Remove words that no chunk contains any more from the vocabulary, beginning after the word `after`. Return
        the last checked word, or None at the end of the vocabulary."""
        ...

    def purged(self, erasures: int) -> None:
        """Store that the index no longer contains the words of the first `erasures` removals."""
        ...

    def with_numbers(self, slugs: Sequence[str], numbers: Sequence[int]) -> Sequence[FoundChunk]:
        """Return the chunks with these numbers that are in these collections, in the order of the numbers."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """The numbers of documents of a collection by status, and of their chunks."""

    indexed: int = 0
    pending: int = 0
    failed: int = 0
    chunks: int = 0


class KnowledgeInsights(Protocol):
    """Queries for pages and for the tools of agents. `slugs` are the collections that the caller may read."""

    async def knowledge_counts(self) -> Mapping[str, DocumentCounts]:
        """Return the counts by the ids of the collections that have documents."""
        ...

    async def documents(
        self, collection_id: str, *, status: str | None, text: str | None, limit: int, cursor: str | None
    ) -> Page[Document]:
        """Return documents, newest first; with `text`, only those whose title or location contains it."""
        ...

    async def search_knowledge(
        self, text: str, slugs: Sequence[str], limit: int, meaning: Meaning | None = None
    ) -> Sequence[FoundChunk]:
        """Return the chunks that fit a question best, best first: chunks with the most and the rarest words of the
        question and, if its `meaning` is given, chunks with a similar meaning."""
        ...

    async def knowledge_around(
        self, number: int, slugs: Sequence[str], before: int, after: int
    ) -> Sequence[FoundChunk]:
        """Return a chunk with its neighbours in its document, in their order; none if there is no such chunk."""
        ...

    async def knowledge_of(
        self, document: Document, slugs: Sequence[str], position: int, limit: int
    ) -> Sequence[FoundChunk]:
        """Return the chunks of a document from a position on, in their order."""
        ...
