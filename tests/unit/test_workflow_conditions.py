"""Conditions of drawn workflows that need no model."""

from __future__ import annotations

import time
from typing import Any

import pytest

from arvis.workflows.runtime.conditions import checks, decide, says_stop, says_yes


def way(output: Any, *conditions: tuple[str, str]) -> str | None:
    rows = [{"operator": operator, "value": value} for operator, value in conditions]
    return next((each.handle for each in checks(rows, output) if each.holds), None)


@pytest.mark.parametrize(
    ("output", "conditions", "handle"),
    [
        ("Yes", [("equal", " YES ")], "condition-0"),  # the output is in lower case, the expected text is trimmed
        (" yes", [("equal", "yes")], None),  # the output is not trimmed
        ("anything", [("equal", "")], None),
        ("", [("equal", "")], None),
        ("", [("contains", "  ")], None),
        ({"a": 1}, [("contains", '"a":1')], "condition-0"),
        (
            "so what",
            [("contains", "no"), ("contains", "WHAT"), ("contains", "so")],
            "condition-1",
        ),  # the first condition that holds wins
        ("what", [("matches", "what")], "condition-0"),  # any operator except `contains` means `equal`
        ("what else", [("starts_with", "what")], None),
        (None, [("equal", "null")], None),
    ],
)
def test_an_if_compares_as_seed_002_says(output: Any, conditions: list[tuple[str, str]], handle: str | None) -> None:
    assert way(output, *conditions) == handle


def test_what_comes_behind_a_match_is_not_checked() -> None:
    assert len(checks([{"value": "a"}, {"value": "b"}], "a")) == 1


ORDER = {"order": {"total": 12.5, "city": "Bonn", "lines": [{"name": "pen"}], "note": "", "paid": True}}


@pytest.mark.parametrize(
    ("field", "operator", "value", "holds"),
    [
        ("order.total", "greater", "9", True),  # compared as numbers; as texts, "12.5" is less than "9"
        ("order.total", "less", "9", False),
        ("order.total", "at_least", "12.50", True),
        ("order.total", "at_most", "12.4", False),
        ("order.total", "equals", "12.50", True),
        ("order.total", "not_equals", "12.5", False),
        ("order.city", "equals", " bonn ", True),
        ("order.city", "contains", "ON", True),
        ("order.city", "not_contains", "x", True),
        ("order.city", "starts_with", "bo", True),
        ("order.city", "ends_with", "bo", False),
        ("order.city", "matches", "b*n", True),
        ("order.city", "matches", "b?n", False),
        ("order.lines.0.name", "equals", "pen", True),
        ("order.note", "empty", "", True),
        ("order.note", "exists", "", True),
        ("order.gone", "exists", "", False),
        ("order.gone", "empty", "", True),
        ("order.gone", "not_empty", "", False),
        ("order.paid", "equals", "true", True),
        ("order.gone", "equals", "x", None),  # the data has no such field, so a model is asked
        ("order.city", "greater", "9", None),
        ("order.city", "better", "9", None),
        ("", "contains", "bonn", True),  # without a field, the whole data counts
    ],
)
def test_a_rule_is_decided_by_the_data_where_it_has_the_field(
    field: str, operator: str, value: str, holds: bool | None
) -> None:
    rules = [{"field": field, "operator": operator, "value": value}]
    assert decide(rules, "and", ORDER, str) is holds


def test_text_that_is_json_is_data() -> None:
    rules = [{"field": "n", "operator": "greater", "value": "1"}]
    assert decide(rules, "and", '{"n": 2}', str) is True
    assert decide(rules, "and", "n is 2", str) is None


@pytest.mark.parametrize(
    ("combinator", "rules", "holds"),
    [
        ("and", "TT", True),
        ("and", "TF", False),
        ("and", "TU", None),
        ("and", "FU", False),  # for any other value
        ("or", "FT", True),
        ("or", "UT", True),
        ("or", "FF", False),
        ("or", "FU", None),
    ],
)
def test_rules_are_combined(combinator: str, rules: str, holds: bool | None) -> None:
    made = {"T": ("a", "equals", "1"), "F": ("a", "equals", "2"), "U": ("b", "equals", "1")}
    rows = [dict(zip(("field", "operator", "value"), made[each], strict=True)) for each in rules]
    assert decide(rows, combinator, {"a": 1}, str) is holds


def test_values_of_rules_hold_templates() -> None:
    rules = [{"field": "a", "operator": "equals", "value": "{{x}}"}]
    assert decide(rules, "and", {"a": "yes"}, lambda text: text.replace("{{x}}", "yes")) is True


def test_a_pattern_never_searches_without_end() -> None:
    rules = [{"field": "", "operator": "matches", "value": "*a" * 100}]
    begun = time.process_time()
    assert decide(rules, "and", "a" * 1_999 + "b", str) is False
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("text", "stops"),
    [
        ("true", True),
        (" YES ", True),
        ("no", False),
        ("All is DONE now contains done", True),
        ("nothing contains done", False),
        ('it is "done" CONTAINS "done"', True),
        ("anything contains ", False),
        ("true enough", False),
        ("", False),
    ],
)
def test_a_loop_stops_when_its_text_says_so(text: str, stops: bool) -> None:
    assert says_stop(text) is stops


@pytest.mark.parametrize(
    ("said", "yes"),
    [
        ("True.", True),
        ("yes, it is", True),
        ("**yes**", True),
        ("no", False),
        ("False: it is not true", False),
        ("It is true", None),
        ("", None),
    ],
)
def test_only_true_and_yes_pass(said: str, yes: bool | None) -> None:
    assert says_yes(said) is yes
