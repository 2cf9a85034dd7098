"""The searches find the answers to most of our own questions, on both databases, also among messages of other people.
`python -m bench.recall` measures all questions."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

from arvis.store.open import Database, open_store
from bench.recall.filling import fill
from bench.recall.measuring import Answered, ask, embed, in_facts, in_messages, report, store_talks
from bench.recall.talks import own_talks
from tests.conformance.databases import id_maker, migrated
from tests.fixtures.embedding_server import vector_of

#: Every fourth question is asked, in English and Chinese.
EVERY = 4


def recall(answered: list[Answered]) -> float:
    """Return the mean part of the evidence in the first ten results."""
    return mean(each.recall[-1] for each in answered)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_words_alone_find_most_answers(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = request.getfixturevalue("migrated_url") if kind == "postgres" else None
    database = Database(tmp_path / "arvis.db", url, tmp_path)
    migrated(database)
    fill(database, 1_000)
    talks = own_talks()[::3]
    async with open_store(database, boot="bench", new_id=id_maker()) as (store, insights):
        await store_talks(store, talks)
        own = await ask(talks, in_messages(insights), every=EVERY)
        everywhere = await ask(talks, in_messages(insights, everywhere=True), every=EVERY)
        facts = await ask(talks, in_facts(store), every=EVERY)
        meaning = await embed(store, vector_of)
        embedded = await ask(talks, in_messages(insights, meaning=meaning), every=EVERY)
        embedded_facts = await ask(talks, in_facts(store, meaning=meaning), every=EVERY)
    assert recall(own) > 0.75
    assert recall(everywhere) > 0.75
    assert recall(facts) > 0.65
    assert recall(embedded) >= recall(own)
    assert recall(embedded_facts) >= recall(facts)
    assert len(report("own set", own)) == 11
