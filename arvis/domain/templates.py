"""Placeholders in templates: `{{payload}}`, `{{payload.a.b}}`, `{{payload.a.0}}`, `{{headers.x}}` (behaviour.md
1.18).

Inserted values are untrusted: their tags are escaped, their placeholders are not replaced, and their total size is
limited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from arvis.domain.markup import escape

#: The maximum number of characters that values may add to one text.
LONGEST_VALUES = 60_000

_PLACE = re.compile(r"\{\{\s*(payload|headers)((?:[.\[][^{}\s]{1,200})?)\s*\}\}")
_STEP = re.compile(r"[^.\[\]]+")
_INDEX = re.compile(r"-?\d{1,9}", re.ASCII)


def has_places(template: str) -> bool:
    """Return whether the text has placeholders, and so would contain untrusted text."""
    return _PLACE.search(template) is not None


def fill(template: str, values: Mapping[str, Any]) -> str:
    """Return the template with placeholders replaced by `values`; an unknown placeholder becomes empty. Text over the
    limit is cut off and marked."""
    left = LONGEST_VALUES

    def put(place: re.Match[str]) -> str:
        nonlocal left
        text = _text(value_at(values.get(place[1]), place[2])) if left else ""
        whole, text = len(text), text[:left]
        left -= len(text)
        return escape(text) if len(text) == whole else f"{escape(text)}… (cut: {whole} characters in all)"

    return _PLACE.sub(put, template)


def value_at(value: Any, path: str) -> Any:
    """Return the value at a path such as `a.b`, or `a.0` and `a[0]` in lists; None if there is none."""
    for step in _STEP.findall(path):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and _INDEX.fullmatch(step) and -len(value) <= int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _text(value: Any) -> str:
    """Return a text unchanged, any other value as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
