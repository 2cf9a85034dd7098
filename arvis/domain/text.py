"""What a text must be before it may go anywhere: the store, a platform, a model."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

_PAIRS = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Without NUL characters, which PostgreSQL refuses; half a character becomes the replacement character."""
    if text.isascii():
        return text.replace("\0", "")
    return _LONE_SURROGATES.sub("\ufffd", paired(text).replace("\0", ""))


def paired(text: str) -> str:
    """Return the text with both halves of a character as that character: JSON may bring them apart, in two pieces."""
    return _PAIRS.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def ends_in_half(text: str) -> bool:
    """Return whether the second half of the last character is still to come."""
    return "\ud800" <= text[-1:] <= "\udbff"


def storable_json(value: Any) -> Any:
    """The same for all texts and names in a value that was read from JSON. Raises `RecursionError`."""
    match value:
        case str():
            return storable(value)
        case list():
            return [storable_json(each) for each in value]
        case dict():
            return {storable(name): storable_json(each) for name, each in value.items()}
        case _:
            return value


def strict_json(text: str | bytes) -> Any:
    """What JSON says, without NaN and infinities, which the store cannot hold. Raises `ValueError` and `RecursionError`."""
    return json.loads(text, parse_constant=_no_number, parse_float=_finite)


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(digits: str) -> float:
    """`1e999` is JSON, and infinite all the same."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits)
    return number
