"""No character is hidden in the text that a person sees before approving an action."""

from __future__ import annotations

import pytest

from arvis.approvals import visible


@pytest.mark.parametrize(
    "letter", ["\u3164", "\u2800", "\ufe0f", "\u115f", "\u200b", "\u202e", "\U000e0041", "\U000e0100"]
)
def test_letters_that_nobody_sees_are_shown_as_escapes(letter: str) -> None:
    shown = visible(f"rm{letter}-rf")
    assert letter not in shown
    assert "\\" in shown


@pytest.mark.parametrize("text", ["Grüße, 世界", "naïve café", "привет", "👍"])
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
