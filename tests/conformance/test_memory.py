"""Memory on both databases: what is told is kept once and up to date, recalled where it belongs, and fades unused."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.domain.memory import (
    EVERYWHERE,
    Category,
    Fact,
    FactStatus,
    NewFact,
    State,
    principal_scope,
    room_scope,
    scope_for,
    scopes_of,
)
from arvis.domain.messages import Address
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.housekeeping import erase, fade
from arvis.memory import (
    Kept,
    Recall,
    Refused,
    Remembered,
    confirm,
    decay,
    forget,
    put_state,
    recall,
    remember,
    touch,
    undo,
)
from arvis.memory.decay import LIVES_MS
from arvis.memory.keeping import MOST_FACTS, MOST_KEYS
from arvis.ports.store import Store, Transaction
from arvis.process.leases import Holding
from arvis.store.opening import Database, bring_up_to_date
from arvis.testing.clock import SteppedClock
from arvis.testing.conformance.store_scripts import AGENT, NOW, add_agent
from tests.conformance.databases import emptied, opened
from tests.postgres import PostgresServer

DAY_MS = 86_400_000
HALL, GARDEN = Address("telegram", "main", "-100"), Address("telegram", "main", "-200")
ANN, BOB = principal_scope("ann"), principal_scope("bob")
PEOPLE: Taint = frozenset({Label.PEOPLE})
TOOLS: Taint = frozenset({Label.TOOLS})
PREFERENCE = Category.USER_PREFERENCE


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    database = Database(tmp_path / "arvis.db", None, tmp_path)
    shutil.copy(request.getfixturevalue("template"), database.file)
    if request.param == "postgres":
        database = Database(tmp_path / "unused.db", request.getfixturevalue("memory_url"), tmp_path)
        emptied(database)
    async with opened(database) as store:
        await store.write(add_agent)
        yield store


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that is up to date, because making one costs more than a case."""
    file = tmp_path_factory.mktemp("template") / "arvis.db"
    bring_up_to_date(Database(file, None, file.parent), NOW)
    return file


@pytest.fixture(scope="module")
def memory_url(postgres: PostgresServer) -> Iterator[str]:
    with postgres.database("memory") as url:
        yield url


def told(content: str, *, scope: str = ANN, category: Category = PREFERENCE, taint: Taint = CLEAN) -> NewFact:
    return NewFact(AGENT.id, scope, category, content, taint=taint, author_id="ann", message_id="m1")


def tell(tx: Transaction, new: NewFact, now: int = NOW) -> Remembered:
    kept = remember(tx, new, by_id="ann", now=now)
    assert isinstance(kept, Remembered), kept
    return kept


def tell_all(tx: Transaction, *news: NewFact) -> list[Remembered]:
    return [tell(tx, new) for new in news]


def contents(tx: Transaction, *scopes: str) -> list[str]:
    facts = tx.facts.of(AGENT.id, scopes or (ANN,), limit=1000)
    return [fact.content for fact in sorted(facts, key=lambda fact: fact.number)]


def take_back(tx: Transaction, *scopes: str, now: int = NOW) -> str | None:
    return undo(tx, AGENT.id, scopes or (ANN,), by_id="ann", now=now)


def known(tx: Transaction, fact: Fact) -> Fact:
    found = tx.facts.get(fact.id)
    assert found is not None
    return found


def changes(tx: Transaction, fact: Fact) -> list[str]:
    return [change.change for change in tx.facts.changes(fact.id, 100)]


# -- kept once, and up to date (behaviour.md 1.7, vectors M1 to M3) -------------------------------------------


async def test_m1_and_m2_a_fact_and_a_state_are_kept(store: Store) -> None:
    def script(tx: Transaction) -> tuple[Remembered, State | Refused]:
        fact = tell(tx, told(" Never forget ", category=Category.STICKY))
        return fact, put_state(tx, State(AGENT.id, ANN, "alert.max", "150", CLEAN, "ann", "m1", NOW))

    kept, state = await store.write(script)
    assert (kept.kind, kept.fact.content, kept.fact.author_id) == (Kept.ADDED, "Never forget", "ann")
    assert isinstance(state, State)
    found = await store.read(recall, AGENT.id, (ANN,), "", NOW)
    assert [fact.content for fact in found.sticky] == ["Never forget"]
    assert [(each.key, each.value) for each in found.states] == [("alert.max", "150")]


