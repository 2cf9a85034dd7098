"""The index of triggers finds the same triggers as a comparison with each of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.messages import Address
from arvis.domain.triggers import Trigger, TriggerIndex

ROOM = Address("telegram", "main", "room")
#: Few letters, so that words and texts often match: among them signs, a letter with an accent, and the long s, which
#: equals `s` in any case, although it is its own lower case.
LETTERS = st.text("abS sÉé!1-,\u017f", max_size=12)


def found(words: Sequence[str], text: str | None, address: Address = ROOM) -> list[str]:
    index = TriggerIndex([Trigger(f"w{number}", "go", "message", words=each) for number, each in enumerate(words)])
    return [each.words for each in index.matching(address, text)]


def compared(words: Sequence[str], text: str) -> list[str]:
    """Compare the text with each trigger."""
    return [each for each in words if _fits(each, text)]


def _fits(words: str, text: str) -> bool:
    every = [each.strip() for each in words.split(",") if each.strip()]
    return not every or any(
        re.search(rf"(?<!\w){re.escape(each)}(?!\w)", text, re.IGNORECASE) is not None for each in every
    )


@given(st.lists(LETTERS, max_size=6), LETTERS)
def test_the_index_finds_what_a_comparison_with_each_trigger_finds(words: list[str], text: str) -> None:
    assert found(words, text) == compared(words, text)


@pytest.mark.parametrize(
    ("words", "text", "matches"),
    [
        ("", "anything", True),
        ("invoice, order 17", "Where is ORDER 17?", True),
        ("invoice, order 17", "Where is order 175?", False),
        ("invoice, order 17", "order no. 17", False),
        ("c++", "I like C++ and Rust", True),
        ("straße", "In der STRAßE", True),
        ("!!!", "Help !!!", True),
    ],
)
def test_words_match_as_whole_words_in_any_case(words: str, text: str, *, matches: bool) -> None:
    assert (found([words], text) == [words]) is matches


def test_a_trigger_of_another_platform_or_channel_does_not_match() -> None:
    index = TriggerIndex(
        [
            Trigger("w1", "go", "message", "discord", words="paint"),
            Trigger("w2", "go", "message", channel="hall", words="paint"),
            Trigger("w3", "go", "message", "telegram", "room", "paint"),
        ]
    )
    assert [each.workflow_id for each in index.matching(ROOM, "paint it")] == ["w3"]


def test_without_a_text_words_are_not_compared() -> None:
    assert found(["paint", ""], None) == ["paint", ""]
