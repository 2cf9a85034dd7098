"""Functions for texts: cleaning before a text is stored or shown, parsing of commands and JSON, and removal of the
earlier messages that precede a person's text in a request of a client."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from json.encoder import c_make_encoder, encode_basestring  # type: ignore[attr-defined]
from typing import Any, NoReturn

from arvis.domain.regex import regex

_SPOKEN = regex(r"/(?P<name>[A-Za-z][A-Za-z0-9_]{0,31})(?:@[A-Za-z0-9_.-]{1,64})?(?:\s+(?P<rest>.*))?", re.DOTALL)


def split_command(text: str) -> tuple[str, str] | None:
    """Return the command's name in lower case and its trimmed argument. Return None if the text does not have the form
    of a command. The caller checks whether the command exists."""
    found = _SPOKEN.fullmatch(text)
    return None if found is None else (found["name"].lower(), (found["rest"] or "").strip())


EARLIER_MESSAGES = "[Earlier messages, as reported by the client program]"
CURRENT_MESSAGE = "[Current message]"


def own_words(content: str) -> str:
    """Return the person's own text, without the earlier messages that a client program reported. The daemon puts `> `
    before each line of the earlier messages. So the first line that consists of `CURRENT_MESSAGE` is the daemon's own,
    and the person's text follows it."""
    if not content.startswith(EARLIER_MESSAGES):
        return content
    return content.partition(f"\n{CURRENT_MESSAGE}\n")[2]


_PAIRS = regex("[\ud800-\udbff][\udc00-\udfff]")
_LONE_SURROGATES = regex("[\ud800-\udfff]")


def storable(text: str) -> str:
    """Return the text in a form that both databases can store: without NUL characters, with surrogate pairs joined, and
    with the replacement character in place of each lone surrogate."""
    if text.isascii():
        # Searching a long text is much faster than a replacement that finds nothing.
        return text.replace("\0", "") if "\0" in text else text
    return _LONE_SURROGATES.sub("\ufffd", paired(text).replace("\0", ""))


#: Control characters, and invisible characters that can hide or reorder text: overrides of the writing direction, tag
#: characters, zero-width spaces, and variation selectors without a base. The pattern does not include joiners, marks of
#: right-to-left writing, variants of emoji and ideographs, and the tag characters of flag emoji (the group `flag`).
_HIDDEN = regex(
    "(?P<flag>\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f)"
    "|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)"
    "|[\u180e\u200b\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
    "|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]"
    "|(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
)


def presentable(text: str) -> str:
    """Return the text with the replacement character in place of each character that can hide or reorder text. The
    length of the text does not change."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(lambda found: found["flag"] or "\ufffd", text)


def paired(text: str) -> str:
    """Return the text with each surrogate pair joined to one character. JSON may write one character as such a pair."""
    return _PAIRS.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def ends_in_half(text: str) -> bool:
    """Return whether the text ends with the first half of a surrogate pair."""
    return "\ud800" <= text[-1:] <= "\udbff"


def storable_json(value: Any) -> Any:
    """Return a JSON value with `storable` applied to all its texts and names. Raise `RecursionError` for a value that
    is nested too deeply."""
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
    """Parse JSON, but refuse NaN and infinite numbers, which the databases cannot store. Raise `ValueError` for invalid
    JSON, and `RecursionError` for JSON that is nested too deeply."""
    return json.loads(text, parse_constant=_no_number, parse_float=_finite)


def json_writer(*, allow_nan: bool = True) -> Callable[[Any], str]:
    """Return a function that writes a value as compact JSON, with its keys in their order. The encoder is prepared only
    once. `json` prepares one for each value, which takes longer than writing a small value. Without `allow_nan`, the
    function raises `ValueError` for NaN and infinite numbers."""
    default = json.JSONEncoder().default  # raises the error for values that JSON does not have
    encode = c_make_encoder(None, default, encode_basestring, None, ":", ",", False, False, allow_nan)
    return lambda value: "".join(encode(value, 0))


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(digits: str) -> float:
    """Parse a number. Raise `ValueError` for a number such as `1e999`: it is valid JSON, but infinite in Python."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(digits)
    return number
