"""Every operation answers as /openapi.json says, and only for the allowed roles; `python -m tests.api` tries far
more cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis

from arvis.web.http.schema import Components, for_bodies
from arvis.web.openapi import EXAMPLES
from tests.api.bed import NOBODY, ROLES, Bed, made_bed
from tests.api.report import explain
from tests.api.trial import LEFT_OUT, Plan, operations, run
from tests.parts import LONG


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with made_bed(tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture(scope="module")
def document(bed: Bed) -> dict[str, Any]:
    return bed.document()


def test_the_document_is_openapi(document: dict[str, Any]) -> None:
    schemathesis.openapi.from_dict(document).validate()


def test_a_document_that_is_none_would_be_seen(document: dict[str, Any]) -> None:
    broken = {**document, "paths": {"/api/jobs": {"get": {"responses": {"two hundred": {}}}}}}
    with pytest.raises(Exception, match="two hundred"):
        schemathesis.openapi.from_dict(broken).validate()


#: `tests/flows/test_web_roles.py` tries each route in each role, so the short form needs only the extremes here.
BETWEEN = [pytest.param(role, marks=pytest.mark.long) for role in ROLES if role != "owner"]


@pytest.mark.parametrize("role", ["owner", *BETWEEN, NOBODY])
def test_answers_are_as_described(bed: Bed, document: dict[str, Any], role: str) -> None:
    found = run(bed, Plan(role, 3 if LONG and role == "owner" else 1, seed=1), document)
    assert explain({role: found}) == ""
    assert sum(tally.server_errors + tally.let_in for tally in found.values()) == 0


def test_what_is_left_out_is_there(document: dict[str, Any]) -> None:
    assert {f"{method.upper()} {path}" for path, method, _ in operations(document)} >= set(LEFT_OUT)


def test_examples_are_bodies_of_their_operations(document: dict[str, Any]) -> None:
    for (method, path), example in EXAMPLES.items():
        body = document["paths"][path][method.lower()]["requestBody"]["content"]["application/json"]
        assert body["example"] == example
        assert set(example) <= set(body["schema"]["properties"]), path
        assert set(body["schema"]["required"]) <= set(example), path


def test_shapes_of_one_name_stand_once() -> None:
    thing = {"type": "object", "title": "Thing", "properties": {"title": {"type": "string"}}}
    components = Components({})
    assert components.share({"type": "array", "items": thing})["items"] == {"$ref": "#/components/schemas/Thing"}
    assert components.share({**thing, "description": "another"})["title"] == "Thing"
    assert list(components.schemas) == ["Thing"]


def test_a_body_takes_null_for_what_may_be_left_out_and_nothing_else() -> None:
    shape = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    strict = for_bodies(shape)
    assert strict["additionalProperties"] is False
    assert strict["properties"]["a"] == {"type": "string"}
    assert strict["properties"]["b"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
