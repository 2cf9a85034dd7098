"""Reads a platform's answer to one request, whatever its shape: it becomes exactly one of four outcomes.

An answer is untrusted input. A proxy, a captive portal or an outage may put anything in its place, so nothing is taken for
the platform's word that is not in the platform's own form.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Protocol, TypeVar

from arvis.ports.connector import SendError

T = TypeVar("T")

_NO_CONTENT, _REQUEST_TIMEOUT, _TOO_MANY, _SERVER_TROUBLE = 204, 408, 429, 500
#: The longest delay (seconds) that is believed, and the one where a platform that asks for a rest does not say how long.
_LONGEST_DELAY = 86_400.0
_USUAL_DELAY = 30.0
#: Characters of a platform's complaint that are kept.
_LONGEST_TEXT = 300


@dataclass(frozen=True, slots=True)
class PlatformResponse:
    """What came back. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class PlatformError:
    """The platform's own refusal: `code` and `text` are its words. `limited`: it asks for a rest, of `delay` seconds if it
    says so. `uncertain`: part of the work may have been done. `passing`: the same may go well later."""

    code: str
    text: str
    delay: float | None = None
    limited: bool = False
    uncertain: bool = False
    passing: bool = False


class Dialect(Protocol):
    """How a platform writes its answers."""

    @property
    def name(self) -> str: ...

    def platform_error(self, document: Any) -> PlatformError | None:
        """None where the document is no refusal in the platform's own form."""
        ...

    def accepts(self, document: Any) -> bool:
        """Whether the document says in the platform's own form that the request was carried out."""
        ...

    def result(self, document: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Done:
    """The platform carried it out; `result` is what it says of that, in any shape."""

    result: Any


@dataclass(frozen=True, slots=True)
class Refused:
    """The platform did not carry it out, and will not do so later. `document` is its whole answer."""

    code: str
    reason: str
    status: int = 0
    document: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Uncertain:
    """It may have been carried out. `acknowledged`: the platform says that it was, but not what is needed to go on."""

    reason: str
    acknowledged: bool = False


@dataclass(frozen=True, slots=True)
class RetryLater:
    """It was not carried out, and may be later: after `delay` seconds, where that is known."""

    reason: str
    delay: float | None = None
    code: str = ""


Failure = Refused | Uncertain | RetryLater
Outcome = Done | Failure


def read(dialect: Dialect, answer: PlatformResponse) -> Outcome:
    document = _document(answer)
    platform_error = dialect.platform_error(document)
    if answer.status == _TOO_MANY or (platform_error is not None and platform_error.limited):
        return RetryLater(f"{dialect.name} asks for a rest.", _delay(platform_error, answer), "ratelimited")
    if answer.status >= _SERVER_TROUBLE:
        return Uncertain(f"{dialect.name} answered with status {answer.status}.")
    if platform_error is not None:
        return _failure_of(dialect, platform_error, answer.status, document)
    if not 200 <= answer.status < 300:  # noqa: PLR2004  (HTTP's own numbers)
        # Something in front of the platform said this. The platform itself was not asked.
        return RetryLater(f"{dialect.name} answered with status {answer.status}, in a form that is not its own.")
    if answer.status != _NO_CONTENT and not dialect.accepts(document):
        return Uncertain(f"{dialect.name} answered in a form that is not its own.")
    return Done(None if answer.status == _NO_CONTENT else dialect.result(document))


def send_error(failure: Failure, *, gone: bool = False, delay: float | None = None) -> SendError:
    """What it means for a message on its way. `gone`: a refusal concerns the place, not the message; `delay` is for what
    is to be tried later where the platform does not say when."""
    match failure:
        case Refused():
            return SendError(failure.reason, permanent=True, gone=gone)
        case Uncertain():
            return SendError(failure.reason, uncertain=True, acknowledged=failure.acknowledged)
        case RetryLater():
            return SendError(failure.reason, retry_after=delay if failure.delay is None else failure.delay)


def value(result: Any, *path: str, kind: type[T]) -> T | None:
    """What lies at a path of keys, if it is of this kind."""
    for key in path:
        if not isinstance(result, Mapping):
            return None
        result = result.get(key)
    if isinstance(result, bool) and kind is not bool:
        return None
    return result if isinstance(result, kind) else None


def text(result: Any, *path: str) -> str:
    """A text that lies at a path of keys, or a number as text; empty where there is neither."""
    number = value(result, *path, kind=int)
    return str(number) if number is not None else value(result, *path, kind=str) or ""


def mappings(result: Any) -> list[Mapping[str, Any]] | None:
    """The mappings of a list; None where it is no list, or holds nothing but other things."""
    if not isinstance(result, list):
        return None
    found = [one for one in result if isinstance(one, Mapping)]
    return found if found or not result else None


def seconds(value_given: Any) -> float | None:
    """A delay as a platform writes it: a number, or its digits. None for anything else."""
    if isinstance(value_given, bool) or not isinstance(value_given, int | float | str):
        return None
    try:
        number = float(value_given)
    except ValueError:
        return None
    return min(max(number, 0.0), _LONGEST_DELAY) if math.isfinite(number) else None


def shortened(words: Any) -> str:
    """A platform's words on one line."""
    return " ".join(str(words).split())[:_LONGEST_TEXT]


def _failure_of(dialect: Dialect, platform_error: PlatformError, status: int, document: Any) -> Failure:
    reason = f"{dialect.name} refused it: {platform_error.text}"
    if platform_error.uncertain:
        return Uncertain(reason)
    if platform_error.passing or status == _REQUEST_TIMEOUT:
        return RetryLater(reason, code=platform_error.code)
    return Refused(platform_error.code, reason, status, document)


def _document(answer: PlatformResponse) -> Any:
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        return None


def _delay(platform_error: PlatformError | None, answer: PlatformResponse) -> float:
    value_given = platform_error.delay if platform_error is not None else None
    if value_given is None:
        value_given = _header_delay(answer.headers)
    return _USUAL_DELAY if value_given is None else value_given


def _header_delay(headers: Mapping[str, str]) -> float | None:
    """`Retry-After` is a number of seconds or a date, which counts from the date of the answer."""
    value_given = headers.get("retry-after", "")
    if (number := seconds(value_given)) is not None:
        return number
    try:
        rest = parsedate_to_datetime(value_given) - parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError):
        return None
    return seconds(rest.total_seconds())
