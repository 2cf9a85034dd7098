"""Embeds messages, facts and chunks of documents in the background, so that searches also find texts with a similar
meaning.

The stored vectors show which texts are still to be embedded, so the work continues after a crash, and begins again when
another model is configured. New texts come first, then older texts, newest first. Chunks of new documents count as
older texts, because a document may have many chunks. A text without a vector is found only by its words.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import structlog

from arvis.bus import EventBus, Signal
from arvis.domain.dataclass import dataclass
from arvis.domain.embeddings import MOST_TEXTS, Purpose, Subject, SubjectKind, Vector
from arvis.domain.errors import ArvisError, ProviderError, ProviderErrorKind, StoreError
from arvis.domain.events import DeliveryAdded, GraphCompleted, MessageReceived
from arvis.domain.ids import first_id_at
from arvis.llm.embedding import Embedder
from arvis.ports.clock import Clock
from arvis.ports.embeddings import Unembedded
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding

log = structlog.get_logger(__name__)

#: The interval in seconds of the checks for new texts, and of the passes through all texts.
LOOK_SECONDS = 10.0
PASS_SECONDS = 86_400.0
#: The interval of the checks (seconds) while no event announces a message, if only this process uses the database.
IDLE_SECONDS = 60.0
#: The pause (seconds) after a failure, and its maximum. The pause doubles with each further failure.
FIRST_PAUSE, LONGEST_PAUSE = 30.0, 3_600.0
#: The maximum number of rows that one query reads.
_SLICE = 500
#: The number of the newest chunks of documents that are checked together with new messages.
_CHUNKS = 64
#: Each check begins this time (ms) before the previous check, because an older transaction may commit its texts later.
_OVERLAP_MS = 60_000
#: If the model refuses a text as too long, the text is cut to the first of these lengths (characters), and then to the
#: second.
_SHORTER = (1_000, 250)
_NEWS = (MessageReceived, GraphCompleted, DeliveryAdded)
_ABOUT_TEXTS = frozenset({ProviderErrorKind.TOO_LONG, ProviderErrorKind.REFUSED, ProviderErrorKind.BAD_REQUEST})


@dataclass(slots=True)
class _Pass:
    """The progress of one pass through all texts of a kind, from the newest to the oldest."""

    kind: SubjectKind
    position: str | None = None
    ended: bool = False


class EmbeddingIndexer:
    """The task that embeds new texts and, after a change of the model, all texts. One process runs this task for all
    processes. `texts_per_minute` returns the configured limit, and `configured` waits until the configuration names a
    model."""

    def __init__(
        self,
        *,
        embedder: Embedder,
        store: Store,
        bus: EventBus,
        clock: Clock,
        texts_per_minute: Callable[[], int],
        configured: Callable[[], Awaitable[None]],
    ) -> None:
        self._embedder = embedder
        self._store = store
        self._bus = bus
        self._clock = clock
        self._rate = texts_per_minute
        self._configured = configured
        #: The time (ms) of the last successful check for new texts.
        self._looked_at = clock.now()
        #: The pass through the older chunks of documents. None if all of the newest chunks had vectors.
        self._chunks: _Pass | None = None
        #: The texts that the vendor refused since the last pass through all texts began.
        self._refused: set[str] = set()

    async def run(self, holding: Holding) -> None:
        """Embed texts while a model is configured, until cancelled."""
        with self._bus.signal(*_NEWS) as news:
            while True:
                if (model := self._embedder.model) is not None:
                    await self._follow(model, holding, news)
                elif self._embedder.is_off and await self._delete_all(holding):
                    await self._configured()
                    continue
                await self._clock.sleep(LOOK_SECONDS)

    async def _delete_all(self, holding: Holding) -> bool:
        """Delete all vectors, because no model is configured any more. Return False if the database is not
        available."""
        try:
            if await self._store.read(are_stored):
                await self.prune("", holding)
        except StoreError as error:
            log.warning("vectors_not_deleted", error=error.what, why=error.why)
            return False
        return True

    async def _follow(self, model: str, holding: Holding, news: Signal) -> None:
        """Embed all texts with this model, and then all new texts, until another model is configured."""
        pause, passed_at = FIRST_PAUSE, 0.0
        older: Sequence[_Pass] = ()
        self._chunks = None
        while self._embedder.model == model:
            try:
                if not older and self._clock.monotonic() >= passed_at:
                    self._refused.clear()
                    older = [_Pass(kind) for kind in SubjectKind]
                await self.embed_new(model, holding)
                if self._chunks is not None and not await self.embed_older(model, [self._chunks], holding):
                    self._chunks = None
                worked = bool(older) and await self.embed_older(model, older, holding)
                if older and not worked:
                    await self.prune(model, holding)
                    older, passed_at = (), self._clock.monotonic() + PASS_SECONDS
                pause = FIRST_PAUSE
            except ArvisError as error:
                log.warning("not_embedded", error=error.what, why=error.why, fix=error.fix)
                await self._rest(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
            else:
                if not older and self._chunks is None:
                    await self._clock.sleep(LOOK_SECONDS)
                    if not self._store.shared:
                        # No event announces facts that people add, or another configured model, so the wait has a
                        # limit.
                        await news.wait(IDLE_SECONDS)

    async def _rest(self, pause: float) -> None:
        """Wait for `pause` seconds. If the account may be called again only later, wait until then."""
        until = self._embedder.rests_until
        await self._clock.sleep(pause if until is None else max(pause, (until - self._clock.now()) / 1000))

    async def embed_new(self, model: str, holding: Holding) -> None:
        """Embed the newest messages, facts and chunks of documents."""
        now, since = self._clock.now(), first_id_at(max(0, self._looked_at - _OVERLAP_MS))
        for kind in (SubjectKind.MESSAGE, SubjectKind.FACT):
            position: str | None = None
            while True:
                found = await self._store.read(unembedded, kind, model, position, _SLICE)
                await self._embed(model, found.subjects, holding)
                position = found.position
                if position is None or (position < since if kind is SubjectKind.MESSAGE else not found.subjects):
                    break
        self._looked_at = now
        await self._embed_new_chunks(model, holding)

    async def _embed_new_chunks(self, model: str, holding: Holding) -> None:
        """Embed the newest chunks. If some of them had no vector, begin a pass through the older chunks."""
        found = await self._store.read(unembedded, SubjectKind.CHUNK, model, None, _CHUNKS)
        left = [subject for subject in found.subjects if subject.id not in self._refused]
        if left and found.position is not None:
            self._chunks = _Pass(SubjectKind.CHUNK, found.position)
        await self._embed(model, left, holding)

    async def embed_older(self, model: str, passes: Sequence[_Pass], holding: Holding) -> bool:
        """Embed the next batch of texts of each pass. Return False when all passes have reached their oldest texts."""
        for each in passes:
            if not each.ended:
                found = await self._store.read(unembedded, each.kind, model, each.position, _SLICE)
                await self._embed(model, found.subjects, holding)
                each.position, each.ended = found.position, found.position is None
        return not all(each.ended for each in passes)

    async def prune(self, model: str, holding: Holding) -> None:
        """Delete the vectors of other models, and the vectors of texts that no longer exist."""
        for kind in SubjectKind:
            after: str | None = ""
            while after is not None:
                after = await self._store.write(prune, holding, kind, model, after=after)

    async def _embed(self, model: str, subjects: Sequence[Subject], holding: Holding) -> None:
        wanted = [subject for subject in subjects if subject.id not in self._refused]
        for start in range(0, len(wanted), MOST_TEXTS):
            batch = wanted[start : start + MOST_TEXTS]
            begun = self._clock.monotonic()
            vectors = await self._vectors(batch)
            if self._embedder.model != model:
                return
            await self._store.write(put, holding, model, vectors)
            wait = 60 * len(batch) / max(1, self._rate()) - (self._clock.monotonic() - begun)
            await self._clock.sleep(max(0.0, wait))

    async def _vectors(self, batch: Sequence[Subject]) -> Sequence[tuple[Subject, Vector]]:
        """Return the vectors of these texts, except the texts that the vendor refuses. If the vendor refuses a request
        because of its texts, send each text in a separate request."""
        try:
            vectors = await self._embedder.embed([subject.text for subject in batch], Purpose.DOCUMENT)
        except ProviderError as error:
            if error.kind not in _ABOUT_TEXTS:
                raise
            if len(batch) > 1:
                return [pair for subject in batch for pair in await self._vectors([subject])]
            return await self._shortened(batch[0], error)
        return [*zip(batch, vectors, strict=True)]

    async def _shortened(self, subject: Subject, error: ProviderError) -> Sequence[tuple[Subject, Vector]]:
        """Return the vector of the beginning of a text that is too long for the model. Return an empty list if the
        vendor refuses the beginning, too."""
        for most in _SHORTER:
            if error.kind is ProviderErrorKind.TOO_LONG and len(subject.text) > most:
                try:
                    [vector] = await self._embedder.embed([subject.text[:most]], Purpose.DOCUMENT)
                except ProviderError as again:
                    if again.kind not in _ABOUT_TEXTS:
                        raise
                    error = again
                else:
                    return [(subject, vector)]
        log.warning("text_not_embedded", kind=subject.kind, id=subject.id, error=error.what)
        self._refused.add(subject.id)
        return []


def are_stored(tx: Transaction) -> bool:
    return tx.embeddings.are_stored()


def unembedded(tx: Transaction, kind: SubjectKind, model: str, before: str | None, limit: int) -> Unembedded:
    return tx.embeddings.unembedded(kind, model, before, limit)


def put(tx: Transaction, holding: Holding, model: str, vectors: Sequence[tuple[Subject, Vector]]) -> None:
    """Store the vectors of the texts that have not changed since they were read."""
    holding.check(tx)
    # Every writer locks the rows in sorted order. Otherwise two writers could wait for each other.
    for subject, vector in sorted(vectors, key=lambda pair: pair[0].id):
        tx.embeddings.put(model, subject, vector)


def prune(tx: Transaction, holding: Holding, kind: SubjectKind, model: str, *, after: str) -> str | None:
    holding.check(tx)
    return tx.embeddings.prune(kind, model, after, _SLICE)
