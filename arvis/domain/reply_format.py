"""The JSON format that a reply must have: any JSON object, or a value that matches a JSON Schema.

The check follows the part of JSON Schema that model vendors support. It ignores other keywords, follows references only
inside the schema, and makes a limited number of steps, because clients write the schemas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.domain.text import strict_json

#: The maximum size of a schema as JSON, in bytes.
MOST_BYTES = 32_768
#: The maximum number of steps of one check.
_MOST_STEPS = 20_000
#: The keywords with lists whose entries a check compares one by one, and the number of comparisons that
#: count as one step.
_COMPARED = ("enum", "required", "type")
_COMPARISONS = 32
#: The maximum number of problems that one check reports.
_MOST_PROBLEMS = 5
_LONGEST = 200
_FENCED = regex(r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)

_ANY_OBJECT = "Answer with one JSON object and nothing else."
_BY_SCHEMA = "Answer with JSON that matches this JSON Schema, and with nothing else:\n{schema}"
_REPAIR = "[Your answer is not valid: {problem} Answer again with the corrected JSON only.]"


class UnusableSchema(ValueError):
    """The error for a schema that cannot be used. The text follows the name of the field."""


@dataclass(frozen=True, slots=True)
class ReplyFormat:
    """The format of a reply."""

    #: The JSON Schema; None: any JSON object.
    schema: Mapping[str, Any] | None = None
    #: A name for the schema, which some vendors show to the model.
    name: str = "reply"
    #: True if the vendor must enforce the whole schema. The schema then has to follow the vendor's rules.
    strict: bool = False

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> ReplyFormat:
        return cls(kept.get("schema"), kept.get("name", "reply"), kept.get("strict", False))

    def to_json(self) -> dict[str, Any]:
        return {"schema": self.schema, "name": self.name, "strict": self.strict}

    @property
    def instructions(self) -> str:
        """The instructions for the model, which apply with every vendor."""
        if self.schema is None:
            return _ANY_OBJECT
        return _BY_SCHEMA.format(schema=json.dumps(self.schema, ensure_ascii=False))

    def problem(self, reply: str) -> str | None:
        """Return a sentence about the reply's first problems; None if the reply has this format."""
        try:
            value = strict_json(json_text(reply))
        except (ValueError, RecursionError):
            return "it is not JSON."
        if self.schema is None:
            return None if isinstance(value, dict) else "it is not a JSON object."
        problems = problems_of(value, self.schema)
        return None if not problems else f"{'; '.join(problems)}."

    @staticmethod
    def repair(problem: str) -> str:
        """Return the instruction to correct a reply."""
        return _REPAIR.format(problem=problem)


def json_text(reply: str) -> str:
    """Return the JSON of a reply, without the code block that models write around it."""
    fenced = _FENCED.fullmatch(reply)
    return (fenced[1] if fenced else reply).strip()


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise `UnusableSchema` if the schema is too large, or has a keyword with a value of a wrong type."""
    try:
        size = len(json.dumps(schema, ensure_ascii=False).encode("utf-8", "replace"))
    except (RecursionError, ValueError):
        raise UnusableSchema("is nested too deeply") from None
    if size > MOST_BYTES:
        raise UnusableSchema(f"is larger than {MOST_BYTES} bytes")
    for path, keyword, value in _keywords(schema, "schema"):
        fits = _KEYWORDS.get(keyword)
        if fits is not None and not fits(value):
            raise UnusableSchema(f"has a wrong `{keyword}` at {path}")


def problems_of(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Return the first problems of a value. Each problem names its position in the value."""
    check = _Check(schema)
    found: list[str] = []
    try:
        for problem in check.problems(value, schema, "the answer"):
            found.append(problem)
            if len(found) == _MOST_PROBLEMS:
                break
    except RecursionError:
        found.append("the schema refers to itself too often")
    except _TooMuch:
        found.append("the check takes too many steps: the schema refers to itself too often, or its lists are too long")
    return found


# -- the check ---------------------------------------------------------------------------------------------------------


class _TooMuch(Exception):
    """The signal that a check takes too many steps."""


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
}


