"""Heartbeats without a model: fetch a number, post it, and ask the agent if a condition is true (behaviour.md 1.12).
This module checks the form; it fetches nothing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from arvis.domain.errors import Unprocessable
from arvis.domain.text import storable

_LARGEST = 16_384
_LONGEST_URL = 2_000
_LONGEST_TEXT = 4_000
_LONGEST_PATH = 200
_MOST_HEADERS = 20
_LONGEST_COOLDOWN = 30 * 86_400

_OPERATORS = (">", "<", ">=", "<=", "==", "!=")
_NOTIFY = ("always", "on_condition", "on_change")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}", re.ASCII)
#: Of these only the one who sends knows what is true.
_OWN_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,2000}", re.ASCII)


def checked_script(raw: Any) -> Mapping[str, Any]:
    """Return the script in its stored form, with nothing added. Raise `Unprocessable` that names the field."""
    fields = _object("script", raw, {"type", "url", "headers", "template", "condition", "notify", "cooldown"})
    if fields.get("type") != "script":
        raise _wrong("type", 'must be "script"')
    _check_url(fields.get("url"))
    _text("template", fields.get("template"), _LONGEST_TEXT)
    _check_headers(fields.get("headers"))
    _check_condition(fields.get("condition"))
    if "notify" in fields and fields["notify"] not in _NOTIFY:
        raise _wrong("notify", f"must be one of {', '.join(_NOTIFY)}")
    if not _is_number(cooldown := fields.get("cooldown", 0)) or not 0 <= cooldown <= _LONGEST_COOLDOWN:
        raise _wrong("cooldown", "must be seconds, 30 days at most")
    if len(json.dumps(fields)) > _LARGEST:
        raise _wrong("script", f"takes more than {_LARGEST} bytes")
    return fields


def _check_url(url: Any) -> None:
    _text("url", url, _LONGEST_URL)
    try:
        place = urlsplit(url)
        whole = place.scheme in {"http", "https"} and bool(place.hostname) and url.isprintable() and " " not in url
    except ValueError:
        whole = False
    if not whole:
        raise _wrong("url", "must be an address that begins with http:// or https://")


def _check_headers(headers: Any) -> None:
    if headers is None:
        return
    if not isinstance(headers, dict) or len(headers) > _MOST_HEADERS:
        raise _wrong("headers", f"must be an object of at most {_MOST_HEADERS} texts")
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or not isinstance(value, str) or not _HEADER_VALUE.fullmatch(value):
            raise _wrong("headers", "must hold names and values of HTTP headers")
        if name.lower() in _OWN_HEADERS:
            raise _wrong("headers", f"must not name {name}, which is not yours to say")


def _check_condition(condition: Any) -> None:
    if condition is None:
        return
    fields = _object("condition", condition, {"path", "op", "value", "triggerPrompt"})
    _text("condition.path", fields.get("path"), _LONGEST_PATH)
    if fields.get("op") not in _OPERATORS:
        raise _wrong("condition.op", f"must be one of {' '.join(_OPERATORS)}")
    if not isinstance(fields.get("value"), str) and not _is_number(fields.get("value")):
        raise _wrong("condition.value", "must be a number or a text")
    if "triggerPrompt" in fields:
        _text("condition.triggerPrompt", fields["triggerPrompt"], _LONGEST_TEXT)


def _object(name: str, raw: Any, known: Collection[str]) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise _wrong(name, "must be an object")
    for key, value in raw.items():
        if key not in known:
            raise _wrong(name, f"knows no {str(key)[:40]!r}; it knows {', '.join(sorted(known))}")
        if isinstance(value, str) and storable(value) != value:
            raise _wrong(f"{name}.{key}", "holds characters that cannot be stored")
    return raw


def _text(name: str, value: Any, most: int) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= most:
        raise _wrong(name, f"must be a text of at most {most} characters")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _wrong(name: str, problem: str) -> Unprocessable:
    return Unprocessable(
        f"`{name}` {problem}.",
        why="A script is JSON with type, url and template, and what is optional: headers, condition, notify, cooldown.",
        fix='Such as {"type": "script", "url": "https://…", "template": "{{price}}"}.',
        code="bad_script",
    )