async def test_m3_news_takes_the_place_of_what_it_is_about(store: Store) -> None:
    old, new = await store.write(tell_all, told("prefers Python 3.11"), told("prefers Python 3.12"))
    assert (new.kind, new.old and new.old.id) == (Kept.SUPERSEDED, old.fact.id)
    gone = await store.read(known, old.fact)
    assert (gone.status, gone.superseded_by, gone.content) == (
        FactStatus.SUPERSEDED,
        new.fact.id,
        "prefers Python 3.11",
    )
    assert await store.read(contents) == ["prefers Python 3.12"]
    assert await store.read(changes, old.fact) == ["added", "superseded"]


async def test_what_is_said_twice_is_kept_once_and_is_as_sure_as_on_the_first_day(store: Store) -> None:
    def script(tx: Transaction) -> Remembered:
        fact = tell(tx, told("likes green tea in the morning")).fact
        tx.facts.update(replace(fact, confidence=300, expires_at=NOW + 50), NOW)
        return tell(tx, told("Likes  green tea in the morning."), NOW + 5)

    kept = await store.write(script)
    assert (kept.kind, kept.fact.confidence, kept.fact.accessed_at) == (Kept.REFRESHED, 1000, NOW + 5)
    assert (kept.fact.number, kept.fact.expires_at) == (1, None)
    assert await store.read(known, kept.fact) == kept.fact
    assert await store.read(contents) == ["likes green tea in the morning"]


async def test_other_people_categories_and_agents_are_not_compared(store: Store) -> None:
    text = "prefers Python 3.11"

    def script(tx: Transaction) -> list[Kept]:
        tx.agents.add(replace(AGENT, id="agent-2", slug="other"), NOW)
        news = (
            told(text),
            told(text, scope=BOB),
            told(text, category=Category.PROJECT_CONTEXT),
            replace(told(text), agent_id="agent-2"),
        )
        return [kept.kind for kept in tell_all(tx, *news)]

    assert await store.write(script) == [Kept.ADDED] * 4


async def test_what_takes_the_place_of_a_rule_is_a_rule(store: Store) -> None:
    rule, news = await store.write(
        tell_all, told("prefers Python 3.11", category=Category.STICKY), told("prefers Python 3.12")
    )
    assert rule.kind is Kept.ADDED
    assert (news.kind, news.fact.category) == (Kept.SUPERSEDED, Category.STICKY)


async def test_a_fact_that_is_over_is_not_refreshed(store: Store) -> None:
    def script(tx: Transaction) -> Kept:
        tell(tx, replace(told("is in Rome"), expires_at=NOW + 1))
        return tell(tx, told("is in Rome"), NOW + 1).kind

    assert await store.write(script) is Kept.ADDED


async def test_a_fact_of_no_length_or_too_great_a_length_is_refused(store: Store) -> None:
    for content in ("", " \n ", "x" * 2001, "\0"):
        refused = await store.write(remember, told(content), by_id="ann", now=NOW)
        assert isinstance(refused, Refused)
        assert refused.fix
    assert await store.read(contents) == []


async def test_where_there_is_no_room_the_weakest_fades(store: Store) -> None:
    def script(tx: Transaction) -> Fact:
        tell(tx, told("a rule", category=Category.STICKY))
        facts = [tx.facts.add(told(f"word{number}"), NOW + number) for number in range(MOST_FACTS - 1)]
        tx.facts.update(replace(facts[7], confidence=500), NOW)
        tell(tx, told("one more"), NOW + 10_000)
        return facts[7]

    weakest = await store.write(script)
    assert (await store.read(known, weakest)).status is FactStatus.FADED
    assert await store.read(changes, weakest) == ["faded"]
    assert await store.read(lambda tx: tx.facts.count(AGENT.id, ANN)) == MOST_FACTS
    assert {"a rule", "one more"} <= set(await store.read(contents))


async def test_where_everything_is_a_rule_there_is_no_room(store: Store) -> None:
    def script(tx: Transaction) -> Remembered | Refused:
        for number in range(MOST_FACTS):
            tx.facts.add(told(f"rule{number}", category=Category.STICKY), NOW)
        return remember(tx, told("one more"), by_id="ann", now=NOW)

    assert isinstance(await store.write(script), Refused)


