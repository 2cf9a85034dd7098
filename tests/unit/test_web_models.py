"""Bodies and views: what a client may send, what it reads if it sends something else, and what it gets."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import pytest
from starlette.responses import Response

from arvis.domain.errors import Unprocessable
from arvis.web.http.endpoints import Call, Routes, answer, answer_page, route
from arvis.web.http.identity import OPERATE
from arvis.web.http.models import (
    ABSENT,
    CLEARING,
    MEMBER,
    About,
    Body,
    Label,
    Page,
    Printable,
    Texts,
    Time,
    View,
    Whole,
    schema_of,
)
from arvis.web.http.schema import Components, for_bodies
from arvis.web.openapi import describe

SECRET = "the-secret-of-a-client"


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Body):
    size: str


Code = Annotated[str, About(minLength=8)]


class NewThing(Body):
    """A thing."""

    the_name: Label
    colour: Annotated[Colour, MEMBER] = Colour.RED
    count: Annotated[Whole | None, About("The number.")] = None
    on: bool | None = None
    parts: list[Part] | None = None
    words: Texts | None = None
    short: Annotated[str, Printable(3)] | None = None
    price: float | None = None
    limit: Annotated[float | None, CLEARING] = None
    code: Code | None = None
    other_code: Annotated[Code, About("Another.")] = "12345678"


class PartView(View):
    size: str


class ThingView(View):
    name: str
    made_at: Time
    colour: Colour
    part: PartView | None


class WideThingView(ThingView):
    parts: list[PartView]


@dataclass
class Thing:
    name: str = "a"
    made_at: int = 1
    colour: Colour = Colour.BLUE
    secret: str = SECRET


def refusal(body: dict[str, Any]) -> Unprocessable:
    with pytest.raises(Unprocessable) as raised:
        NewThing.read(body)
    return raised.value


def test_a_body_has_values_of_its_types() -> None:
    body = NewThing.read({"theName": "a", "colour": "blue", "parts": [{"size": "1"}], "price": 1})
    assert (body.the_name, body.colour, body.price) == ("a", Colour.BLUE, 1.0)
    assert [part.size for part in body.parts or []] == ["1"]
    assert NewThing.read({"theName": "a"}).colour is Colour.RED
    assert NewThing.read({"theName": "a", "code": "short"}).code == "short"  # checked by its handler


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "`theName` is missing."),
        ({"theName": None}, "`theName` is missing."),
        ({"theName": 1}, "`theName` must be 1 to 200 printable characters."),
        ({"theName": "a\n"}, "`theName` must be 1 to 200 printable characters."),
        ({"theName": "a" * 201}, "`theName` must be 1 to 200 printable characters."),
        ({"theName": "a", "colour": "green"}, "`colour` must be one of red, blue."),
        ({"theName": "a", "count": -1}, "`count` must be a whole number from 0."),
        ({"theName": "a", "count": True}, "`count` must be a whole number from 0."),
        ({"theName": "a", "on": 1}, "`on` must be true or false."),
        ({"theName": "a", "parts": {}}, "`parts` must be a list."),
        ({"theName": "a", "parts": [1]}, "`parts` must be an object."),
        ({"theName": "a", "parts": [{}]}, "`parts.size` is missing."),
        ({"theName": "a", "words": ["a", 1]}, "`words` must be a list of strings."),
        ({"theName": "a", "short": "long"}, "`short` must be 1 to 3 printable characters."),
        ({"theName": "a", "price": "1"}, "`price` must be a number."),
        ({"theName": "a", "price": 10**400}, "`price` must be a number."),
    ],
)
def test_the_first_wrong_field_is_named_in_words_of_the_project(values: dict[str, Any], message: str) -> None:
    found = refusal(values)
    assert (found.what, found.code) == (message, "unprocessable")
    assert found.fix == "GET /openapi.json describes every field."


def test_an_unknown_field_comes_before_every_other_problem() -> None:
    found = refusal({"colour": 1, "parts": [{"size": "1"}, {"sice": "1"}]})
    assert (found.what, found.code) == ("There is no field `parts.sice` here.", "unknown_field")
    assert found.fix == "The known fields are size."


def test_a_lenient_reader_ignores_unknown_fields_at_every_depth() -> None:
    body = NewThing.read({"theName": "a", "type": "thing", "parts": [{"size": "1", "sice": "1"}]}, lenient=True)
    assert (body.the_name, [part.size for part in body.parts or []]) == ("a", ["1"])
    with pytest.raises(Unprocessable, match="is missing"):
        NewThing.read({"theName": "a", "parts": [{"sice": "1"}]}, lenient=True)


def test_no_value_of_a_client_is_in_an_error_or_in_the_text_of_a_body() -> None:
    for values in ({"theName": "a", "short": SECRET}, {"theName": [SECRET]}, {"theName": "a", "words": SECRET}):
        found = refusal(values)
        assert SECRET not in f"{found} {found.what} {found.fix} {found.__cause__} {found.__context__}"
    body = NewThing.read({"theName": SECRET})
    assert SECRET not in f"{body!r} {body} {[body]}"


def test_null_equals_an_absent_field_unless_it_clears() -> None:
    body = NewThing.read({"theName": "a", "count": None, "colour": None, "limit": None})
    assert body.sent() == {"the_name": "a", "limit": None}
    assert NewThing.read({"theName": "a"}).sent() == {"the_name": "a"}


def test_a_body_is_described_as_it_is_checked() -> None:
    described = for_bodies(schema_of(NewThing))
    assert described["required"] == ["theName"]
    assert described["additionalProperties"] is False
    assert described["description"] == "A thing."
    assert described["properties"]["theName"] == {"type": "string", "minLength": 1, "maxLength": 200}
    assert described["properties"]["limit"] == {"anyOf": [{"type": "number"}, {"type": "null"}]}
    code = {"type": "string", "minLength": 8}
    assert described["properties"]["code"] == {"anyOf": [code, {"type": "null"}]}
    assert schema_of(NewThing)["properties"]["otherCode"] == {**code, "description": "Another.", "default": "12345678"}
    count = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
    assert described["properties"]["count"] == {"description": "The number.", "anyOf": [count, {"type": "null"}]}
    part = {
        "type": "object",
        "properties": {"size": {"type": "string"}},
        "required": ["size"],
        "additionalProperties": False,
    }
    assert described["properties"]["parts"]["anyOf"][0]["items"] == part


class SmallThing(NewThing):
    count: Whole


def test_a_class_can_require_a_field_of_its_parent() -> None:
    with pytest.raises(Unprocessable, match="`count` is missing"):
        SmallThing.read({"theName": "a"})
    assert schema_of(SmallThing)["required"] == ["theName", "count"]
    body = SmallThing.read({"theName": "a", "count": 2})
    assert (body.count, body.colour) == (2, Colour.RED)


def test_a_view_shows_its_fields_and_nothing_else() -> None:
    wide = WideThingView.showing(Thing(), part=None, parts=[PartView(size="1")])
    shown = {"name": "a", "madeAt": 1, "colour": "blue", "part": None, "parts": [{"size": "1"}]}
    assert json.loads(bytes(answer(wide).body)) == shown
    page = answer_page([PartView(size="1")], None)
    assert json.loads(bytes(page.body)) == {"items": [{"size": "1"}], "nextCursor": None}


def test_a_view_is_a_component_with_the_name_of_its_class() -> None:
    components = Components({})
    shared = components.share(schema_of(Page[WideThingView]))
    assert shared["properties"]["items"]["items"] == {"$ref": "#/components/schemas/WideThing"}
    assert set(components.schemas) == {"WideThing", "Part"}
    wide = components.schemas["WideThing"]
    assert wide["properties"]["part"] == {"anyOf": [{"$ref": "#/components/schemas/Part"}, {"type": "null"}]}
    assert wide["properties"]["colour"] == {"type": "string", "enum": ["blue", "red"]}
    assert wide["required"] == ["name", "madeAt", "colour", "part", "parts"]


class ThingRoutes(Routes):
    @route("POST", "/api/things", "Make a thing", OPERATE, {201: ThingView}, body=NewThing)
    async def _add(self, _: Call) -> Response:
        return answer(ThingView.showing(Thing(), part=None), 201)


def test_a_route_is_declared_at_its_handler() -> None:
    [endpoint] = ThingRoutes().endpoints()
    assert (endpoint.method, endpoint.path, endpoint.access) == ("POST", "/api/things", OPERATE)
    document = describe([endpoint])
    assert document["components"]["schemas"].keys() == {"Thing", "Part", "Error"}
    assert document["paths"]["/api/things"]["post"]["requestBody"]["content"]["application/json"]["schema"]


class NoteView(View):
    text: str
    author: str = ABSENT


def test_a_view_omits_what_may_be_absent() -> None:
    assert NoteView(text="a").to_json() == {"text": "a"}
    assert NoteView(text="a", author="ann").author == "ann"
    assert schema_of(NoteView)["required"] == ["text"]
    assert list(schema_of(NoteView)["properties"]) == ["text", "author"]
