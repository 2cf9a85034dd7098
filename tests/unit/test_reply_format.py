"""Formats of replies: the check of values by a JSON Schema, and of the schemas themselves."""

from __future__ import annotations

from typing import Any

import pytest

from arvis.domain.effort import named_efforts, nearest
from arvis.domain.reply_format import ReplyFormat, UnusableSchema, check_schema, json_text, problems_of

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": ["integer", "null"], "minimum": 0},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 2},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
    "$defs": {"tag": {"enum": ["a", "b"]}},
}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"name": "Ann", "age": 3, "tags": ["a"]}, None),
        ({"name": "Ann", "age": 3.0}, None),
        ({"name": "Ann", "age": None}, None),
        ({"name": "Ann"}, "the answer lacks `age`"),
        ({"name": "", "age": 1}, "`name` is shorter than 1"),
        ({"name": "Ann", "age": -1}, "`age` must be at least 0"),
        ({"name": "Ann", "age": True}, "`age` must be integer or null"),
        ({"name": "Ann", "age": 1, "x": 2}, "`x` is not a property of the schema"),
        ({"name": "Ann", "age": 1, "tags": ["c"]}, '`tags`[0] must be one of "a", "b"'),
        ({"name": "Ann", "age": 1, "tags": ["a", "b", "a"]}, "`tags` is longer than 2"),
        ([], "the answer must be object"),
    ],
)
def test_a_value_is_checked_by_its_schema(value: Any, problem: str | None) -> None:
    assert problems_of(value, PERSON) == ([] if problem is None else [problem])


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"anyOf": [{"type": "string"}, {"const": 1}]}, 1, True),
        ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, 3, 7),
        ({"allOf": [{"type": "integer"}, {"maximum": 5}]}, 3, 7),
        ({"not": {"type": "null"}}, 1, None),
        ({"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}, ["a", 1], ["a", "b"]),
    ],
)
def test_alternatives(schema: dict[str, Any], good: Any, bad: Any) -> None:
    assert problems_of(good, schema) == []
    assert len(problems_of(bad, schema)) == 1


def test_a_schema_that_refers_to_itself_ends() -> None:
    loop = {"$ref": "#"}
    assert "refers to itself too often" in problems_of(1, loop)[0]
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}
    assert problems_of({"next": {"next": {}}}, tree) == []
    assert problems_of({"next": {"other": 1}}, tree) == ["`next`.`other` is not a property of the schema"]


@pytest.mark.parametrize(
    "schema",
    [
        {"items": {"enum": list(range(5_000))}},
        {"items": {"required": ["a"] * 5_000}},
    ],
)
def test_a_check_counts_the_entries_of_long_lists(schema: dict[str, Any]) -> None:
    check_schema(schema)
    assert "takes too many steps" in problems_of([4_999] * 20_000, schema)[-1]
    assert problems_of([4_999] * 50, {"items": {"enum": list(range(5_000))}}) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strange"}, {"properties": []}, {"required": "a"}, {"enum": []}, {"items": [1]}, {"minimum": "1"},
        {"properties": {"a": {"anyOf": []}}}, {"description": "x" * 40_000},
    ],
)  # fmt: skip
def test_an_unusable_schema_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(UnusableSchema):
        check_schema(schema)


def test_the_code_block_around_json_is_no_part_of_it() -> None:
    assert json_text('```json\n{"a": 1}\n```\n') == '{"a": 1}'
    assert ReplyFormat().problem('```\n{"a": 1}\n```') is None
    assert ReplyFormat().problem("[1]") == "it is not a JSON object."
    assert ReplyFormat().problem('{"a": NaN}') == "it is not JSON."


@pytest.mark.parametrize(
    ("effort", "accepted", "word"),
    [
        ("xhigh", ("low", "medium", "high"), "high"),
        ("xhigh", ("low", "medium", "high", "max"), "high"),
        ("minimal", ("none", "low"), "low"),
        ("none", ("low", "high"), "low"),
        ("high", ("none",), None),
        ("high", (), None),
    ],
)
def test_the_nearest_effort_replaces_one_that_a_model_lacks(
    effort: str, accepted: tuple[str, ...], word: str | None
) -> None:
    assert nearest(effort, accepted) == word


def test_a_refusal_names_the_accepted_efforts() -> None:
    refusal = "Unsupported value: 'xhigh' is not supported. Supported values are: 'low', 'medium', and 'high'."
    assert named_efforts(refusal, "xhigh") == ("low", "medium", "high")
    assert named_efforts("Unsupported parameter: 'reasoning_effort'", "high") == ()
