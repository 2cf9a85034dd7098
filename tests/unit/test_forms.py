"""Questions of tool servers: the schemas of forms, the values that people write, and secrets that a form must not ask."""

from __future__ import annotations

import json
from typing import Any

import pytest

from arvis.domain.errors import Unprocessable
from arvis.domain.forms import ACCEPT, CANCEL, DECLINE, ServerQuestion, UnusableQuestion


def form(message: str = "Please.", *required: str, **fields: Any) -> ServerQuestion:
    return ServerQuestion.form("srv", message, {"type": "object", "properties": fields, "required": list(required)})


COLOURS = [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]
BOOKING = form(
    "Who?",
    "name",
    "when",
    name={"type": "string", "title": "Guest name", "minLength": 2},
    when={"type": "string", "format": "date"},
    seats={"type": "integer", "minimum": 1, "maximum": 8, "default": 2},
    window={"type": "boolean"},
    colour={"type": "string", "oneOf": COLOURS},
    extras={"type": "array", "items": {"anyOf": COLOURS}, "maxItems": 1},
)


def test_lines_become_values_of_the_types_in_the_schema() -> None:
    read = BOOKING.read("Guest name: Ann: the second\nwhen: 2026-11-28\n\nWINDOW: ja\ncolour: red\nextras: Green")
    assert read == {
        "name": "Ann: the second",
        "when": "2026-11-28",
        "seats": 2,
        "window": True,
        "colour": "#f00",
        "extras": ["#0f0"],
    }
    assert BOOKING.read(json.dumps(read)) == read
    assert ServerQuestion.from_json(json.loads(json.dumps(BOOKING.to_json()))) == BOOKING


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: A\nwhen: 2026-11-28", "`name` must have at least 2 characters"),
        ("name: Ann\nwhen: soon", "a date such as"),
        ("name: Ann\nwhen: 2026-11-28\nseats: 9", "`seats` must be at most 8"),
        ("name: Ann\nwhen: 2026-11-28\nseats: 2.5", "whole number"),
        ("name: Ann\nwhen: 2026-11-28\nseats: nan", "must be a number"),
        ("name: Ann\nwhen: 2026-11-28\ncolour: blue", "one of Red, Green"),
        ("name: Ann\nwhen: 2026-11-28\nextras: red, green", "at most 1 options"),
        ("name: Ann", "`when` is missing"),
        ("Ann, tomorrow", "does not begin with a field"),
        ('{"name": "Ann", "when": "2026-11-28", "other": 1}', "`other` is not a field"),
        ('{"name": "Ann", "when": "2026-11-28", "seats": true}', "`seats` must be a number"),
        ("{", "not valid JSON"),
    ],
)
def test_values_that_do_not_fit_are_named(text: str, problem: str) -> None:
    with pytest.raises(Unprocessable) as wrong:
        BOOKING.read(text)
    assert problem in wrong.value.what


def test_a_single_field_takes_the_whole_text_or_a_button() -> None:
    name = form("", "name", name={"type": "string"})
    assert (name.read("Ann\nand Bob"), name.choices) == ({"name": "Ann\nand Bob"}, (DECLINE, CANCEL))
    assert (name.may_mean("What is the weather?"), name.with_draft({"name": "x"}).may_mean("What?")) == (True, False)
    assert name.with_draft({"name": "x"}).choices == (ACCEPT, DECLINE, CANCEL)
    sure = form("", "sure", sure={"type": "boolean"})
    assert (sure.choices, sure.chosen("no")) == (("yes", "no", DECLINE, CANCEL), {"sure": False})
    colour = form("", colour={"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"], "default": "g"})
    assert (colour.choices[:2], colour.chosen("Green"), colour.start) == (
        ("Red", "Green"),
        {"colour": "g"},
        {"colour": "g"},
    )
    odd = form("", x={"type": "string", "oneOf": [{"const": "1", "title": "ok\n\nThis question is closed."}]})
    assert odd.choices == (ACCEPT, DECLINE, CANCEL)
    assert not BOOKING.may_mean("What is the weather: good?")
    assert BOOKING.may_mean("seats: 3")


@pytest.mark.parametrize(
    "field",
    [
        {"type": "object"},
        {"type": "array", "items": {"type": "object"}},
        {"type": "string", "enum": []},
        {"type": "string", "enum": [1]},
        {"type": ["string", "null"]},
        "text",
    ],
)
def test_forms_with_other_types_are_refused(field: Any) -> None:
    with pytest.raises(UnusableQuestion):
        form("", x=field)


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        ("", {"password": {"type": "string"}}),
        ("", {"apiKey": {"type": "string"}}),
        ("", {"x": {"type": "string", "title": "Access token"}}),
        ("", {"x": {"type": "string", "description": "The code of your credit card"}}),
        ("Please enter your GitHub password.", {"x": {"type": "string"}}),
    ],
)
def test_a_form_that_asks_for_a_secret_is_refused(message: str, fields: dict[str, Any]) -> None:
    with pytest.raises(UnusableQuestion, match="secret"):
        form(message, **fields)


def test_a_form_about_secrets_without_a_text_is_shown() -> None:
    assert form("Reset the password?", sure={"type": "boolean"}).choices[0] == "yes"
    assert form("Which keyboard?", keyboard={"type": "string"}).fields[0].name == "keyboard"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "https://user:x@a.example/", "https://a.example/\n", "//a", "https://[x"]
)
def test_pages_with_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(UnusableQuestion):
        ServerQuestion.page("srv", "Open it.", url)
