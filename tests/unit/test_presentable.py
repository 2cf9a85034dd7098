"""The characters of untrusted texts that people see unchanged."""

from __future__ import annotations

import pytest

from arvis.domain.text import presentable


@pytest.mark.parametrize(
    "text",
    [
        "plain\n\ttext\r\n",
        "👨\u200d👩\u200d👧 ❤\ufe0f ☎\ufe0e",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "\u0645\u06cc\u200c\u062e \u200f\u05e2\u05d1\u200e \u061c\u0639",
        "co\u00adoperate, 東京, 葛\U000e0100城, ไทย",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert presentable(text) == text


@pytest.mark.parametrize(
    "letter",
    [*"\0\x07\x08\x1b\x7f\x85\x9b\r\u200b\u2028\u202a\u202e\u2060\u2066\u2069\ufeff\ufffb", "\U000e0041", "\U000e0001"],
)
def test_what_hides_or_reorders_is_marked(letter: str) -> None:
    assert presentable(f"a{letter}b") == "a\ufffdb"


def test_runs_of_variants_and_variants_of_letters_are_marked() -> None:
    assert presentable("x\ufe01\ufe02\ufe03") == "x\ufe01\ufffd\ufffd"
    assert presentable("x\U000e0101\U000e0102") == "x\ufffd\ufffd"
