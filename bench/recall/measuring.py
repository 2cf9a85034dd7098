"""Store conversations in a database, ask their questions, and measure recall and times."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean, quantiles

from arvis.bus import EventBus
from arvis.domain.embeddings import Meaning, Subject, SubjectKind, Vector
from arvis.domain.memory import Category, NewFact, asked_words, principal_scope
from arvis.message_indexing import MessageIndexer
from arvis.ports.embeddings import MeaningOf, Unembedded, no_meaning
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.process.clock import SystemClock
from arvis.process.leases import Holding
from bench.recall.talks import Asked, Said, Talk
from tests.conformance.store.scripts import AGENT, NOW, PLACE, said

#: Recall is measured among this many first results of a search.
FIRST = (5, 10)
_BATCH = 500
_MODEL = "custom/bench"
#: Returns the vector of a text.
VectorOf = Callable[[str], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Answered:
    """The results for a question: the recall among the first results for each number in `FIRST`, the elapsed time (ms),
    and the processor time of this process (ms)."""

    kind: str
    recall: tuple[float, ...]
    ms: float
    cpu_ms: float


#: A search: it returns the ids of the messages that it finds for a question in a conversation, best first.
Search = Callable[[Talk, str], Awaitable[Sequence[str]]]


async def store_talks(store: Store, talks: Sequence[Talk]) -> None:
    """Store each conversation as one of a person named after it, and each of its messages also as a fact about this
    person. Then index all messages."""
    await store.write(_add_agent)
    for talk in talks:
        conversation = await store.write(_open, talk.name)
        for begin in range(0, len(talk.messages), _BATCH):
            await store.write(_add, talk.name, conversation, talk.messages[begin : begin + _BATCH])
    await index(store)


async def index(store: Store) -> None:
    clock = SystemClock()
    holding = Holding(clock=clock, lease=None, until=float("inf"))
    await MessageIndexer(store=store, bus=EventBus(), clock=clock, rest=0.0).catch_up(
        holding, "" if store.shared else None
    )


async def embed(store: Store, vector_of: VectorOf) -> MeaningOf:
    """Store vectors of all messages and facts, and return the function for the vectors of questions."""
    for kind in SubjectKind:
        position: str | None = None
        while True:
            found = await store.read(_unembedded, kind, position)
            vectors = [(subject, Vector.of(vector_of(subject.text))) for subject in found.subjects]
            await store.write(_put, vectors)
            if (position := found.position) is None:
                break

    async def meaning(text: str) -> Meaning | None:
        return Meaning(_MODEL, Vector.of(vector_of(text)))

    return meaning


def _unembedded(tx: Transaction, kind: SubjectKind, before: str | None) -> Unembedded:
    return tx.embeddings.unembedded(kind, _MODEL, before, _BATCH)


def _put(tx: Transaction, vectors: Sequence[tuple[Subject, Vector]]) -> None:
    for subject, vector in vectors:
        tx.embeddings.put(_MODEL, subject, vector)


def _add_agent(tx: Transaction) -> None:
    if tx.agents.by_slug(AGENT.slug) is None:
        tx.agents.add(AGENT, NOW)


def _open(tx: Transaction, name: str) -> str:
    return tx.conversations.open(AGENT.id, replace(PLACE, channel=name), NOW).id


def _add(tx: Transaction, name: str, conversation: str, messages: Sequence[Said]) -> None:
    address = replace(PLACE, channel=name)
    for each in messages:
        message = said(each.id, conversation=conversation, execution=f"turn-{each.id}")
        tx.messages.add(
            replace(
                message,
                content=each.text,
                principal_id=name,
                user_name=each.speaker,
                address=address,
                created_at=each.at,
            )
        )
        fact = NewFact(
            AGENT.id,
            principal_scope(name),
            Category.LEARNED_PATTERN,
            f"{each.speaker}: {each.text}",
            message_id=each.id,
        )
        tx.facts.add(fact, each.at)


def in_messages(insights: Insights, *, everywhere: bool = False, meaning: MeaningOf = no_meaning) -> Search:
    """Return a search of the messages of the conversation's person, or of all messages."""

    async def search(talk: Talk, text: str) -> Sequence[str]:
        person = None if everywhere else talk.name
        found = await insights.search_messages(text, principal_id=person, limit=max(FIRST), meaning=await meaning(text))
        return [each.id for each in found]

    return search


def in_facts(store: Store, *, meaning: MeaningOf = no_meaning) -> Search:
    def find(tx: Transaction, name: str, text: str, vector: Meaning | None) -> Sequence[str]:
        scopes, words, most = [principal_scope(name)], asked_words(text), max(FIRST)
        if vector is None:
            return [fact.message_id or "" for fact in tx.facts.search(AGENT.id, scopes, words, most, corrects=True)]
        found = tx.facts.search_meaning(AGENT.id, scopes, words, vector, most)
        return [hit.fact.message_id or "" for hit in found]

    async def search(talk: Talk, text: str) -> Sequence[str]:
        return await store.read(find, talk.name, text, await meaning(text))

    return search


async def ask(talks: Sequence[Talk], search: Search, *, every: int = 1) -> list[Answered]:
    """Ask the questions, or every so many of them. The first ones are asked twice, because they fill caches."""
    questions = [(talk, asked) for talk in talks for asked in talk.questions][::every]
    for talk, asked in questions[:10]:
        await search(talk, asked.text)
    return [await _answer(talk, asked, search) for talk, asked in questions]


async def _answer(talk: Talk, asked: Asked, search: Search) -> Answered:
    begun, cpu = time.perf_counter(), time.process_time()
    found = await search(talk, asked.text)
    ms, cpu_ms = (time.perf_counter() - begun) * 1000, (time.process_time() - cpu) * 1000
    recall = tuple(len(asked.evidence.intersection(found[:first])) / len(asked.evidence) for first in FIRST)
    return Answered(asked.kind, recall, ms, cpu_ms)


def report(title: str, answered: Sequence[Answered], *, kinds: bool = True) -> list[str]:
    """Return lines for a table: all questions, and those of each kind."""
    groups = defaultdict[str, list[Answered]](list)
    for each in answered:
        groups[each.kind].append(each)
    lines = [_line(title, answered)]
    return lines + ([_line(f"  {kind}", group) for kind, group in sorted(groups.items())] if kinds else [])


def _line(title: str, answered: Sequence[Answered]) -> str:
    recall = "  ".join(f"{mean(each.recall[place] for each in answered):6.3f}" for place in range(len(FIRST)))
    times = [(each.ms, each.cpu_ms) for each in answered]
    shown = "  ".join(f"{mean(of_kind):8.1f}  {_p95(of_kind):8.1f}" for of_kind in zip(*times, strict=True))
    return f"{title:44} {len(answered):6,}  {recall}  {shown}"


def _p95(times: Sequence[float]) -> float:
    return quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


HEAD = f"{'':44}  asked" + "".join(f"{f'R@{first}':>8}" for first in FIRST) + "   mean ms    p95 ms  mean CPU   p95 CPU"