# -- taint (reliability.md T8) --------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["prefers Python 3.11", "prefers Python 3.12"])
async def test_what_is_tainted_stands_beside_what_people_vouch_for(store: Store, content: str) -> None:
    clean, tainted = await store.write(tell_all, told("prefers Python 3.11"), told(content, taint=TOOLS))
    assert (tainted.kind, tainted.fact.taint) == (Kept.ADDED, TOOLS)
    assert await store.read(known, clean.fact) == clean.fact


@pytest.mark.parametrize("content", ["prefers Python 3.11", "prefers Python 3.12"])
async def test_what_people_vouch_for_takes_the_place_of_what_is_tainted(store: Store, content: str) -> None:
    tainted, clean = await store.write(tell_all, told("prefers Python 3.11", taint=TOOLS), told(content))
    assert (clean.kind, clean.fact.taint) == (Kept.SUPERSEDED, CLEAN)
    assert (await store.read(known, tainted.fact)).status is FactStatus.SUPERSEDED


async def test_what_comes_from_two_sides_is_tainted_by_both(store: Store) -> None:
    _, again = await store.write(tell_all, told("likes tea", taint=TOOLS), told("likes tea", taint=PEOPLE))
    assert (again.kind, again.fact.taint) == (Kept.REFRESHED, TOOLS | PEOPLE)


async def test_who_confirms_takes_the_taint_off_and_undo_puts_it_back(store: Store) -> None:
    fact = (await store.write(tell, told("likes tea", taint=TOOLS | PEOPLE))).fact
    confirmed = await store.write(confirm, fact.id, by_id="owner", now=NOW)
    assert confirmed is not None
    assert confirmed.taint == CLEAN
    assert await store.write(take_back) == "Unconfirmed again: likes tea"
    assert (await store.read(known, fact)).taint == TOOLS | PEOPLE
    assert await store.write(confirm, "none", by_id="owner", now=NOW) is None


# -- undo -----------------------------------------------------------------------------------------------------


async def test_undo_takes_back_one_change_after_the_other(store: Store) -> None:
    def script(tx: Transaction) -> list[tuple[str | None, list[str]]]:
        first = tell(tx, told("prefers Python 3.11")).fact
        for version in (12, 13):
            tell(tx, told(f"prefers Python 3.{version}"))
        tell(tx, told("prefers Python 3.13"))
        forget(tx, first.id, by_id="ann", now=NOW)
        return [(take_back(tx), contents(tx)) for _ in range(5)]

    words = "Remembered again: prefers Python 3.11"
    assert await store.write(script) == [
        (words, ["prefers Python 3.13"]),
        ("Remembered again: prefers Python 3.12 (instead of: prefers Python 3.13)", ["prefers Python 3.12"]),
        (f"{words} (instead of: prefers Python 3.12)", ["prefers Python 3.11"]),
        ("Forgotten again: prefers Python 3.11", []),
        (None, []),
    ]


async def test_undo_stays_in_its_scopes(store: Store) -> None:
    await store.write(tell_all, told("of Ann"), told("of Bob", scope=BOB))
    assert await store.write(take_back, ANN) == "Forgotten again: of Ann"
    assert await store.write(take_back, ANN) is None
    assert await store.read(contents, ANN, BOB) == ["of Bob"]


async def test_what_is_forgotten_is_found_no_more_and_may_come_back(store: Store) -> None:
    fact = (await store.write(tell, told("likes green tea"))).fact
    assert await store.write(forget, fact.id, by_id="ann", now=NOW) is not None
    assert await store.write(forget, fact.id, by_id="ann", now=NOW) is None
    assert (await store.read(recall, AGENT.id, (ANN,), "tea", NOW)).facts == ()
    await store.write(take_back)
    assert [each.id for each in (await store.read(recall, AGENT.id, (ANN,), "tea", NOW)).facts] == [fact.id]


