"""Validity of facts on both databases: facts of the past leave prompts, keep their sources, and answer questions about earlier
times."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.memory import Category, Fact, FactStatus
from arvis.memory.decay import decay
from arvis.memory.recall import Recall, recall
from arvis.memory.service import Kept, Refused, Remembered, correct, remember
from arvis.ports.store import Store, Transaction
from tests.conformance.memory_kit import (
    ANN,
    BOB,
    DAY_MS,
    TOOLS,
    changes,
    contents,
    known,
    new_fact,
    take_back,
    tell,
    tell_all,
)
from tests.conformance.store.scripts import AGENT, NOW

LATER = NOW + 10 * DAY_MS
BERLIN, MUNICH = new_fact("The user lives in Berlin"), new_fact("The user lives in Munich")


def asked(tx: Transaction, text: str, now: int = NOW) -> Recall:
    return recall(tx, AGENT.id, (ANN,), text, now)


def past(found: Recall) -> list[str]:
    return [fact.content for fact in found.past]


async def test_a_replaced_fact_ends_when_the_new_one_begins_and_keeps_its_source(either_store: Store) -> None:
    old, new = await either_store.write(
        tell_all, replace(BERLIN, message_id="m1"), replace(MUNICH, message_id="m2", valid_from=NOW - 5)
    )
    before = await either_store.read(known, old.fact)
    assert (before.status, before.superseded_by, before.message_id) == (FactStatus.SUPERSEDED, new.fact.id, "m1")
    assert (before.valid_until, new.fact.valid_from, new.fact.message_id) == (NOW - 5, NOW - 5, "m2")
    assert await either_store.read(lambda tx: [each.id for each in tx.facts.replaced_by(new.fact.id, 5)]) == [before.id]
    found = await either_store.read(asked, "Where did I live before?")
    assert ([fact.content for fact in found.facts], past(found)) == ([MUNICH.content], [BERLIN.content])
    assert past(await either_store.read(asked, "Where do I live?")) == []
    await either_store.write(take_back)
    again = await either_store.read(known, old.fact)
    assert (again.status, again.valid_until, again.superseded_by) == (FactStatus.ACTIVE, None, None)


async def test_a_fact_of_the_future_replaces_the_present_one_only_when_it_begins(either_store: Store) -> None:
    old, new = await either_store.write(tell_all, BERLIN, replace(MUNICH, valid_from=LATER))
    assert new.kind is Kept.SUPERSEDED
    used = {now: [fact.content for fact in (await either_store.read(asked, "", now)).facts] for now in (NOW, LATER)}
    assert used == {NOW: [BERLIN.content], LATER: [MUNICH.content]}
    await either_store.write(decay, LATER, 100)
    assert (await either_store.read(known, old.fact)).status is FactStatus.SUPERSEDED
    assert await either_store.read(contents) == [MUNICH.content]


async def test_a_fact_that_is_over_ends_and_is_a_fact_of_the_past(either_store: Store) -> None:
    kept = await either_store.write(tell, replace(BERLIN, valid_until=LATER))
    assert past(await either_store.read(asked, "Where did I live before?", NOW)) == []
    found = await either_store.read(asked, "Where did I live before?", LATER)
    assert (found.facts, past(found)) == ((), [BERLIN.content])
    await either_store.write(decay, LATER, 100)
    assert (await either_store.read(known, kept.fact)).status is FactStatus.ENDED
    assert await either_store.read(changes, kept.fact) == ["added", "ended"]
    assert past(await either_store.read(asked, "Where did I live before?", LATER)) == [BERLIN.content]


async def test_a_stated_fact_of_the_past_replaces_nothing(either_store: Store) -> None:
    was = replace(BERLIN, valid_until=NOW - 1)
    present, kept, again = await either_store.write(tell_all, MUNICH, was, was)
    assert [each.kind for each in (present, kept, again)] == [Kept.ADDED, Kept.ADDED, Kept.REFRESHED]
    assert (kept.fact.status, again.fact.id) == (FactStatus.ENDED, kept.fact.id)
    assert await either_store.read(contents) == [MUNICH.content]
    refused = await either_store.write(remember, replace(BERLIN, valid_from=5, valid_until=5), by_id="ann", now=NOW)
    assert isinstance(refused, Refused)


async def test_a_corrected_fact_was_never_true_and_an_ended_one_may_be_true_again(either_store: Store) -> None:
    def script(tx: Transaction) -> Fact:
        old = tell(tx, replace(BERLIN, valid_until=LATER)).fact
        new = correct(tx, old, replace(old, content=MUNICH.content), by_id="ann", now=NOW)
        assert isinstance(new, Remembered)
        ended = correct(tx, new.fact, replace(new.fact, valid_until=NOW - 1), by_id="ann", now=NOW)
        assert isinstance(ended, Remembered)
        assert ended.fact.status is FactStatus.ENDED
        assert past(asked(tx, "Where did I live before?")) == [MUNICH.content]
        back = correct(tx, ended.fact, replace(ended.fact, valid_until=None), by_id="ann", now=NOW)
        assert isinstance(back, Remembered)
        return old

    old = await either_store.write(script)
    assert (await either_store.read(known, old)).valid_until is None
    assert await either_store.read(contents) == [MUNICH.content]


async def test_facts_of_the_past_stay_in_their_scope_and_keep_their_taint(either_store: Store) -> None:
    def script(tx: Transaction) -> None:
        for new in (new_fact("lives in Oslo", taint=TOOLS), new_fact("lives in Rome", scope=BOB)):
            tell(tx, replace(new, valid_until=NOW - 1, category=Category.LEARNED_PATTERN))

    await either_store.write(script)
    found = await either_store.read(asked, "Where did I live earlier?")
    assert [(fact.content, fact.taint) for fact in found.past] == [("lives in Oslo", TOOLS)]
    others = await either_store.read(
        lambda tx: recall(tx, AGENT.id, (ANN,), "Where did I live earlier?", NOW, among_others=True)
    )
    assert others.past == ()
