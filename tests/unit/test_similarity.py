"""The near-duplicate rule of memory: whether a new fact is the same, an update, or a different one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.memory.similarity import Wording, distance, similarity

SAME, NEWS, OTHER = "same", "news", "other"

TABLE = [
    ("Prefers Python 3.11", "prefers  python 3.11 ", SAME),
    ("User prefers dark mode in the editor", "The user prefers dark mode in the editor.", SAME),
    ("likes a strong coffee in the morning", "likes strong coffees in the morning", SAME),
    ("Meets Bob on Monday at the office", "Meets Bob on Monday at the office!", SAME),
    ("我每天早上喝茶", "我每天早上喝茶。", SAME),
    # Numbers, dates, quoted names and negations make a fact an update.
    ("prefers Python 3.11", "prefers Python 3.12", NEWS),
    ("the flat has from 3 to 5 rooms", "the flat has from 5 to 3 rooms", NEWS),
    ("the meeting of the team is on Monday", "the meeting of the team is on Friday", NEWS),
    ("the meeting of the team is on Monday", "the meeting of the team is", NEWS),
    ('calls the big project "Apollo" at work', 'calls the big project "Gemini" at work', NEWS),
    ("the boat is called “Apollo” by all", "the boat is called “Apolla” by all", NEWS),
    ("eats fish on most days", "eats no fish on most days", NEWS),
    ("the user does like long answers", "the user doesn\u2019t like long answers", NEWS),
    ("我每天早上喝茶和咖啡", "我每天早上不喝茶和咖啡", NEWS),
    ("она ест мясо каждый день", "она не ест мясо каждый день", NEWS),
    # So does any other new word, because no information may be lost.
    ("The user lives in Berlin", "The user lives in Munich", NEWS),
    ("the user has a cat at home now", "the user has a dog at home now", NEWS),
    ("prefers tabs over spaces", "prefers spaces over tabs", NEWS),
    ("Ann likes green tea", "Ann likes green tea, decaf", NEWS),
    ("her sister is called Anna by friends", "her sister is called Anne by friends", NEWS),
    ("我住在北京的公司附近", "我住在南京的公司附近", NEWS),
    # Different facts.
    ("likes tea", "likes coffee", OTHER),
    ("lives in Berlin", "works in Hamburg for a bank", OTHER),
    ("a b c", "a b c d e f g h", OTHER),
    ("x" * 501, "x" * 500 + "y", OTHER),
    ("", "x", OTHER),
]


def verdict(old: str, new: str) -> str:
    like = similarity(Wording.of(new), Wording.of(old))
    return OTHER if like is None else SAME if like.same else NEWS


@pytest.mark.parametrize(("old", "new", "expected"), TABLE)
def test_the_table(old: str, new: str, expected: str) -> None:
    assert verdict(old, new) == expected


def test_a_long_text_is_near_only_to_itself() -> None:
    assert verdict("word " * 200, "Word " * 200) == SAME
    assert verdict("word " * 200, "word " * 199 + "ward ") == OTHER


def plain_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, row[0] = row[0], i
        for j, wanted in enumerate(other, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (letter != wanted))
    return row[-1]


@given(st.text("abc", max_size=70), st.text("abc", max_size=70))
def test_the_distance_is_the_one_of_the_books(one: str, other: str) -> None:
    assert distance(one, other) == plain_distance(one, other)


@given(st.text(max_size=200))
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert verdict(text, text) == SAME


WORDS = st.lists(
    st.sampled_from(("Ann", "likes", "tea", "7", "not", "in", "Rome", "since", "May", "茶", "喝")),
    min_size=1,
    max_size=12,
)


@given(WORDS, WORDS)
def test_what_is_the_same_holds_every_number_and_every_name_that_is_told(old: list[str], new: list[str]) -> None:
    if verdict(" ".join(old), " ".join(new)) == SAME:
        assert {"Ann", "7", "not", "Rome", "茶"} & set(new) <= set(old)
