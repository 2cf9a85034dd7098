"""The comments of config.yaml and the descriptions of settings in the product have the same texts."""

from __future__ import annotations

import re
from pathlib import Path

from arvis.config.catalog import WORDS, catalog

ROOT = Path(__file__).parents[2]
_LINE = re.compile(r"^(?P<indent> *)(?P<name>[a-z_]+):.*?(?:\s#\s(?P<words>.*))?$")


def comments() -> dict[str, str | None]:
    """Return each key's comment on the same line, or None."""
    found: dict[str, str | None] = {}
    above: list[str] = []
    for line in (ROOT / "config.yaml").read_text("utf-8").splitlines():
        if match := _LINE.match(line):
            depth = len(match["indent"]) // 2
            above = [*above[:depth], match["name"]]
            found[".".join(above)] = match["words"].strip() if match["words"] else None
    return found


def test_the_words_are_those_of_the_comments() -> None:
    said = comments()
    keys = {setting.key for setting in catalog()}
    assert keys - set(said) == set(), "a setting is missing from config.yaml"
    told = {key: words for key in keys if (words := said[key]) is not None}
    assert {key: WORDS.get(key) for key in told} == told
    assert {key for key in keys if not WORDS.get(key)} == set()
    assert set(WORDS) - keys == set()
