"""Indexes the documents of knowledge bases in the background (docs/adr/0084).

The rows of the documents show the work that is left, so the work continues after a crash. Each document is written in
small transactions as a new version. The last transaction makes this version the version that searches find, so a search
finds either the old text or the new text. The pauses are longer than the transactions, so that messages do not wait for
the database.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Concatenate, ParamSpec, TypeVar

import structlog

from arvis.bus import EventBus
from arvis.domain.changes import ChangeTopic
from arvis.domain.chunking import chunks_of, title_in
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import StoreError, ToolError
from arvis.domain.events import Changed
from arvis.domain.knowledge import LARGEST_DOCUMENT, LONGEST_TITLE, Document, DocumentKind, DocumentStatus, NewChunk
from arvis.domain.search import message_words
from arvis.domain.text import storable
from arvis.knowledge.folder_documents import FolderDocuments
from arvis.knowledge.folders import Folder, read_file
from arvis.media.structure import Structured, StructureReader
from arvis.ports.clock import Clock
from arvis.ports.http import Fetcher
from arvis.ports.knowledge import WordKey
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding

P = ParamSpec("P")
R = TypeVar("R")

log = structlog.get_logger(__name__)

#: The interval (seconds) of the checks for work, and the longest interval if only this process uses the database.
LOOK_SECONDS = 5.0
IDLE_SECONDS = 600.0
#: The shortest pause (seconds) after a transaction. A pause is at least `_SHARE` times as long as the transaction, so
#: that the index takes at most a quarter of the writer's time.
REST_SECONDS = 0.02
_SHARE = 3.0
#: The number of chunks that one transaction writes, adds to the index, or deletes.
_CHUNKS = 25
#: The maximum number of documents of a removed collection that one transaction marks.
_REMOVED = 500
#: The timeout (seconds) of a fetch.
_TIMEOUT = 30.0
_OK = 200
#: The first pause (ms) after a failed fetch, the longest pause, and a number of failures. The pause doubles with each
#: further failure. A page without a refresh interval is not fetched again after `_TRIES` failures.
_FIRST_PAUSE, _LONGEST_PAUSE, _TRIES = 60_000, 86_400_000, 6
#: After this many seconds, the words of deleted documents are again removed from the search index.
_PURGE_SECONDS = 86_400.0
#: The minimum interval (seconds) between two announcements of changes.
_ANNOUNCE_SECONDS = 2.0
#: The longest stored reason of a failure, in characters.
_LONGEST_PROBLEM = 500


class _Failure(Exception):
    """The reason why a document was not indexed, as a part of a sentence. `again` is True if a later attempt may
    succeed."""

    def __init__(self, problem: str, *, again: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.again = again


@dataclass(frozen=True, slots=True)
class _Content:
    """The text of a document. `sha256` identifies the content. `text` is None if the content has not changed since it
    was indexed."""

    sha256: str
    size: int
    text: Structured | None


class KnowledgeIndexer:
    """The task that does the due work on documents. One process runs this task for all processes. `fetcher` returns the
    fetcher of web pages. `folders` returns the folders of the configuration. `rest` is the shortest pause in
    seconds."""

    def __init__(
        self,
        *,
        store: Store,
        bus: EventBus,
        clock: Clock,
        reader: StructureReader,
        fetcher: Callable[[], Awaitable[Fetcher]],
        folders: Sequence[Folder],
        rest: float = REST_SECONDS,
    ) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._reader = reader
        self._fetcher = fetcher
        self._folders = folders
        self._rest = rest
        self._scans = FolderDocuments(store=store, clock=clock, folders=folders)
        self._purge_at = 0.0
        self._announced_at = 0.0
        self._unannounced = False

    async def run(self, holding: Holding) -> None:
        """Do the work that becomes due, until cancelled."""
        with self._bus.signal(Changed, when=lambda event: event.topic == ChangeTopic.KNOWLEDGE) as changed:
            while True:
                try:
                    await self.work(holding)
                    wait = await self._wait()
                except StoreError as error:
                    log.warning("knowledge_not_indexed", error=error.what, why=error.why)
                    wait = LOOK_SECONDS
                await changed.wait(wait)

    async def _wait(self) -> float:
        """Return the seconds until the next check for work."""
        if self._store.shared:
            return LOOK_SECONDS
        due = await self._store.read(_next_due)
        times = [IDLE_SECONDS, self._scans.seconds_left]
        if due is not None:
            times.append(max(0.0, (due - self._clock.now()) / 1000))
        return min(times)

    async def work(self, holding: Holding) -> None:
        """Do all work that is due."""
        if await self._store.read(_is_outdated):
            await self._write(_clear_index, holding)
        await self._index_chunks(holding)
        if await self._scans.scan(holding):
            self._announce()
        while True:
            if await self._store.read(_has_removed):
                while await self._write(_clear_collection, holding, self._clock.now()):
                    pass
            document = await self._store.read(_due, self._clock.now())
            if document is None:
                break
            await self._do(document, holding)
        if self._unannounced:
            self._publish()
        await self._purge(holding)

    async def _do(self, document: Document, holding: Holding) -> None:
        if document.status is DocumentStatus.REMOVED:
            await self._delete(document, holding)
        elif await self._write(_begin, holding, document, self._clock.now()):
            begun = replace(document, failures=document.failures + 1)
            try:
                await self._index(begun, holding)
            except _Failure as failure:
                log.warning("document_not_indexed", document=document.id, kind=document.kind, problem=failure.problem)
                await self._write(_put, holding, _failed(begun, failure, self._clock.now()))
        self._announce()

    def _announce(self) -> None:
        """Announce that documents have changed, at most once in `_ANNOUNCE_SECONDS`. At its end, `work` makes an
        announcement that this limit has delayed."""
        self._unannounced = True
        if self._clock.monotonic() >= self._announced_at:
            self._publish()

    def _publish(self) -> None:
        self._unannounced = False
        self._announced_at = self._clock.monotonic() + _ANNOUNCE_SECONDS
        self._bus.publish(Changed(ChangeTopic.KNOWLEDGE))

    # -- one document ------------------------------------------------------------------------------------------

    async def _index(self, document: Document, holding: Holding) -> None:
        if document.status is DocumentStatus.PENDING and document.failures > _TRIES:
            raise _Failure("Arvis ended unexpectedly each time that it read this document")
        # An attempt that the end of the process interrupted may have left chunks of other versions.
        await self._drop_others(document, document.version, holding)
        content = await self._content(document)
        now = self._clock.now()
        checked = replace(
            document,
            due_at=None if document.refresh is None else now + document.refresh,
            failures=0,
            checked_at=now,
            updated_at=now,
        )
        if content.text is None:
            status = DocumentStatus.INDEXED
            problem = "" if document.status is DocumentStatus.FAILED else document.problem
            await self._write(_put, holding, replace(checked, status=status, problem=problem))
            return
        text = content.text
        title = document.title if document.named else _title_of(document, text)
        version = document.version + 1
        count = await self._write_chunks(document, version, title, text, holding)
        indexed = replace(
            checked,
            title=title,
            content_type=text.content_type,
            sha256=content.sha256,
            size=content.size,
            status=DocumentStatus.INDEXED,
            problem=text.problem,
            version=version,
            chunks=count,
            due_at=now,
            indexed_at=now,
        )
        kept = await self._write(_put, holding, indexed)
        # If a person has changed the document meanwhile (`kept` is False), drop the new chunks; the work on the
        # document begins again.
        await self._drop_others(document, version if kept else document.version, holding)
        if kept:
            # The document stays due until its old chunks are deleted, so that they are also deleted after a crash.
            await self._write(_put, holding, replace(indexed, due_at=checked.due_at))

    async def _content(self, document: Document) -> _Content:
        match document.kind:
            case DocumentKind.FILE:
                data = await self._stored(document)
                return await self._read(document, data, document.sha256)
            case DocumentKind.FOLDER:
                data = await self._in_folder(document)
                sha256 = await asyncio.to_thread(_hash, data)
                if document.version and sha256 == document.sha256:
                    return _Content(sha256, len(data), None)
                return await self._read(document, data, sha256)
            case DocumentKind.PAGE:
                return await self._page(document)

    async def _read(self, document: Document, data: bytes, sha256: str) -> _Content:
        text = await self._reader.read(data, document.location)
        return _Content(sha256, len(data), _readable(text))

    async def _stored(self, document: Document) -> bytes:
        packed = await self._store.get_blob(document.blob)
        if packed is None:
            raise _Failure("the stored file is missing; send the document again")
        try:
            return await asyncio.to_thread(zlib.decompress, packed)
        except zlib.error:
            raise _Failure("the stored file is damaged; send the document again") from None

    async def _in_folder(self, document: Document) -> bytes:
        try:
            data = await asyncio.to_thread(read_file, self._folders, document.location)
        except OSError as error:
            raise _Failure(f"the file cannot be read ({error.strerror or error})") from None
        if len(data) > LARGEST_DOCUMENT:
            raise _Failure(f"it is larger than {LARGEST_DOCUMENT:,} bytes")
        return data

    async def _page(self, document: Document) -> _Content:
        try:
            fetcher = await self._fetcher()
            answer = await fetcher.fetch(document.location, max_bytes=LARGEST_DOCUMENT, timeout=_TIMEOUT)
        except ToolError as error:
            raise _Failure(f"the page cannot be fetched ({error.what.rstrip('.')})", again=True) from None
        if answer.status != _OK:
            raise _Failure(f"the server answered with the status {answer.status}", again=True)
        text = _readable(await self._reader.read_answer(answer))
        # The bytes of a page may differ at each fetch, for example by an advertisement, so the text is compared.
        sha256 = await asyncio.to_thread(_hash, text.text.encode())
        unchanged = document.version > 0 and sha256 == document.sha256
        return _Content(sha256, len(answer.body), None if unchanged else text)

    async def _write_chunks(
        self, document: Document, version: int, title: str, text: Structured, holding: Holding
    ) -> int:
        """Write the chunks of a new version and add them to the index. Return their number."""
        chunks = chunks_of(text.text, title, markdown=text.markdown)
        count = 0
        while batch := await asyncio.to_thread(_next_of, chunks):
            keys = await self._store.read(_new_keys, [words for _, words in batch])
            await self._write(_add, holding, document, version, batch, keys)
            count += len(batch)
        # The index follows the order of the chunks: `_add` adds no chunk while earlier chunks are missing in the index.
        await self._index_chunks(holding)
        return count

    async def _drop_others(self, document: Document, version: int, holding: Holding) -> None:
        while await self._store.read(_has_others, document.id, version):
            await self._write(_drop_others, holding, document.id, version)

    async def _delete(self, document: Document, holding: Holding) -> None:
        await self._drop_others(document, -1, holding)
        if document.blob and not await self._store.read(_is_blob_used, document):
            await self._store.delete_blob(document.blob)
        await self._write(_drop, holding, document.id)

    # -- the search index --------------------------------------------------------------------------------------

    async def _index_chunks(self, holding: Holding) -> None:
        while texts := await self._store.read(_unindexed):
            words = await asyncio.to_thread(_split, texts)
            keys = await self._store.read(_new_keys, [*words.values()])
            await self._write(_advance, holding, words, keys)

    async def _purge(self, holding: Holding) -> None:
        """Remove the words of deleted documents from the files of the index, unless this was done a short time ago."""
        if self._clock.monotonic() < self._purge_at:
            return
        erasures = await self._store.read(_erasures)
        if erasures is None:
            return
        begin = True
        while await self._write(_purge_part, holding, begin=begin):
            begin = False
        word: str | None = ""
        while word is not None:
            word = await self._write(_drop_words, holding, word)
        await self._write(_purged, holding, erasures)
        self._purge_at = self._clock.monotonic() + _PURGE_SECONDS

    async def _write(
        self,
        script: Callable[Concatenate[Transaction, P], R],
        holding: Holding,
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R:
        """Run a script, and then pause for a longer time than the script took, so that other scripts can run."""
        begun = time.perf_counter()
        result = await self._store.write(_checked, holding, lambda tx: script(tx, *args, **kwargs))
        if self._rest:
            await self._clock.sleep(max(self._rest, _SHARE * (time.perf_counter() - begun)))
        return result


def _title_of(document: Document, text: Structured) -> str:
    """Return the title in a document, else its first heading, else the name of its file."""
    found = text.title or (title_in(text.text) if text.markdown else "")
    name = document.location.rstrip("/").rpartition("/")[2] or document.location
    return storable(found or name)[:LONGEST_TITLE]


def _readable(text: Structured) -> Structured:
    if not text.text.strip():
        raise _Failure(text.problem or "there is no text in it")
    return text


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _next_of(chunks: Iterator[NewChunk]) -> Sequence[tuple[NewChunk, Sequence[str]]]:
    """Return the next chunks, each with its words."""
    return [(chunk, message_words(chunk.text)) for chunk in islice(chunks, _CHUNKS)]


def _split(texts: Mapping[int, str]) -> Mapping[int, Sequence[str]]:
    return {number: message_words(text) for number, text in texts.items()}


def _failed(document: Document, failure: _Failure, now: int) -> Document:
    """Return the document after a failed attempt. An earlier version stays in the index."""
    due = None
    if failure.again and (document.refresh is not None or document.failures < _TRIES):
        due = now + min(_FIRST_PAUSE << min(document.failures, 11), _LONGEST_PAUSE)
    elif document.refresh is not None:
        due = now + document.refresh
    return replace(
        document,
        status=DocumentStatus.FAILED,
        problem=storable(failure.problem)[:_LONGEST_PROBLEM],
        due_at=due,
        checked_at=now,
        updated_at=now,
    )


# -- scripts -------------------------------------------------------------------------------------------------------------


def _checked(tx: Transaction, holding: Holding, script: Callable[[Transaction], R]) -> R:
    holding.check(tx)
    return script(tx)


def _is_outdated(tx: Transaction) -> bool:
    return tx.chunks.is_outdated()


def _due(tx: Transaction, now: int) -> Document | None:
    return tx.knowledge.due(now)


def _next_due(tx: Transaction) -> int | None:
    return tx.knowledge.next_due()


def _has_removed(tx: Transaction) -> bool:
    return tx.knowledge.has_removed()


def _has_others(tx: Transaction, document_id: str, version: int) -> bool:
    return tx.chunks.has_others(document_id, version)


def _is_blob_used(tx: Transaction, document: Document) -> bool:
    return tx.knowledge.is_blob_used(document.blob, document.id)


def _unindexed(tx: Transaction) -> Mapping[int, str]:
    return tx.chunks.unindexed(_CHUNKS)


def _new_keys(tx: Transaction, words: Sequence[Sequence[str]]) -> Sequence[WordKey]:
    return tx.chunks.new_keys({word for of_text in words for word in of_text})


def _erasures(tx: Transaction) -> int | None:
    return tx.chunks.erasures()


def _clear_index(tx: Transaction) -> None:
    tx.chunks.clear_index()


def _clear_collection(tx: Transaction, now: int) -> bool:
    return tx.knowledge.clear_collection(_REMOVED, now)


def _begin(tx: Transaction, document: Document, now: int) -> bool:
    """Count an attempt, so that a document that crashes the process does not block the others. Return False if a person
    has changed the document."""
    begun = replace(document, failures=document.failures + 1, due_at=now + _FIRST_PAUSE)
    return tx.knowledge.update(begun, document.revision)


def _put(tx: Transaction, document: Document) -> bool:
    return tx.knowledge.update(document, document.revision)


def _add(
    tx: Transaction,
    document: Document,
    version: int,
    batch: Sequence[tuple[NewChunk, Sequence[str]]],
    keys: Sequence[WordKey],
) -> None:
    """Add chunks to the document, and their words to the index."""
    numbers = tx.chunks.add(document, version, [chunk for chunk, _ in batch])
    tx.chunks.advance({number: words for number, (_, words) in zip(numbers, batch, strict=True)}, keys)


def _drop_others(tx: Transaction, document_id: str, version: int) -> int:
    return tx.chunks.drop_others(document_id, version, _CHUNKS)


def _drop(tx: Transaction, document_id: str) -> None:
    tx.knowledge.drop(document_id)


def _advance(tx: Transaction, words: Mapping[int, Sequence[str]], keys: Sequence[WordKey]) -> int:
    return tx.chunks.advance(words, keys)


def _purge_part(tx: Transaction, *, begin: bool) -> bool:
    return tx.chunks.purge(begin=begin)


def _drop_words(tx: Transaction, after: str) -> str | None:
    return tx.chunks.drop_words(after)


def _purged(tx: Transaction, erasures: int) -> None:
    tx.chunks.purged(erasures)
