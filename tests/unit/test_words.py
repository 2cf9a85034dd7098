"""Words for the search, in all kinds of scripts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arvis.domain.memory import asked_words, words_of

TABLE = [
    ("C++ or c#?", ["c", "c++", "or", "c", "c#"]),
    ("foo-bar (node.js), 3.12.", ["foo", "bar", "foo-bar", "node", "js", "node.js", "3", "12", "3.12"]),
    ("/srv/ann/a.txt", ["srv", "ann", "a", "txt", "srv/ann/a.txt"]),
    ("<ann.b@example.org>", ["ann", "b", "example", "org", "ann.b@example.org"]),
    ("Straße ÄPFEL", ["strasse", "äpfel"]),
    ("Привет, МИР", ["привет", "мир"]),
    ("می\u200cخواهم كتـاب", ["میخواهم", "كتاب"]),  # noqa: RUF001 these are Arabic
    ("हिन्दी में", ["हिन्दी", "में"]),
    ("喝茶。", ["喝", "茶", "喝茶"]),
    ("Python3中文", ["python3", "中", "文", "中文"]),
    ("ｶﾀｶﾅ ＡＢＣ", ["カ", "タ", "カ", "ナ", "カタ", "タカ", "カナ", "abc"]),  # noqa: RUF001 these are wide
    ("고양이", ["고", "양", "이", "고양", "양이"]),
    ("แมว", ["แ", "ม", "ว", "แม", "มว"]),
    ("👍🏽 🇩🇪", ["👍", "🇩", "🇪", "🇩🇪"]),
    ("☕\ufe0f it\u2019s", ["☕", "it", "s", "it's"]),
    ("--- ... !", []),
]


@pytest.mark.parametrize(("text", "words"), TABLE)
def test_the_table(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_who_asks_is_not_led_astray_by_letters_that_are_everywhere() -> None:
    assert asked_words("我喜欢茶 茶") == ["我喜", "喜欢", "欢茶", "茶"]
    assert len(asked_words(" ".join(map(str, range(1000))))) == 64


@given(st.text(), st.text())
def test_a_text_is_found_by_its_own_words_beside_any_other(text: str, other: str) -> None:
    assert set(asked_words(text)) <= set(words_of(f"{text[:1000]} {other[:1000]}")) | set(words_of(text))
    assert all(word and not word.isspace() for word in words_of(text))


@given(st.text("Ää\u00df\u0130\u0131\u01f0\u03a3\u03c2Aa가ｶﾞ"))
def test_case_and_width_do_not_count(text: str) -> None:
    assert words_of(text.upper().casefold()) == words_of(text.casefold().upper().casefold())


def test_a_long_text_is_cut_in_no_time() -> None:
    started = time.process_time()
    for text in ("喝茶" * 5_000_000, "a-" * 5_000_000, "x" * 10_000_000, "\u0301" * 10_000_000):
        asked_words(text)
    assert time.process_time() - started < 2
