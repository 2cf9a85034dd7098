"""Token estimates: on the safe side and predictable."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.llm.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcdefg", 2),
        ("abcdefgh", 3),
        ("x" * 35, 10),
        ("日本語", 4),
        ("한국어", 4),
        ("😀", 2),
        ("привет", 4),
        ("é", 1),
        ("ab é", 2),
        ("\ud800", 1),
    ],
)
def test_examples(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(st.characters(codec="ascii")))
def test_english_is_three_and_a_half_characters_a_token(text: str) -> None:
    assert estimate_tokens(text) == math.ceil(len(text) / 3.5)


@given(st.text())
def test_only_nothing_is_nothing(text: str) -> None:
    assert (estimate_tokens(text) == 0) is (text == "")


@given(st.text(), st.text())
def test_two_texts_together_cost_at_most_what_they_cost_alone(one: str, other: str) -> None:
    alone = estimate_tokens(one) + estimate_tokens(other)
    together = estimate_tokens(one + other)
    assert max(estimate_tokens(one), estimate_tokens(other)) <= together <= alone


@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=1))
def test_dense_scripts_cost_more_than_a_token_a_sign(text: str) -> None:
    assert estimate_tokens(text) > len(text)
