"""The functions that read the input of clients. They limit the size of bodies, parse strict JSON, and return typed
fields.

NUL characters are removed and lone surrogates are replaced, because databases and encoders would refuse them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from starlette.requests import ClientDisconnect, Request

from arvis.domain.errors import Invalid, TooLarge, Unprocessable
from arvis.domain.text import storable_json, strict_json
from arvis.web.http.limits import PIECE, BodyLimit

_READ_SECONDS = 60
_MAX_WHOLE = 2**53 - 1
LONGEST_NAME = 100


def declares_large(request: Request) -> bool:
    """Return whether the body may be so large that it is parsed in a thread. Only the headers are read."""
    declared = request.headers.get("content-length", "0")
    return "transfer-encoding" in request.headers or (declared.isdecimal() and int(declared) > PIECE)


async def read_body(request: Request, limit: int) -> bytes:
    """Read the body. Raise `TooLarge` if it has more than `limit` bytes, even if the headers declare a smaller body."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared) > limit:
        raise _too_large(limit)
    parts = bytearray()
    try:
        async with asyncio.timeout(_READ_SECONDS):
            async for part in request.stream():
                parts += part
                if len(parts) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        raise Invalid("The body did not arrive within a minute.", fix="Send the request again.") from None
    except ClientDisconnect:
        raise Invalid("The client disconnected before the body was complete.", fix="Send the request again.") from None
    return bytes(parts)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The request is larger than {limit} bytes.", fix="Send less data, or raise `limits` in config.yaml."
    )


async def read_json(request: Request, limit: BodyLimit) -> Fields:
    return Fields(await read_object(request, limit))


async def read_object(request: Request, limit: BodyLimit) -> dict[str, Any]:
    """Return the object of a JSON body. The content type must be JSON, because a form on another site cannot send this
    type."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Invalid("The body is not JSON.", fix="Send JSON with `Content-Type: application/json`.")
    return await _parse_object(await read_body(request, limit.size), limit)


async def parse_fields(text: str | bytes, limit: BodyLimit) -> Fields:
    return Fields(await _parse_object(text, limit))


async def _parse_object(text: str | bytes, limit: BodyLimit) -> dict[str, Any]:
    if len(text) <= PIECE:
        value = _parse(text, limit)
    else:
        async with limit.turn or nullcontext():
            value = await asyncio.to_thread(_parse, text, limit)
    if not isinstance(value, dict):
        raise Invalid("The body is not a JSON object.", fix="GET /openapi.json shows its fields.")
    return value


def _parse(data: str | bytes, limit: BodyLimit) -> Any:
    try:
        # The bytes must be UTF-8; `loads` would accept other encodings.
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        if not limit.holds(text):
            raise TooLarge(
                "The JSON has too many elements.", fix="Send fewer elements, or raise `limits` in config.yaml."
            )
        return storable_json(strict_json(text))
    except (ValueError, RecursionError):
        raise Invalid("This is not valid JSON.", fix="Check quotes, commas and nesting.") from None


class Fields:
    """The fields of a JSON object, read by type. A field that is `null` counts as absent. A field of the wrong type
    raises `Unprocessable` with the name of the field."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def text(self, name: str) -> str | None:
        value = self._values.get(name)
        if value is not None and not isinstance(value, str):
            raise unusable(name, "must be a string")
        return value

    def required_text(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise unusable(name, "is missing")
        return value

    def label(self, name: str, most: int = 200) -> str | None:
        """Return a name or id: 1 to `most` printable characters."""
        value = self.text(name)
        if value is not None and not (0 < len(value) <= most and value.isprintable()):
            raise unusable(name, f"must be 1 to {most} printable characters")
        return value

    def whole(self, name: str) -> int | None:
        """Return a whole number that is not negative."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_WHOLE:
            raise unusable(name, "must be a whole number from 0")
        return value

    def mapping(self, name: str) -> Mapping[str, Any] | None:
        value = self._values.get(name)
        if value is not None and not isinstance(value, dict):
            raise unusable(name, "must be an object")
        return value

    def texts(self, name: str) -> list[str] | None:
        value = self._values.get(name)
        if value is not None and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise unusable(name, "must be a list of strings")
        return value

    def objects(self, name: str) -> list[Fields]:
        """Return a list of objects; an empty list if the field is absent."""
        value = self._values.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise unusable(name, "must be a list of objects")
        return [Fields(item) for item in value]

    @property
    def values(self) -> Mapping[str, Any]:
        return self._values

    @property
    def names(self) -> list[str]:
        return list(self._values)

    def has(self, name: str) -> bool:
        """Return whether the field is present, even if it is `null`."""
        return name in self._values

    def raw(self, name: str) -> Any:
        return self._values.get(name)


def display_name(text: str | None, most: int = 200) -> str | None:
    """Return a display name without control characters, cut to `most` characters."""
    name = "".join(letter for letter in text or "" if letter >= " " and letter != "\x7f")
    return name[:most].strip() or None


def unusable(name: str, problem: str) -> Unprocessable:
    return Unprocessable(f"`{name}` {problem}.", fix="GET /openapi.json describes every field.")
