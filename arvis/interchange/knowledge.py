"""Exports and imports knowledge bases. The documents of folders belong to the configuration, so they are not part of an
export."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Mapping

from arvis.domain import knowledge as domain
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ArvisError
from arvis.domain.knowledge import LARGEST_DOCUMENT, DocumentKind
from arvis.interchange.format import Document, KnowledgeBase
from arvis.ports.store import Transaction
from arvis.services import knowledge as service

_ROWS = 200
#: The maximum number of skipped documents that the report of an import names.
_MOST_NAMED = 5
_FIELDS = ("name", "description", "trusted")


@dataclass(frozen=True, slots=True)
class Exported:
    """A document of a knowledge base. `blob` is the hash of its stored bytes, which are compressed; "" for a web page."""

    record: Document
    blob: str


def unpacked(data: bytes, sha256: str) -> bytes | None:
    """Return the bytes of a file of a knowledge base, whose stored bytes are compressed. Return None if they are
    damaged."""
    try:
        found = zlib.decompress(data)
    except zlib.error:
        return None
    return found if hashlib.sha256(found).hexdigest() == sha256 else None


def head_of(collection: domain.Collection) -> KnowledgeBase:
    """Return a knowledge base without its documents."""
    return KnowledgeBase(slug=collection.slug, **{name: getattr(collection, name) for name in _FIELDS})


def documents_of(tx: Transaction, collection_id: str, after: str) -> list[tuple[str, Exported]]:
    """Return the next files and web pages of a knowledge base with their ids."""
    return [
        (
            each.id,
            Exported(
                Document(
                    kind="page" if each.kind is DocumentKind.PAGE else "file",
                    location=each.location,
                    title=each.title if each.named else "",
                    refresh=each.refresh,
                    sha256=each.sha256 if each.kind is DocumentKind.FILE else None,
                ),
                each.blob,
            ),
        )
        for each in tx.interchange.documents(collection_id, after, _ROWS)
    ]


@dataclass(frozen=True, slots=True)
class Begun:
    """The begun import of a knowledge base. `changed` is None if the knowledge base is new. `missing` are the documents
    to import."""

    changed: bool | None
    missing: list[Document]
    why: str = ""


def begin(tx: Transaction, record: KnowledgeBase, *, by: str, overwrite: bool, now: int) -> Begun:
    """Create the knowledge base, or find the documents that the existing one does not have. With `overwrite`, also
    return the documents that differ, and replace the fields of the knowledge base."""
    author = service.Author(by, owner=True)
    fields = {name: getattr(record, name) for name in _FIELDS}
    known = tx.knowledge.collection(record.slug)
    if known is None:
        service.create(tx, domain.Collection("", record.slug, **fields), by=author, now=now)
        return Begun(None, record.documents)
    differs = any(getattr(known, name) != value for name, value in fields.items())
    if differs and overwrite:
        service.update(tx, known.slug, fields, by=author, now=now)
    missing = [each for each in record.documents if _is_missing(tx, known.id, each, overwrite=overwrite)]
    why = "its fields differ and stay as they are; `--replace` replaces them" if differs and not overwrite else ""
    if known.trusted and not record.trusted and not overwrite:
        # Texts of an untrusted knowledge base must not become trusted only because a trusted one has the same name
        # here.
        return Begun(False, [], "the existing knowledge base is trusted, and the one in the file is not")
    return Begun(differs and overwrite, missing, why)


def put_document(
    tx: Transaction, slug: str, record: Document, file: service.File | None, *, by: str, now: int
) -> str | None:
    """Add or replace a document. `file` is the file with its stored bytes; None for a web page. Return the reason if the
    document is refused."""
    author = service.Author(by, owner=True)
    try:
        if file is None:
            refresh = record.refresh
            service.put_page(tx, slug, record.location, title=record.title, refresh=refresh, by=author, now=now)
        else:
            service.put_file(tx, slug, file, by=author, now=now)
    except ArvisError as error:
        return " ".join(filter(None, [error.what, error.why]))
    return None


def file_of(record: Document, files: Mapping[str, bytes]) -> service.File | str | None:
    """Return the file of a document without its stored bytes, None for a web page, or the reason if the document cannot
    be imported."""
    if record.kind == "page":
        return None if record.location.startswith(("http://", "https://")) else "it is not a web address"
    data = files.get(record.sha256 or "")
    if data is None:
        return "the file does not contain its bytes"
    if len(data) > LARGEST_DOCUMENT:
        return f"it is larger than {LARGEST_DOCUMENT // 1_000_000} MB"
    return service.File(record.location, record.sha256 or "", "", len(data), record.title)


def reason(skipped: Collection[tuple[str, str]]) -> str:
    """Return the reason for an import of only a part of a knowledge base; `skipped` are documents with their
    reasons."""
    if not skipped:
        return ""
    named = "; ".join(f"{name[:60]}: {why}" for name, why in [*skipped][:_MOST_NAMED])
    more = f"; and {len(skipped) - _MOST_NAMED} more" if len(skipped) > _MOST_NAMED else ""
    return f"skipped documents: {named}{more}"


def _is_missing(tx: Transaction, collection_id: str, record: Document, *, overwrite: bool) -> bool:
    known = tx.knowledge.at(collection_id, record.location)
    if known is None:
        return True
    same = known.sha256 == record.sha256 if record.kind == "file" else known.refresh == record.refresh
    return overwrite and not (same and record.title in {"", known.title})
