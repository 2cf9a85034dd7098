"""Check arguments by the JSON schema of a server's tool. The schema is untrusted, so a check must be cheap.

Patterns are not checked here but by the server, because checking even a short text against a hostile pattern can take
hours. References are followed only inside the schema, and only a limited number of times, because a few lines of
references can expand to billions of checks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from arvis.domain.errors import ToolError

MAX_SCHEMA_BYTES = 32_768
_MAX_REFERENCES = 2_000
_MAX_COMPLAINTS = 5
_MAX_COMPLAINT = 300
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_LEFT_TO_THE_SERVER = ("pattern", "patternProperties", "format")
#: The exceptions that the package `jsonschema` raises for unexpected numbers, types and depths.
_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class UnusableSchema(Exception):
    """The signal that a schema cannot be used; the text completes "its schema …"."""


class _TooMuch(Exception):
    """The signal that a check follows too many references."""


class ArgumentCheck:
    """A check of arguments by a schema. The constructor raises `UnusableSchema` if the schema cannot be used for
    checks."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._draft: Any = Draft7Validator if "draft-07" in str(schema.get("$schema", "")) else Draft202012Validator
        try:
            if len(json.dumps(schema)) > MAX_SCHEMA_BYTES:
                raise UnusableSchema(f"is larger than {MAX_SCHEMA_BYTES} bytes")
            self._draft.check_schema(schema)
        except SchemaError as wrong:
            raise UnusableSchema(f"is not a JSON schema: {wrong.message[:_MAX_COMPLAINT]}") from None
        except RecursionError:
            raise UnusableSchema("is nested too deeply") from None
        except _UNREADABLE as failure:
            raise UnusableSchema(f"cannot be read ({type(failure).__name__})") from None
        if schema.get("type", "object") != "object":
            raise UnusableSchema("does not describe an object")
        self._schema = schema

    def __call__(self, arguments: Mapping[str, Any]) -> None:
        """Raise `ToolError` if the arguments do not match the schema."""
        try:
            found = self._validator().iter_errors(arguments)
            wrong = [_complaint(error) for error, _ in zip(found, range(_MAX_COMPLAINTS), strict=False)]
        except (_TooMuch, RecursionError):
            raise ToolError("The arguments cannot be checked: the tool's schema refers to itself too often.") from None
        except Unresolvable:
            raise ToolError(
                "The arguments cannot be checked, because the tool's schema refers to another document."
            ) from None
        except _UNREADABLE as failure:
            why = type(failure).__name__
            raise ToolError(f"The arguments cannot be checked against the tool's schema ({why}).") from None
        if wrong:
            raise ToolError(f"The arguments are not valid. {'; '.join(wrong)}.")

    def _validator(self) -> Any:
        """Return a validator for a single check. It cannot be used again, because it counts the references that it
        follows."""
        left = iter(range(_MAX_REFERENCES))

        def counted(keyword: str) -> Any:
            follow = self._draft.VALIDATORS.get(keyword)

            def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
                if next(left, None) is None:
                    raise _TooMuch
                yield from follow(validator, value, instance, schema) or ()

            return check

        words: dict[str, Any] = {word: counted(word) for word in _REFERENCES if word in self._draft.VALIDATORS}
        words.update(dict.fromkeys(_LEFT_TO_THE_SERVER, _fits))
        return extend(self._draft, words)(  # type: ignore[no-untyped-call]
            self._schema, registry=Registry()
        )


def _fits(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:  # noqa: ARG001 - its signature
    return iter(())


def _complaint(error: ValidationError) -> str:
    place = ".".join(str(part) for part in error.absolute_path) or "arguments"
    return f"{place}: {error.message[:_MAX_COMPLAINT]}"
