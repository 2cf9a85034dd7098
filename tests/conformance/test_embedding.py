"""Messages and facts are embedded, found by their meaning, and their vectors go with them, on both databases."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from arvis.app.providers import open_providers
from arvis.bus import EventBus
from arvis.commands.invocation import Invocation
from arvis.commands.memory import memory
from arvis.domain.conversations import Conversation
from arvis.domain.embeddings import EmbeddingModel, SubjectKind, Vector, differing_signs
from arvis.domain.knowledge import Collection
from arvis.domain.memory import Category, FactStatus, NewFact, asked_words
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.money import SpendingLimits
from arvis.domain.runs import Account, CallTimeouts
from arvis.embedding import LOOK_SECONDS, EmbeddingIndexer
from arvis.llm.budgets import BudgetSession
from arvis.llm.embedding import Embedder
from arvis.llm.prices import Price, Prices
from arvis.memory.recall import recall
from arvis.ports.insights import Insights, UsageBy
from arvis.ports.store import Store, Transaction
from arvis.process.clock import SystemClock
from arvis.process.leases import Holding
from arvis.services import knowledge
from arvis.store.open import Database, open_store
from arvis.testing.clock import SteppedClock
from arvis.testing.openai_server import Failure, Hang, OpenAIServer
from tests.conformance.databases import id_maker, migrated
from tests.conformance.knowledge_kit import OWNER, indexer_of, put_file
from tests.conformance.store.scripts import AGENT
from tests.conformance.test_message_search import write
from tests.fixtures.embedding_server import embedding_server, texts_of, vector_of

SCOPE = "principal:ann"


@dataclass
class Desk:
    """The parts that embed and search, on one database, with a server for embeddings."""

    store: Store
    insights: Insights
    server: OpenAIServer
    clock: SteppedClock
    embedder: Embedder
    indexer: EmbeddingIndexer
    holding: Holding
    choice: list[EmbeddingModel | None]
    limits: list[SpendingLimits]
    #: Set when the indexer waits for a model, and when one is configured.
    waiting: asyncio.Event
    configured: asyncio.Event

    async def embed_all(self) -> None:
        model = self.embedder.model or ""
        await self.indexer.embed_new(model, self.holding)

    async def found(self, text: str, principal_id: str | None = None) -> list[str]:
        meaning = await self.embedder.meaning(text, within=30)
        rows = await self.insights.search_messages(text, principal_id=principal_id, limit=10, meaning=meaning)
        return [row.id for row in rows]

    async def stored(self, model: str) -> int:
        """Return the number of messages that have no vector of this model."""
        return len(
            (await self.store.read(lambda tx: tx.embeddings.unembedded(SubjectKind.MESSAGE, model, None, 99))).subjects
        )


@pytest.fixture(params=["sqlite", "postgres"])
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else None
    database = Database(tmp_path / "arvis.db", url, tmp_path)
    migrated(database)
    clock = SteppedClock()
    choice: list[EmbeddingModel | None] = [EmbeddingModel("vendor", "embed-1")]
    limits = [SpendingLimits()]
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(embedding_server())
        store, insights = await stack.enter_async_context(open_store(database, boot="boot", new_id=id_maker()))
        timeouts = CallTimeouts(60, 60)
        opening = open_providers(clock=SystemClock(), timeouts=timeouts, folder=tmp_path)
        providers = await stack.enter_async_context(opening)
        account = Account("vendor", "custom", "chat", base_url=f"{server.base_url}/v1")
        embedder = Embedder(
            choice=lambda: choice[0],
            accounts=lambda: [account],
            providers=providers,
            store=store,
            budget=BudgetSession(store=store, limits=lambda: limits[0], clock=clock),
            prices=Prices(own={"embed-1": Price(1_000.0, 0.0)}),
            clock=clock,
            new_id=id_maker(),
        )
        waiting, configured = asyncio.Event(), asyncio.Event()

        async def until_configured() -> None:
            waiting.set()
            await configured.wait()

        indexer = EmbeddingIndexer(
            embedder=embedder,
            store=store,
            bus=EventBus(),
            clock=clock,
            texts_per_minute=lambda: 600,
            configured=until_configured,
        )
        holding = Holding(clock=clock, lease=None, until=float("inf"))
        yield Desk(store, insights, server, clock, embedder, indexer, holding, choice, limits, waiting, configured)


TEXTS = {
    "A": "My old automobile needs new tyres before winter.",
    "B": "The puppy of my neighbour barks all night.",
    "C": "We bought apples and pears at the market.",
    "D": "ok",
}


async def test_messages_are_found_by_their_meaning(desk: Desk) -> None:
    await desk.store.write(write, TEXTS)
    await desk.store.write(write, {"E": "A vehicle of somebody else stood in the yard."}, principal="bob")
    assert await desk.found("Which car?", "ann") == []
    await desk.embed_all()
    assert (await desk.found("Which car?", "ann"))[0] == "A"
    assert set((await desk.found("Which car?"))[:2]) == {"A", "E"}
    assert "E" not in await desk.found("Which car?", "ann")
    assert (await desk.found('"barks" hound'))[0] == "B"
    sent = [text for request in desk.server.requests for text in texts_of(request)]
    assert "ok" not in sent
    before = len(desk.server.requests)
    await desk.embed_all()
    assert await desk.found("Which car?", "ann")
    assert len(desk.server.requests) == before, "vectors of texts and questions are computed once"


async def test_another_model_embeds_all_texts_again(desk: Desk) -> None:
    await desk.store.write(write, TEXTS)
    await desk.embed_all()
    desk.choice[0] = EmbeddingModel("vendor", "embed-2", 64)
    assert desk.embedder.model == "custom/embed-2@64"
    assert await desk.found("Which automobile?") == ["A"], "words alone"
    await desk.embed_all()
    assert (await desk.found("Which car?"))[0] == "A"
    assert await desk.stored("custom/embed-2@64") == 0
    desk.choice[0] = None
    assert desk.embedder.is_off
    running = asyncio.create_task(desk.indexer.run(desk.holding))
    try:
        async with asyncio.timeout(60):
            await desk.waiting.wait()
            assert not await desk.store.read(lambda tx: tx.embeddings.are_stored())
            assert LOOK_SECONDS not in desk.clock.slept, "the indexer does not look again without a model"
            desk.choice[0] = EmbeddingModel("vendor", "embed-1")
            desk.configured.set()
            while await desk.stored("custom/embed-1"):  # noqa: ASYNC110 - the indexer has no event
                await asyncio.sleep(0.01)
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_vectors_go_with_their_texts(desk: Desk) -> None:
    await desk.store.write(write, TEXTS)
    fact = await desk.store.write(add_facts, ["Ann owns a dark green automobile."])
    await desk.embed_all()
    await desk.store.write(lambda tx: tx.message_index.advance({}))
    await desk.store.write(lambda tx: tx.incoming.replace_text("A", "We drank tea in the garden.", 9))
    assert await desk.found("Which car?") == []
    await desk.store.write(lambda tx: tx.erasures.erase_words(["B"]))
    assert await desk.found("hound") == []
    [number] = fact
    await desk.store.write(end_fact, number)
    await desk.store.write(lambda tx: tx.embeddings.drop(SubjectKind.MESSAGE, ["C"]))
    assert not await desk.store.read(lambda tx: tx.embeddings.are_stored())


async def test_a_text_that_changes_during_the_call_gets_no_vector(desk: Desk) -> None:
    await desk.store.write(write, TEXTS)
    found = await desk.store.read(lambda tx: tx.embeddings.unembedded(SubjectKind.MESSAGE, "m", None, 99))
    [subject] = [each for each in found.subjects if each.id == "A"]
    changed = replace(subject, text="an earlier text")
    vector = Vector.of(vector_of("x"))
    assert not await desk.store.write(lambda tx: tx.embeddings.put("m", changed, vector))
    assert await desk.store.write(lambda tx: tx.embeddings.put("m", subject, vector))


async def test_words_alone_answer_while_the_vendor_fails(desk: Desk) -> None:
    await desk.store.write(write, TEXTS)
    await desk.embed_all()
    desk.server.script.append(Hang())
    assert await desk.embedder.meaning("Which automobile is it?", within=0.01) is None
    desk.server.script.append(Failure(429, headers={"Retry-After": "120"}))
    assert await desk.found("tyres") == ["A"]
    assert desk.embedder.rests_until == desk.clock.now() + 120_000
    before = len(desk.server.requests)
    assert await desk.found("apples") == ["C"]
    assert len(desk.server.requests) == before, "an account that asked for a pause is not called"
    await desk.clock.sleep(121)
    assert (await desk.found("hound"))[0] == "B"
    assert desk.embedder.rests_until is None


async def test_calls_are_paid_from_the_budget(desk: Desk) -> None:
    await desk.store.write(write, TEXTS)
    await desk.embed_all()
    sums = (await desk.insights.usage(UsageBy.MODEL, 0, 1 << 44, "UTC")).total
    assert sums.input_tokens == sum(len(text.split()) for text in TEXTS.values()) - 1
    assert (sums.calls, sums.cost_micros, sums.unpriced) == (1, sums.input_tokens * 1_000, 0)
    desk.limits[0] = SpendingLimits(daily=1)
    before = len(desk.server.requests)
    assert await desk.found("hound") == []
    assert len(desk.server.requests) == before


async def test_texts_that_the_model_refuses_do_not_stop_the_others(desk: Desk) -> None:
    long = " ".join(["automobile"] * 300)
    await desk.store.write(write, {**TEXTS, "F": long, "G": "Something that no filter likes."})
    refused = Failure(400, "content_filter")
    too_long = Failure(400, "context_length_exceeded")
    # First the batch, then each text from the newest on: `G` is refused, `F` is too long, its first 1,000 characters are not.
    desk.server.script.extend([too_long, refused, too_long])
    await desk.embed_all()
    assert await desk.stored("custom/embed-1") == 1
    assert (await desk.found("car"))[0] == "F"
    before = len(desk.server.requests)
    await desk.embed_all()
    assert len(desk.server.requests) == before


async def test_facts_for_a_prompt_are_found_by_their_meaning(desk: Desk) -> None:
    texts = [f"Ann has read book number {number} of the list." for number in range(30)]
    texts[3] = "Ann's physician is called Winter."
    await desk.store.write(add_facts, texts)
    await desk.store.write(weaken, 4)
    meaning = None

    def recalled(tx: Transaction) -> Sequence[str]:
        found = recall(tx, AGENT.id, [SCOPE], "Who is my doctor?", desk.clock.now(), meaning=meaning)
        assert found.searched
        return [hit.fact.content for hit in found.found] or [fact.content for fact in found.facts]

    assert texts[3] not in await desk.store.read(recalled)
    await desk.embed_all()
    meaning = await desk.embedder.meaning("Who is my doctor?", within=30)
    assert (await desk.store.read(recalled))[0] == texts[3]
    page = await desk.insights.facts(
        agent=AGENT.id, scope=SCOPE, category=None, status=FactStatus.ACTIVE, words=asked_words("doctor"), limit=5,
        cursor=None, meaning=meaning,
    )  # fmt: skip
    assert page.items[0].content == texts[3]
    ann = Principal(SCOPE.partition(":")[2], "telegram", "ann", "Ann", PrincipalRole.MEMBER)
    place = Address("telegram", "main", "ann")
    command = Invocation(
        "memory",
        "search Who is my doctor?",
        place,
        ann,
        AGENT,
        Conversation("c1", AGENT.id, place, 0, direct=True),
        "UTC",
    )
    assert texts[3] not in (await desk.store.write(memory, command, desk.clock.now()))
    answer = await desk.store.write(memory, replace(command, meaning=meaning), desk.clock.now())
    assert texts[3] in answer.splitlines()[0]


def add_facts(tx: Transaction, texts: Sequence[str]) -> list[int]:
    if tx.agents.by_slug(AGENT.slug) is None:
        tx.agents.add(AGENT, 0)
    return [
        tx.facts.add(NewFact(AGENT.id, SCOPE, Category.LEARNED_PATTERN, text), 1_000 + number).number
        for number, text in enumerate(texts)
    ]


def weaken(tx: Transaction, number: int) -> None:
    fact = tx.facts.by_number(number)
    assert fact is not None
    tx.facts.update(replace(fact, confidence=300), 9_000)


def end_fact(tx: Transaction, number: int) -> None:
    fact = tx.facts.by_number(number)
    assert fact is not None
    tx.facts.update(replace(fact, status=FactStatus.DELETED), 9_000)


def test_vectors_keep_their_direction_in_bytes() -> None:
    one, other = Vector.of([0.5, -1.0, 0.25, 0.0] * 4), Vector.of([0.4, -0.9, 0.3, -0.1] * 4)
    assert one.similarity(other) == pytest.approx(0.985, abs=0.01)
    assert one.similarity(Vector.of([-0.5, 1.0, -0.25, 0.0] * 4)) == pytest.approx(-1, abs=0.001)
    assert differing_signs(one.signs, other.signs) == 0
    assert one.similarity(Vector.of([1.0] * 8)) == 0.0
    assert Vector.of([0.0] * 8).similarity(one) == 0.0


async def test_documents_are_found_by_their_meaning(desk: Desk) -> None:
    texts = {f"{number}.md": f"Chapter {number} is about gardens and bees." for number in range(90)}
    texts |= {"wheels.md": "The automobile needs new tyres.", "pets.md": "The hound barks at night."}
    collection = Collection("", "guide", "Guide")
    await desk.store.write(knowledge.create, collection, by=OWNER, now=1)
    await desk.store.write(knowledge.create, replace(collection, slug="other"), by=OWNER, now=1)
    for name, text in texts.items():
        await put_file(desk.store, "guide", name, text, now=1)
    await put_file(desk.store, "other", "secret.md", "Another vehicle is hidden in the barn.", now=1)
    indexer = indexer_of(desk.store, EventBus(), desk.clock)
    await indexer.work(desk.holding)
    meaning = await desk.embedder.meaning("Which car is it?", within=30)
    assert await desk.insights.search_knowledge("Which car is it?", ["guide"], 5, meaning) == []
    await desk.embed_all()
    model = desk.embedder.model or ""
    assert desk.indexer._chunks is not None, "the newest chunks first, then the others"
    while desk.indexer._chunks is not None:
        if not await desk.indexer.embed_older(model, [desk.indexer._chunks], desk.holding):
            desk.indexer._chunks = None
    [first, *_] = await desk.insights.search_knowledge("Which car is it?", ["guide"], 5, meaning)
    assert (first.location, first.place) == ("wheels.md", None)
    assert first.similarity is not None
    found = await desk.insights.search_knowledge("vehicle", ["guide"], 30, meaning)
    assert "secret.md" not in {each.location for each in found}
    await desk.store.write(knowledge.remove, "guide", by=OWNER, now=desk.clock.now())
    await indexer.work(desk.holding)
    await desk.embed_all()
    left = (await desk.store.read(lambda tx: tx.embeddings.unembedded(SubjectKind.CHUNK, "none", None, 99))).subjects
    assert ["hidden in the barn" in each.text for each in left] == [True]