class _Check:
    """One check of a value by a schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _MOST_STEPS

    def problems(self, value: Any, schema: Any, place: str) -> Iterator[str]:
        self._left -= 1
        if self._left < 0:
            raise _TooMuch
        if schema is False:
            yield f"{place} is not allowed"
        if not isinstance(schema, Mapping):
            return
        lists = (found for keyword in _COMPARED if isinstance(found := schema.get(keyword), list))
        self._left -= sum(map(len, lists)) // _COMPARISONS
        if isinstance(reference := schema.get("$ref"), str):
            yield from self.problems(value, self._target(reference), place)
        types = schema.get("type")
        names = [types] if isinstance(types, str) else types or []
        if names and not any(_TYPES.get(name, _is_anything)(value) for name in names):
            yield f"{place} must be {' or '.join(names)}"
            return
        yield from _of_value(value, schema, place)
        yield from self._of_parts(value, schema, place)
        yield from self._of_choices(value, schema, place)

    def _of_parts(self, value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
        if isinstance(value, dict):
            known = schema.get("properties") or {}
            yield from (f"{place} lacks `{name}`" for name in schema.get("required") or () if name not in value)
            more = schema.get("additionalProperties", True)
            for name, member in value.items():
                where = f"`{name[:_LONGEST]}`" if place == "the answer" else f"{place}.`{name[:_LONGEST]}`"
                if name in known:
                    yield from self.problems(member, known[name], where)
                elif more is False:
                    yield f"{where} is not a property of the schema"
                else:
                    yield from self.problems(member, more, where)
        elif isinstance(value, list):
            first = schema.get("prefixItems") or ()
            for index, member in enumerate(value):
                rule = first[index] if index < len(first) else schema.get("items", True)
                yield from self.problems(member, rule, f"{place}[{index}]")

    def _of_choices(self, value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
        for each in schema.get("allOf") or ():
            yield from self.problems(value, each, place)
        if "anyOf" in schema and not any(self._fits(value, each, place) for each in schema["anyOf"]):
            yield f"{place} matches none of the alternatives (anyOf)"
        if "oneOf" in schema and sum(self._fits(value, each, place) for each in schema["oneOf"]) != 1:
            yield f"{place} must match exactly one of the alternatives (oneOf)"
        if "not" in schema and self._fits(value, schema["not"], place):
            yield f"{place} matches a schema that it must not match"

    def _fits(self, value: Any, schema: Any, place: str) -> bool:
        return next(self.problems(value, schema, place), None) is None

    def _target(self, reference: str) -> Any:
        """Return the part of the schema to which a reference points. A reference to another document matches
        everything."""
        found: Any = self._root
        for part in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name, True) if isinstance(found, Mapping) else True
        return found


def _of_value(value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """Yield the problems of a value itself, without the problems of its items and properties."""
    if "const" in schema and not _equal(value, schema["const"]):
        yield f"{place} must be {_short(schema['const'])}"
    if "enum" in schema and not any(_equal(value, each) for each in schema["enum"]):
        yield f"{place} must be one of {', '.join(_short(each) for each in schema['enum'][:20])}"
    if _TYPES["number"](value):
        bounds: Mapping[str, tuple[Callable[[Any], bool], str]] = {
            "minimum": (lambda least: value >= least, "at least"),
            "maximum": (lambda most: value <= most, "at most"),
            "exclusiveMinimum": (lambda least: value > least, "more than"),
            "exclusiveMaximum": (lambda most: value < most, "less than"),
        }
        for keyword, (fits, words) in bounds.items():
            if keyword in schema and not fits(schema[keyword]):
                yield f"{place} must be {words} {schema[keyword]}"
    if isinstance(value, str | list | dict):
        kind = {str: "Length", list: "Items", dict: "Properties"}[type(value)]
        least, most = schema.get(f"min{kind}"), schema.get(f"max{kind}")
        if least is not None and len(value) < least:
            yield f"{place} is shorter than {least}"
        if most is not None and len(value) > most:
            yield f"{place} is longer than {most}"


def _equal(one: Any, other: Any) -> bool:
    """Compare JSON values. In Python, but not in JSON, `True` equals 1."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _short(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:_LONGEST]


def _is_anything(_: Any) -> bool:
    return True


# -- the schema --------------------------------------------------------------------------------------------------------


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _is_named_schemas(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_schema, value.values()))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(isinstance(name, str) and name in _TYPES for name in names)


_KEYWORDS: Mapping[str, Callable[[Any], bool]] = {
    "type": _is_type,
    "properties": _is_named_schemas,
    "$defs": _is_named_schemas,
    "definitions": _is_named_schemas,
    "additionalProperties": _is_schema,
    "items": _is_schema,
    "not": _is_schema,
    "prefixItems": _is_schemas,
    "anyOf": _is_schemas,
    "oneOf": _is_schemas,
    "allOf": _is_schemas,
    "required": lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
    "enum": lambda value: isinstance(value, list) and bool(value),
    "$ref": lambda value: isinstance(value, str),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _TYPES["number"]),
    **{f"{bound}{kind}": _is_count for bound in ("min", "max") for kind in ("Length", "Items", "Properties")},
}


def _keywords(schema: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the path, the name and the value of every keyword of a schema and of the schemas in it."""
    if not isinstance(schema, dict):
        return
    for keyword, value in schema.items():
        yield path, keyword, value
        if keyword in {"properties", "$defs", "definitions"} and isinstance(value, dict):
            for name, each in value.items():
                yield from _keywords(each, f"{path}.{name}"[:_LONGEST])
        elif keyword in {"prefixItems", "anyOf", "oneOf", "allOf"} and isinstance(value, list):
            for each in value:
                yield from _keywords(each, path)
        elif keyword in {"additionalProperties", "items", "not"}:
            yield from _keywords(value, path)
