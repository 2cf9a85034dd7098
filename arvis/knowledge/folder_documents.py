"""Compares the folders of the configuration with their documents. New and changed files become due. Documents whose
file or folder no longer exists are removed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import islice

import structlog

from arvis.domain.dataclass import replace
from arvis.domain.knowledge import Collection, Document, DocumentKind, DocumentStatus
from arvis.knowledge.folders import Folder, Listed, files_of
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding

log = structlog.get_logger(__name__)

#: The maximum number of documents that one transaction compares or adds.
_SLICE = 200
_REST_SECONDS = 0.05


class FolderDocuments:
    """The task that compares all folders with their documents: first when it starts, and then at the shortest interval
    of all folders."""

    def __init__(self, *, store: Store, clock: Clock, folders: Sequence[Folder]) -> None:
        self._store = store
        self._clock = clock
        self._folders = folders
        self._every = min((folder.every for folder in folders), default=float("inf"))
        self._due_at = float("-inf")

    @property
    def seconds_left(self) -> float:
        """The seconds until the next comparison."""
        return max(0.0, self._due_at - self._clock.monotonic())

    async def scan(self, holding: Holding) -> bool:
        """Compare all folders if a comparison is due. Return True if documents have changed. Documents of folders that
        are no longer configured are removed."""
        if self.seconds_left > 0:
            return False
        found: dict[str, list[tuple[Folder, Listed]]] = {}
        for folder in self._folders:
            listed = await asyncio.to_thread(files_of, folder)
            if listed.problem:
                log.warning("knowledge_folder_incomplete", folder=str(folder.path), why=listed.problem)
            found.setdefault(folder.collection, []).append((folder, listed))
        changed = False
        for collection in await self._store.write(_collections, holding, [*found], self._clock.now()):
            changed |= await self._compare(collection, found.get(collection.slug, []), holding)
        self._due_at = self._clock.monotonic() + self._every
        return changed

    async def _compare(self, collection: Collection, found: Sequence[tuple[Folder, Listed]], holding: Holding) -> bool:
        new = {location: stamp for _, listed in found for location, stamp in listed.stamps.items()}
        unknown = [str(folder.path) for folder, listed in found if listed.problem]
        changed, after = False, ""
        while documents := await self._store.read(_documents, collection.id, after):
            known = {each.location: new.pop(each.location, None) for each in documents}
            for each in documents:
                if known[each.location] is None and each.location.startswith(tuple(f"{path}/" for path in unknown)):
                    known[each.location] = each.stamp  # the folder could not be read completely
            if any(known[each.location] != each.stamp for each in documents):
                changed = True
                await self._store.write(_update, holding, documents, known, self._clock.now())
                await self._clock.sleep(_REST_SECONDS)
            after = documents[-1].id
        files = iter(new.items())
        while batch := dict(islice(files, _SLICE)):
            changed = True
            await self._store.write(_add, holding, collection, batch, self._clock.now())
            await self._clock.sleep(_REST_SECONDS)
        return changed


# -- scripts -------------------------------------------------------------------------------------------------------------


def _collections(tx: Transaction, holding: Holding, slugs: Sequence[str], now: int) -> Sequence[Collection]:
    """Return all collections, after creating the collections that the configuration names and that do not exist yet."""
    holding.check(tx)
    for slug in slugs:
        if tx.knowledge.collection(slug) is None:
            tx.knowledge.add_collection(Collection(tx.new_id(), slug, slug), now)
    return tx.knowledge.collections()


def _documents(tx: Transaction, collection_id: str, after: str) -> Sequence[Document]:
    return tx.knowledge.of_folder(collection_id, after, _SLICE)


def _update(
    tx: Transaction, holding: Holding, documents: Sequence[Document], stamps: Mapping[str, str | None], now: int
) -> None:
    """Make changed documents due, and remove the documents whose file no longer exists (their stamp is None)."""
    holding.check(tx)
    for each in documents:
        stamp = stamps[each.location]
        if stamp is None:
            tx.knowledge.remove(each.id, now)
        elif stamp != each.stamp:
            changed = replace(
                each,
                stamp=stamp,
                status=DocumentStatus.PENDING,
                revision=each.revision + 1,
                failures=0,
                due_at=now,
                updated_at=now,
            )
            tx.knowledge.update(changed, each.revision)


def _add(tx: Transaction, holding: Holding, collection: Collection, stamps: Mapping[str, str], now: int) -> None:
    holding.check(tx)
    for location, stamp in stamps.items():
        if tx.knowledge.at(collection.id, location) is None:
            tx.knowledge.add(
                Document(
                    tx.new_id(),
                    collection.id,
                    DocumentKind.FOLDER,
                    location,
                    stamp=stamp,
                    due_at=now,
                    created_at=now,
                    updated_at=now,
                )
            )
