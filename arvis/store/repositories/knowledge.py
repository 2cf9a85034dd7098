"""The collections and documents of knowledge bases, over SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arvis.domain.knowledge import Collection, Document, DocumentKind, DocumentStatus, FoundChunk, NewChunk
from arvis.store.sql.session import Row, Session, dump

#: The queries that select the next document to process. Fetching a web page may take long, so pages come after other
#: documents.
_DUE = ("due_document", "due_page")


class SqlKnowledge:
    """Implements the port `Knowledge` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def are_any(self) -> bool:
        return self._session.one("any_collection") is not None

    def collections(self) -> Sequence[Collection]:
        return [collection_of(row) for row in self._session.rows("all_collections")]

    def collection(self, slug: str) -> Collection | None:
        row = self._session.one("collection_by_slug", slug=slug)
        return collection_of(row) if row else None

    def named(self, slugs: Sequence[str]) -> Sequence[Collection]:
        found = {
            row["slug"]: collection_of(row) for row in self._session.rows("collections_named", slugs=dump([*slugs]))
        }
        return [found[slug] for slug in dict.fromkeys(slugs) if slug in found]

    def add_collection(self, collection: Collection, now: int) -> None:
        self._session.execute("add_collection", **_columns_of(collection), slug=collection.slug, now=now)

    def update_collection(self, collection: Collection, now: int) -> None:
        self._session.execute("update_collection", **_columns_of(collection), now=now)

    def remove_collection(self, collection_id: str, now: int) -> None:
        self._session.execute("remove_collection", id=collection_id, now=now)

    def clear_collection(self, limit: int, now: int) -> bool:
        row = self._session.one("removed_collection")
        if row is None:
            return False
        collection_id = row["id"]
        if self._session.execute("remove_documents_of_collection", collection_id=collection_id, limit=limit, now=now):
            return True
        if self._session.one("any_document_of_collection", collection_id=collection_id) is not None:
            return False
        return self._session.execute("drop_collection", id=collection_id) == 1

    def count(self, collection_id: str) -> int:
        row = self._session.one("count_documents", collection_id=collection_id)
        return int(row["number"]) if row else 0

    def document(self, document_id: str) -> Document | None:
        row = self._session.one("get_document", id=document_id)
        return document_of(row) if row else None

    def at(self, collection_id: str, location: str) -> Document | None:
        row = self._session.one("document_at", collection_id=collection_id, location=location)
        return document_of(row) if row else None

    def of_folder(self, collection_id: str, after: str, limit: int) -> Sequence[Document]:
        rows = self._session.rows("documents_of_folder", collection_id=collection_id, after=after, limit=limit)
        return [document_of(row) for row in rows]

    def add(self, document: Document) -> None:
        self._session.execute("add_document", **_columns_of_document(document))

    def update(self, document: Document, seen: int) -> bool:
        columns = _columns_of_document(document)
        for fixed in ("collection_id", "kind", "location", "created_at"):
            del columns[fixed]
        return self._session.execute("update_document", **columns, seen=seen) == 1

    def refresh(self, collection_id: str, now: int) -> int:
        return self._session.execute("refresh_documents", collection_id=collection_id, now=now)

    def remove(self, document_id: str, now: int) -> bool:
        return self._session.execute("remove_document", id=document_id, now=now) == 1

    def drop(self, document_id: str) -> None:
        self._session.execute("drop_document", id=document_id)

    def due(self, now: int) -> Document | None:
        found = (self._session.one(query) for query in _DUE)
        return next((document_of(row) for row in found if row is not None and row["due_at"] <= now), None)

    def next_due(self) -> int | None:
        rows = [self._session.one(query) for query in _DUE]
        return min((row["due_at"] for row in rows if row is not None), default=None)

    def has_removed(self) -> bool:
        return self._session.one("removed_collection") is not None

    def is_blob_used(self, blob: str, besides: str) -> bool:
        return (
            self._session.one("file_is_other_document", sha256=blob, id=besides) is not None
            or self._session.one("file_is_attached", sha256=blob) is not None
        )


def _columns_of(collection: Collection) -> dict[str, object]:
    return {
        "id": collection.id,
        "name": collection.name,
        "description": collection.description,
        "trusted": int(collection.trusted),
    }


def _columns_of_document(document: Document) -> dict[str, object]:
    return {**{name: getattr(document, name) for name in document.__slots__}, "named": int(document.named)}


def collection_of(row: Row) -> Collection:
    return Collection(
        id=row["id"],
        slug=row["slug"],
        name=row["name"],
        description=row["description"],
        trusted=bool(row["trusted"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def document_of(row: Row) -> Document:
    columns: dict[str, Any] = {name: row[name] for name in Document.__slots__}
    columns["kind"] = DocumentKind(row["kind"])
    columns["status"] = DocumentStatus(row["status"])
    columns["named"] = bool(row["named"])
    return Document(**columns)


def found_chunk(row: Row) -> FoundChunk:
    """Return the chunk of a row of `found_chunks`."""
    return FoundChunk(
        number=row["number"],
        chunk=NewChunk(row["position"], row["heading"], row["content"], row["page"]),
        document_id=row["document_id"],
        kind=DocumentKind(row["kind"]),
        location=row["location"],
        collection=row["slug"],
        trusted=bool(row["trusted"]),
    )
