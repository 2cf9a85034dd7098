"""Any sequence of storing, deleting, confirming and undoing: nothing is lost, and undo restores the earlier state."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from arvis.domain.agents import Agent
from arvis.domain.memory import Category, Fact, FactStatus, NewFact, asked_words
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.memory.service import Kept, Remembered, confirm, forget, remember, undo
from arvis.ports.store import Transaction
from arvis.store.sql.migrations import available, migrate
from arvis.store.sqlite.migrations import SqliteTarget
from arvis.store.sqlite.session import SqliteSession, connect
from arvis.store.transaction import SqlTransaction

NOW, SCOPE = 1_800_000_000_000, "principal:ann"
HELPER = Agent(id="agent1", slug="helper", name="Helper")

CONTENTS = st.sampled_from(
    [
        "prefers Python 3.11",
        "prefers Python 3.12",
        "Prefers  python 3.11",
        "the user lives in Berlin",
        "the user lives in Munich",
        "likes tea",
        "does not like tea",
        "我每天早上喝茶",
        "我每天早上不喝茶",
    ]
)
TAINTS: st.SearchStrategy[Taint] = st.sampled_from([CLEAN, CLEAN, frozenset({Label.TOOLS}), frozenset({Label.PEOPLE})])
CATEGORIES = st.sampled_from([Category.USER_PREFERENCE, Category.USER_PREFERENCE, Category.STICKY])
NEWS = st.builds(
    lambda content, taint, category: NewFact("agent1", SCOPE, category, content, taint=taint),
    CONTENTS,
    TAINTS,
    CATEGORIES,
)
#: A fact: store it. -1: undo. Another number: delete that fact. A number as a text: confirm that fact.
STEPS = st.lists(st.one_of(NEWS, NEWS, st.integers(-1, 6), st.integers(0, 6).map(str)), max_size=14)


@functools.cache
def migrated() -> bytes:
    with contextlib.closing(connect(Path(":memory:"), writing=True)) as connection:
        migrate(SqliteTarget(connection=connection, now=NOW), available())
        return connection.serialize()


@contextlib.contextmanager
def fresh() -> Iterator[Transaction]:
    with contextlib.closing(connect(Path(":memory:"), writing=True)) as connection:
        connection.deserialize(migrated())
        ids = count()
        session = SqliteSession(connection=connection, new_id=lambda: f"{next(ids):026}")
        tx = SqlTransaction(session)
        tx.agents.add(HELPER, NOW)
        yield tx


def play(tx: Transaction, step: NewFact | int | str) -> None:
    if isinstance(step, NewFact):
        told(tx, step)
    elif isinstance(step, str):
        if (fact := tx.facts.by_number(int(step))) is not None:
            confirm(tx, fact.id, by_id="owner", now=NOW)
    elif step < 0:
        undo(tx, "agent1", [SCOPE], by_id="ann", now=NOW)
    elif (fact := tx.facts.by_number(step)) is not None:
        forget(tx, fact.id, by_id="ann", now=NOW)


def told(tx: Transaction, new: NewFact) -> Remembered:
    kept = remember(tx, new, by_id="ann", now=NOW)
    assert isinstance(kept, Remembered)
    return kept


def everything(tx: Transaction) -> dict[int, tuple[str, FactStatus, Taint, str | None]]:
    """Return everything that undo must restore; deleted facts are left out."""
    facts: list[Fact] = []
    for number in count(1):
        if (fact := tx.facts.by_number(number)) is None:
            break
        facts.append(fact)
    kept = [fact for fact in facts if fact.status is not FactStatus.DELETED]
    return {fact.number: (fact.content, fact.status, fact.taint, fact.superseded_by) for fact in kept}


@settings(max_examples=60)
@given(STEPS, NEWS)
def test_nothing_that_is_told_is_lost(steps: list[NewFact | int | str], new: NewFact) -> None:
    with fresh() as tx:
        for step in steps:
            play(tx, step)
        before = everything(tx)
        kept = told(tx, new)
        after = everything(tx)
        assert before.keys() <= after.keys()
        match kept.kind:
            case Kept.REFRESHED:
                assert kept.old is not None
                assert after.keys() == before.keys()
                assert bool(kept.old.taint) == bool(new.taint)
            case Kept.SUPERSEDED:
                assert kept.old is not None
                assert after[kept.old.number][1] is FactStatus.SUPERSEDED
                assert after[kept.old.number][0] == before[kept.old.number][0]
                assert kept.old.taint or not new.taint
            case Kept.ADDED:
                assert before.items() <= after.items()
        found = tx.facts.search("agent1", [SCOPE], asked_words(kept.fact.content), 50)
        assert kept.fact.id in {fact.id for fact in found}
        assert all(fact.status is FactStatus.ACTIVE for fact in found)


@settings(max_examples=60)
@given(STEPS, st.one_of(NEWS, st.integers(1, 6), st.integers(1, 6).map(str)))
def test_what_is_undone_is_as_it_was(steps: list[NewFact | int | str], last: NewFact | int | str) -> None:
    with fresh() as tx:
        for step in steps:
            play(tx, step)
        before, newest = everything(tx), tx.facts.last_change("agent1", [SCOPE])
        play(tx, last)
        if tx.facts.last_change("agent1", [SCOPE]) != newest:
            undo(tx, "agent1", [SCOPE], by_id="ann", now=NOW)
            assert everything(tx) == before


@settings(max_examples=40)
@given(STEPS)
def test_who_undoes_everything_is_where_nothing_was(steps: list[NewFact | int | str]) -> None:
    """Each action needs one undo."""
    with fresh() as tx:
        for step in steps:
            play(tx, step)
        undone = [tx.facts.last_change("agent1", [SCOPE])]
        while undo(tx, "agent1", [SCOPE], by_id="ann", now=NOW) is not None:
            undone.append(tx.facts.last_change("agent1", [SCOPE]))
        assert everything(tx) == {}
        numbers = [change.number for change in undone if change is not None]
        assert numbers == sorted(numbers, reverse=True)
