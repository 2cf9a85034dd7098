"""The texts of errors consist of whole sentences wherever their parts are joined."""

from __future__ import annotations

import pytest

from arvis.domain.errors import sentences


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("The key is missing", "It was deleted", "Create it."), "The key is missing. It was deleted. Create it."),
        (("The key is missing.", "", "Create it"), "The key is missing. Create it"),
        (("Which one?", "There are two."), "Which one? There are two."),
        (("", " "), ""),
    ],
)
def test_parts_of_an_error_are_joined_as_sentences(parts: tuple[str, ...], text: str) -> None:
    assert sentences(*parts) == text