async def test_what_was_deleted_is_erased_after_its_time(store: Store) -> None:
    def script(tx: Transaction) -> list[int]:
        kept, *gone = [tell(tx, told(text)).fact for text in ("likes tea", "plays the violin", "owns a boat")]
        for fact in gone:
            forget(tx, fact.id, by_id="ann", now=NOW)
        done = [tx.facts.erase(before, 1) for before in (NOW, NOW + 1, NOW + 1, NOW + 1)]
        assert [tx.facts.get(fact.id) for fact in (kept, *gone)] == [kept, None, None]
        return done

    assert await store.write(script) == [0, 1, 1, 0]
    assert await store.write(take_back) == "Forgotten again: likes tea"


async def test_housekeeping_fades_and_erases(store: Store) -> None:
    clock = SteppedClock()
    holding = Holding(clock=clock, lease=None, until=clock.monotonic() + 1)
    idle, gone = await store.write(tell_all, told("likes tea"), told("plays the violin"))
    await store.write(forget, gone.fact.id, by_id="ann", now=NOW)
    assert not await store.write(fade, holding, NOW + LIVES_MS[PREFERENCE] + 1)
    assert not await store.write(erase, holding, NOW + 1)
    assert (await store.read(known, idle.fact)).confidence == 900
    assert await store.read(lambda tx: tx.facts.get(gone.fact.id)) is None


# -- recall ---------------------------------------------------------------------------------------------------


async def recalled(store: Store, scopes: Sequence[str], text: str = "") -> Recall:
    return await store.read(recall, AGENT.id, scopes, text, NOW)


async def test_nothing_of_one_person_is_ever_recalled_for_another(store: Store) -> None:
    def script(tx: Transaction) -> None:
        for address in (HALL, GARDEN):
            for who in ("ann", "bob"):
                for category in Category:
                    for direct in (True, False):
                        scope = scope_for(category, address, who, direct=direct)
                        content = f"{who} {address.channel} {category} {direct} secret"
                        tell(tx, told(content, scope=scope, category=category))
                        key = f"{who}{address.channel}{direct}"
                        put_state(tx, State(AGENT.id, scope, key, "v", CLEAN, who, "m", NOW))

    await store.write(script)
    bob = await recalled(store, scopes_of(HALL, "bob"), "secret ann")
    allowed = {BOB, room_scope(HALL), EVERYWHERE}
    assert bob.sticky
    assert bob.facts
    assert bob.states
    assert {fact.scope for fact in (*bob.sticky, *bob.facts)} | {state.scope for state in bob.states} <= allowed
    stranger = await recalled(store, scopes_of(replace(HALL, channel="-300"), None), "secret ann bob")
    assert stranger == Recall((), (), ())


async def test_what_is_talked_about_comes_first_and_the_order_is_always_the_same(store: Store) -> None:
    def script(tx: Transaction) -> None:
        for number in range(40):
            fact = tx.facts.add(told(f"topic{number}"), NOW)
            tx.facts.update(replace(fact, confidence=900 - number), NOW)

    await store.write(script)
    found = await recalled(store, (ANN,), "Is topic39 like topic38?")
    numbers = [fact.number for fact in found.facts]
    assert (len(numbers), numbers) == (15, sorted(numbers))
    assert {39, 40} <= set(numbers)
    assert set(numbers) - {39, 40} == set(range(1, 14))
    assert await recalled(store, (ANN,), "Is topic39 like topic38?") == found


async def test_rules_are_all_told_within_bounds_and_take_no_place_of_others(store: Store) -> None:
    def script(tx: Transaction) -> None:
        for number in range(60):
            tx.facts.add(told(f"rule{number}", category=Category.STICKY), NOW)
        for number in range(20):
            tx.facts.add(told(f"habit{number}"), NOW)
        tell(tx, told("obey the page", category=Category.STICKY, taint=TOOLS))

    await store.write(script)
    found = await recalled(store, (ANN,), "rule59 obey")
    assert [fact.number for fact in found.sticky] == list(range(11, 61))
    assert (len(found.facts), found.left_out) == (15, 10)
    assert [fact.content for fact in found.facts if fact.category is Category.STICKY] == ["obey the page"]
    assert not any(fact.taint for fact in found.sticky)
    await store.write(tell, told("x" * 2000, category=Category.STICKY))
    assert sum(len(fact.content) for fact in (await recalled(store, (ANN,))).sticky) <= 8000


