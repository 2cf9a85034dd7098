"""The types of values in `config.yaml`.

An invalid value raises `Refused`, whose text completes the sentence "`key` …". The text must never quote a value that
could be a secret.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationInfo, WithJsonSchema

from arvis.domain.agents import SLUG, is_timezone
from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex

_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = regex(r"([1-9][0-9]{0,6})\s*([smhdw])", re.ASCII)
_REFERENCE = regex(r"(env|file):(.+)", re.DOTALL)
_MAX_SECRET_BYTES = 65_536


class Refused(ValueError):
    """The error for a value that cannot be used. `fix` is "" if the only fix is another value."""

    def __init__(self, text: str, fix: str = "") -> None:
        super().__init__(text)
        self.fix = fix


@dataclass(frozen=True, slots=True)
class SecretSource:
    """The source of secrets. It resolves `env:NAME` with the variables in `environ`, and `file:PATH` relative to
    `folder`."""

    environ: Mapping[str, str]
    folder: Path

    def resolve(self, text: str) -> str:
        """Return the secret to which `text` refers. If `text` is not a reference, return `text` unchanged. Raise
        `Refused` if the secret cannot be read or is empty."""
        match = _REFERENCE.fullmatch(text)
        if match is None:
            return text
        return self._variable(match[2]) if match[1] == "env" else self._file(match[2])

    def _variable(self, name: str) -> str:
        value = self.environ.get(name, "")
        if not value:
            fix = f"Set {name} before the start, or remove the key."
            raise Refused(f"refers to the environment variable {name}, which is not set", fix)
        return value

    def _file(self, path: str) -> str:
        try:
            with (self.folder / path).open(encoding="utf-8") as file:
                value = file.read(_MAX_SECRET_BYTES).rstrip("\r\n")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not a UTF-8 text file"
            fix = "Name a readable file. A relative path starts at the folder of the configuration."
            raise Refused(f"refers to the file {path}, which cannot be read: {reason}", fix) from error
        if not value:
            raise Refused(f"refers to the file {path}, which is empty", "Write the secret into this file.")
        return value


def is_reference(value: object) -> bool:
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def _secret(value: object, info: ValidationInfo) -> object:
    if not isinstance(value, str):
        return value
    source = info.context
    text = source.resolve(value) if isinstance(source, SecretSource) else value
    if not text.strip():
        raise Refused("must not be empty")
    return text


def _secret_reference(value: object, info: ValidationInfo) -> object:
    if isinstance(value, str) and not is_reference(value):
        fix = "Write `env:NAME` or `file:PATH`, and put the key there."
        raise Refused("must not contain the key itself, because every copy of the file would contain it", fix)
    return _secret(value, info)


def _no_bool(value: object) -> object:
    # Otherwise pydantic would read `true` as 1.
    if isinstance(value, bool):
        raise Refused("must be a number, not true or false")
    return value


def _milliseconds(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        raise Refused(f"needs a unit: write for example {value}s, {value}m or {value}h")
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        raise Refused("must be a number and a unit (s, m, h, d or w), such as 90s, 15m or 24h")
    return int(match[1]) * _UNIT_MS[match[2]]


def duration_text(milliseconds: int) -> str:
    """Return a duration as people write it, in the largest unit without a remainder."""
    unit = next((unit for unit in reversed(_UNIT_MS) if milliseconds % _UNIT_MS[unit] == 0), "s")
    return f"{milliseconds // _UNIT_MS[unit]}{unit}"


def at_least(duration: str) -> Callable[[int], int]:
    """Return a validator that refuses durations shorter than this one, such as `30m`."""
    least = _milliseconds(duration)

    def check(value: int) -> int:
        if value < least:
            raise Refused(f"must be at least {duration}")
        return value

    return check


def _split(value: object) -> object:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _ids(value: object) -> object:
    value = _split(value)
    if isinstance(value, list):
        return [str(item) if isinstance(item, int) and not isinstance(item, bool) else item for item in value]
    return value


def _timezone(value: str) -> str:
    if not is_timezone(value):
        raise Refused("must be a time zone such as UTC or Europe/Berlin")
    return value


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https", "ws", "wss"} and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable or not value.isprintable() or " " in value:
        raise Refused("must be an address that starts with http:// or https://")
    return value


def is_loopback(host: str) -> bool:
    """Return True if only this machine can reach a server that listens at `host`."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


Whole = Annotated[int, BeforeValidator(_no_bool)]
#: The context window of a model in tokens. A window below the minimum has no space for a prompt.
Tokens = Annotated[int, BeforeValidator(_no_bool), Field(ge=1_024, le=100_000_000)]
#: The maximum length of a reply in tokens. Fewer than 16 tokens are not enough for an answer.
ReplyTokens = Annotated[int, BeforeValidator(_no_bool), Field(ge=16, le=1_000_000)]
Amount = Annotated[float, BeforeValidator(_no_bool), Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, BeforeValidator(_no_bool), Field(gt=0, le=86_400, allow_inf_nan=False)]

#: A duration, written as `90s`, `15m`, `24h`, `7d` or `2w`, and stored in milliseconds.
Milliseconds = Annotated[int, BeforeValidator(_milliseconds), WithJsonSchema({"type": "string", "format": "duration"})]

#: A list of texts. The text `a, b` is also valid, because people write lists in environment variables in this form.
TextList = Annotated[tuple[str, ...], BeforeValidator(_split)]

#: A list of user ids of a platform. YAML reads ids without quotes as numbers.
IdList = Annotated[tuple[str, ...], BeforeValidator(_ids)]

#: A secret, written as `env:NAME`, `file:PATH` or the text itself. Its repr shows stars.
SecretText = Annotated[SecretStr, BeforeValidator(_secret)]

#: A secret that can be written only as `env:NAME` or `file:PATH`.
SecretReference = Annotated[SecretStr, BeforeValidator(_secret_reference)]

Slug = Annotated[str, Field(pattern=f"^{SLUG.pattern}$")]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Timezone = Annotated[str, AfterValidator(_timezone)]
Url = Annotated[str, AfterValidator(_url)]

Raw = dict[str, Any]


# Secrets are weak if they are too short or have too few different characters. There is no list of common passwords,
# because a long and varied secret cannot be guessed over the network.

#: The minimum number of characters, and the minimum number of different characters.
_KEY = (24, 10)
_PASSWORD = (10, 5)
MAKE_ONE = "python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"


def is_weak_key(key: str) -> bool:
    return _weak(key, *_KEY)


def is_weak_password(password: str) -> bool:
    return _weak(password, *_PASSWORD)


def key_rule() -> str:
    return f"an API key needs {_KEY[0]} characters, {_KEY[1]} of them different"


def password_rule() -> str:
    return f"a password needs {_PASSWORD[0]} characters, {_PASSWORD[1]} of them different"


def _weak(secret: str, least: int, varied: int) -> bool:
    return len(secret) < least or len(set(secret)) < varied
