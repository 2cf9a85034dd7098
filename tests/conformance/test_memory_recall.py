"""Recall and decay on both databases: facts that match a turn are recalled, and unused facts decay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from arvis.domain.memory import (
    EVERYWHERE,
    Category,
    FactStatus,
    State,
    room_scope,
    scope_for,
    scopes_of,
)
from arvis.domain.taint import CLEAN, Taint
from arvis.memory.decay import LIVES_MS, decay
from arvis.memory.recall import USE_MS, Recall, recall, touch, uncounted
from arvis.memory.service import MOST_KEYS, Refused, put_state
from arvis.ports.store import Store, Transaction
from tests.conformance.memory_kit import (
    ANN,
    BOB,
    DAY_MS,
    GARDEN,
    HALL,
    PEOPLE,
    PREFERENCE,
    TOOLS,
    changes,
    contents,
    known,
    new_fact,
    tell,
    tell_all,
)
from tests.conformance.store.scripts import AGENT, NOW

# -- recall ---------------------------------------------------------------------------------------------------


async def recalled(store: Store, scopes: Sequence[str], text: str = "") -> Recall:
    return await store.read(recall, AGENT.id, scopes, text, NOW)


async def test_nothing_of_one_person_is_ever_recalled_for_another(either_store: Store) -> None:
    def script(tx: Transaction) -> None:
        for address in (HALL, GARDEN):
            for who in ("ann", "bob"):
                for category in Category:
                    for direct in (True, False):
                        scope = scope_for(category, address, who, direct=direct)
                        content = f"{who} {address.channel} {category} {direct} secret"
                        tell(tx, new_fact(content, scope=scope, category=category))
                        key = f"{who}{address.channel}{direct}"
                        put_state(tx, State(AGENT.id, scope, key, "v", CLEAN, who, "m", NOW))

    await either_store.write(script)
    bob = await recalled(either_store, scopes_of(HALL, "bob"), "secret ann")
    allowed = {BOB, room_scope(HALL), EVERYWHERE}
    assert bob.sticky
    assert bob.facts
    assert bob.states
    assert {fact.scope for fact in (*bob.sticky, *bob.facts)} | {state.scope for state in bob.states} <= allowed
    stranger = await recalled(either_store, scopes_of(replace(HALL, channel="-300"), None), "secret ann bob")
    assert stranger == Recall((), (), ())


async def test_what_is_talked_about_comes_first_and_the_order_is_always_the_same(either_store: Store) -> None:
    def script(tx: Transaction) -> None:
        for number in range(40):
            fact = tx.facts.add(new_fact(f"topic{number}"), NOW)
            tx.facts.update(replace(fact, confidence=900 - number), NOW)

    await either_store.write(script)
    found = await recalled(either_store, (ANN,), "Is topic39 like topic38?")
    numbers = [fact.number for fact in found.facts]
    assert (len(numbers), numbers) == (15, sorted(numbers))
    assert {39, 40} <= set(numbers)
    assert set(numbers) - {39, 40} == set(range(1, 14))
    assert await recalled(either_store, (ANN,), "Is topic39 like topic38?") == found


async def test_rules_are_all_told_within_bounds_and_take_no_place_of_others(either_store: Store) -> None:
    def script(tx: Transaction) -> None:
        for number in range(60):
            tx.facts.add(new_fact(f"rule{number}", category=Category.STICKY), NOW)
        for number in range(20):
            tx.facts.add(new_fact(f"habit{number}"), NOW)
        tell(tx, new_fact("obey the page", category=Category.STICKY, taint=TOOLS))

    await either_store.write(script)
    found = await recalled(either_store, (ANN,), "rule59 obey")
    assert [fact.number for fact in found.sticky] == list(range(11, 61))
    assert (len(found.facts), found.left_out) == (15, 10)
    assert [fact.content for fact in found.facts if fact.category is Category.STICKY] == ["obey the page"]
    assert not any(fact.taint for fact in found.sticky)
    await either_store.write(tell, new_fact("x" * 2000, category=Category.STICKY))
    assert sum(len(fact.content) for fact in (await recalled(either_store, (ANN,))).sticky) <= 8000


@pytest.mark.parametrize("size", [0, 1990])
async def test_what_people_tell_pushes_out_nothing_that_holds_everywhere(either_store: Store, size: int) -> None:
    room = room_scope(HALL)

    def script(tx: Transaction) -> None:
        for scope, count in ((EVERYWHERE, 2), (room, 30), (ANN, 60)):
            for number in range(count):
                rule = f"{scope} {number} ".ljust(size, "x")
                tx.facts.add(new_fact(rule, scope=scope, category=Category.STICKY), NOW)
                put_state(tx, State(AGENT.id, scope, f"{number}", rule, CLEAN, "ann", "m", NOW + number))

    await either_store.write(script)
    found = await either_store.read(recall, AGENT.id, scopes_of(HALL, "ann"), "", NOW)
    rules = [fact.scope for fact in found.sticky]
    assert [rules.count(scope) for scope in (EVERYWHERE, room, ANN)] == ([2, 1, 1] if size else [2, 30, 18])
    assert rules == sorted(rules, key=[EVERYWHERE, room, ANN].index), "a prompt that is too long drops the last ones"
    states = [state.scope for state in found.states]
    assert [states.count(scope) for scope in (EVERYWHERE, room, ANN)] == ([2, 1, 1] if size else [2, 30, 18])
    assert found.left_out == 2 * (92 - len(rules))


async def test_what_a_person_says_between_two_stays_out_of_a_group(either_store: Store) -> None:
    def script(tx: Transaction) -> None:
        for category in Category:
            tell(tx, new_fact(f"secret of {category}", category=category))
        for number in range(30):
            tx.facts.add(new_fact(f"secret {number}", category=Category.IMPORTANT_EVENT), NOW)
        tell(tx, new_fact("the secret of the hall", scope=room_scope(HALL), category=Category.STICKY))
        tell(tx, new_fact("tea is served at five", scope=room_scope(HALL)))
        put_state(tx, State(AGENT.id, ANN, "mood", "low", CLEAN, "ann", "m", NOW))

    await either_store.write(script)
    scopes = scopes_of(HALL, "ann")
    for words in ("secret", ""):
        found = await either_store.read(recall, AGENT.id, scopes, words, NOW, among_others=True)
        assert [fact.content for fact in found.sticky] == ["the secret of the hall"]
        assert [fact.content for fact in found.facts] == ["secret of user_preference", "tea is served at five"]
        assert (found.states, found.left_out) == ((), 0)
    alone = await either_store.read(recall, AGENT.id, scopes, "secret", NOW)
    assert len(alone.sticky) == 2
    assert alone.states


async def test_what_is_over_is_not_recalled(either_store: Store) -> None:
    def script(tx: Transaction) -> None:
        for category in (Category.STICKY, PREFERENCE):
            tell(tx, replace(new_fact("is in Rome", category=category), expires_at=NOW + 1))

    await either_store.write(script)
    assert await either_store.read(recall, AGENT.id, (ANN,), "rome", NOW + 1) == Recall((), (), ())


async def test_recall_only_reads_and_touch_counts(either_store: Store) -> None:
    await either_store.write(tell, new_fact("likes tea"))
    found = await recalled(either_store, (ANN,), "tea")
    assert uncounted(found, found.fact_ids, NOW + 1) == found.fact_ids
    await either_store.write(touch, found.fact_ids, NOW + 1)
    used = await recalled(either_store, (ANN,))
    assert [fact.access_count for fact in used.facts] == [1]
    assert uncounted(used, used.fact_ids, NOW + USE_MS) == []
    assert uncounted(used, used.fact_ids, NOW + USE_MS + 1) == used.fact_ids
    assert uncounted(used, [], NOW + USE_MS + 1) == []


# -- states ---------------------------------------------------------------------------------------------------


def state(key: str, value: str = "1", taint: Taint = CLEAN) -> State:
    return State(AGENT.id, ANN, key, value, taint, "ann", "m1", NOW)


async def test_a_state_that_is_none(either_store: Store) -> None:
    for wrong in (state(""), state("a b"), state("ключ"), state("k" * 65), state("k", "x" * 2001)):
        assert isinstance(await either_store.write(put_state, wrong), Refused)


async def test_states_are_replaced_and_bounded(either_store: Store) -> None:
    def script(tx: Transaction) -> list[bool]:
        for number in range(MOST_KEYS):
            put_state(tx, state(f"k{number}"))
        return [isinstance(put_state(tx, each), Refused) for each in (state("one.more"), state("k7", "2"))]

    assert await either_store.write(script) == [True, False]


async def test_a_tainted_value_takes_no_place_of_a_clean_one(either_store: Store) -> None:
    def script(tx: Transaction) -> list[bool]:
        steps = (state("k", "1", TOOLS), state("k", "2", PEOPLE), state("k", "3"), state("k", "4", TOOLS))
        return [isinstance(put_state(tx, each), Refused) for each in steps]

    assert await either_store.write(script) == [False, False, False, True]
    assert [each.value for each in (await recalled(either_store, (ANN,))).states] == ["3"]


# -- decay ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("category", Category)
async def test_what_nobody_uses_is_trusted_less_once_for_each_time(either_store: Store, category: Category) -> None:
    fact = (await either_store.write(tell, new_fact("likes tea", category=category))).fact
    life = LIVES_MS.get(category, 365 * DAY_MS)
    sure = []
    for at in (life - 1, life + 1, life + 2, life + DAY_MS, 2 * life + 2, 2 * life + 3):
        await either_store.write(decay, NOW + at, 10)
        sure.append((await either_store.read(known, fact)).confidence)
    assert sure == ([1000] * 6 if category is Category.STICKY else [1000, 900, 900, 900, 810, 810])


async def test_a_used_fact_stays_and_a_forgotten_one_fades(either_store: Store) -> None:
    used, unused = await either_store.write(tell_all, new_fact("likes tea"), new_fact("plays the violin"))
    life = LIVES_MS[PREFERENCE]
    for round_ in range(1, 21):
        now = NOW + round_ * (life + 1)
        await either_store.write(touch, [used.fact.id], now)
        while await either_store.write(decay, now, 1):
            pass
    assert (await either_store.read(known, used.fact)).confidence == 1000
    assert (await either_store.read(known, unused.fact)).status is FactStatus.FADED
    assert await either_store.read(changes, unused.fact) == ["added", "faded"]


async def test_a_daemon_that_slept_catches_up_at_once(either_store: Store) -> None:
    fact = (await either_store.write(tell, new_fact("likes tea"))).fact
    await either_store.write(decay, NOW + 3 * LIVES_MS[PREFERENCE] + 1, 10)
    assert (await either_store.read(known, fact)).confidence == 729
    await either_store.write(decay, NOW + 99 * LIVES_MS[PREFERENCE], 10)
    faded = await either_store.read(known, fact)
    assert (faded.status, faded.confidence) == (FactStatus.FADED, 100)


async def test_what_is_over_fades_in_slices(either_store: Store) -> None:
    def script(tx: Transaction) -> None:
        for number in range(5):
            tx.facts.add(replace(new_fact(f"guest{number}"), expires_at=NOW + number), NOW)

    await either_store.write(script)
    assert [await either_store.write(decay, NOW + 3, 3) for _ in range(3)] == [3, 1, 0]
    assert await either_store.read(contents) == ["guest4"]
