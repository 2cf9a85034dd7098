"""Knowledge bases on one database, with the parts that index and search them."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arvis.bus import EventBus
from arvis.domain.embeddings import Meaning
from arvis.domain.errors import ToolError
from arvis.domain.knowledge import Collection, Document, FoundChunk
from arvis.knowledge.folders import Folder
from arvis.knowledge.indexer import KnowledgeIndexer
from arvis.media.structure import StructureReader
from arvis.ports.clock import Clock
from arvis.ports.http import Fetched, Fetcher
from arvis.ports.insights import Insights
from arvis.ports.store import Store
from arvis.process.leases import Holding
from arvis.process.subprocesses import GuardedPrograms
from arvis.services import knowledge
from arvis.services.knowledge import Author, File
from arvis.store.open import Database, open_store
from arvis.testing.clock import SteppedClock
from tests.conformance.databases import id_maker, migrated

OWNER, OPERATOR = Author("ann", owner=True), Author("bob", owner=False)


@dataclass
class Web:
    """A `Fetcher` of pages that the test sets. Each entry is the body of an HTML page, or a status."""

    pages: dict[str, str | int] = field(default_factory=dict)
    fetched: list[str] = field(default_factory=list)

    async def fetch(
        self, url: str, *, max_bytes: int = 0, timeout: float = 0, headers: Mapping[str, str] | None = None
    ) -> Fetched:
        self.fetched.append(url)
        page = self.pages.get(url)
        if page is None:
            raise ToolError("The host is not known.")
        status, body = (page, "") if isinstance(page, int) else (200, page)
        return Fetched(url, status, "text/html", "utf-8", body.encode(), truncated=False)


@dataclass
class Scene:
    store: Store
    insights: Insights
    clock: SteppedClock
    bus: EventBus
    web: Web
    indexer: KnowledgeIndexer
    holding: Holding

    async def create(self, slug: str, *, trusted: bool = False) -> Collection:
        collection = Collection("", slug, slug.title(), trusted=trusted)
        return await self.store.write(knowledge.create, collection, by=OWNER, now=self.clock.now())

    async def put(self, slug: str, name: str, data: str | bytes, title: str = "") -> Document:
        return await put_file(self.store, slug, name, data, title=title, now=self.clock.now())

    async def put_page(self, slug: str, url: str, refresh: int | None = None) -> Document:
        return await self.store.write(
            knowledge.put_page, slug, url, title="", refresh=refresh, by=OWNER, now=self.clock.now()
        )

    async def work(self) -> None:
        await self.indexer.work(self.holding)

    async def document(self, known: Document) -> Document:
        found = await self.store.read(lambda tx: tx.knowledge.document(known.id))
        assert found is not None
        return found

    async def found(
        self, text: str, *slugs: str, limit: int = 10, meaning: Meaning | None = None
    ) -> Sequence[FoundChunk]:
        return await self.insights.search_knowledge(text, slugs, limit, meaning)

    async def texts(self, text: str, *slugs: str) -> list[str]:
        return [each.chunk.content for each in await self.found(text, *slugs)]


@contextlib.asynccontextmanager
async def open_scene(database: Database, folders: Sequence[Folder] = ()) -> AsyncIterator[Scene]:
    clock, bus, web = SteppedClock(), EventBus(), Web()
    await asyncio.to_thread(migrated, database, clock.now())

    async def fetcher() -> Web:
        return web

    async with open_store(database, boot="boot", new_id=id_maker()) as (store, insights):
        indexer = indexer_of(store, bus, clock, fetcher=fetcher, folders=folders)
        yield Scene(store, insights, clock, bus, web, indexer, Holding(clock=clock, lease=None, until=float("inf")))


async def put_file(store: Store, slug: str, name: str, data: str | bytes, *, title: str = "", now: int) -> Document:
    """Store a document of a knowledge base, as the API does."""
    content = data.encode() if isinstance(data, str) else data
    blob = await store.put_blob(zlib.compress(content))
    file = File(name, hashlib.sha256(content).hexdigest(), blob, len(content), title)
    return await store.write(knowledge.put_file, slug, file, by=OWNER, now=now)


async def no_fetcher() -> Any:
    raise AssertionError("no page is fetched here")


def indexer_of(
    store: Store,
    bus: EventBus,
    clock: Clock,
    *,
    fetcher: Callable[[], Awaitable[Fetcher]] = no_fetcher,
    folders: Sequence[Folder] = (),
) -> KnowledgeIndexer:
    """Return an indexer that does not pause between documents."""
    reader = StructureReader(programs=GuardedPrograms())
    return KnowledgeIndexer(
        store=store, bus=bus, clock=clock, reader=reader, fetcher=fetcher, folders=folders, rest=0
    )  # fmt: skip


def database_in(folder: Path, url: str | None) -> Database:
    return Database(folder / "arvis.db", url, folder)
