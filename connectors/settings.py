"""The settings of a bot: the keys that every platform knows, and the errors for wrong settings.

A connector's own settings are a subclass of `BotConfig`. `read_settings` reads them once, in the connector's `create`.
No error quotes a value, because a value may be a token.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_core import ErrorDetails

from arvis.domain.messages import Respond
from arvis.domain.regex import regex
from arvis.ports.connector import BadSetting, BotSettings

_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = regex(r"([1-9][0-9]{0,6})\s*([smhdw])", re.ASCII)

_WANTED: Mapping[str, str] = {
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "must have at most {max_length} entries",
    "missing": "is missing",
}
_WANTED_KINDS: Mapping[str, str] = {
    "int": "must be a whole number",
    "float": "must be a number",
    "bool": "must be true or false",
    "string": "must be text (put it in quotes)",
    "tuple": "must be a list",
    "model": "must be a mapping of keys to values",
    "dict": "must be a mapping of keys to values",
}


def _text_of_id(value: object) -> object:
    # YAML reads an id without quotes as a number.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _ids(value: object) -> object:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("must be a number, not true or false")  # noqa: TRY004  (pydantic reports no TypeError)
    return value


def _milliseconds(value: object) -> int:
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise ValueError("must be a number and a unit (s, m, h, d or w), such as 90s, 15m or 24h")
    return int(match[1]) * _UNIT_MS[match[2]]


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https", "ws", "wss"} and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable or not value.isprintable() or " " in value:
        raise ValueError("must be an address that starts with https:// or http:// (wss:// or ws:// for a gateway)")
    return value.rstrip("/")


def _token(value: SecretStr) -> SecretStr:
    text = value.get_secret_value().strip()
    if not text:
        raise ValueError("must not be empty")
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("contains characters that no token has")
    return SecretStr(text)


#: The id of a person or a channel on a platform. It is always a text; a number in the file is converted to text.
Id = Annotated[str, BeforeValidator(_text_of_id), Field(min_length=1, max_length=200)]

#: Ids, as a list or as `a, b`.
IdList = Annotated[tuple[Id, ...], BeforeValidator(_ids), Field(max_length=10_000)]

Whole = Annotated[int, BeforeValidator(_no_bool)]

#: A duration, written as `90s`, `15m`, `24h`, `7d` or `2w`; read as milliseconds.
Milliseconds = Annotated[int, BeforeValidator(_milliseconds)]

#: The address of a platform's interface, without a slash at its end.
Url = Annotated[str, AfterValidator(_url)]

#: A secret, without surrounding white space. Its `repr` shows stars instead of the secret.
Token = Annotated[SecretStr, AfterValidator(_token)]


class BotConfig(BaseModel):
    """The settings that a bot of any platform can have. `agent` answers the bot's messages (None: the routing rules
    choose the agent). The bot listens in `allowed_channels` (empty: in all channels). In groups, `respond` sets when
    the bot answers, and `reply_in` sets where it replies. `observe` is the number of overheard messages that it reads
    as context. `allow_bots` names the bots to which it listens. `late_after` (ms) and `late` are the bot's rule for
    late replies (None: the daemon's rule)."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, protected_namespaces=())

    agent: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    allowed_channels: IdList = ()
    respond: Respond = Respond.MENTION
    reply_in: Literal["auto", "thread", "channel"] = "auto"
    observe: Annotated[Whole, Field(ge=0, le=200)] = 20
    allow_bots: IdList = ()
    late_after: Milliseconds | None = None
    late: Literal["mark", "drop"] | None = None


Config = TypeVar("Config", bound=BotConfig)


def read_settings(kind: type[Config], settings: BotSettings) -> Config:
    """Return the settings of a bot as an object of the class `kind`. Raise `BadSetting` for the first wrong setting."""
    try:
        return kind.model_validate(dict(settings.values))
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        first, *others = (_complaint(each, list(kind.model_fields)) for each in details)
        if others:
            first.text += f" (and {len(others)} more: {', '.join(other.key for other in others)})"
        raise first from None


def _complaint(details: ErrorDetails, known: list[str]) -> BadSetting:
    key, kind = _dotted(details["loc"]), details["type"]
    context: Mapping[str, Any] = details.get("ctx", {})
    if kind == "extra_forbidden":
        return BadSetting(key, "is not a known setting", fix=_did_you_mean(key, known))
    if kind == "value_error":
        return BadSetting(key, str(context["error"]), fix=f"Change `{key}`.")
    wanted = _WANTED.get(kind, "").format_map(context) or _WANTED_KINDS.get(kind.split("_")[0]) or details["msg"]
    return BadSetting(key, wanted, fix=f"{'Add' if kind == 'missing' else 'Change'} `{key}`.")


def _dotted(path: tuple[int | str, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _did_you_mean(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    return f"Did you mean `{close[0]}`?" if close else f"Remove it; known here: {', '.join(known)}."
