"""Texts are ranked by their rare words, their length and their neighbours."""

from __future__ import annotations

from arvis.domain.ranking import Text, Wanted, ranked, rarity


def text(name: str, content: str, **near: int) -> Text:
    return Text(name, content.split(), near)


def wanted(*words: str, matching: int = 1) -> Wanted:
    return Wanted(frozenset(words), matching)


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    assert rarity(1, 1_000) > 2 * rarity(100, 1_000) > rarity(1_000, 1_000) > 0
    assert rarity(50, 10) > 0, "an estimate may be too low"
    texts = [text("rare", "crane tide"), text("common", "sea tide")]
    assert ranked(texts, [wanted("sea", matching=80), wanted("crane")], 100) == ["rare", "common"]


def test_more_words_and_shorter_texts_are_first_and_the_last_text_among_equals() -> None:
    texts = [text("a", "sea"), text("b", "sea"), text("both", "sea crane"), text("long", "sea " + "and " * 30)]
    assert ranked(texts, [wanted("sea", matching=4), wanted("crane")], 10) == ["both", "b", "a", "long"]
    assert ranked([text("twice", "sea sea"), text("once", "sea and")], [wanted("sea")], 10) == ["twice", "once"]


def test_all_spellings_are_one_word() -> None:
    texts = [text("two", "paint painted"), text("other", "paint brush")]
    assert ranked(texts, [wanted("paint", "painted"), wanted("brush")], 10) == ["other", "two"]
    beginning = Wanted(frozenset(), 1, "pa")
    assert ranked([*texts, text("none", "brush")], [beginning], 10) == ["two", "other"]


def test_a_text_gets_a_part_of_the_scores_of_its_neighbours() -> None:
    texts = [
        text("question", "when is the exhibition", answer=1, later=2),
        text("answer", "in march", question=1, later=1),
        text("later", "nice", question=2, answer=1),
        text("elsewhere", "exhibition of the the the the the the other people"),
    ]
    asked = [wanted("exhibition", matching=2)]
    assert ranked(texts, asked, 100) == ["question", "elsewhere"]
    assert ranked(texts, asked, 100, alone=False) == ["question", "elsewhere", "answer", "later"]


def test_nothing_is_found_in_nothing() -> None:
    assert ranked([], [wanted("sea")], 0) == []
    assert ranked([text("a", "")], [wanted("sea")], 1) == []
