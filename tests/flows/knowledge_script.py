"""Insights into knowledge bases for tests without any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.knowledge import Document, FoundChunk
from arvis.ports.knowledge import DocumentCounts
from arvis.ports.pages import Page


class NoKnowledge:
    async def knowledge_counts(self) -> Mapping[str, DocumentCounts]:
        return {}

    async def documents(self, collection_id: str, **wanted: Any) -> Page[Document]:
        return Page((), None)

    async def search_knowledge(
        self, text: str, slugs: Sequence[str], limit: int, meaning: Any = None
    ) -> Sequence[FoundChunk]:
        return ()

    async def knowledge_around(
        self, number: int, slugs: Sequence[str], before: int, after: int
    ) -> Sequence[FoundChunk]:
        return ()

    async def knowledge_of(
        self, document: Document, slugs: Sequence[str], position: int, limit: int
    ) -> Sequence[FoundChunk]:
        return ()
