"""The conditions of `if`, `condition` and `loop` nodes that need no model, and the interpretation of a model's answer
as yes or no."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.domain.workflows import as_text
from arvis.workflows.runtime.templates import MISSING, at_path, data_of

#: The words that mean "true".
YES = frozenset({"true", "yes"})
_NO = frozenset({"false", "no"})
#: The match must begin at the first of several white space characters, so that thousands of blanks do not cost
#: quadratic time.
_CONTAINS = regex(r"^(?P<text>.*?)(?<!\s)\s+contains\s+(?P<part>.*)$", re.IGNORECASE | re.DOTALL)
#: A field that is a single template. The value of the template is compared, and not interpreted as a path.
_TEMPLATE = regex(r"\{\{[^{}]{1,300}\}\}")
_ORDERED = frozenset({"greater", "less", "at_least", "at_most"})
#: The maximum characters of a rule's pattern, and of the text to which the pattern is applied, so that no document can
#: cause an endless search.
_LONGEST_PATTERN, _LONGEST_SEARCHED = 200, 2_000


# -- if ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of an `if`, with its result."""

    index: int
    operator: str
    expected: str
    holds: bool

    @property
    def handle(self) -> str:
        return f"condition-{self.index}"


def checks(
    conditions: Sequence[Mapping[str, Any]], output: Any, fill: Callable[[str], str] = lambda text: text
) -> list[Check]:
    """Evaluate the conditions until one holds, and return the results. A condition with the operator `contains` holds
    if the output contains the expected text. With any other operator, it holds if the output and the expected text are
    equal. Case is ignored, and so is white space around the expected text. An empty expected text never matches. `fill`
    replaces the templates of the expected text."""
    text = as_text(output).lower()
    done = list[Check]()
    for index, condition in enumerate(conditions):
        operator = str(condition.get("operator") or "equal")
        expected = fill(str(condition.get("value") or "")).strip().lower()
        holds = bool(expected) and (expected in text if operator == "contains" else expected == text)
        done.append(Check(index, operator, expected, holds))
        if holds:
            break
    return done


# -- condition ---------------------------------------------------------------------------------------------------------


def decide(rules: Sequence[Mapping[str, Any]], combinator: str, output: Any, fill: Callable[[str], str]) -> bool | None:
    """Return whether all rules hold for this output (`and`), or at least one rule (`or`). Return None if the data is
    not sufficient to decide. `fill` replaces the templates in fields and values of rules."""
    known = [_holds(rule, output, fill) for rule in rules]
    settling = combinator == "or"
    if settling in known:
        return settling
    return None if None in known else not settling


def _holds(rule: Mapping[str, Any], output: Any, fill: Callable[[str], str]) -> bool | None:
    operator, field = str(rule.get("operator") or "equals"), str(rule.get("field") or "").strip()
    value = fill(str(rule.get("value") or ""))
    if _TEMPLATE.fullmatch(field):
        filled = fill(field)
        # `fill` does not change a template with an unknown name; the rule then has no result.
        return None if filled == field else _compared(operator, data_of(filled), value)
    path = [part.strip() for part in fill(field).split(".") if part.strip()]
    data = data_of(output)
    found = at_path(output, path) if path else data
    if found is MISSING:
        # If the output lacks the field, only rules about the existence of the field have a result.
        absent = {"exists": False, "not_empty": False, "empty": True}
        return absent.get(operator) if isinstance(data, dict | list) else None
    return _compared(operator, found, value)


def _compared(operator: str, found: Any, expected: str) -> bool | None:
    text, wanted = as_text(found).strip().lower(), expected.strip().lower()
    numbers = _number(found), _number(expected)
    if operator in _ORDERED:
        return _ordered(operator, *numbers)
    if operator == "matches":
        return _matches(expected.strip(), as_text(found))
    empty = found in (None, "", [], {}) or not text
    return {
        "equals": _same(text, wanted, numbers),
        "not_equals": not _same(text, wanted, numbers),
        "contains": wanted in text,
        "not_contains": wanted not in text,
        "starts_with": text.startswith(wanted),
        "ends_with": text.endswith(wanted),
        "empty": empty,
        "not_empty": not empty,
        "exists": True,
    }.get(operator)


def _same(text: str, wanted: str, numbers: tuple[float | None, float | None]) -> bool:
    return text == wanted or (None not in numbers and numbers[0] == numbers[1])


def _ordered(operator: str, one: float | None, other: float | None) -> bool | None:
    if one is None or other is None:
        return None
    return {"greater": one > other, "less": one < other, "at_least": one >= other, "at_most": one <= other}[operator]


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _matches(pattern: str, text: str) -> bool | None:
    """Return whether the whole text matches the pattern, in which `*` matches any text and `?` one character. Return
    None if the text or the pattern is too long. Regular expressions are not used, because their search could take too
    long."""
    if len(pattern) > _LONGEST_PATTERN or len(text) > _LONGEST_SEARCHED:
        return None
    return _like(pattern.lower(), text.lower())


def _like(pattern: str, text: str) -> bool:
    """Return whether the text matches the pattern. The search only goes back to the last `*`, so its time is limited to
    the product of both lengths."""
    at, star, kept, here = 0, -1, 0, 0
    while here < len(text):
        if at < len(pattern) and pattern[at] == "*":
            star, kept, at = at, here, at + 1
        elif at < len(pattern) and pattern[at] in {"?", text[here]}:
            at, here = at + 1, here + 1
        elif star >= 0:
            kept += 1
            at, here = star + 1, kept
        else:
            return False
    return all(each == "*" for each in pattern[at:])


# -- loops -------------------------------------------------------------------------------------------------------------


def says_stop(resolved: str) -> bool:
    """Return whether a loop's condition, with its templates replaced, ends the loop. The condition does so if it is
    `true` or `yes`, or if it has the form `A contains B` and A contains B."""
    text = resolved.strip()
    if text.lower() in YES:
        return True
    if (found := _CONTAINS.match(text)) is None:
        return False
    part = found["part"].strip().strip("\"'").lower()
    return bool(part) and part in found["text"].lower()


def says_yes(answer: str) -> bool | None:
    """Return True if the first word of a model's answer is true or yes, False if it is false or no, and None for any
    other word."""
    words = re.findall(r"[a-z]+", answer.lower())
    first = words[0] if words else ""
    return True if first in YES else False if first in _NO else None
