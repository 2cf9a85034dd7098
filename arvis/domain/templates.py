"""Places in a text that a value is put into: `{{payload}}`, `{{payload.a.b}}`, `{{payload.a.0}}`, `{{headers.x}}`
(behaviour.md 1.18).

What is put in is somebody else's: tags in it are no tags any more, it may not bring further places along, and all of it
together has a bound.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from arvis.domain.markup import escape

#: Characters that values may bring into one text.
LONGEST_VALUES = 60_000

_PLACE = re.compile(r"\{\{\s*(payload|headers)((?:[.\[][^{}\s]{1,200})?)\s*\}\}")
_STEP = re.compile(r"[^.\[\]]+")
_INDEX = re.compile(r"-?\d{1,9}", re.ASCII)


def has_places(template: str) -> bool:
    """Whether anything of others would stand in the text."""
    return _PLACE.search(template) is not None


def fill(template: str, values: Mapping[str, Any]) -> str:
    """The template with what its places name in `values`; a place that names nothing is empty. What is too long is cut,
    and says so."""
    left = LONGEST_VALUES

    def put(place: re.Match[str]) -> str:
        nonlocal left
        text = _text(value_at(values.get(place[1]), place[2])) if left else ""
        whole, text = len(text), text[:left]
        left -= len(text)
        return escape(text) if len(text) == whole else f"{escape(text)}… (cut: {whole} characters in all)"

    return _PLACE.sub(put, template)


def value_at(value: Any, path: str) -> Any:
    """What stands at a path such as `a.b`, and in lists by number `a.0` or `a[0]`; None where nothing does."""
    for step in _STEP.findall(path):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and _INDEX.fullmatch(step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _text(value: Any) -> str:
    """A text as it is, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
