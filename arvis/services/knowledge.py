"""Changes of knowledge bases by people. Transaction scripts; `arvis/knowledge/` indexes the documents afterwards.

A model may follow instructions in texts of a trusted collection, as it follows an agent's own prompt. So only owners
may trust a collection, or add documents to a trusted one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from arvis.domain.agents import Flaw
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effects import Access, AccessKind, access_entry
from arvis.domain.errors import Conflict, Forbidden, NotFound, Unprocessable
from arvis.domain.knowledge import (
    MOST_COLLECTIONS,
    MOST_DOCUMENTS,
    Collection,
    Document,
    DocumentKind,
    DocumentStatus,
    flaws_of,
    flaws_of_document,
)
from arvis.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class Author:
    """The person who changes a knowledge base. `owner` is True if the person has the rights of an owner."""

    id: str
    owner: bool


@dataclass(frozen=True, slots=True)
class File:
    """A file that a person sends. `blob` is the hash of its stored bytes, and `sha256` is the hash of the original
    file."""

    name: str
    sha256: str
    blob: str
    size: int
    title: str = ""


def create(tx: Transaction, collection: Collection, *, by: Author, now: int) -> Collection:
    """Create a collection. Raise `Unprocessable` for an invalid field, `Conflict` if the slug is taken or the limit is
    reached, and `Forbidden` if only an owner may create it."""
    _refuse(flaws_of(collection))
    if collection.trusted:
        _check_owner(by)
    if tx.knowledge.collection(collection.slug) is not None:
        raise Conflict(f"There is a knowledge base {collection.slug} already.", fix="Choose another slug.")
    if len(tx.knowledge.collections()) >= MOST_COLLECTIONS:
        raise Conflict(f"There are {MOST_COLLECTIONS} knowledge bases already.", fix="Delete one that is not needed.")
    made = replace(collection, id=tx.new_id())
    tx.knowledge.add_collection(made, now)
    _note(tx, AccessKind.KNOWLEDGE_CHANGED, made, by, now)
    return present(tx, made.slug)


def update(tx: Transaction, slug: str, changes: Mapping[str, Any], *, by: Author, now: int) -> Collection:
    """Change the fields of a collection that `changes` names."""
    known = writable(tx, slug, by)
    changed = replace(known, **changes)
    _refuse(flaws_of(changed))
    if changed.trusted != known.trusted:
        _check_owner(by)
    tx.knowledge.update_collection(changed, now)
    _note(tx, AccessKind.KNOWLEDGE_CHANGED, changed, by, now)
    return present(tx, slug)


def remove(tx: Transaction, slug: str, *, by: Author, now: int) -> None:
    """Delete a collection with its documents. Agents that name it then search only their other collections."""
    known = writable(tx, slug, by)
    tx.knowledge.remove_collection(known.id, now)
    _note(tx, AccessKind.KNOWLEDGE_REMOVED, known, by, now)


def check_file(tx: Transaction, slug: str, file: File, *, by: Author) -> Document | None:
    """Return the document that already has this name, content and title, or None. If `put_file` would refuse the file,
    raise its error before the bytes are stored."""
    collection = writable(tx, slug, by)
    known = tx.knowledge.at(collection.id, file.name)
    if known is None:
        _refuse(flaws_of_document(_new_file(collection, file)))
        _check_room(tx, collection.id)
        return None
    if known.kind is not DocumentKind.FILE:
        raise Conflict(f"A document of another kind has the name {file.name}.", fix="Send the file with another name.")
    _refuse(flaws_of_document(replace(known, title=file.title or known.title)))
    same = file.sha256 == known.sha256 and file.title in {"", known.title}
    return known if same and known.status is DocumentStatus.INDEXED else None


def put_file(tx: Transaction, slug: str, file: File, *, by: Author, now: int) -> Document:
    """Add a file, or replace the document with the same name. The same content is not indexed again."""
    if (same := check_file(tx, slug, file, by=by)) is not None:
        return same
    collection = present(tx, slug)
    known = tx.knowledge.at(collection.id, file.name)
    if known is None:
        return _add(tx, _new_file(collection, file), now)
    if known.blob and known.blob != file.blob:
        _discard(tx, known, now)
    named, title = known.named or bool(file.title), file.title or known.title
    changed = replace(known, title=title, named=named, sha256=file.sha256, blob=file.blob, size=file.size)
    return _make_due(tx, changed, now)


def put_page(
    tx: Transaction, slug: str, url: str, *, title: str, refresh: int | None, by: Author, now: int
) -> Document:
    """Add a web page, or change the title and the refresh of the page with this address."""
    collection = writable(tx, slug, by)
    known = tx.knowledge.at(collection.id, url)
    if known is None:
        new = Document("", collection.id, DocumentKind.PAGE, url, title=title, named=bool(title), refresh=refresh)
        return _add(tx, new, now)
    changed = _renamed(replace(known, refresh=refresh), title) if title else replace(known, refresh=refresh)
    return _make_due(tx, changed, now)


def change_document(
    tx: Transaction, slug: str, document_id: str, changes: Mapping[str, Any], *, by: Author, now: int
) -> Document:
    """Change the title or the refresh of a document."""
    writable(tx, slug, by)
    known = document_in(tx, slug, document_id)
    changed = replace(known, **{**changes, "title": known.title})
    if (title := changes.get("title")) is not None:
        changed = _renamed(changed, title)
    return _make_due(tx, changed, now)


def refresh(tx: Transaction, slug: str, document_id: str | None, *, now: int) -> int:
    """Make a document due, so that it is fetched or read again. Without `document_id`, do so for all failed documents
    and all web pages of the collection. Return the number of documents."""
    collection = present(tx, slug)
    if document_id is not None:
        known = document_in(tx, slug, document_id)
        _make_due(tx, known, now)
        return 1
    return tx.knowledge.refresh(collection.id, now)


def remove_document(tx: Transaction, slug: str, document_id: str, *, by: Author, now: int) -> None:
    """Delete a document. Raise `Conflict` for a file of a configured folder, because the next check of the folder would
    add the file again."""
    writable(tx, slug, by)
    known = document_in(tx, slug, document_id)
    if known.kind is DocumentKind.FOLDER:
        raise Conflict(
            "This document is a file in a folder of the configuration.", fix="Remove the file from the folder."
        )
    tx.knowledge.remove(known.id, now)


def present(tx: Transaction, slug: str) -> Collection:
    """Return the collection with this slug. Raise `NotFound` if it does not exist."""
    known = tx.knowledge.collection(slug)
    if known is None:
        raise NotFound(
            "There is no such knowledge base.",
            fix="`arvis knowledge list` and GET /api/knowledge list the knowledge bases.",
        )
    return known


def document_in(tx: Transaction, slug: str, document_id: str) -> Document:
    """Return a document of a collection. Raise `NotFound` if the collection or the document does not exist."""
    known = tx.knowledge.document(document_id)
    if known is None or known.collection_id != present(tx, slug).id:
        raise NotFound(
            "There is no such document in this knowledge base.",
            fix="`arvis knowledge show SLUG` lists the documents.",
        )
    return known


def writable(tx: Transaction, slug: str, by: Author) -> Collection:
    """Return the collection with this slug. Raise `NotFound` if it does not exist, and `Forbidden` if this person must
    not change it."""
    known = present(tx, slug)
    if known.trusted:
        _check_owner(by)
    return known


def _check_owner(by: Author) -> None:
    if not by.owner:
        raise Forbidden(
            "Only owners may trust a knowledge base, or change a trusted one.",
            fix="Ask an owner, or use a knowledge base that is not trusted.",
        )


def _new_file(collection: Collection, file: File) -> Document:
    return Document(
        "",
        collection.id,
        DocumentKind.FILE,
        file.name,
        file.sha256,
        file.blob,
        size=file.size,
        title=file.title,
        named=bool(file.title),
    )


def _check_room(tx: Transaction, collection_id: str) -> None:
    if tx.knowledge.count(collection_id) >= MOST_DOCUMENTS:
        raise Conflict(
            f"This knowledge base has {MOST_DOCUMENTS:,} documents already.",
            fix="Delete some of them, or create another knowledge base.",
        )


def _add(tx: Transaction, document: Document, now: int) -> Document:
    _refuse(flaws_of_document(document))
    _check_room(tx, document.collection_id)
    made = replace(document, id=tx.new_id(), due_at=now, created_at=now, updated_at=now)
    tx.knowledge.add(made)
    return made


def _make_due(tx: Transaction, document: Document, now: int) -> Document:
    """Store a changed document and make it due, so that it is indexed again."""
    _refuse(flaws_of_document(document))
    changed = replace(
        document,
        status=DocumentStatus.PENDING,
        revision=document.revision + 1,
        failures=0,
        due_at=now,
        updated_at=now,
    )
    if not tx.knowledge.update(changed, document.revision):
        raise Conflict("Another request has just changed the document.", fix="Try again.")
    return changed


def _renamed(document: Document, title: str) -> Document:
    """Return the document with the title that a person has given. Each chunk contains the title, so a document with a
    new title must be indexed again. For a page or a file of a folder, remove the hash, because a document with an
    unchanged hash is not indexed."""
    if title == document.title:
        return replace(document, named=True)
    kept = document.sha256 if document.kind is DocumentKind.FILE else ""
    return replace(document, title=title, named=True, sha256=kept)


def _discard(tx: Transaction, document: Document, now: int) -> None:
    """Add a row with the status `removed` for the document's old stored file, so that the indexer deletes this file."""
    old = Document(
        tx.new_id(), document.collection_id, DocumentKind.FILE, document.location, blob=document.blob, created_at=now
    )
    tx.knowledge.add(replace(old, status=DocumentStatus.REMOVED, due_at=now, updated_at=now))


def _refuse(flaws: Iterable[Flaw]) -> None:
    for flaw in flaws:
        raise Unprocessable(f"`{flaw.field}` {flaw.text}.", fix=flaw.fix)


def _note(tx: Transaction, kind: AccessKind, collection: Collection, by: Author, now: int) -> None:
    details = {"name": collection.name, "trusted": collection.trusted}
    tx.audit.add(access_entry(tx.new_id(), Access(kind, collection.slug, details), now, by.id))
