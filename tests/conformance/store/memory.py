"""Cases for memory: facts with their words, their changes, and state keys."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from arvis.domain.memory import EVERYWHERE, Category, Fact, FactStatus, NewFact, State, asked_words
from arvis.domain.taint import CLEAN, Label
from arvis.ports.store import Store, Transaction
from tests.conformance.store.scripts import AGENT, NOW, add_agent
from tests.conformance.store.transactions import TransactionCases

ANN, BOB = "principal:ann", "principal:bob"

#: Stored text -> a query that finds it.
LANGUAGES = {
    "writes C": ("writes", "writing", "who is writing this?"),
    "painted the harbour": ("paintings", "harbours", "Did she paint the harbour?"),
    "hat zwei Häuser gekauft": ("häuser", "kaufte er ein gekauftes Haus?"),
    "a gift 🎁": ("gift",),
    "likes C++ and Python 3.12": ("c++", "3.12", "PYTHON"),
    "keeps notes in /srv/notes/todo-list.md": ("todo-list.md", "notes", "/srv/notes/todo-list.md"),
    "writes to ann.b@example.org": ("ann.b@example.org", "example.org"),
    "größte Straße Äpfel": ("STRASSE", "äpfel", "Größte"),
    "любит чёрный чай": ("ЧАЙ", "чёрный"),
    "می\u200cخواهم كتاب": ("میخواهم", "كتاب"),  # noqa: RUF001 these are Arabic
    "मुझे चाय पसंद है": ("चाय", "पसंद"),
    "我喜欢喝绿茶": ("绿茶", "喝", "喜欢"),
    "京都に住んでいます": ("京都", "住ん"),
    "고양이를 좋아합니다": ("고양이", "좋아"),
    "แมวชอบปลา": ("ปลา", "แมว"),
    "party 🎉 in 🇩🇪": ("🎉", "🇩🇪"),
    "AND OR NOT NEAR col:umn 'quo\"ted": ("NEAR", "col:umn", 'quo"ted'),
}


def new_fact(content: str, scope: str = ANN, category: Category = Category.LEARNED_PATTERN) -> NewFact:
    return NewFact(AGENT.id, scope, category, content)


def keep(tx: Transaction, new: NewFact, now: int = NOW) -> Fact:
    return tx.facts.add(new, now)


def search(tx: Transaction, text: str, *scopes: str) -> list[str]:
    found = tx.facts.search(AGENT.id, scopes or (ANN,), asked_words(text), 20)
    return [fact.content for fact in found]


def set_status(tx: Transaction, fact: Fact, status: FactStatus) -> None:
    tx.facts.update(replace(fact, status=status), NOW)


class MemoryCases(TransactionCases):
    async def test_a_fact_comes_back_as_it_was_told(self, store: Store) -> None:
        new = NewFact(
            AGENT.id,
            ANN,
            Category.STICKY,
            "never forget",
            taint=frozenset({Label.PEOPLE, Label.FILES}),
            author_id="ann",
            message_id="m1",
            execution_id="e1",
            expires_at=NOW + 5,
        )
        await store.write(add_agent)
        fact = await store.write(keep, new)
        assert (fact.number, fact.confidence, fact.status, fact.created_at) == (1, 1000, FactStatus.ACTIVE, NOW)
        assert NewFact(*(getattr(fact, name) for name in NewFact.__slots__)) == new
        assert await store.read(lambda tx: tx.facts.get(fact.id)) == fact
        assert await store.read(lambda tx: tx.facts.by_number(1)) == fact
        assert await store.read(lambda tx: tx.facts.get("none")) is None

    async def test_numbers_follow_the_order_of_commits(self, store: Store) -> None:
        await store.write(add_agent)
        facts = await asyncio.gather(*(store.write(keep, new_fact(f"fact {number}")) for number in range(12)))
        assert sorted(fact.number for fact in facts) == list(range(1, 13))

    @pytest.mark.parametrize("content", LANGUAGES)
    async def test_words_of_every_language_are_found(self, store: Store, content: str) -> None:
        def script(tx: Transaction) -> None:
            add_agent(tx)
            for each in LANGUAGES:
                keep(tx, new_fact(each))

        await store.write(script)
        for asked in LANGUAGES[content]:
            assert (await store.read(search, asked))[0] == content, asked

    async def test_the_best_comes_first_and_ties_by_number(self, store: Store) -> None:
        def script(tx: Transaction) -> None:
            add_agent(tx)
            for content in ("red tea", "green tea", "green leaves tea", "black coffee"):
                keep(tx, new_fact(content))

        await store.write(script)
        assert (await store.read(search, "green tea"))[0] == "green tea"
        assert await store.read(search, "red") == ["red tea"]
        assert await store.read(search, "nothing else") == []
        assert await store.read(search, "...") == []
        assert (await store.read(search, "tea"))[:2] == ["red tea", "green tea"]

    async def test_a_search_finds_the_same_before_and_after_the_commit(self, store: Store) -> None:
        """A script that has changed facts searches the database, and other transactions may search an index in memory."""
        questions = [*LANGUAGES, *(each for asked in LANGUAGES.values() for each in asked), "who likes notes and tea?"]

        def found(tx: Transaction) -> list[list[str]]:
            return [search(tx, question, ANN, BOB) for question in questions]

        def script(tx: Transaction) -> list[list[str]]:
            add_agent(tx)
            for place, each in enumerate(LANGUAGES):
                keep(tx, new_fact(each, (ANN, BOB, EVERYWHERE)[place % 3]))
                keep(tx, new_fact(f"{each}, {place}", BOB))
            return found(tx)

        inside = await store.write(script)
        assert await store.read(found) == inside
        assert await store.read(found) == inside
        await store.write(lambda tx: set_status(tx, tx.facts.of(AGENT.id, (BOB,), limit=1)[0], FactStatus.DELETED))
        assert await store.read(found) != inside

    async def test_typing_errors_in_a_few_words_are_corrected_on_request(self, store: Store) -> None:
        def find(tx: Transaction, text: str, *, corrects: bool = True) -> list[str]:
            found = tx.facts.search(AGENT.id, [ANN], asked_words(text), 20, corrects=corrects)
            return [fact.content for fact in found]

        def script(tx: Transaction) -> list[str]:
            add_agent(tx)
            keep(tx, new_fact("her daughter lives in Rome"))
            keep(tx, new_fact("her daughter lives in Paris", BOB))
            return find(tx, "dauhgter")

        assert await store.write(script) == ["her daughter lives in Rome"]
        assert await store.read(lambda tx: find(tx, "dauhgter", corrects=False)) == []
        assert await store.read(find, "where is my dauhgter") == ["her daughter lives in Rome"]
        many = " ".join(["dauhgter", *(f"word{letter}" for letter in "abcdefghij")])
        assert await store.read(find, many) == []

    async def test_only_these_scopes_are_looked_at(self, store: Store) -> None:
        def script(tx: Transaction) -> None:
            add_agent(tx)
            tx.agents.add(replace(AGENT, id="agent-2", slug="other"), NOW)
            for scope in (ANN, BOB, EVERYWHERE):
                keep(tx, new_fact(f"tea of {scope}", scope))
            keep(tx, replace(new_fact("tea of another agent"), agent_id="agent-2"))

        await store.write(script)
        assert await store.read(search, "tea", ANN) == [f"tea of {ANN}"]
        assert sorted(await store.read(search, "tea", BOB, EVERYWHERE)) == [f"tea of {EVERYWHERE}", f"tea of {BOB}"]
        kept = await store.read(lambda tx: tx.facts.of(AGENT.id, (ANN, EVERYWHERE), limit=10))
        assert [fact.scope for fact in kept] == [ANN, EVERYWHERE]
        assert await store.read(lambda tx: tx.facts.count(AGENT.id, ANN)) == 1

    async def test_only_active_facts_are_found(self, store: Store) -> None:
        await store.write(add_agent)
        fact = await store.write(keep, new_fact("green tea"))
        for status in (FactStatus.DELETED, FactStatus.SUPERSEDED, FactStatus.ACTIVE, FactStatus.FADED):
            await store.write(set_status, fact, status)
            there = [fact.content] if status is FactStatus.ACTIVE else []
            assert await store.read(search, "tea") == there
            kept = await store.read(lambda tx: tx.facts.of(AGENT.id, (ANN,), limit=10))
            assert [each.content for each in kept] == there

    async def test_the_most_trusted_come_first_and_of_those_the_last_used(self, store: Store) -> None:
        def script(tx: Transaction) -> list[str]:
            add_agent(tx)
            facts = [keep(tx, new_fact(f"fact {number}", (ANN, EVERYWHERE)[number % 2])) for number in range(4)]
            tx.facts.update(replace(facts[0], confidence=500), NOW)
            tx.facts.touch([facts[3].id, facts[3].id], NOW + 1)
            kept = tx.facts.of(AGENT.id, (ANN, EVERYWHERE), limit=3)
            return [fact.content for fact in kept]

        assert await store.write(script) == ["fact 3", "fact 1", "fact 2"]
        [last] = await store.read(lambda tx: tx.facts.of(AGENT.id, (ANN, EVERYWHERE), limit=1))
        assert (last.accessed_at, last.access_count, last.updated_at) == (NOW + 1, 1, NOW)

    async def test_the_same_text_and_the_weakest_of_one_scope(self, store: Store) -> None:
        def script(tx: Transaction) -> list[list[str]]:
            add_agent(tx)
            for number in range(4):
                fact = keep(
                    tx, replace(new_fact(f"fact {number}"), taint=frozenset({Label.PEOPLE} if number % 2 else ()))
                )
                tx.facts.update(replace(fact, confidence=500 + number, accessed_at=NOW), NOW)
            keep(tx, new_fact("a rule", category=Category.STICKY))
            keep(tx, new_fact("fact 0", BOB))
            set_status(tx, keep(tx, new_fact("fact 0")), FactStatus.DELETED)
            weakest = [tx.facts.weakest(AGENT.id, ANN, tainted=tainted, limit=3) for tainted in (False, True)]
            same = [tx.facts.same(AGENT.id, ANN, content) for content in ("fact 0", "fact")]
            return [[fact.content for fact in facts] for facts in (*weakest, *same)]

        assert await store.write(script) == [["fact 0", "fact 1", "fact 2"], ["fact 1", "fact 3"], ["fact 0"], []]

    async def test_one_category_alone(self, store: Store) -> None:
        def script(tx: Transaction) -> list[str]:
            add_agent(tx)
            keep(tx, new_fact("a rule", category=Category.STICKY))
            keep(tx, new_fact("a pattern"))
            return [fact.content for fact in tx.facts.of(AGENT.id, (ANN,), category=Category.STICKY, limit=9)]

        assert await store.write(script) == ["a rule"]

    async def test_idle_and_expired_facts(self, store: Store) -> None:
        def script(tx: Transaction) -> list[list[str]]:
            add_agent(tx)
            _old, used, changed = (keep(tx, new_fact(name), NOW - 10) for name in ("old", "used", "changed"))
            tx.facts.touch([used.id], NOW)
            tx.facts.update(changed, NOW)
            keep(tx, replace(new_fact("over"), expires_at=NOW))
            keep(tx, replace(new_fact("not yet"), expires_at=NOW + 1))
            idle = tx.facts.idle(Category.LEARNED_PATTERN, NOW, 10)
            others = tx.facts.idle(Category.USER_PREFERENCE, NOW, 10)
            return [[fact.content for fact in facts] for facts in (idle, others, tx.facts.expired(NOW, 10))]

        assert await store.write(script) == [["old"], [], ["over"]]

    async def test_the_newest_change_that_can_be_taken_back(self, store: Store) -> None:
        def script(tx: Transaction) -> list[str]:
            add_agent(tx)
            fact = keep(tx, replace(new_fact("green tea"), taint=frozenset({Label.TOOLS})))
            seen = []
            for change in ("added", "refreshed", "confirmed", "faded"):
                tx.facts.note(fact, change, by_id="ann", now=NOW)
            for _ in range(2):
                last = tx.facts.last_change(AGENT.id, (BOB, ANN))
                assert last is not None
                seen.append(last.change)
                tx.facts.note(fact, "restored", by_id="ann", now=NOW, undoes=last.id)
            assert tx.facts.last_change(AGENT.id, (ANN, BOB)) is None
            changes = tx.facts.changes(fact.id, 10)
            assert [change.number for change in changes] == list(range(1, 7))
            assert all(change.taint == fact.taint for change in changes)
            return seen

        assert await store.write(script) == ["confirmed", "added"]

    async def test_states_are_put_counted_and_removed(self, store: Store) -> None:
        state = State(AGENT.id, ANN, "alert.max", "150", CLEAN, "ann", "m1", NOW)

        def script(tx: Transaction) -> list[State]:
            add_agent(tx)
            for each in (state, replace(state, scope=BOB), replace(state, key="a", taint=frozenset({Label.AGENTS}))):
                tx.agent_state.put(each)
            tx.agent_state.put(replace(state, value="200", updated_at=NOW + 1))
            return tx.agent_state.of(AGENT.id, (ANN, EVERYWHERE), 10)

        found = await store.write(script)
        assert [(each.key, each.value) for each in found] == [("a", "150"), ("alert.max", "200")]
        assert found[0].taint == {Label.AGENTS}
        assert await store.read(lambda tx: tx.agent_state.get(AGENT.id, BOB, "alert.max")) == replace(state, scope=BOB)
        assert await store.read(lambda tx: tx.agent_state.count(AGENT.id, ANN)) == 2
        assert await store.write(lambda tx: tx.agent_state.remove(AGENT.id, ANN, "a"))
        assert not await store.write(lambda tx: tx.agent_state.remove(AGENT.id, ANN, "a"))
