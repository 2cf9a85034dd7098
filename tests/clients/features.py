"""The features that every client library tries, and the questions for the demo model.

This module and the scripts of the clients use only the standard library besides the client itself, because another
interpreter than that of the tests runs them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

URL, KEY = os.environ.get("CLIENT_URL", ""), os.environ.get("CLIENT_KEY", "")
MODEL = "helper"
HELLO = "demo: say Good day"
CALL = 'demo: tool weather {"city": "Oslo"}'
AS_JSON = 'demo: say {"age": 10}'
WEATHER: dict[str, Any] = {
    "name": "weather",
    "description": "Get the weather of a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
SCHEMA: dict[str, Any] = {
    "title": "person",
    "description": "A person.",
    "type": "object",
    "properties": {"age": {"type": "integer"}},
    "required": ["age"],
    "additionalProperties": False,
}
ANSWER = "weather: 20 degrees"


def expect(found: object, wanted: object) -> None:
    """Raise `AssertionError` if a value is not the wanted one."""
    if found != wanted:
        raise AssertionError(f"{found!r} instead of {wanted!r}")


def play(features: dict[str, Callable[[], None]]) -> None:
    """Try every feature, and print a line of JSON for each: its name, and what happened."""
    for name, attempt in features.items():
        try:
            attempt()
            result = "works"
        except Exception as error:  # noqa: BLE001 - every failure of a client is a result
            refused = getattr(error, "status_code", None) == 400 or "Error code: 400" in str(error)
            result = f"{'refused' if refused else 'failed'}: {error}"
        json.dump([name, result], sys.stdout)
        print(flush=True)
