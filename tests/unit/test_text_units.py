"""Lengths as platforms count them, and characters as people see them, compared with another implementation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wcwidth import iter_graphemes

from connectors.formatting.units import ends_grapheme, last_end, utf16_length
from tests.unit.splitter_kit import graphemes

#: Characters that combine with their neighbours or separate them; the tests use any others, too.
_SPECIAL = (
    "\u200d\u200c\u0301\ufe0f\u20e3👩👧🏽🇩🇪🇫\U000e0067\U000e007f\u0e33\uff9e\u1100\u1161\u11a8가각\u0915\u094d\u093f\u0ba8"
    "\u0bbf\u0600\u0d4e\u200b\u00ad\r\n a1#\u1160\u11ff\ua960\ud7b0\ud7cb\U000110bd\u0e01\u0903\u20d2"
)
_TEXT = st.text(st.sampled_from(_SPECIAL) | st.characters(exclude_categories=["Cs", "Cn", "Co"]), max_size=12)


def _ends(clusters: list[str]) -> list[int]:
    return [sum(map(len, clusters[:number])) for number in range(1, len(clusters) + 1)]


@settings(max_examples=2_000)
@given(_TEXT)
def test_every_end_is_one(text: str) -> None:
    found = list(graphemes(text))
    assert "".join(found) == text
    assert set(_ends(found)) <= set(_ends(list(iter_graphemes(text))))


@pytest.mark.parametrize(
    "text",
    [
        "plain text\r\n",
        "e\u0301a\u0308",
        "👩‍👩‍👧‍👦👍🏽1️⃣",
        "🇩🇪🇫🇷🇮",
        "한국어 \u1112\u1161\u11ab\u1100",
        "क्षि நி กำ",
        "東京。",
        "\u0600\u0661x",
    ],
)
def test_ends_are_not_overlooked(text: str) -> None:
    assert list(graphemes(text)) == list(iter_graphemes(text))


def test_halves_of_a_surrogate_pair_are_one() -> None:
    assert not ends_grapheme("\ud83d\ude00", 1)


def test_the_last_end_is_found() -> None:
    assert last_end("ab👍🏽c", 0, 3) == 2
    assert last_end("ab👍🏽c", 0, 4) == 4
    assert last_end("👍🏽", 0, 1) == 1


@pytest.mark.parametrize("text", ["", "abc", "é東", "👍🏽", "a👩‍👧"])
def test_utf16_units_are_counted(text: str) -> None:
    assert utf16_length(text) == len(text.encode("utf-16-le")) // 2
