"""Knowledge bases over HTTP: collections, their documents, and searches to try them.

Viewers may read and search, and operators may change documents. Only owners may trust a knowledge base or change a
trusted one, because models may follow instructions in its texts.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.domain.agents import SLUG
from arvis.domain.dataclass import replace
from arvis.domain.errors import TooLarge, ToolError, Unprocessable
from arvis.domain.knowledge import (
    LARGEST_DOCUMENT,
    LONGEST_REFRESH,
    LONGEST_TITLE,
    PATH,
    SHORTEST_REFRESH,
    Collection,
    Document,
    DocumentKind,
    DocumentStatus,
    FoundChunk,
)
from arvis.ports.clock import Clock
from arvis.ports.embeddings import MeaningOf
from arvis.ports.http import GuardedNetwork
from arvis.ports.insights import Insights
from arvis.ports.knowledge import DocumentCounts
from arvis.ports.store import Store, Transaction
from arvis.services import knowledge
from arvis.services.knowledge import Author, File
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE, OWN, READ
from arvis.web.http.models import CLEARING, About, Body, OkView, Page, Printable, Time, View, Whole
from arvis.web.http.requests import unusable
from arvis.web.http.schema import INTEGER, STRING, Schema, one_of

_TRUSTED = "true: an owner has declared that the documents contain no instructions of other people, so they do not taint a turn."
_REFRESH = f"Milliseconds between two fetches of a page, from {SHORTEST_REFRESH} to {LONGEST_REFRESH}; null: once."
#: The maximum number of parts in a response.
_MOST_PARTS = 50
_Title = Annotated[str, Printable(LONGEST_TITLE)]


class KnowledgeBaseView(View):
    slug: str
    name: str
    description: str
    trusted: Annotated[bool, About(_TRUSTED)]
    indexed: Annotated[int, About("Documents that searches can find.")]
    pending: Annotated[int, About("Documents that wait for the index.")]
    failed: Annotated[int, About("Documents whose last index failed.")]
    parts: Annotated[int, About("Parts that searches can find.")]
    agents: Annotated[list[str], About("Slugs of the agents that search it.")]
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, collection: Collection, counts: DocumentCounts, agents: list[str]) -> Self:
        return cls.showing(
            collection,
            indexed=counts.indexed,
            pending=counts.pending,
            failed=counts.failed,
            parts=counts.chunks,
            agents=agents,
        )


class NewKnowledgeBase(Body):
    slug: Annotated[str, About(pattern=f"^{SLUG.pattern}$")]
    name: Annotated[str | None, About("Default: the slug.")] = None
    description: Annotated[str | None, About("Agents read it to decide whether to search.")] = None
    trusted: Annotated[bool | None, About(_TRUSTED)] = None


class ChangedKnowledgeBase(Body):
    """Omitted fields are unchanged."""

    name: str | None = None
    description: str | None = None
    trusted: Annotated[bool | None, About(_TRUSTED)] = None


class DocumentView(View):
    id: str
    kind: DocumentKind
    location: Annotated[str, About("The name of the file, the address of the page, or the path in the folder.")]
    title: str
    content_type: str
    size: int
    status: DocumentStatus
    problem: Annotated[str, About("The reason of a failure, or the content that could not be read; empty: no problem.")]
    parts: int
    refresh: Annotated[int | None, About(_REFRESH)]
    next_at: Annotated[Time | None, About("The time of the next index or fetch.")]
    checked_at: Time | None
    indexed_at: Time | None
    created_at: Time
    updated_at: Time

    @classmethod
    def of(cls, document: Document) -> Self:
        return cls.showing(document, parts=document.chunks, next_at=document.due_at)


class NewDocument(Body):
    """A file needs `name`, and either `text` or `file`. A web page needs `url`."""

    name: Annotated[str | None, About("The file name. A document with the same name is replaced.")] = None
    text: Annotated[str | None, About("The text, in Markdown if the name ends with .md.")] = None
    file: Annotated[str | None, About("A PDF, DOCX, HTML, Markdown, CSV or text file.", contentEncoding="base64")] = (
        None
    )
    url: Annotated[Annotated[str, Printable(1_000)] | None, About("The address of a public page or file.")] = None
    title: Annotated[_Title | None, About("Default: the title in the document.")] = None
    refresh: Annotated[Whole | None, About(_REFRESH)] = None

    def data(self) -> bytes:
        """Return the bytes of the file."""
        if (self.text is None) == (self.file is None) or self.name is None:
            raise Unprocessable(
                "A document needs `url`, or `name` with either `text` or `file`.",
                fix="GET /openapi.json describes every field.",
            )
        try:
            found = self.text.encode() if self.text is not None else base64.b64decode(self.file or "", validate=True)
        except (binascii.Error, ValueError):
            raise Unprocessable("`file` must be base64.", fix="Send the bytes of the file in base64.") from None
        if len(found) > LARGEST_DOCUMENT:
            raise TooLarge(
                f"The document has {len(found):,} bytes, and the limit is {LARGEST_DOCUMENT:,}.",
                fix="Divide it into several files.",
            )
        return found


class ChangedDocument(Body):
    title: Annotated[_Title | None, About("Search results name it as part of their source.")] = None
    refresh: Annotated[Whole | None, CLEARING, About(_REFRESH)] = None


class PartView(View):
    mark: Annotated[str, About("The mark by which replies cite it.")]
    document_id: str
    source: Annotated[str, About("Title, page, headings and location in one line.")]
    headings: Annotated[list[str], About("The title of the document, and the headings above the part.")]
    page: int | None
    text: str

    @classmethod
    def of(cls, found: FoundChunk, /, **others: Any) -> Self:
        return cls.showing(
            found,
            headings=found.chunk.heading.split(PATH),
            page=found.chunk.page,
            text=found.chunk.content,
            **others,
        )


class FoundPartView(PartView):
    score: float
    place: Annotated[int | None, About("Its rank in the search by words.")]
    similarity: Annotated[float | None, About("The similarity of meaning to the search text, at most 1.")]


class FoundPartsView(View):
    items: Annotated[list[FoundPartView], About("Best first.")]


class DocumentPartsView(View):
    items: list[PartView]


class RefreshedView(View):
    documents: Annotated[int, About("The number of documents that are fetched or read again.")]


_ALL, _ONE = "/api/knowledge", "/api/knowledge/{slug}"
_DOCUMENTS, _DOCUMENT = f"{_ONE}/documents", f"{_ONE}/documents/{{document}}"
_NAMES: Mapping[str, Schema] = {"slug": {**STRING, "pattern": f"^{SLUG.pattern}$"}}
_TEXT: Mapping[str, Schema] = {"text": {**STRING, "minLength": 1, "maxLength": 200}}
_FROM: Mapping[str, Schema] = {"position": {**INTEGER, "minimum": 0, "default": 0}}


class KnowledgeRoutes(Routes):
    def __init__(
        self,
        *,
        insights: Insights,
        store: Store,
        gate: Authorizer,
        clock: Clock,
        meaning: MeaningOf,
        addresses: Callable[[], Awaitable[GuardedNetwork]],
    ) -> None:
        self._insights = insights
        self._store = store
        self._gate = gate
        self._clock = clock
        self._meaning = meaning
        self._addresses = addresses

    @route("GET", _ALL, "List knowledge bases by slug", READ, {200: Page[KnowledgeBaseView]})
    async def _list(self, _: Call) -> Response:
        collections = await self._store.read(_collections)
        counts, agents = await self._insights.knowledge_counts(), await self._insights.agents()
        items = [
            KnowledgeBaseView.of(
                each, counts.get(each.id, DocumentCounts()), [one.slug for one in agents if each.slug in one.knowledge]
            )
            for each in collections
        ]
        return answer_page(items, None)

    @route("POST", _ALL, "Create a knowledge base", OPERATE, {201: KnowledgeBaseView}, body=NewKnowledgeBase)
    async def _create(self, call: Call) -> Response:
        body = await call.read(NewKnowledgeBase)
        collection = Collection("", body.slug, body.name or body.slug, body.description or "", body.trusted or False)
        by = await self._author(call)
        await self._store.write(knowledge.create, collection, by=by, now=self._clock.now())
        return await self._shown(body.slug, 201)

    @route("GET", _ONE, "Show a knowledge base", READ, {200: KnowledgeBaseView}, names=_NAMES)
    async def _show(self, call: Call) -> Response:
        return await self._shown(_slug(call))

    @route(
        "PATCH",
        _ONE,
        "Change a knowledge base",
        OPERATE,
        {200: KnowledgeBaseView},
        body=ChangedKnowledgeBase,
        names=_NAMES,
    )
    async def _change(self, call: Call) -> Response:
        slug, changes = _slug(call), (await call.read(ChangedKnowledgeBase)).sent()
        by = await self._author(call)
        await self._store.write(knowledge.update, slug, changes, by=by, now=self._clock.now())
        return await self._shown(slug)

    @route("DELETE", _ONE, "Delete a knowledge base with its documents", OPERATE, {200: OkView}, names=_NAMES)
    async def _remove(self, call: Call) -> Response:
        by = await self._author(call)
        await self._store.write(knowledge.remove, _slug(call), by=by, now=self._clock.now())
        return done()

    @route(
        "GET",
        f"{_ONE}/search",
        "Search a knowledge base, as agents do",
        READ,
        {200: FoundPartsView},
        query={**_TEXT, "limit": PAGING["limit"]},
        names=_NAMES,
    )
    async def _search(self, call: Call) -> Response:
        collection = await self._store.read(knowledge.present, _slug(call))
        text = call.query("text")
        if text is None:
            raise unusable("text", "is missing")
        limit = min(call.limit, _MOST_PARTS)
        meaning = await self._meaning(text)
        found = await self._insights.search_knowledge(text, [collection.slug], limit, meaning)
        items = [
            FoundPartView.of(each, score=each.score, place=each.place, similarity=each.similarity) for each in found
        ]
        return answer(FoundPartsView(items=items))

    @route(
        "POST",
        f"{_ONE}/refresh",
        "Fetch all pages and read all failed documents again",
        OPERATE,
        {200: RefreshedView},
        names=_NAMES,
    )
    async def _refresh_all(self, call: Call) -> Response:
        number = await self._store.write(knowledge.refresh, _slug(call), None, now=self._clock.now())
        return answer(RefreshedView(documents=number))

    # -- documents ---------------------------------------------------------------------------------------------

    @route(
        "GET",
        _DOCUMENTS,
        "List documents, newest first",
        READ,
        {200: Page[DocumentView]},
        query={**PAGING, **_TEXT, "status": one_of([*DocumentStatus][:-1])},
        names=_NAMES,
    )
    async def _documents(self, call: Call) -> Response:
        collection = await self._store.read(knowledge.present, _slug(call))
        page = await self._insights.documents(
            collection.id,
            status=call.choice("status", DocumentStatus),
            text=call.query("text"),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        return answer_page([DocumentView.of(each) for each in page.items], page.next_cursor)

    @route(
        "POST",
        _DOCUMENTS,
        "Add a file or a web page, or replace the document with this name or address",
        OPERATE,
        {201: DocumentView},
        body=NewDocument,
        large=True,
        names=_NAMES,
    )
    async def _add(self, call: Call) -> Response:
        slug, body, by = _slug(call), await call.read(NewDocument), await self._author(call)
        if body.url is not None:
            if any(each is not None for each in (body.name, body.text, body.file)):
                raise unusable("url", "must not be combined with `name`, `text` or `file`")
            made = await self._store.write(
                knowledge.put_page,
                slug,
                await self._address(body.url),
                title=body.title or "",
                refresh=body.refresh,
                by=by,
                now=self._clock.now(),
            )
        else:
            made = await self._put_file(slug, body, by)
        return answer(DocumentView.of(made), 201)

    async def _put_file(self, slug: str, body: NewDocument, by: Author) -> Document:
        if body.refresh is not None:
            raise unusable("refresh", "is only for web pages")
        data = await asyncio.to_thread(body.data)
        digest = await asyncio.to_thread(_hash, data)
        file = File(body.name or "", digest, "", len(data), body.title or "")
        # The bytes are stored only if the document can be added.
        if (same := await self._store.read(knowledge.check_file, slug, file, by=by)) is not None:
            return same
        packed = await asyncio.to_thread(zlib.compress, data)
        file = replace(file, blob=await self._store.put_blob(packed))
        made = await self._store.write(knowledge.put_file, slug, file, by=by, now=self._clock.now())
        # Store the bytes again, because the deletion of another document with the same content may have removed them.
        await self._store.put_blob(packed)
        return made

    async def _address(self, url: str) -> str:
        """Return the address of a public page in its canonical form."""
        try:
            return (await (await self._addresses()).checked(url)).url
        except ToolError as error:
            raise Unprocessable(
                error.what, fix="Use the public http or https address of a page, or send the page as a file."
            ) from None

    @route("GET", _DOCUMENT, "Show a document", READ, {200: DocumentView}, names=_NAMES)
    async def _show_document(self, call: Call) -> Response:
        return answer(DocumentView.of(await self._document(call)))

    @route(
        "GET",
        f"{_DOCUMENT}/parts",
        "Show the parts into which a document is divided",
        READ,
        {200: DocumentPartsView},
        query=_FROM,
        names=_NAMES,
    )
    async def _parts(self, call: Call) -> Response:
        document = await self._document(call)
        position = call.query("position") or "0"
        if not position.isdecimal() or len(position) > 9:  # noqa: PLR2004 - a position in a document
            raise unusable("position", "must be a whole number from 0")
        found = await self._insights.knowledge_of(document, [_slug(call)], int(position), _MOST_PARTS)
        return answer(DocumentPartsView(items=[PartView.of(each) for each in found]))

    @route(
        "PATCH",
        _DOCUMENT,
        "Change the title or the refresh of a document",
        OPERATE,
        {200: DocumentView},
        body=ChangedDocument,
        names=_NAMES,
    )
    async def _change_document(self, call: Call) -> Response:
        changes, by = (await call.read(ChangedDocument)).sent(), await self._author(call)
        changed = await self._store.write(
            knowledge.change_document, _slug(call), call.id("document"), changes, by=by, now=self._clock.now()
        )
        return answer(DocumentView.of(changed))

    @route(
        "POST", f"{_DOCUMENT}/refresh", "Fetch or read a document again", OPERATE, {200: RefreshedView}, names=_NAMES
    )
    async def _refresh(self, call: Call) -> Response:
        number = await self._store.write(knowledge.refresh, _slug(call), call.id("document"), now=self._clock.now())
        return answer(RefreshedView(documents=number))

    @route("DELETE", _DOCUMENT, "Delete a document", OPERATE, {200: OkView}, names=_NAMES)
    async def _remove_document(self, call: Call) -> Response:
        by = await self._author(call)
        await self._store.write(
            knowledge.remove_document, _slug(call), call.id("document"), by=by, now=self._clock.now()
        )
        return done()

    async def _document(self, call: Call) -> Document:
        return await self._store.read(knowledge.document_in, _slug(call), call.id("document"))

    async def _author(self, call: Call) -> Author:
        return Author(await self._gate.principal_id(call.identity), owner=call.identity.role in OWN)

    async def _shown(self, slug: str, status: int = 200) -> Response:
        collection, agents = await self._store.read(_with_agents, slug)
        counts = (await self._insights.knowledge_counts()).get(collection.id, DocumentCounts())
        return answer(KnowledgeBaseView.of(collection, counts, agents), status)


def _slug(call: Call) -> str:
    """Return the slug in the path. Return "" if the text is not a slug, because no knowledge base has the slug ""."""
    return call.named("slug", SLUG) or ""


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _collections(tx: Transaction) -> list[Collection]:
    return [*tx.knowledge.collections()]


def _with_agents(tx: Transaction, slug: str) -> tuple[Collection, list[str]]:
    collection = knowledge.present(tx, slug)
    return collection, [agent.slug for agent in tx.agents.all() if slug in agent.knowledge]
