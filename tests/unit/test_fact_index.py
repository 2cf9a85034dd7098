"""The index of facts that is held in memory."""

from __future__ import annotations

from arvis.domain.search import question_of
from arvis.store.sql.fact_search import FactIndex


def index(*contents: str) -> FactIndex:
    return FactIndex.of([(content, number, content) for number, content in enumerate(contents)])


def test_rare_words_come_first_and_among_equals_the_oldest_fact() -> None:
    facts = index("likes tea", "likes green tea", "drinks tea", "lives in Rome")
    assert facts.best(question_of("green tea"), 9) == ["likes green tea", "likes tea", "drinks tea"]
    assert facts.best(question_of("tea"), 1) == ["likes tea"]
    assert facts.best(question_of("coffee"), 9) == []


def test_words_with_the_same_stem_and_the_same_beginning_are_found() -> None:
    facts = index("painted the harbour", "has a pain in the back", "was NOT there")
    assert facts.best(question_of("paintings"), 9) == ["painted the harbour"]
    # `not` is the stem of `notes` in some languages, but a beginning of three letters finds too many other words.
    assert facts.best(question_of("notes"), 9) == []


def test_a_single_character_finds_all_words_that_begin_with_it() -> None:
    assert index("我喜欢喝绿茶", "likes tea").best(question_of("喝"), 9) == ["我喜欢喝绿茶"]


def test_a_word_with_a_typing_error_finds_the_word_if_no_fact_contains_it() -> None:
    facts = index("has a daughter in Rome", "repairs the crane", "slaughters no animals")
    asked = question_of("dauhgter")
    assert facts.best(asked, 9) == []
    assert facts.best(asked, 9, corrects=True) == ["has a daughter in Rome"]
    assert facts.best(question_of("crames"), 9, corrects=True) == []
    assert facts.best(question_of("carne"), 9, corrects=True) == ["repairs the crane"]
    assert facts.best(question_of("2027"), 9, corrects=True) == []


def test_the_cache_counts_each_fact() -> None:
    assert len(index("one", "two").rows) == 2
