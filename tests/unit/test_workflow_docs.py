"""The published schema and tables match the kinds of nodes, and the examples have no problems."""

from __future__ import annotations

import json

import jsonschema
import pytest

from arvis.workflows.document.kinds import KINDS
from arvis.workflows.document.model import normalise
from arvis.workflows.document.schema import schema
from arvis.workflows.examples import Example, examples
from arvis.workflows.validation.check import check
from tests.fixtures.workflow_docs import GUIDE, SCHEMA, guide_text, schema_text
from tests.unit.workflow_cases import CASES

_AGAIN = "run: python -m tests.fixtures.workflow_docs"
#: The rules about single parts, which the schema expresses. Rules about the whole drawing are not part of it.
_OF_SHAPE = {
    "schema-version",
    "not-a-list",
    "not-an-object",
    "too-many-nodes",
    "too-many-connections",
    "node-id-missing",
}
_OF_SHAPE |= {
    "node-id-odd",
    "type-missing",
    "position-odd",
    "connection-id-odd",
    *(f"field-{each}" for each in ("missing", "form")),
}
_OF_SHAPE |= {f"field-{each}" for each in ("choice", "low", "high", "long", "few", "many")}


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(schema())
    return jsonschema.Draft202012Validator(schema())


def test_the_published_schema_is_that_of_the_kinds() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), _AGAIN


def test_the_tables_of_the_guide_are_those_of_the_kinds() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    assert guide == guide_text(guide), _AGAIN
    assert all(f"| `{name}` |" in guide for name in KINDS)


def test_there_are_ten_examples() -> None:
    assert len(examples()) == 10
    assert {each.slug for each in examples()} >= {
        "inbox-triage",
        "research-with-review",
        "daily-digest",
        "incident-escalation",
    }


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.slug)
def test_an_example_is_without_fault(example: Example, validator: jsonschema.Draft202012Validator) -> None:
    assert check(example.document) == []
    assert normalise(example.document) == example.document
    assert not list(validator.iter_errors(example.document))
    assert example.description
    places = [(node["x"], node["y"]) for node in example.document["nodes"]]
    assert len(set(places)) == len(places)
    assert "agent" not in {name for node in example.document["nodes"] for name, value in node["data"].items() if value}


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_schema_and_the_check_agree_on_shapes(
    case: tuple[str, dict[str, object], object], validator: jsonschema.Draft202012Validator
) -> None:
    code, document, _ = case
    # The schema does not describe the depth of a document and the content of a JSON Schema in it.
    if code == "too-deep" or "outputSchema" in json.dumps(document):
        return
    assert validator.is_valid(json.loads(json.dumps(document))) is (code not in _OF_SHAPE)
