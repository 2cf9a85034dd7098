"""Splitting of Markdown into parts."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.formatting.splitting import LEAST, divide, split
from connectors.formatting.units import utf16_length
from tests.parts import LONG
from tests.unit.splitter_kit import MEASURES, broken_rules, example

_ANY_CHARACTER = st.characters(exclude_categories=["Cs", "Cn", "Co"])


@settings(max_examples=1_500 if LONG else 400, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 40))
def test_the_rules_hold_for_texts_made_to_break_them(seed: int) -> None:
    text, limit, measure = example(random.Random(seed))
    assert broken_rules(text, limit, measure) == []


@settings(max_examples=500 if LONG else 200, suppress_health_check=list(HealthCheck))
@given(st.text(_ANY_CHARACTER, max_size=400), st.sampled_from([60, 100]), st.sampled_from(sorted(MEASURES)))
def test_the_rules_hold_for_any_text(text: str, limit: int, measure: str) -> None:
    assert broken_rules(text, limit, measure) == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("short", ["short"]),
        (" \n" * 60, [""]),
        (f"{'a' * 30}\n\n{'b' * 20}\n{'c' * 19}", ["a" * 30, f"{'b' * 20}\n{'c' * 19}"]),
        (f"{'a' * 30}\n{'b. ' * 8}", ["a" * 30, ("b. " * 8).rstrip()]),
        (f"{'a' * 30}. {'b ' * 8}", [f"{'a' * 30}.", ("b " * 8).rstrip()]),
        (f"{'a' * 40} {'b' * 20}", ["a" * 40, "b" * 20]),
        ("a" * 60, ["a" * 40, "a" * 20]),
        ("東" * 25 + "。" + "京" * 20, ["東" * 25 + "。", "京" * 20]),
        (f"- {'a' * 30}\n  - {'b' * 20}", [f"- {'a' * 30}", f"  - {'b' * 20}"]),
        (f"{'a' * 30} > {'b' * 20}", [f"{'a' * 30} >", "b" * 20]),
    ],
)
def test_a_part_ends_where_it_reads_best(text: str, parts: list[str]) -> None:
    assert split(text, 40) == parts


def test_code_is_closed_and_opened_again() -> None:
    text = "Look:\n```python\nfor a in b:\n    print(a)\n\n    print(b)\n```\nDone."
    assert split(text, 40) == [
        "Look:\n```python\nfor a in b:\n```",
        "```python\n    print(a)\n\n    print(b)\n```",
        "Done.",
    ]


def test_code_begins_in_the_part_where_it_has_room() -> None:
    text = f"{'word ' * 6}\n```\n{'x = 1' * 3}\n```"
    assert split(text, 40) == [("word " * 6).rstrip(), f"```\n{'x = 1' * 3}\n```"]


def test_a_language_that_takes_too_much_room_is_given_once() -> None:
    first, *others = split(f"```{'l' * 30}\n" + "x = 1\n" * 20 + "```", 48)
    assert first.startswith(f"```{'l' * 30}\n")
    assert others
    assert all(other.startswith("```\nx") for other in others)


@pytest.mark.parametrize("link", ["[two words](https://a.example/b)", "https://a.example/" + "b" * 15, "`some code`"])
def test_what_is_one_stays_one(link: str) -> None:
    for before in range(20, 40):
        parts = split(f"{'a' * before} {link} {'b ' * 20}", 40)
        assert any(link in part for part in parts)


def test_a_single_link_that_is_too_long_is_cut() -> None:
    link = f"[text](https://a.example/{'b' * 100})"
    assert "".join(split(f"see {link} there", 40)).replace(" ", "") == f"see{link}there"


def test_no_character_is_cut() -> None:
    family = "👩‍👩‍👧‍👦"
    assert split(family * 10, 40, utf16_length) == [family * 3] * 3 + [family]


def test_parts_are_made_as_they_are_asked_for_and_hardly_measured() -> None:
    measured: list[int] = []

    def measure(text: str) -> int:
        measured.append(len(text))
        return len(text)

    parts = divide("word " * 100_000, 100, measure)
    assert next(parts) == ("word " * 20).rstrip()
    assert sum(measured) < 1_000


def test_a_limit_needs_room() -> None:
    with pytest.raises(ValueError, match="too small"):
        split("x", LEAST - 1)


HARD = {
    "prose": "Hello world, this is text. ",
    "one word": "a",
    "families": "👩‍👩‍👧‍👦",
    "flags": "🇩🇪",
    "marks on one letter": "\u0301",
    "one line of code": "```py\n" + "x = 1; ",
    "code": "```py\nx = 1\n```\n",
    "backticks": "`",
    "runs of backticks": "` `` ``` ",
    "brackets": "[",
    "open links": "[a](b ",
    "nested brackets": "[[a]",
    "addresses": "https://x.example/",
    "spaces": " ",
    "lines": "\n",
    "quotes": "> ",
    "lists": "- 1. ",
}


@pytest.mark.parametrize("name", sorted(HARD))
def test_it_takes_time_in_proportion_to_the_text(name: str) -> None:
    def seconds(size: int) -> float:
        text = (HARD[name] * (size // len(HARD[name]) + 1))[:size]
        started = time.process_time()
        split(text, 4_096, utf16_length)
        return time.process_time() - started

    # Quadratic time would show as a factor of sixteen; short times are too noisy to compare.
    small, large = min(seconds(65_536) for _ in range(2)), min(seconds(262_144) for _ in range(2))
    assert large < max(10 * small, 0.1)