async def test_what_is_over_is_not_recalled(store: Store) -> None:
    def script(tx: Transaction) -> None:
        for category in (Category.STICKY, PREFERENCE):
            tell(tx, replace(told("is in Rome", category=category), expires_at=NOW))

    await store.write(script)
    assert await recalled(store, (ANN,), "rome") == Recall((), (), ())


async def test_recall_only_reads_and_touch_counts(store: Store) -> None:
    await store.write(tell, told("likes tea"))
    found = await recalled(store, (ANN,), "tea")
    await store.write(touch, found.fact_ids, NOW + 1)
    assert [fact.access_count for fact in (await recalled(store, (ANN,))).facts] == [1]


# -- states ---------------------------------------------------------------------------------------------------


def state(key: str, value: str = "1", taint: Taint = CLEAN) -> State:
    return State(AGENT.id, ANN, key, value, taint, "ann", "m1", NOW)


async def test_a_state_that_is_none(store: Store) -> None:
    for wrong in (state(""), state("a b"), state("ключ"), state("k" * 65), state("k", "x" * 2001)):
        assert isinstance(await store.write(put_state, wrong), Refused)


async def test_states_are_replaced_and_bounded(store: Store) -> None:
    def script(tx: Transaction) -> list[bool]:
        for number in range(MOST_KEYS):
            put_state(tx, state(f"k{number}"))
        return [isinstance(put_state(tx, each), Refused) for each in (state("one.more"), state("k7", "2"))]

    assert await store.write(script) == [True, False]


async def test_a_tainted_value_takes_no_place_of_a_clean_one(store: Store) -> None:
    def script(tx: Transaction) -> list[bool]:
        steps = (state("k", "1", TOOLS), state("k", "2", PEOPLE), state("k", "3"), state("k", "4", TOOLS))
        return [isinstance(put_state(tx, each), Refused) for each in steps]

    assert await store.write(script) == [False, False, False, True]
    assert [each.value for each in (await recalled(store, (ANN,))).states] == ["3"]


# -- decay ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("category", Category)
async def test_what_nobody_uses_is_trusted_less_once_for_each_time(store: Store, category: Category) -> None:
    fact = (await store.write(tell, told("likes tea", category=category))).fact
    life = LIVES_MS.get(category, 365 * DAY_MS)
    sure = []
    for at in (life - 1, life + 1, life + 2, life + DAY_MS, 2 * life + 2, 2 * life + 3):
        await store.write(decay, NOW + at, 10)
        sure.append((await store.read(known, fact)).confidence)
    assert sure == ([1000] * 6 if category is Category.STICKY else [1000, 900, 900, 900, 810, 810])


async def test_a_used_fact_stays_and_a_forgotten_one_fades(store: Store) -> None:
    used, unused = await store.write(tell_all, told("likes tea"), told("plays the violin"))
    life = LIVES_MS[PREFERENCE]
    for round_ in range(1, 21):
        now = NOW + round_ * (life + 1)
        await store.write(touch, [used.fact.id], now)
        while await store.write(decay, now, 1):
            pass
    assert (await store.read(known, used.fact)).confidence == 1000
    assert (await store.read(known, unused.fact)).status is FactStatus.FADED
    assert await store.read(changes, unused.fact) == ["added", "faded"]


async def test_a_daemon_that_slept_catches_up_at_once(store: Store) -> None:
    fact = (await store.write(tell, told("likes tea"))).fact
    await store.write(decay, NOW + 3 * LIVES_MS[PREFERENCE] + 1, 10)
    assert (await store.read(known, fact)).confidence == 729
    await store.write(decay, NOW + 99 * LIVES_MS[PREFERENCE], 10)
    faded = await store.read(known, fact)
    assert (faded.status, faded.confidence) == (FactStatus.FADED, 100)


async def test_what_is_over_fades_in_slices(store: Store) -> None:
    def script(tx: Transaction) -> None:
        for number in range(5):
            tx.facts.add(replace(told(f"guest{number}"), expires_at=NOW + number), NOW)

    await store.write(script)
    assert [await store.write(decay, NOW + 3, 3) for _ in range(3)] == [3, 1, 0]
    assert await store.read(contents) == ["guest4"]
