"""Evaluate the answer for a script heartbeat: the text of its template, and its condition (behaviour.md 1.12).

Pure. The answer is untrusted data: tags in it are escaped, and no value is longer than a line or two.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from arvis.domain.markup import escape
from arvis.domain.templates import value_at

#: Inserted for a value that the answer does not contain.
UNKNOWN = "??"
#: Maximum characters of one value, and of the whole text.
LONGEST_VALUE = 500
LONGEST_TEXT = 8_000

_PLACE = re.compile(r"\{\{\s*([^{}]{1,200}?)\s*\}\}")
#: Characters of a text that are examined: most of it may be blanks.
_LOOKED_AT = 10_000
#: Numbers below 1 are shown with this many significant digits; others with this many decimals.
_DIGITS = 4
_DECIMALS = 2
#: From this number on, digits are not useful to a reader.
_HUGE, _TINY = 1e21, 1e-20
_ABSURD = 1e308

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}


def render(template: str, answer: Any) -> str:
    """Return the template with its values: `{{a.b.c}}`, in lists by number, `{{a.0.b}}` or `{{a[0].b}}`. Placeholders
    inside a value are not replaced."""
    room = LONGEST_TEXT

    def put(place: re.Match[str]) -> str:
        """Cut a value before it is formatted, because an answer may be very large."""
        nonlocal room
        text = shown(value_at(answer, place[1])) if room > 0 else ""
        room -= len(text)
        return text

    return _PLACE.sub(put, template)[:LONGEST_TEXT]


def shown(value: Any) -> str:
    """Return a value for people, in one line of at most 500 characters."""
    match value:
        case None:
            return UNKNOWN
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(value)
        case str():
            text = value[:_LOOKED_AT]
        case _:
            text = json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return escape(text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…")


def holds(condition: Mapping[str, Any], answer: Any) -> bool:
    """Return whether the condition holds. Numbers are compared as numbers if the condition's value is one, else texts
    as texts. A missing value never meets a condition, and neither does text where a number is required."""
    found, wanted = value_at(answer, condition["path"]), condition["value"]
    if found is None:
        return False
    compare = _COMPARE[condition["op"]]
    if isinstance(wanted, str):
        return compare(_plain(found), wanted)
    number = _as_number(found)
    return number is not None and compare(number, wanted)


def _number(value: float) -> str:
    """1,234,567.89 · 142.3 · 0.00004567"""
    size = abs(value)
    if size >= _HUGE:
        return f"{float(value):.{_DIGITS}g}" if size < _ABSURD else "more than can be said"
    if isinstance(value, int):
        return f"{value:,}"
    if 0 < size < _TINY:
        return f"{value:.{_DIGITS}g}"
    decimals = _DECIMALS if size >= 1 or size == 0 else _DIGITS - 1 - math.floor(math.log10(size))
    digits = f"{value:,.{decimals}f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _as_number(value: Any) -> float | None:
    """Return numbers, and texts that are written as one: many services quote theirs."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _plain(value: Any) -> str:
    """Return the value as text, for comparisons."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
